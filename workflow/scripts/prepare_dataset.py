"""Parse and encode one data set."""

from dperm.datasets import prepare, prepared
from dperm.script import logged

with logged(snakemake.log[0]):
    entry = snakemake.params.entry
    folder = snakemake.input[0] if entry.get("files") else None
    prepared.write(prepare.prepare(entry, folder), snakemake.output.data)
