"""Fetch the files of one data set, and leave a receipt of their checksums."""

import json
import os

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import files
    from dperm_pipeline.datasets import catalogue, fetch

    params = snakemake.params
    # Title and addresses, which are no params: an edit of them is no reason to fetch again.
    entry = catalogue.load(snakemake.input.catalogue)[snakemake.wildcards.dataset] | {"files": params.files}
    mirror = snakemake.config.get("mirror") or os.environ.get("DPERM_MIRROR") or None
    found = fetch.fetch(entry, params.folder, mirror=mirror, trusted=params.trusted)
    files.write_text(snakemake.output.receipt, json.dumps(found, indent=2, sort_keys=True) + "\n")
