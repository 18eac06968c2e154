"""Parse and encode one data set."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline.datasets import prepare, prepared

    params = snakemake.params
    # What was fetched lies beside its receipt; a file of one's own is the input itself; a bundled set has none.
    place = params.folder if params.entry.get("files") else next(iter(snakemake.input), None)
    dataset = prepare.prepare(params.entry, place, trusted=params.trusted)
    prepared.write(dataset, snakemake.output.data, metadata={"entry": params.entry, "code": params.code})
