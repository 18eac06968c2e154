# One mechanism at one grid point with all its repeats, or at a few that share brackets in the grid: one job.


rule run_cell:
    input:
        # Nothing where cells make their own data.
        data=lambda wildcards: input_of_job("data", wildcards),
        baseline=lambda wildcards: input_of_job("baseline", wildcards),
    output:
        rows="results/{scale}/{experiment}/cells/{mechanism}/{scenario}.parquet",
    log:
        "logs/{scale}/{experiment}/{mechanism}/{scenario}.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/{mechanism}/{scenario}.tsv"
    threads: 1
    resources:
        mem_mb=1200,
        runtime=10,
    params:
        cells=job_of,
        code=lambda wildcards: plan.code_digest(
            *experiments.modules(
                wildcards.experiment, job_of(wildcards)[0]["mechanism"]
            )
        ),
    message:
        "{wildcards.experiment}: {wildcards.mechanism} at {wildcards.scenario}"
    script:
        "../scripts/run_cell.py"


rule collect_rows:
    input:
        cells=cells_of,
        baselines=baselines_of,
    output:
        rows="results/{scale}/{experiment}/rows.parquet",
    log:
        "logs/{scale}/{experiment}/collect.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/collect.tsv"
    threads: 1
    resources:
        mem_mb=700,
        runtime=5,
    params:
        skipped=lambda wildcards: experiment_of(wildcards).skipped,
        made=made_of_experiment,
        seed=PLAN.seed,
        code=plan.code_digest("dperm_pipeline.tables"),
    message:
        "{wildcards.experiment}: collect rows"
    script:
        "../scripts/collect_rows.py"
