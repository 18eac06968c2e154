"""From the configuration to cells, and fingerprints of the code that each of them depends on."""

from dperm.plan.audits import MUTANTS, KnownAudits
from dperm.plan.cells import SCALES, Experiment, Known, Plan, load, mechanism_slug, slug
from dperm.plan.code_digest import code_digest, modules

__all__ = [
    "MUTANTS",
    "SCALES",
    "Experiment",
    "Known",
    "KnownAudits",
    "Plan",
    "code_digest",
    "load",
    "mechanism_slug",
    "modules",
    "slug",
]
