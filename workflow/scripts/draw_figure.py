"""Draw one figure."""

from dperm import figures
from dperm.script import logged

with logged(snakemake.log[0]):
    output = snakemake.output
    figures.draw(snakemake.wildcards.figure, snakemake.input.rows, svg=output.svg, png=output.png)
