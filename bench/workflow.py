"""What the workflow itself costs, and whether each job kept to the memory that it declares.

python -m bench.workflow --scale quick                    a whole run in a scratch copy of the project
python -m bench.workflow --scale paper --in FOLDER        the same in a folder that is kept
python -m bench.workflow --scale paper --of FOLDER        look at a finished run; nothing is run anew

Exit status 1 if a job held more than it declares or, at scale paper, a target is missed or not measured.
"""

import argparse
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from dperm_pipeline.report import cost

ROOT = Path(__file__).parent.parent
PARTS = (
    "CITATION.cff",
    "Snakefile",
    "config",
    "docs/errata.md",
    "docs/assets/libraries.jsonl",
    "profiles",
    "resources/claims",
    "src",
    "workflow",
)
# At scale paper: seconds, jobs, the share of the CPU time that is not work in the library, and minutes on two cores.
TARGETS = {"dry": 10.0, "noop": 15.0, "jobs": 400, "overhead": 0.05, "minutes": 45.0}


@dataclass(frozen=True)
class Run:
    """A whole run, as its process tree was measured: wall time and CPU time in seconds."""

    since: float
    until: float
    cpu: float
    cores: int


@dataclass(frozen=True)
class Measured:
    """A run and its jobs; the plan of a whole run, and a run with nothing to do, in seconds of wall time and of CPU.

    `run` is None where not all jobs ran in one call; `missing` are the jobs that left no benchmark.
    """

    jobs: tuple[cost.Job, ...]
    run: Run | None
    dry: tuple[float, float]
    noop: tuple[float, float]
    missing: tuple[str, ...] = ()

    @property
    def work(self) -> float:
        """CPU seconds in the library."""
        return sum(job.cpu for job in self.jobs)

    @property
    def start(self) -> float:
        """CPU seconds of starting Python and of imports."""
        return sum(job.start for job in self.jobs)

    @property
    def overhead(self) -> float | None:
        """The share of the CPU time that was not work; None where the run as a whole was not measured."""
        return 1 - self.work / self.run.cpu if self.run and self.run.cpu else None

    @property
    def minutes(self) -> float | None:
        """The wall time of the whole run; None where it was not measured."""
        return (self.run.until - self.run.since) / 60 if self.run else None


def copy(target: Path, source: Path = ROOT) -> None:
    """Copy the project without what was computed."""
    for part in PARTS:
        (target / part).parent.mkdir(parents=True, exist_ok=True)
        if (source / part).is_dir():
            shutil.copytree(source / part, target / part, dirs_exist_ok=True)
        else:
            shutil.copy2(source / part, target / part)


def snakemake(folder: Path, scale: str, *arguments: str, cores: int = 2) -> tuple[str, float, float]:
    """Run Snakemake; return what it said, and the seconds of wall time and of CPU of all its processes."""
    command = [sys.executable, "-m", "snakemake", "--cores", str(cores), *arguments, "--config", f"scale={scale}"]
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    began, before = time.perf_counter(), _of_children()
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    wall, cpu = time.perf_counter() - began, _of_children() - before
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])} failed in {folder}:\n{done.stdout[-2000:]}")
    return done.stdout, wall, cpu


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def plan(scale: str, source: Path = ROOT) -> tuple[int, float, float]:
    """Plan a whole run of which nothing is done yet: how many jobs, and the seconds of wall time and of CPU."""
    with tempfile.TemporaryDirectory() as scratch:
        copy(Path(scratch), source)
        said, wall, cpu = snakemake(Path(scratch), scale, "--dry-run")
    return planned(said), wall, cpu


def planned(said: str) -> int:
    """Return the number of jobs, without `all`, in the table that a dry run prints."""
    # The table stands at the beginning and at the end.
    total, targets = (re.search(rf"^{name} +(\d+)$", said, flags=re.MULTILINE) for name in ("total", "all"))
    return int(total[1]) - (1 if targets else 0) if total else 0


def run(folder: Path, scale: str, cores: int) -> None:
    """Run everything that is not done yet, and leave beside the benchmarks what it cost, if it was anything."""
    since = time.time()
    _, _, cpu = snakemake(folder, scale, cores=cores)
    measured = Run(since=since, until=time.time(), cpu=cpu, cores=cores)
    if _within(measured, cost.jobs(folder / "benchmarks" / scale)):
        _record(folder, scale).write_text(json.dumps(asdict(measured)) + "\n", encoding="utf-8")


def _within(told: Run, ran: Sequence[cost.Job]) -> list[cost.Job]:
    return [job for job in ran if told.since <= job.ended <= told.until]


def _record(folder: Path, scale: str) -> Path:
    return folder / "benchmarks" / f"{scale}.json"


def names(folder: Path, scale: str) -> set[str]:
    """Return the jobs of a finished run, such as `quick/claims`: by their logs, in Snakemake's summary of the plan."""
    said, *_ = snakemake(folder, scale, "--summary")
    # A line for each output: file, date, rule, log, status, plan.
    lines = [line.split("\t") for line in said.splitlines() if line.count("\t") == 5][1:]
    if unknown := [line[0] for line in lines if not line[3].startswith("logs/")]:
        raise SystemExit(f"Snakemake holds no record in {folder} of the job that made {unknown[0]}")
    return {line[3].removeprefix("logs/").removesuffix(".log") for line in lines}


