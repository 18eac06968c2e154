"""Hold the attacks against the claims."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline.audits import ledger

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
        made=params.made,
    )
    ledger.collect_mutants(list(taken.mutants), made.mutants, level=params.level, metadata=metadata, made=params.made)
