"""Put the cells of one experiment together."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import tables

    paths = [*snakemake.input.cells, *snakemake.input.baselines]
    metadata = {name: snakemake.params[name] for name in ("skipped", "seed", "code")}
    tables.collect(paths, snakemake.output.rows, metadata=metadata, made=snakemake.params.made)
