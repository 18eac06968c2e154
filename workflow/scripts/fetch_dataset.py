"""Fetch the files of one data set."""

import os

from dperm.datasets import fetch
from dperm.script import logged

with logged(snakemake.log[0]):
    mirror = snakemake.config.get("mirror") or os.environ.get("DPERM_MIRROR") or None
    fetch.fetch(snakemake.params.entry, snakemake.output.files, mirror=mirror, trusted=snakemake.params.trusted)
