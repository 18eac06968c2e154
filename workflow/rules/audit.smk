# Attacks on every mechanism, and the ledger that holds them against the claims.


rule run_audit:
    output:
        rows="results/{scale}/audits/{mechanism}/{pair}.parquet",
    log:
        "logs/{scale}/audits/{mechanism}/{pair}.log",
    benchmark:
        "benchmarks/{scale}/audits/{mechanism}/{pair}.tsv"
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        audits=audit_job_of,
        code=lambda wildcards: plan.code_digest(
            *audits.modules(audit_job_of(wildcards)[0]), packages=("threadpoolctl",)
        ),
    message:
        "audit {wildcards.mechanism}: {wildcards.pair}"
    script:
        "../scripts/run_audit.py"


rule collect_privacy_ledger:
    input:
        attacks=audits_of(mutants=False),
        mutants=audits_of(mutants=True),
        rows=released_rows_of_scale,
    output:
        privacy=report(
            "results/{scale}/privacy.parquet",
            caption="../report/privacy.rst",
            category="privacy",
            subcategory="ledgers",
            labels={"ledger": "privacy", "title": "Every guarantee and its verdict"},
        ),
        mutants=report(
            "results/{scale}/mutants.parquet",
            caption="../report/mutants.rst",
            category="privacy",
            subcategory="ledgers",
            labels={"ledger": "mutants", "title": "Mechanisms broken on purpose"},
        ),
    log:
        "logs/{scale}/privacy.log",
    benchmark:
        "benchmarks/{scale}/privacy.tsv"
    threads: 1
    resources:
        mem_mb=700,
        runtime=5,
    params:
        confidence=PLAN.audit["confidence"],
        level=PLAN.audit["level"],
        seed=PLAN.seed,
        errata=PLAN.errata,
        made=made_of_audits,
        code=plan.code_digest("dperm_pipeline.audits.ledger"),
    message:
        "collect the privacy ledger at scale {wildcards.scale}"
    script:
        "../scripts/collect_privacy_ledger.py"
