# Every claim of the selected papers, decided from rows.


rule judge_claims:
    input:
        catalogue=catalogues(),
        schema="workflow/schemas/claims.schema.yaml",
        rows=rows_of_scale,
        privacy="results/{scale}/privacy.parquet",
    output:
        claims=report("results/{scale}/claims.parquet", category="claims"),
    log:
        "logs/{scale}/claims.log",
    benchmark:
        "benchmarks/{scale}/claims.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        papers=lambda wildcards: sorted(
            {e.paper for e in PLAN.of_scale(wildcards.scale)}
        ),
        datasets=sorted({*PLAN.datasets, *PLAN.designs}),
        seed=PLAN.seed,
        skipped=lambda wildcards: PLAN.skipped(wildcards.scale),
        # How YAML becomes numbers counts; the checks of the catalogue do not: they refuse it or leave it as it is.
        code=plan.code_digest("dperm.claims", "dperm.yaml_files"),
    message:
        "judge the claims at scale {wildcards.scale}"
    script:
        "../scripts/judge_claims.py"
