# The fit without privacy that cells are measured against.


rule fit_baseline:
    input:
        data=lambda wildcards: prepared_dataset_of(baseline_of(wildcards)),
    output:
        rows="results/{scale}/{experiment}/baselines/{scenario}.parquet",
    log:
        "logs/{scale}/{experiment}/baselines/{scenario}.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/baselines/{scenario}.tsv"
    threads: 1
    resources:
        mem_mb=1100,
        runtime=5,
    params:
        cell=baseline_of,
        code=lambda wildcards: plan.code_digest(
            *experiments.modules(wildcards.experiment)
        ),
    message:
        "{wildcards.experiment}: non-private fit on {wildcards.scenario}"
    script:
        "../scripts/fit_baseline.py"
