# One mechanism at one grid point with all its repeats, or at a few that share brackets in the grid: one job.


rule run_cell:
    input:
        # Nothing where cells make their own data.
        data=needs(jobs.CELL, "data"),
        baseline=needs(jobs.CELL, "baseline"),
    output:
        rows=jobs.CELL,
    log:
        "logs/{scale}/{experiment}/{mechanism}/{scenario}.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/{mechanism}/{scenario}.tsv"
    priority: priority_of(jobs.CELL)
    threads: 1
    resources:
        mem_mb=1500,
        runtime=10,
    params:
        cells=given(jobs.CELL, "cells"),
        code=code_of(jobs.CELL),
    message:
        "{wildcards.experiment}: {wildcards.mechanism} at {wildcards.scenario}"
    script:
        "../scripts/run_cell.py"


rule collect_rows:
    input:
        cells=needs(jobs.ROWS, "cells"),
        baselines=needs(jobs.ROWS, "baselines"),
    output:
        rows=jobs.ROWS,
    log:
        "logs/{scale}/{experiment}/collect.log",
    benchmark:
        "benchmarks/{scale}/{experiment}/collect.tsv"
    threads: 1
    resources:
        mem_mb=900,
        runtime=5,
    params:
        skipped=given(jobs.ROWS, "skipped"),
        # From each input to the fingerprint of the job that must have made it.
        made=given(jobs.ROWS, "made"),
        seed=given(jobs.ROWS, "seed"),
        code=code_of(jobs.ROWS),
    message:
        "{wildcards.experiment}: collect rows"
    script:
        "../scripts/collect_rows.py"
