"""Hold the attacks against the claims."""

from dperm.audit import ledger
from dperm.script import logged

with logged(snakemake.log[0]):
    taken, made, params = snakemake.input, snakemake.output, snakemake.params
    metadata = {name: params[name] for name in ("confidence", "level", "seed", "code")}
    ledger.collect(
        list(taken.attacks),
        list(taken.rows),
        made.privacy,
        confidence=params.confidence,
        level=params.level,
        metadata=metadata,
        errata=params.errata,
    )
    ledger.collect_mutants(list(taken.mutants), made.mutants, level=params.level, metadata=metadata)
