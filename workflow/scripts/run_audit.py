"""Attack one mechanism at one pair family, or at the few that share a job."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline.audits import attacks

    audits = snakemake.params.audits
    attacks.run(audits, snakemake.output.rows, metadata={"audits": audits, "code": snakemake.params.code})
