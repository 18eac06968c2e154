"""Run one mechanism at one grid point."""

from dperm import experiments, tables
from dperm.script import logged

with logged(snakemake.log[0]):
    cell = snakemake.params.cell
    rows = experiments.run(cell, **{name: path for name, path in snakemake.input.items() if path})
    tables.write(rows, snakemake.output.rows, metadata={"cell": cell, "code": snakemake.params.code})
