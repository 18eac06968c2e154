"""A library's environment, .venv-libraries/NAME: made from its lock file with hashes, and used to attack it."""

import os
import subprocess
import sys
from pathlib import Path

from dperm_pipeline import files

ROOT = Path(__file__).parents[2]


def make(name: str) -> None:
    """Make it anew; the audit itself is taken from this checkout (PYTHONPATH), so nothing of dperm is installed."""
    uv = str(Path(sys.prefix) / "bin/uv")
    folder = ROOT / ".venv-libraries" / name
    lock = ROOT / f"examples/libraries/{name}/requirements.lock"
    for command in (
        ["venv", "--quiet", "--clear", "--python", str(Path(sys.prefix) / "bin/python"), str(folder)],
        ["pip", "sync", "--quiet", "--python", str(folder / "bin/python"), "--require-hashes", str(lock)],
    ):
        subprocess.run([uv, *command], check=True, env={**os.environ, "VIRTUAL_ENV": ""})


def attack(name: str, rows: Path) -> None:
    """Run the library's attacks by its own Python, one thread, with this checkout's audit, and write their rows."""
    command = [str(ROOT / ".venv-libraries" / name / "bin/python"), str(ROOT / "examples/libraries/run.py"), name]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    surroundings = {**os.environ, **threads, "PYTHONPATH": str(ROOT / "src")}
    with files.replacing(rows) as temporary, temporary.open("wb") as file:
        subprocess.run(command, check=True, stdout=file, env=surroundings)
