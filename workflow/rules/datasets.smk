# From an address to one Parquet file.


rule fetch_dataset:
    output:
        files=directory("resources/downloads/{dataset}"),
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        "benchmarks/fetch/{dataset}.tsv"
    retries: 0
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    params:
        entry=lambda wildcards: PLAN.datasets[wildcards.dataset],
        trusted="resources/trusted/{dataset}.json",
    message:
        "fetch {wildcards.dataset}"
    script:
        "../scripts/fetch_dataset.py"


rule prepare_dataset:
    input:
        files=files_of,
    output:
        data="resources/prepared/{dataset}.parquet",
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "benchmarks/prepare/{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        entry=lambda wildcards: PLAN.datasets[wildcards.dataset],
        code=lambda wildcards: plan.code_digest(
            "dperm.datasets.prepare", prepare.module(PLAN.datasets[wildcards.dataset])
        ),
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_dataset.py"
