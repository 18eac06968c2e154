"""Decide every claim."""

from pathlib import Path

from dperm import claims
from dperm.script import logged

with logged(snakemake.log[0]):
    catalogue = claims.load(snakemake.input.catalogue, snakemake.input.schema)
    claims.judge(
        catalogue,
        {Path(path).parent.name: path for path in snakemake.input.rows},
        snakemake.output.claims,
        unavailable=snakemake.params.skipped,
        metadata={"papers": snakemake.params.papers, "code": snakemake.params.code},
    )
