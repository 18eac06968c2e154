"""What a run cost: each of its jobs and stages, and which share of it was the workflow's own.

Snakemake leaves each job's wall time in `benchmarks/`, and the job itself what it worked in the last lines of its log
(`dperm_pipeline.script.logged`).
"""

import csv
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

# Folders and files of `benchmarks/{scale}` that are no experiment's, and whose jobs they are.
RULES = {
    "audits": "run_audit",
    "claims": "judge_claims",
    "config": "write_config",
    "fetch": "fetch_dataset",
    "figures": "draw",
    "prepare": "prepare_dataset",
    "privacy": "collect_privacy_ledger",
    "report": "build_report",
}
# As `dperm_pipeline.script.logged` writes it.
_LAST_LINES = re.compile(
    r"^started with (?P<start>[0-9.]+) s of CPU\n"
    r"worked (?P<work>[0-9.]+) s, (?P<cpu>[0-9.]+) s of CPU, peak (?P<peak>\d+) MB(?: of (?P<declared>\d+) MB)?$",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Job:
    """What one job took, times in seconds, memory in MB.

    `name` is its place in `benchmarks/`, such as `quick/claims`; `stage` an experiment, or a kind of job: `audits`,
    `figures`, ...; `rule` is `draw` for all that draw; `ended` counts from the epoch. `wall` has interpreter and
    imports in it; `work` and `cpu`, wall and CPU time in the library, have not; `start` is the CPU before and
    besides: the interpreter, the imports and the workflow's checks. `peak` is its largest resident memory,
    `declared` what its rule declares, 0 if not known. If the log does not say what it worked (`logged`), the five
    numbers before are 0. What Snakemake samples of memory and CPU is not used: where a
    `dperm_pipeline.forked.server` runs the job it is of a process that only waits.
    """

    name: str
    stage: str
    rule: str
    ended: float
    wall: float
    work: float = 0.0
    cpu: float = 0.0
    start: float = 0.0
    peak: int = 0
    declared: int = 0
    logged: bool = False


def jobs(benchmarks: str | Path, planned: Collection[str] | None = None) -> list[Job]:
    """Return the jobs of a scale that ran, by their names; those that fetch and prepare data are of every scale.

    Benchmarks outlive the jobs that wrote them: of other brackets in a grid, of an experiment that is gone, of one
    claim that was judged apart. Only who knows the plan can tell them from those of the run, by `planned` names
    such as `quick/claims`; by default all count. `benchmarks` is the folder of the scale, `fetch` and `prepare` lie
    beside it, and the folder of logs beside the one of all.
    """
    folder, scale = Path(benchmarks).parent, Path(benchmarks).name
    found = [path for part in (scale, "fetch", "prepare") for path in sorted((folder / part).rglob("*.tsv"))]
    if planned is not None:
        counted = frozenset(planned)
        found = [path for path in found if _name(folder, path) in counted]
    return [_job(folder, path) for path in found]


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).with_suffix("").as_posix()


def _job(folder: Path, path: Path) -> Job:
    name = _name(folder, path)
    first, *others = name.split("/")
    stage = first if first in ("fetch", "prepare") else others[0]
    lines = _lines(path)
    if stage == "claims" and len(others) > 1:
        rule = "judge_claim"
    elif stage in RULES:
        rule = RULES[stage]
    elif len(others) > 1:
        # In an experiment's folder all are cells but these two.
        rule = {"collect": "collect_rows", "baselines": "fit_baseline"}.get(others[1], "run_cell")
    else:
        # A rule that is not known here goes by the name of its file.
        rule = stage
    log = _last_lines(folder.parent / "logs" / f"{name}.log")
    return Job(
        name=name,
        stage=stage,
        rule=rule,
        ended=path.stat().st_mtime,
        wall=sum(_number(line, "s") for line in lines),
        work=float(log.get("work", 0)),
        cpu=float(log.get("cpu", 0)),
        start=float(log.get("start", 0)),
        peak=int(log.get("peak", 0)),
        declared=int(log.get("declared") or 0),
        logged=bool(log),
    )


