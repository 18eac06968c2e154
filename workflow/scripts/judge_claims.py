"""Decide every claim."""

from pathlib import Path

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import claims
    from dperm_pipeline.claims import catalogue

    taken, params = snakemake.input, snakemake.params
    claims.judge(
        catalogue.load(taken.catalogue, taken.schema, datasets=params.datasets),
        {Path(path).parent.name: path for path in taken.rows},
        snakemake.output.claims,
        privacy=taken.privacy,
        unavailable=params.skipped,
        prepared=params.prepared,
        metadata={name: params[name] for name in ("papers", "skipped", "seed", "code")},
    )
