"""Snakemake's own linter has nothing to say but that there is no conda environment, which a pip project has not."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ADVICE = {"No conda environment or container"}  # the virtual environment comes from requirements.lock


def test_snakemake_lint():
    command = [sys.executable, "-m", "snakemake", "--lint", "json"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = json.loads(result.stdout)
    lints = [lint for part in ("snakefiles", "rules") for entry in found[part] for lint in entry["lints"]]
    assert lints, "the linter no longer gives even its advice: has its form of output changed?"
    wrong = [f"{lint['title']}: {lint['body']}" for lint in lints if not any(a in lint["title"] for a in ADVICE)]
    assert wrong == []
