"""Draw all figures and tables of one experiment or ledger."""

from dperm_pipeline.script import logged

with logged(snakemake):
    from dperm_pipeline import figures

    params, output = snakemake.params, snakemake.output
    figures.draw_all(
        snakemake.input.rows,
        figures=dict(zip(params.figures, zip(output.svg, output.png, strict=True), strict=True)),
        tables=dict(zip(params.tables, zip(output.csv, output.md, strict=True), strict=True)),
        elsewhere=list(snakemake.input.elsewhere),
    )
