# Attacks on every mechanism, and the ledger that holds them against the claims.


rule run_audit:
    output:
        rows=jobs.AUDIT,
    log:
        "logs/{scale}/audits/{mechanism}/{pair}.log",
    benchmark:
        "benchmarks/{scale}/audits/{mechanism}/{pair}.tsv"
    # Some take minutes, and the ledger and the verdicts wait for all of them.
    priority: 1
    threads: 1
    resources:
        mem_mb=800,
        runtime=10,
    params:
        audits=given(jobs.AUDIT, "audits"),
        code=code_of(jobs.AUDIT),
    message:
        "audit {wildcards.mechanism}: {wildcards.pair}"
    script:
        "../scripts/run_audit.py"


rule collect_privacy_ledger:
    input:
        attacks=needs(jobs.PRIVACY, "attacks"),
        mutants=needs(jobs.PRIVACY, "mutants"),
        rows=needs(jobs.PRIVACY, "rows"),
    output:
        privacy=report(
            jobs.PRIVACY,
            caption="../report/privacy.rst",
            category="privacy",
            subcategory="ledgers",
            labels={"ledger": "privacy", "title": "Every guarantee and its verdict"},
        ),
        mutants=report(
            jobs.BROKEN,
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
        confidence=given(jobs.PRIVACY, "confidence"),
        level=given(jobs.PRIVACY, "level"),
        seed=given(jobs.PRIVACY, "seed"),
        errata=given(jobs.PRIVACY, "errata"),
        made=given(jobs.PRIVACY, "made"),
        code=code_of(jobs.PRIVACY),
    message:
        "collect the privacy ledger at scale {wildcards.scale}"
    script:
        "../scripts/collect_privacy_ledger.py"
