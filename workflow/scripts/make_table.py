"""Make one table."""

from dperm import figures
from dperm.script import logged

with logged(snakemake.log[0]):
    output = snakemake.output
    figures.make_table(snakemake.wildcards.table, snakemake.input.rows, csv=output.csv, md=output.md)
