"""What a run cost, and which share of it was the workflow's own."""

import csv
import os
import re
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """The price of a run.

    Parameters
    ----------
    jobs : int
        Jobs that ran.
    job_seconds : float
        Sum of their wall times, interpreter and imports included.
    work_seconds : float
        Sum of what they spent in the library.
    seconds : float
        Wall time of the run.
    cores : int
    """

    jobs: int
    job_seconds: float
    work_seconds: float
    seconds: float
    cores: int

    def __str__(self) -> str:
        whole = self.seconds * self.cores
        scheduling, starting = (self.seconds - self.job_seconds / self.cores), (self.job_seconds - self.work_seconds)
        return (
            f"{self.jobs} jobs on {self.cores} cores in {self.seconds:.0f} s: {self.work_seconds:.0f} core-seconds of "
            f"work ({self.work_seconds / whole:.0%} of the wall time), {starting:.0f} of starting Python "
            f"({starting / whole:.0%}), {scheduling * self.cores:.0f} of Snakemake and idle cores "
            f"({scheduling / self.seconds:.0%})"
        )


def of_run(root: str | Path, scale: str, *, since: float, until: float, cores: int | None = None) -> Cost:
    """Add up the jobs that ended in a stretch of time, from Snakemake's benchmark files and the jobs' logs.

    Parameters
    ----------
    root : path
        The project's folder.
    scale : str
        Jobs of other scales are not counted; fetching and preparing data is.
    since, until : float
        Seconds since the epoch.
    cores : int, optional
        How many the run had; all of the machine by default.
    """
    folder = Path(root, "benchmarks")
    ran = [
        path
        for path in sorted(folder.rglob("*.tsv"))
        if path.relative_to(folder).parts[0] in (scale, "fetch", "prepare") and since <= path.stat().st_mtime <= until
    ]
    logs = (Path(root, "logs", path.relative_to(folder)).with_suffix("") for path in ran)
    return Cost(
        jobs=len(ran),
        job_seconds=sum(_benchmarked(path) for path in ran),
        work_seconds=sum(_worked(Path(f"{log}.log")) for log in logs),
        seconds=until - since,
        cores=cores or os.cpu_count() or 1,
    )


def _benchmarked(path: Path) -> float:
    with path.open(encoding="utf-8") as lines:
        return sum(float(line["s"]) for line in csv.DictReader(lines, delimiter="\t"))


def _worked(path: Path) -> float:
    """Return what `dperm.script.logged` wrote at the end of a job's log; nothing for a job that failed."""
    found = (
        re.search(r"^worked ([0-9.]+) s$", path.read_text(encoding="utf-8"), re.MULTILINE) if path.exists() else None
    )
    return float(found.group(1)) if found else 0.0
