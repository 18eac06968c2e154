"""From the configuration to cells and jobs, and fingerprints of the code that each of them depends on."""

from dperm_pipeline.plan.audits import MUTANTS
from dperm_pipeline.plan.cells import SCALES, Plan, load
from dperm_pipeline.plan.code_digest import announce, cell_modules, code_digest, modules
from dperm_pipeline.plan.grids import Experiment, mechanism_slug, slug
from dperm_pipeline.plan.jobs import Job, Jobs

__all__ = [
    "MUTANTS",
    "SCALES",
    "Experiment",
    "Job",
    "Jobs",
    "Plan",
    "announce",
    "cell_modules",
    "code_digest",
    "load",
    "mechanism_slug",
    "modules",
    "slug",
]
