"""Build the pages."""

from pathlib import Path

from dperm_pipeline.script import logged

with logged(snakemake):
    import yaml

    from dperm_pipeline import report
    from dperm_pipeline.report import provenance

    taken = snakemake.input
    config = yaml.safe_load(Path(taken.config).read_text(encoding="utf-8"))
    made_by = {"data": taken.data, "benchmarks": f"benchmarks/{snakemake.wildcards.scale}", "cited": taken.citation}
    report.build(
        snakemake.output.folder,
        claims=taken.claims,
        privacy=taken.privacy,
        mutants=taken.mutants,
        **{name: list(taken[name]) for name in ("figures", "tables", "rows", "elsewhere", "audited")},
        config=config,
        provenance=provenance.collect(seed=config["seed"], planned=snakemake.params.planned, **made_by),
        unavailable=snakemake.params.skipped,
        errata=taken.errata,
        origins=snakemake.params.origins,
    )
