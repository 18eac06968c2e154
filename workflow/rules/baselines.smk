# The fit without privacy that cells are measured against.


rule fit_baseline:
    input:
        data=needs(jobs.BASELINE, "data"),
    output:
        rows=jobs.BASELINE,
    log:
        "logs/{scale}/{experiment}/baselines/{scenario}.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/baselines/{scenario}.tsv"
    threads: 1
    resources:
        mem_mb=1500,
        runtime=5,
    params:
        cell=given(jobs.BASELINE, "cell"),
        code=code_of(jobs.BASELINE),
    message:
        "{wildcards.experiment}: non-private fit on {wildcards.scenario}"
    script:
        "../scripts/fit_baseline.py"
