"""Attack one mechanism at one pair family."""

from dperm.audit import attacks
from dperm.script import logged

with logged(snakemake.log[0]):
    job = snakemake.params.job
    attacks.run(job, snakemake.output.rows, metadata={"job": job, "code": snakemake.params.code})
