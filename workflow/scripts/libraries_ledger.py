"""Judge the rows of all libraries together."""

from dperm_pipeline.script import logged

with logged(snakemake):
    import sys
    from pathlib import Path

    sys.path.insert(0, "examples/libraries")
    import ledger

    ledger.main(Path(snakemake.output.parquet).parent, list(snakemake.input.rows))
