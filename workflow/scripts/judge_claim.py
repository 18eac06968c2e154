"""Decide one claim from no more than it stands on."""

from pathlib import Path

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import claims
    from dperm_pipeline.claims import catalogue, words

    taken, given, params = snakemake.input, snakemake.output, snakemake.params
    name = snakemake.wildcards.claim
    claims.judge(
        catalogue.standing_on(catalogue.load(taken.catalogue, taken.schema, datasets=params.datasets), name),
        {Path(path).parent.name: path for path in taken.rows},
        given.claims,
        privacy=taken.privacy or None,
        unavailable=params.skipped,
        prepared=params.prepared,
        metadata={key: params[key] for key in ("papers", "skipped", "seed", "code")},
        only=name,
    )
    words.write(given.claims, given.words)
