"""What a run cost: each of its stages, and which share of it was the workflow's own."""

import csv
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


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


@dataclass
class Stage:
    """What the jobs of one stage took together.

    Parameters
    ----------
    name : str
        An experiment, or a kind of job: `audits`, `figures`, ...
    jobs : int
    wall, cpu : float
        Seconds, summed over the jobs; of those that ran side by side too, so that the sum may exceed the run's time.
    longest : float
        Seconds of wall time of the longest job.
    memory : float
        Largest resident memory of a job in MB.
    """

    name: str
    jobs: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    longest: float = 0.0
    memory: float = 0.0


def stages(benchmarks: str | Path, datasets: Collection[str] = ()) -> tuple[list[dict[str, Any]], float | None]:
    """Add up the jobs of a scale by stage, from Snakemake's benchmark files.

    Parameters
    ----------
    benchmarks : path
        The folder of the scale; beside it lie `fetch` and `prepare`, which all scales share.
    datasets : collection of str
        Those whose fetching and preparation count.

    Returns
    -------
    stages : list of dict
        The fields of `Stage`, in the order of their names. The report itself is left out: it cannot time itself.
    last : float or None
        When the last of these jobs ended, in seconds since the epoch; None without jobs.
    """
    found: dict[str, Stage] = {}
    ended = []
    for name, path in _jobs(Path(benchmarks), datasets):
        stage = found.setdefault(name, Stage(name))
        for line in _lines(path):
            wall = _number(line, "s")
            stage.jobs += 1
            stage.wall += wall
            stage.cpu += _number(line, "cpu_time")
            stage.longest = max(stage.longest, wall)
            stage.memory = max(stage.memory, _number(line, "max_rss"))
        ended.append(path.stat().st_mtime)
    return [asdict(found[name]) for name in sorted(found)], max(ended, default=None)


def _jobs(folder: Path, datasets: Collection[str]) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.rglob("*.tsv")):
        stage = path.relative_to(folder).parts[0].removesuffix(".tsv")
        if stage != "report":
            yield stage, path
    for kind in ("fetch", "prepare"):
        for path in sorted((folder.parent / kind).glob("*.tsv")):
            if path.stem in datasets:
                yield kind, path


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _number(line: dict[str, str], key: str) -> float:
    """Return a measurement; 0 where Snakemake could not take it, as of a job that was over at once."""
    try:
        return float(line[key])
    except (KeyError, TypeError, ValueError):
        return 0.0


def _benchmarked(path: Path) -> float:
    return sum(_number(line, "s") for line in _lines(path))


def _worked(path: Path) -> float:
    """Return what `dperm.script.logged` wrote at the end of a job's log; nothing for a job that failed."""
    found = (
        re.search(r"^worked ([0-9.]+) s$", path.read_text(encoding="utf-8"), re.MULTILINE) if path.exists() else None
    )
    return float(found.group(1)) if found else 0.0
