# One target for each paper: snakemake --cores 2 kifer2012

for paper in sorted({experiment.paper for experiment in PLAN.of_scale(PLAN.scale)}):

    rule:
        name:
            paper
        input:
            JOBS.shown(PLAN.scale, paper),
