"""What every kind of test shares."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder with the real data sets. Where DPERM_MIRROR names one, a set that is not in it is a failure."""
    folder = os.environ.get("DPERM_MIRROR")
    if not folder:
        pytest.skip(
            "needs real data, and DPERM_MIRROR is not set; to fetch it: "
            "snakemake --cores 1 resources/downloads/adult.json, then: DPERM_MIRROR=resources/downloads make test"
        )
    return Path(folder)
