"""The claims of the papers as the catalogue has them: read and held against their schema once in each process."""

import functools
from pathlib import Path

from dperm_pipeline.claims import catalogue

ROOT = Path(__file__).parents[2]
PAPERS = sorted(path.stem for path in (ROOT / "resources/claims").glob("*.yaml"))


@functools.cache
def of(*papers):
    """Return the claims of these papers; leave them as they are."""
    paths = [ROOT / f"resources/claims/{paper}.yaml" for paper in papers]
    return catalogue.load(paths, ROOT / "workflow/schemas/claims.schema.yaml")