def found(folder: Path, scale: str, planned: Collection[str]) -> tuple[list[cost.Job], Run | None, tuple[str, ...]]:
    """Return the planned jobs that ran; the call of `run` in which they did, if all did in one; those not found."""
    ran, record = cost.jobs(folder / "benchmarks" / scale, planned), _record(folder, scale)
    told = Run(**json.loads(record.read_text(encoding="utf-8"))) if record.is_file() else None
    whole = told if told and len(_within(told, ran)) == len(planned) else None
    return ran, whole, tuple(sorted(set(planned) - {job.name for job in ran}))


def gap(missing: Sequence[str], count: int) -> str:
    """Say how many jobs were not found, and some of them."""
    return f"{len(missing)} of {count} planned jobs left no benchmark: {', '.join(missing[:3])}"


def measure(folder: Path, scale: str) -> Measured:
    """Look at a finished run, and time a plan of it anew and a run with nothing to do."""
    left = planned(snakemake(folder, scale, "--dry-run")[0])
    if left:
        raise SystemExit(f"{left} jobs of scale {scale} are still to be run in {folder}; finish it first")
    _, *noop = snakemake(folder, scale)
    _, *dry = plan(scale, folder)
    ran, whole, missing = found(folder, scale, names(folder, scale))
    return Measured(tuple(ran), whole, tuple(dry), tuple(noop), missing)


def rules(ran: Sequence[cost.Job]) -> list[tuple[str, list[cost.Job]]]:
    """Return the jobs of each rule."""
    return [(rule, [job for job in ran if job.rule == rule]) for rule in sorted({job.rule for job in ran})]


def table(measured: Measured) -> str:
    """Return what is printed, as text."""
    ran, told = measured.jobs, measured.run
    heads = ("jobs", 6), ("wall s", 10), ("work s", 10), ("start s", 9), ("longest s", 11), ("peak of declared MB", 21)
    lines = ["rule".ljust(24) + "".join(head.rjust(width) for head, width in heads)]
    for rule, some in rules(ran):
        nearest = max(some, key=lambda job: cost.nearness(job.peak, job.declared))
        lines.append(
            f"{rule:24}{len(some):>6}{sum(job.wall for job in some):>10.0f}{sum(job.cpu for job in some):>10.0f}"
            f"{sum(job.start for job in some):>9.0f}{max(job.wall for job in some):>11.1f}"
            f"{f'{nearest.peak} of {nearest.declared}':>21}"
        )
    lines += [
        "",
        f"dry run                {measured.dry[0]:9.1f} s ({measured.dry[1]:.1f} s of CPU)",
        f"run with nothing to do {measured.noop[0]:9.1f} s ({measured.noop[1]:.1f} s of CPU)",
        f"jobs                   {len(ran):9d}",
        f"work                   {measured.work:9.0f} core-seconds of CPU",
        f"starting Python        {measured.start:9.0f}",
    ]
    if told:
        whole = (told.until - told.since) * told.cores
        lines += [
            f"Snakemake itself       {told.cpu - measured.work - measured.start:9.0f}",
            f"idle                   {whole - told.cpu:9.0f} of {whole:.0f} core-seconds "
            f"({told.cores} cores, {told.until - told.since:.0f} s)",
            f"overhead               {measured.overhead:9.1%} of the CPU time",
        ]
    else:
        lines.append("Snakemake itself and overhead: not measured: the run was made in parts, or not by this module")
    return "\n".join(lines)


def failures(measured: Measured, scale: str) -> list[str]:
    """Return every promise that the run broke, in words with the number."""
    broken = [f"{job.name}: its log does not say what it worked" for job in measured.jobs if not job.logged]
    broken += [
        f"{job.name} held {job.peak} MB, and the rule {job.rule} declares {job.declared} MB"
        for job in measured.jobs
        if job.logged and job.peak > job.declared
    ]
    if measured.missing:
        broken.append(gap(measured.missing, len(measured.jobs) + len(measured.missing)))
    if scale == "paper" and measured.overhead is None:
        broken.append("overhead: not measured, because the run was made in parts")
    if scale == "paper":
        reached = {
            "dry run": (measured.dry[0], TARGETS["dry"], "{:.1f} s"),
            "run with nothing to do": (measured.noop[0], TARGETS["noop"], "{:.1f} s"),
            "jobs": (len(measured.jobs) + len(measured.missing), TARGETS["jobs"], "{}"),
            "overhead": (measured.overhead, TARGETS["overhead"], "{:.1%}"),
            "whole run": (measured.minutes, TARGETS["minutes"], "{:.1f} minutes"),
        }
        broken += [
            f"{name}: {form.format(value)}, the target is {form.format(target)}"
            for name, (value, target, form) in reached.items()
            if value is not None and value > target
        ]
    return broken


def report(*, scale: str = "quick", cores: int = 2, folder: Path | None = None, finished: Path | None = None) -> int:
    """Measure, print, and return the exit status."""
    with tempfile.TemporaryDirectory() as scratch:
        if finished is None:
            finished = folder or Path(scratch)
            copy(finished)
            run(finished, scale, cores)
        measured = measure(finished.resolve(), scale)
    print(f"\nThe workflow at scale {scale}\n{table(measured)}")
    broken = failures(measured, scale)
    for line in broken:
        print(f"FAILED: {line}")
    return 1 if broken else 0


def main() -> int:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.workflow", description=__doc__.splitlines()[0])
    parser.add_argument("--scale", default="quick", choices=("tiny", "quick", "paper"))
    parser.add_argument("--cores", type=int, default=2)
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--in", dest="folder", type=Path, help="copy the project there, run it, and keep it")
    where.add_argument("--of", dest="finished", type=Path, help="the folder of a finished run, of which nothing is run")
    known = parser.parse_args()
    return report(scale=known.scale, cores=known.cores, folder=known.folder, finished=known.finished)


if __name__ == "__main__":
    sys.exit(main())
