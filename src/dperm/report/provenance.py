"""Where a report's numbers come from: code, machine, packages, data, and what the run cost."""

import csv
import hashlib
import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from dperm import tables

# Those that decide the numbers; the whole environment is requirements.lock.
PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "dp-accounting", "snakemake", "matplotlib")


def collect(*, seed: int, data: Iterable[str | Path], benchmarks: str | Path, root: str | Path = ".") -> dict[str, Any]:
    """Return what made the results, for people to read.

    Parameters
    ----------
    seed : int
        Root of every random stream.
    data : iterable of paths
        The prepared data sets.
    benchmarks : path
        The folder in which Snakemake recorded each job's time.
    root : path
        The project's folder.

    Returns
    -------
    dict
        Nested, of strings and numbers; differs between machines and commits.
    """
    return {
        "code": _commit(Path(root)),
        "seed": seed,
        "machine": f"{platform.system()} {platform.machine()}, {_processor()}, {os.cpu_count()} cores",
        "packages": {"python": platform.python_version()}
        | {name: importlib.metadata.version(name) for name in PACKAGES},
        "data": {Path(path).stem: _data(Path(path)) for path in sorted(map(str, data))},
        "cost": _cost(Path(benchmarks)),
    }


def _commit(root: Path) -> str:
    def git(*arguments: str) -> str:
        command = ["git", "-C", str(root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        changed = ", with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no") else ""
        return f"commit {git('rev-parse', 'HEAD')}{changed}"
    except (OSError, subprocess.CalledProcessError):
        return f"version {importlib.metadata.version('dperm')}, not a git checkout"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "processor unknown"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "processor unknown"


def _data(path: Path) -> dict[str, Any]:
    return {"prepared sha256": hashlib.sha256(path.read_bytes()).hexdigest(), **tables.metadata(path)["provenance"]}


def _cost(folder: Path) -> dict[str, str]:
    """Return the number of jobs and their seconds by stage, from Snakemake's benchmark files."""
    seconds: dict[str, list[float]] = {}
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(encoding="utf-8") as lines:
            spent = [float(line["s"]) for line in csv.DictReader(lines, delimiter="\t")]
        parts = path.relative_to(folder).parts
        seconds.setdefault("/".join(parts[:-1]) or parts[0].removesuffix(".tsv"), []).extend(spent)
    return {
        stage: f"{len(spent)} {'job' if len(spent) == 1 else 'jobs'}, {sum(spent):.1f} s of wall time"
        for stage, spent in seconds.items()
    }
