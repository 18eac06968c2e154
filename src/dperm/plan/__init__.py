"""From the configuration to cells, and fingerprints of the code that each of them depends on."""

from dperm.plan.cells import SCALES, Experiment, Known, Plan, load, mechanism_slug, slug
from dperm.plan.code_digest import code_digest, modules

__all__ = ["SCALES", "Experiment", "Known", "Plan", "code_digest", "load", "mechanism_slug", "modules", "slug"]
