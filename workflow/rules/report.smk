# The page that people open, and the configuration that made it. `snakemake --report` opens with these words.
report: "../report/workflow.rst"


rule write_config:
    output:
        config="results/{scale}/config.yaml",
    log:
        "logs/{scale}/config.log",
    benchmark:
        "benchmarks/{scale}/config.tsv"
    # A second of work: not worth a wait in a cluster's queue.
    localrule: True
    threads: 1
    resources:
        mem_mb=300,
        runtime=5,
    params:
        resolved=lambda wildcards: PLAN.resolved(wildcards.scale),
        code=plan.code_digest("dperm_pipeline.files"),
    message:
        "record the resolved configuration at scale {wildcards.scale}"
    script:
        "../scripts/write_config.py"


rule build_report:
    input:
        claims="results/{scale}/claims.parquet",
        privacy="results/{scale}/privacy.parquet",
        mutants="results/{scale}/mutants.parquet",
        config="results/{scale}/config.yaml",
        rows=rows_of_scale,
        figures=lambda wildcards: [
            path for path in shown(wildcards.scale) if path.endswith(".svg")
        ],
        tables=lambda wildcards: [
            path for path in shown(wildcards.scale) if path.endswith(".md")
        ],
        errata="docs/errata.md",
        citation="CITATION.cff",
        page=parts_of_page(),
        data=lambda wildcards: [
            f"resources/prepared/{name}.parquet"
            for name in datasets_at(wildcards.scale)
        ],
    output:
        html=report(
            "results/{scale}/report/index.html",
            caption="../report/page.rst",
            category="report",
            labels={"page": "index.html", "title": "The report for people"},
        ),
    log:
        "logs/{scale}/report.log",
    benchmark:
        "benchmarks/{scale}/report.tsv"
    threads: 1
    resources:
        mem_mb=1200,
        runtime=5,
    params:
        skipped=lambda wildcards: PLAN.skipped(wildcards.scale),
        origins=lambda wildcards: origins_at(wildcards.scale),
        planned=jobs_planned,
        sources=checksums_of("docs/errata.md", "CITATION.cff", *parts_of_page()),
        code=plan.code_digest(
            "dperm_pipeline.report",
            *places.words(),
            packages=("itables", "jinja2", "vl-convert-python"),
        ),
    message:
        "build the report at scale {wildcards.scale}"
    script:
        "../scripts/build_report.py"
