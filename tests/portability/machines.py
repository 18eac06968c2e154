"""Settings that differ from one machine to the next, and the start of computed.py under them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Spaces, accents and another script: what a home folder may be called.
PLACE = "dossier à espaces 数据"
# Decimal commas, and an i whose capital is not I.
LOCALES = ("de_DE", "tr_TR")


def threads(number: int) -> dict[str, str]:
    """Return the wish for so many threads, in all the ways in which it is said."""
    return {
        f"{library}_NUM_THREADS": str(number)
        for library in ("OMP", "OPENBLAS", "GOTO", "MKL", "BLIS", "VECLIB", "NUMEXPR", "NUMBA")
    }


PLAIN = {**threads(1), "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": "0"}
# What Python makes of a machine without any locale: files and names in ASCII.
ASCII = {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def locale(folder: Path, name: str) -> dict[str, str]:
    """Return the settings of a locale, compiled into a folder of the test's own; every Python that starts follows it.

    Python itself takes over no more than the encoding: a host such as a GUI or R sets the decimal comma too.
    """
    made = folder / f"{name}.UTF-8"
    if not made.exists():
        missing = not shutil.which("localedef") or not Path("/usr/share/i18n/locales", name).exists()
        if missing and not os.environ.get("DPERM_NEED_LOCALES"):
            pytest.skip("no sources of locales on this machine: apt-get install locales")
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["localedef", "-i", name, "-f", "UTF-8", str(made)], check=True)
    # Read by every Python at its start.
    follow = folder / "follow"
    follow.mkdir(exist_ok=True)
    (follow / "sitecustomize.py").write_text('import locale\n\nlocale.setlocale(locale.LC_ALL, "")\n', encoding="utf-8")
    return {"LOCPATH": str(folder), "LC_ALL": f"{name}.UTF-8", "LANG": f"{name}.UTF-8", "PYTHONPATH": str(follow)}


def environment(**settings: str) -> dict[str, str]:
    """Return this process's environment with other settings, and nothing of dperm's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DPERM_", "LC_", "PYTHON"))}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", **settings}


def start(out: Path, *arguments: str, python: str = sys.executable, umask: int = -1, **settings: str):
    """Start computed.py, in the folder above `out`; `finish` waits for it."""
    out.mkdir(parents=True, exist_ok=True)
    return subprocess.Popen(
        [python, str(ROOT / "tests/portability/computed.py"), str(out), *arguments], cwd=out.parent, umask=umask,
        env=environment(**settings), text=True, encoding="utf-8", errors="replace",
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def finish(*processes: subprocess.Popen) -> None:
    """Wait, and fail with what was said if one failed."""
    said = [process.communicate(timeout=1350)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes), "\n".join(said)


def compute(out: Path, *only: str, scale: str = "tiny", **given) -> Path:
    """Compute everything at a scale, or some parts, in two processes that share them, on the machine's two cores."""
    chosen = ["--scale", scale, *(["--only", *only] if only else [])]
    finish(start(out, *chosen, **given), start(out, "--backwards", *chosen, **given))
    return out


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return every Parquet file below a folder, by its path there."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.parquet"))}
