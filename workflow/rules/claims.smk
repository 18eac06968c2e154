# Every claim of the selected papers, decided from rows.


rule judge_claims:
    input:
        catalogue=catalogues(),
        schema="workflow/schemas/claims.schema.yaml",
        rows=rows_of_scale,
        privacy="results/{scale}/privacy.parquet",
    output:
        claims=report(
            "results/{scale}/claims.parquet",
            caption="../report/claims.rst",
            category="claims",
            labels={"ledger": "claims", "title": "Every claim and its verdict"},
        ),
    log:
        "logs/{scale}/claims.log",
    benchmark:
        "benchmarks/{scale}/claims.tsv"
    threads: 1
    resources:
        mem_mb=1900,
        runtime=10,
    params:
        papers=lambda wildcards: sorted(
            {e.paper for e in PLAN.of_scale(wildcards.scale)}
        ),
        datasets=sorted({*PLAN.datasets, *PLAN.designs}),
        prepared=sorted(PLAN.datasets),
        seed=PLAN.seed,
        sources=checksums_of(*catalogues(), "workflow/schemas/claims.schema.yaml"),
        skipped=lambda wildcards: PLAN.skipped(wildcards.scale),
        # How YAML becomes numbers counts; the checks of the catalogue do not: they refuse it or leave it as it is.
        code=plan.code_digest("dperm_pipeline.claims", "dperm_pipeline.yaml_files"),
    message:
        "judge the claims at scale {wildcards.scale}"
    script:
        "../scripts/judge_claims.py"


# Not a part of `all`: the report gives the command of each claim.
rule judge_claim:
    input:
        catalogue=catalogues(),
        schema="workflow/schemas/claims.schema.yaml",
        rows=rows_of_claim,
        privacy=ledger_of_claim,
    output:
        claims="results/{scale}/claims/{claim}.parquet",
        words="results/{scale}/claims/{claim}.md",
    log:
        "logs/{scale}/claims/{claim}.log",
    benchmark:
        "benchmarks/{scale}/claims/{claim}.tsv"
    threads: 1
    resources:
        mem_mb=1900,
        runtime=10,
    params:
        papers=lambda wildcards: sorted(
            {e.paper for e in PLAN.of_scale(wildcards.scale)}
        ),
        datasets=sorted({*PLAN.datasets, *PLAN.designs}),
        prepared=sorted(PLAN.datasets),
        seed=PLAN.seed,
        sources=checksums_of(*catalogues(), "workflow/schemas/claims.schema.yaml"),
        skipped=lambda wildcards: PLAN.skipped(wildcards.scale),
        code=plan.code_digest(
            "dperm_pipeline.claims",
            "dperm_pipeline.claims.words",
            "dperm_pipeline.yaml_files",
        ),
    message:
        "judge claim {wildcards.claim} at scale {wildcards.scale}"
    script:
        "../scripts/judge_claim.py"
