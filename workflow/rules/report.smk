# The pages that people open, and the configuration that made it. `snakemake --report` opens with these words.
report: "../report/workflow.rst"


rule write_config:
    output:
        config=jobs.CONFIG,
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
        resolved=given(jobs.CONFIG, "resolved"),
        code=code_of(jobs.CONFIG),
    message:
        "record the resolved configuration at scale {wildcards.scale}"
    script:
        "../scripts/write_config.py"


rule build_report:
    input:
        claims=needs(jobs.REPORT, "claims"),
        privacy=needs(jobs.REPORT, "privacy"),
        mutants=needs(jobs.REPORT, "mutants"),
        config=needs(jobs.REPORT, "config"),
        rows=needs(jobs.REPORT, "rows"),
        figures=needs(jobs.REPORT, "figures"),
        tables=needs(jobs.REPORT, "tables"),
        errata=needs(jobs.REPORT, "errata"),
        citation=needs(jobs.REPORT, "citation"),
        page=needs(jobs.REPORT, "page"),
        data=needs(jobs.REPORT, "data"),
        elsewhere=needs(jobs.REPORT, "elsewhere"),
        audited=needs(jobs.REPORT, "audited"),
    output:
        folder=report(
            directory(jobs.REPORT),
            htmlindex="index.html",
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
        skipped=given(jobs.REPORT, "skipped"),
        origins=given(jobs.REPORT, "origins"),
        planned=given(jobs.REPORT, "planned"),
        sources=given(jobs.REPORT, "sources"),
        code=code_of(jobs.REPORT),
    message:
        "build the report at scale {wildcards.scale}"
    script:
        "../scripts/build_report.py"
