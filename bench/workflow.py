"""What the workflow itself costs: a whole run at scale `quick` in a scratch copy of the project."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from dperm.report import cost

ROOT = Path(__file__).parent.parent
PARTS = ("config", "profiles", "resources/claims", "src", "workflow")


def report(*, scale: str = "quick", cores: int = 2) -> None:
    """Run everything once and print the share of the wall time that was work."""
    with tempfile.TemporaryDirectory() as scratch:
        for part in PARTS:
            shutil.copytree(ROOT / part, Path(scratch, part), ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(ROOT / "Snakefile", Path(scratch, "Snakefile"))
        command = [sys.executable, "-m", "snakemake", "--cores", str(cores), "--config", f"scale={scale}"]
        environment = {**os.environ, "PYTHONPATH": str(Path(scratch, "src"))}
        since = time.time()
        done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True, check=False)
        until = time.time()
        if done.returncode:
            raise SystemExit(f"the run failed:\n{done.stderr[-2000:]}")
        print(f"\nThe workflow at scale {scale}: {cost.of_run(scratch, scale, since=since, until=until, cores=cores)}")
