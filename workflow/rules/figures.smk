# One target each, drawn from rows alone.


rule draw_figure:
    input:
        rows=source_of("figures", figures.FIGURES),
    output:
        svg=report(
            "results/{scale}/figures/{figure}.svg",
            caption="../report/figure.rst",
            category=category_of("figures", figures.FIGURES),
            subcategory="figures",
            labels=labels_of("figures", figures.FIGURES),
        ),
        png="results/{scale}/figures/{figure}.png",
    log:
        "logs/{scale}/figures/{figure}.log",
    benchmark:
        "benchmarks/{scale}/figures/{figure}.tsv"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        recipe=lambda wildcards: figures.recipe(wildcards.figure, figures.FIGURES),
        # Of the caption in Snakemake's report.
        words=lambda wildcards: figures.words(wildcards.figure, figures.FIGURES),
        code=lambda wildcards: plan.code_digest(
            *figures.modules(wildcards.figure), packages=("matplotlib",)
        ),
    message:
        "draw {wildcards.figure}"
    script:
        "../scripts/draw_figure.py"
