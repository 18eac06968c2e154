# From an address to one Parquet file.
from dperm_pipeline.datasets import catalogue


rule fetch_dataset:
    # The files are no output: Snakemake deletes outputs before it makes them again, and a refetch may fail. Only the
    # checksums decide what is fetched; addresses and titles are looked up in the catalogue, whose age does not matter.
    input:
        catalogue=ancient("config/datasets.yaml"),
    output:
        receipt="resources/downloads/{dataset}.json",
    log:
        "logs/fetch/{dataset}.log",
    benchmark:
        "benchmarks/fetch/{dataset}.tsv"
    retries: 0
    # Beside Snakemake, on a cluster too: its nodes often reach no network.
    localrule: True
    threads: 1
    resources:
        mem_mb=500,
        runtime=60,
    params:
        files=lambda wildcards: PLAN.datasets[wildcards.dataset].get("files", {}),
        folder="resources/downloads/{dataset}",
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
        runtime=30,
    params:
        entry=lambda wildcards: catalogue.numeric(PLAN.datasets[wildcards.dataset]),
        folder="resources/downloads/{dataset}",
        trusted="resources/trusted/{dataset}.json",
        sources=lambda wildcards: checksums_of(
            *filter(None, [PLAN.datasets[wildcards.dataset].get("path")])
        ),
        code=lambda wildcards: plan.code_digest(
            "dperm_pipeline.datasets.prepare",
            prepare.module(PLAN.datasets[wildcards.dataset]),
        ),
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_dataset.py"
