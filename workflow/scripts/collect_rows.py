"""Put the cells of one experiment together."""

from dperm import tables
from dperm.script import logged

with logged(snakemake.log[0]):
    paths = [*snakemake.input.cells, *snakemake.input.baselines]
    metadata = {name: snakemake.params[name] for name in ("skipped", "seed", "code")}
    tables.collect(paths, snakemake.output.rows, metadata=metadata)
