"""What several files of unit tests share."""

from pathlib import Path

import pytest

from dperm_pipeline.claims import catalogue as catalogue_of

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def catalogue():
    """The claim of the paired test."""
    schema = ROOT / "workflow/schemas/claims.schema.yaml"
    return [
        claim for claim in catalogue_of.load(ROOT / "resources/claims/kifer2012.yaml", schema) if claim["id"] == "K-c38"
    ]