def _last_lines(log: Path) -> dict[str, str]:
    """Return what `dperm_pipeline.script.logged` wrote at the end of a job's log; nothing if it was killed."""
    found = _LAST_LINES.search(log.read_text(encoding="utf-8", errors="replace")) if log.exists() else None
    return found.groupdict() if found else {}


@dataclass(frozen=True)
class Cost:
    """The price of a run: its jobs, their wall times and work in the library, each summed, and its wall time."""

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
    """Add up the jobs of a scale, and those that fetch and prepare data, that ended between two times since the epoch.

    By default the run had all cores of the machine.
    """
    ran = [job for job in jobs(Path(root, "benchmarks", scale)) if since <= job.ended <= until]
    return Cost(
        jobs=len(ran),
        job_seconds=sum(job.wall for job in ran),
        work_seconds=sum(job.work for job in ran),
        seconds=until - since,
        cores=cores or os.cpu_count() or 1,
    )


@dataclass
class Stage:
    """What the jobs of one stage took together; times are sums, which may exceed the run's, for jobs run side by side.

    `longest` is the wall time of the longest job; `memory` and `declared` are of the job that came nearest to what
    its rule declares.
    """

    name: str
    jobs: int = 0
    wall: float = 0.0
    work: float = 0.0
    cpu: float = 0.0
    start: float = 0.0
    longest: float = 0.0
    memory: int = 0
    declared: int = 0


def stages(
    benchmarks: str | Path, datasets: Collection[str] = (), planned: Collection[str] | None = None
) -> tuple[list[dict[str, Any]], dict[str, float] | None]:
    """Add up the jobs of a scale by stage, in the order of names; the report is left out: it cannot time itself.

    `benchmarks` and `planned` are as for `jobs`, the latter without the scale; `datasets` are those whose fetching and
    preparation count. The second value is what `busy` says of these jobs, and `last`, when the last of them ended; None
    without jobs.
    """
    shared = ("fetch", "prepare")
    if planned is not None:
        scale = Path(benchmarks).name
        planned = {f"{scale}/{name}" for name in planned} | {f"{kind}/{name}" for kind in shared for name in datasets}
    counted = [
        job
        for job in jobs(benchmarks, planned)
        if job.stage != "report" and (job.stage not in shared or Path(job.name).name in datasets)
    ]
    found: dict[str, Stage] = {}
    for job in counted:
        stage = found.setdefault(job.stage, Stage(job.stage))
        stage.jobs += 1
        for key in ("wall", "work", "cpu", "start"):
            setattr(stage, key, getattr(stage, key) + getattr(job, key))
        stage.longest = max(stage.longest, job.wall)
        if nearness(job.peak, job.declared) >= nearness(stage.memory, stage.declared):
            stage.memory, stage.declared = job.peak, job.declared
    span = {**busy(counted), "last": max(job.ended for job in counted)} if counted else None
    return [asdict(found[name]) for name in sorted(found)], span


def nearness(peak: float, declared: float) -> tuple[float, float]:
    """Return the key that orders jobs by the share of their declared memory that they took; if unknown, by memory."""
    return (peak / declared if declared else 0.0, peak)


def busy(ran: Sequence[Job]) -> dict[str, float]:
    """Return the `seconds` in which any job ran, and how many `cores` they used, the most jobs that ran at once.

    Breaks between runs, which may be days, do not count; nor does what Snakemake does before its first job.
    """
    # At equal times ends come first: a job does not run beside the one whose core it takes.
    events = sorted((time, step) for job in ran for time, step in ((job.ended - job.wall, 1), (job.ended, -1)))
    seconds, running, most, before = 0.0, 0, 0, 0.0
    for time, step in events:
        seconds += time - before if running else 0.0
        running, before = running + step, time
        most = max(most, running)
    return {"seconds": seconds, "cores": most}


def _lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def _number(line: dict[str, str], key: str) -> float:
    """Return a measurement; 0 where Snakemake could not take it, as of a job that was over at once."""
    try:
        return float(line[key])
    except (KeyError, TypeError, ValueError):
        return 0.0
