"""Fit the non-private baseline on one data set."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import experiments, tables

    cell = snakemake.params.cell
    rows = experiments.run_baseline(cell, data=snakemake.input.data)
    tables.write(rows, snakemake.output.rows, metadata={"cell": cell, "code": snakemake.params.code})
