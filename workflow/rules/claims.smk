# Every claim of the selected papers, decided from rows.


rule judge_claims:
    input:
        catalogue=needs(jobs.CLAIMS, "catalogue"),
        schema=needs(jobs.CLAIMS, "schema"),
        rows=needs(jobs.CLAIMS, "rows"),
        privacy=needs(jobs.CLAIMS, "privacy"),
    output:
        claims=report(
            jobs.CLAIMS,
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
        mem_mb=2600,
        runtime=10,
    params:
        papers=given(jobs.CLAIMS, "papers"),
        datasets=given(jobs.CLAIMS, "datasets"),
        prepared=given(jobs.CLAIMS, "prepared"),
        seed=given(jobs.CLAIMS, "seed"),
        sources=given(jobs.CLAIMS, "sources"),
        skipped=given(jobs.CLAIMS, "skipped"),
        code=code_of(jobs.CLAIMS),
    message:
        "judge the claims at scale {wildcards.scale}"
    script:
        "../scripts/judge_claims.py"


# Not a part of `all`: the report gives the command of each claim.
rule judge_claim:
    input:
        catalogue=needs(jobs.CLAIM, "catalogue"),
        schema=needs(jobs.CLAIM, "schema"),
        rows=needs(jobs.CLAIM, "rows"),
        privacy=needs(jobs.CLAIM, "privacy"),
    output:
        claims=jobs.CLAIM,
        words="results/{scale}/claims/{claim}.md",
    log:
        "logs/{scale}/claims/{claim}.log",
    benchmark:
        "benchmarks/{scale}/claims/{claim}.tsv"
    threads: 1
    resources:
        mem_mb=2600,
        runtime=10,
    params:
        papers=given(jobs.CLAIM, "papers"),
        datasets=given(jobs.CLAIM, "datasets"),
        prepared=given(jobs.CLAIM, "prepared"),
        seed=given(jobs.CLAIM, "seed"),
        sources=given(jobs.CLAIM, "sources"),
        skipped=given(jobs.CLAIM, "skipped"),
        code=code_of(jobs.CLAIM),
    message:
        "judge claim {wildcards.claim} at scale {wildcards.scale}"
    script:
        "../scripts/judge_claim.py"
