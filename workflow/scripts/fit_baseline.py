"""Fit the non-private baseline on one data set."""

from dperm import experiments, tables
from dperm.script import logged

with logged(snakemake.log[0]):
    cell = snakemake.params.cell
    rows = experiments.run_baseline(cell, data=snakemake.input.data)
    tables.write(rows, snakemake.output.rows, metadata={"cell": cell, "code": snakemake.params.code})
