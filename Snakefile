# Table of contents. What runs is said in config/, how in workflow/rules/, with what in src/dperm/.
from snakemake.utils import min_version

min_version("9.20")


include: "workflow/rules/config.smk"


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/one_run.smk"
include: "workflow/rules/datasets.smk"
include: "workflow/rules/baselines.smk"
include: "workflow/rules/cells.smk"
include: "workflow/rules/audit.smk"
include: "workflow/rules/drawing.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/papers.smk"
include: "workflow/rules/libraries.smk"


rule all:
    default_target: True
    input:
        JOBS.targets(PLAN.scale),
