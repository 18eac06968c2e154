"""Snakemake's own linter has nothing to say but that there is no conda environment, which a pip project has not."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ADVICE = "Specify a conda environment or container for each rule"  # ours comes from requirements.lock


# `make lint` runs it too.
@pytest.mark.slow
def test_snakemake_lint():
    command = [sys.executable, "-m", "snakemake", "--lint"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(r"^    \* (.*?)\.?:$", result.stderr, flags=re.MULTILINE)
    assert ADVICE in found, f"the linter no longer gives even its advice: has its form changed?\n{result.stderr}"
    assert set(found) == {ADVICE}, result.stderr
