"""Make a library's environment, .venv-libraries/NAME, from its lock file with hashes.

python examples/libraries/environment.py NAME
"""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def make(name: str) -> None:
    """Make it anew; the audit itself is taken from this checkout (PYTHONPATH), so nothing of dperm is installed."""
    uv = str(Path(sys.executable).with_name("uv"))
    folder = ROOT / ".venv-libraries" / name
    lock = ROOT / f"examples/libraries/{name}/requirements.lock"
    for command in (
        ["venv", "--quiet", "--clear", "--python", sys.executable, str(folder)],
        ["pip", "sync", "--quiet", "--python", str(folder / "bin/python"), "--require-hashes", str(lock)],
    ):
        subprocess.run([uv, *command], check=True, env={**os.environ, "VIRTUAL_ENV": ""})


if __name__ == "__main__":
    make(sys.argv[1])
