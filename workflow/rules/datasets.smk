# From an address to one Parquet file.


rule fetch_dataset:
    # The files are no output: Snakemake deletes outputs before it makes them again, and a refetch may fail. Only the
    # checksums decide what is fetched; addresses and titles are looked up in the catalogue, whose age does not matter.
    input:
        catalogue=ancient("config/datasets.yaml"),
    output:
        receipt=jobs.FETCHED,
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
        files=given(jobs.FETCHED, "files"),
        folder="resources/downloads/{dataset}",
        trusted="resources/trusted/{dataset}.json",
    message:
        "fetch {wildcards.dataset}"
    script:
        "../scripts/fetch_dataset.py"


rule prepare_dataset:
    input:
        files=needs(jobs.PREPARED, "files"),
    output:
        data=jobs.PREPARED,
    log:
        "logs/prepare/{dataset}.log",
    benchmark:
        "benchmarks/prepare/{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=30,
    params:
        entry=given(jobs.PREPARED, "entry"),
        folder="resources/downloads/{dataset}",
        trusted="resources/trusted/{dataset}.json",
        sources=given(jobs.PREPARED, "sources"),
        code=code_of(jobs.PREPARED),
    message:
        "prepare {wildcards.dataset}"
    script:
        "../scripts/prepare_dataset.py"
