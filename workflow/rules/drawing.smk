# The figures and tables of one experiment, or of one ledger: one job each, drawn from its rows alone.

for source in DRAWINGS:

    rule:
        name:
            f"draw_{source.replace('-', '_')}"
        input:
            rows=file_drawn_from(source),
        output:
            svg=files_drawn(source, "figures", "svg"),
            # A copy of the SVG, for papers and slides: the report shows one of the two.
            png=expand(
                "results/{scale}/figures/{name}.png",
                name=DRAWINGS[source]["figures"],
                allow_missing=True,
            ),
            csv=files_drawn(source, "tables", "csv", format="CSV, plain numbers"),
            md=files_drawn(source, "tables", "md", format="Markdown, to read"),
        log:
            f"logs/{{scale}}/figures/{source}.log",
        benchmark:
            f"benchmarks/{{scale}}/figures/{source}.tsv"
        # What verdicts wait for comes first; the last drawings then run beside the judging.
        priority: -1
        threads: 1
        resources:
            mem_mb=1300,
            runtime=5,
        params:
            figures=recipes(source, "figures"),
            tables=recipes(source, "tables"),
            # Beside them in both reports, which are built again when they are drawn again.
            words=words_drawn(source),
            code=code_of_drawing(source),
        message:
            f"draw {source}"
        script:
            "../scripts/draw.py"


# What is drawn by nobody: its input says so.
rule unknown_drawing:
    input:
        refuse_drawing,
    output:
        "results/{scale}/{kind}/{drawing}.{suffix}",
    wildcard_constraints:
        kind="figures|tables",
        drawing=names_not_drawn(),
        suffix="svg|png|csv|md",
