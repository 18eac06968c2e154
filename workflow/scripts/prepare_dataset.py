"""Parse and encode one data set."""

from dperm.datasets import prepare, prepared
from dperm.script import logged

with logged(snakemake.log[0]):
    folder = next(iter(snakemake.input), None)
    prepared.write(prepare.prepare(snakemake.params.entry, folder), snakemake.output.data)
