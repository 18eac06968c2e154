"""Run one mechanism at one grid point, or at the few that share a job."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import experiments, tables

    cells = snakemake.params.cells
    rows = experiments.run_all(cells, **{name: path for name, path in snakemake.input.items() if path})
    tables.write_all(rows, snakemake.output.rows, metadata={"cells": cells, "code": snakemake.params.code})
