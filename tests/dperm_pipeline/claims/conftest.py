"""What several files of unit tests share."""

import copy

import pytest
import real_claims


@pytest.fixture(scope="module")
def catalogue():
    """The claim of the paired test, to do with as one likes."""
    return [copy.deepcopy(claim) for claim in real_claims.of("kifer2012") if claim["id"] == "K-c38"]
