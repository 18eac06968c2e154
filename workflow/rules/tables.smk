# One target each, made from rows alone.


rule make_table:
    input:
        rows=source_of("tables", figures.TABLES),
    output:
        csv=report(
            "results/{scale}/tables/{table}.csv",
            caption="../report/figure.rst",
            category=category_of("tables", figures.TABLES),
            subcategory="tables",
            labels=labels_of("tables", figures.TABLES, format="CSV, plain numbers"),
        ),
        md=report(
            "results/{scale}/tables/{table}.md",
            caption="../report/figure.rst",
            category=category_of("tables", figures.TABLES),
            subcategory="tables",
            labels=labels_of("tables", figures.TABLES, format="Markdown, to read"),
        ),
    log:
        "logs/{scale}/tables/{table}.log",
    benchmark:
        "benchmarks/{scale}/tables/{table}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        recipe=lambda wildcards: figures.recipe(wildcards.table, figures.TABLES),
        # Of the caption in Snakemake's report.
        words=lambda wildcards: figures.words(wildcards.table, figures.TABLES),
        code=lambda wildcards: plan.code_digest(*figures.modules(wildcards.table)),
    message:
        "table {wildcards.table}"
    script:
        "../scripts/make_table.py"
