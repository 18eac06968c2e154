# The figures and tables of one experiment, or of one ledger: one job each, drawn from its rows alone.

for drawing in JOBS.drawings.values():

    rule:
        name:
            f"draw_{drawing.source.replace('-', '_')}"
        input:
            rows=drawing.rows,
            elsewhere=drawing.elsewhere,
        output:
            svg=marked(drawing, "figures", "svg"),
            # A copy of the SVG, for papers and slides: the report shows one of the two.
            png=drawing.files("figures", "png"),
            csv=marked(drawing, "tables", "csv", format="CSV, plain numbers"),
            md=marked(drawing, "tables", "md", format="Markdown, to read"),
        log:
            f"logs/{{scale}}/figures/{drawing.source}.log",
        benchmark:
            f"benchmarks/{{scale}}/figures/{drawing.source}.tsv"
        # What verdicts wait for comes first; the last drawings then run beside the judging.
        priority: -1
        threads: 1
        resources:
            mem_mb=1900,
            runtime=5,
        params:
            figures=drawing.params["figures"],
            tables=drawing.params["tables"],
            # Beside them in both reports, which are built again when they are drawn again.
            words=drawing.params["words"],
            sources=drawing.params["sources"],
            code=lambda wildcards, drawing=drawing: drawing.code,
        message:
            f"draw {drawing.source}"
        script:
            "../scripts/draw.py"


# What is drawn by nobody: its input says so. Names that another rule draws are left to it.
rule unknown_drawing:
    input:
        needs(drawings.DRAWN, "rows"),
    output:
        drawings.DRAWN,
    wildcard_constraints:
        kind="figures|tables",
        drawing=rf"(?!(?:{'|'.join(JOBS.names_drawn)})\.)[a-z0-9-]+",
        suffix="svg|png|csv|md",
