"""Make .venv-oldest and .venv-newest: the libraries that pyproject.toml allows at either end, from locks with hashes.

    python tests/portability/environments.py

The oldest stand under the oldest Python that this machine has, the newest under the newest, of those that the locks
cover; one that is up to date is left as it is. Run by `make test-versions`.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCKS = {name: ROOT / f"tests/portability/{name}.lock" for name in ("oldest", "newest")}
# From the one that pyproject.toml asks for to the last for which the newest libraries have been seen to run.
MINORS = range(11, 14)
UV = str(Path(sys.executable).with_name("uv"))


def folder(name: str) -> Path:
    """Return where an environment stands."""
    return ROOT / f".venv-{name}"


def python(name: str) -> str:
    """Return the Python of an environment."""
    return str(folder(name) / "bin/python")


def interpreters() -> list[str]:
    """Return the Pythons of this machine, oldest first, one of each version; never none: there is the one that runs."""
    found = {sys.version_info.minor: sys.executable}
    for minor in MINORS:
        installed = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))
        for candidate in (shutil.which(f"python3.{minor}"), *map(str, installed)):
            # A name on the path may be a shim that runs nothing.
            asked = [candidate or "", "-c", "import sys, venv; print(sys.version_info.minor)"]
            if candidate and subprocess.run(asked, capture_output=True, text=True).stdout.strip() == str(minor):
                found.setdefault(minor, candidate)
    return [found[minor] for minor in sorted(found)]


def make(name: str, interpreter: str) -> None:
    """Make one environment, unless it is younger than its lock and of that Python."""
    stamp = folder(name) / ".installed"
    wanted = f"{interpreter}\n{LOCKS[name].read_text(encoding='utf-8')}"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return
    shutil.rmtree(folder(name), ignore_errors=True)
    here = ["--quiet", "--python", python(name)]
    for command in (
        ["venv", "--quiet", "--python", interpreter, str(folder(name))],
        ["pip", "sync", *here, "--require-hashes", str(LOCKS[name])],
        ["pip", "install", *here, "--no-deps", "--no-build-isolation", "-e", str(ROOT)],
    ):
        subprocess.run([UV, *command], check=True, env={**os.environ, "VIRTUAL_ENV": ""})
    stamp.write_text(wanted, encoding="utf-8")


if __name__ == "__main__":
    there = interpreters()
    make("oldest", there[0])
    make("newest", there[-1])
