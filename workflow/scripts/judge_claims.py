"""Decide every claim."""

from pathlib import Path

from dperm import claims
from dperm.claims import catalogue
from dperm.script import logged

with logged(snakemake.log[0]):
    taken, params = snakemake.input, snakemake.params
    claims.judge(
        catalogue.load(taken.catalogue, taken.schema, datasets=params.datasets),
        {Path(path).parent.name: path for path in taken.rows},
        snakemake.output.claims,
        privacy=taken.privacy,
        unavailable=params.skipped,
        metadata={name: params[name] for name in ("papers", "skipped", "seed", "code")},
    )
