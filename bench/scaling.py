"""A model of what a larger grid costs: fitted on one finished run, checked against others, printed for 10x and 1,000x.

python -m bench.scaling --fit FOLDER:quick --check FOLDER:tiny FOLDER:paper --grow FOLDER:paper

A grid that is k times as large has k times the cells of each experiment, each with the rows that it has now. What
depends on rows (work, results) and on jobs (starting Python, records of jobs, Snakemake's plan) is counted apart:

    core seconds = sum over experiments of rows x work per row + rows x work of claims, drawings, ledger and report
                   + jobs x (start + Snakemake's own) + work of the rest, which no row changes: audits, data
    bytes        = sum over experiments of rows x bytes per row + what is shown (figures, tables, ledgers, report)
                   + jobs x bytes of a job's log, benchmark and entry in .snakemake
    plan         = seconds and memory of a dry run, both linear in the jobs: fitted on real dry runs of longer grids
"""

import argparse
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from bench import workflow

# A dry run in a process of its own, which says at its end what it held: by VmHWM, for `ru_maxrss` would count what its
# parent held before the exec.
PLAN = (
    "import resource, sys; from snakemake.cli import main\n"
    "try: main(['--dry-run', '--cores', '1', '--config', 'scale=quick'])\n"
    "except SystemExit: pass\n"
    "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    "held = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
    "print('USED', used.ru_utime + used.ru_stime, held)"
)
# What is lengthened for them: an epsilon list of an experiment that adds a job for each value and mechanism.
EXPERIMENT = "kifer2012-output"


@dataclass(frozen=True)
class Facts:
    """A run: for each experiment its rows, CPU seconds of work, jobs of cells and bytes of results; and the rest.

    `readers` are the CPU seconds of the other jobs that read rows, `rest` those of all that do not, `others` the number
    of both; `start` and `own` are the CPU seconds of starting Python and of Snakemake itself (NaN where the run as a
    whole was not measured); `shown` and `records` are bytes, of all results that no experiment's folder holds, and of
    logs, benchmarks and Snakemake's entries.
    """

    rows: Mapping[str, int]
    work: Mapping[str, float]
    cells: Mapping[str, int]
    results: Mapping[str, int]
    readers: float
    rest: float
    others: int
    start: float
    own: float
    shown: int
    records: int

    @property
    def jobs(self) -> int:
        """All jobs."""
        return sum(self.cells.values()) + self.others


@dataclass(frozen=True)
class Model:
    """What a row and a job cost, and a plan: (seconds, MB) without jobs and for each."""

    work: Mapping[str, float]
    results: Mapping[str, float]
    readers: float
    rest: float
    start: float
    own: float
    shown: float
    records: float
    plan: tuple[tuple[float, float], tuple[float, float]]


@dataclass(frozen=True)
class Price:
    """What a run is said to cost."""

    jobs: int
    work: float
    workflow: float
    results: float
    records: float
    plan: tuple[float, float]


def facts(folder: Path, scale: str, planned: Collection[str]) -> Facts:
    """Read a finished run of the jobs of these names."""
    ran, whole, missing = workflow.found(folder, scale, planned)
    if missing:
        print(f"{folder}: {workflow.gap(missing, len(planned))}; they are not in what follows")
    silent = [job.name for job in ran if not job.logged]
    if silent or not ran:
        raise SystemExit(f"{folder} holds no run of scale {scale} whose jobs say what they worked: {silent[:3]}")
    files = sorted((folder / "results" / scale).glob("*/rows.parquet"))
    files = [path for path in files if any(job.stage == path.parent.name for job in ran)]
    names = [path.parent.name for path in files]
    of_cells = {"run_cell", "fit_baseline", "collect_rows"}
    of_rows = {"judge_claims", "draw", "collect_privacy_ledger", "build_report"}
    of_experiment = {name: [job for job in ran if job.stage == name and job.rule in of_cells] for name in names}
    rest = [job for job in ran if job.rule not in of_cells]
    start, work = sum(job.start for job in ran), sum(job.cpu for job in ran)
    records = sum(_bytes(folder / part) for part in (f"logs/{scale}", f"benchmarks/{scale}"))
    # Those of Snakemake are of all scales, and of one size.
    entries = folder / ".snakemake/metadata"
    return Facts(
        rows={path.parent.name: pq.read_metadata(path).num_rows for path in files},
        work={name: sum(job.cpu for job in jobs) for name, jobs in of_experiment.items()},
        cells={name: sum(job.rule == "run_cell" for job in jobs) for name, jobs in of_experiment.items()},
        readers=sum(job.cpu for job in rest if job.rule in of_rows),
        rest=sum(job.cpu for job in rest if job.rule not in of_rows),
        others=len(ran) - sum(job.rule == "run_cell" for job in ran),
        start=start,
        own=(whole.cpu if whole else math.nan) - start - work,
        results={name: _bytes(folder / "results" / scale / name) for name in names},
        shown=_bytes(folder / "results" / scale) - sum(_bytes(folder / "results" / scale / name) for name in names),
        records=records + round(_bytes(entries) * len(ran) / max(_files(entries), len(ran))),
    )


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


def fit(run: Facts, plans: Sequence[tuple[int, float, float]]) -> Model:
    """Take the unit prices from one run, and the plan's from dry runs: (jobs, seconds, MB)."""
    jobs, seconds, memory = np.array(plans, dtype=float).T
    line = [tuple(np.polynomial.polynomial.polyfit(jobs, found, 1)) for found in (seconds, memory)]
    return Model(
        work={name: run.work[name] / rows for name, rows in run.rows.items()},
        readers=run.readers / sum(run.rows.values()),
        rest=run.rest,
        start=run.start / run.jobs,
        own=run.own / run.jobs,
        results={name: run.results[name] / rows for name, rows in run.rows.items()},
        shown=run.shown,
        records=run.records / run.jobs,
        plan=(line[0], line[1]),
    )


def price(model: Model, run: Facts) -> Price:
    """Say what a run of so many rows and jobs costs, of experiments that the model knows."""
    unknown = set(run.rows) - set(model.work)
    if unknown:
        raise SystemExit(f"the run that the model was fitted on has no rows of {', '.join(sorted(unknown))}")
    rows = sum(run.rows.values())
    return Price(
        jobs=run.jobs,
        work=sum(model.work[name] * count for name, count in run.rows.items()) + model.readers * rows + model.rest,
        workflow=run.jobs * (model.start + model.own),
        results=sum(model.results[name] * count for name, count in run.rows.items()) + model.shown,
        records=model.records * run.jobs,
        plan=tuple(at_zero + each * run.jobs for at_zero, each in model.plan),
    )


def measured(run: Facts) -> Price:
    """Say the same of a run as it was."""
    return Price(
        jobs=run.jobs,
        work=sum(run.work.values()) + run.readers + run.rest,
        workflow=run.start + run.own,
        results=sum(run.results.values()) + run.shown,
        records=run.records,
        plan=(math.nan, math.nan),
    )


def grown(run: Facts, times: int, batch: int = 1) -> Facts:
    """Return the facts of a grid `times` as large, with `batch` times as many cells in a job."""
    return replace(
        run,
        rows={name: rows * times for name, rows in run.rows.items()},
        cells={name: math.ceil(cells * times / batch) for name, cells in run.cells.items()},
    )


def dry(epsilons: int) -> tuple[int, float, float]:
    """Plan a whole run with so many budgets in one experiment: its jobs, and the plan's CPU seconds and MB."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        workflow.copy(folder)
        path = folder / f"config/experiments/{EXPERIMENT}.yaml"
        text = path.read_text(encoding="utf-8")
        values = ", ".join(f"{value:.6g}" for value in np.geomspace(0.01, 100, epsilons))
        longer = re.sub(r"^(\s+quick:.*?epsilon: ).*?$", rf"\g<1>[{values}]", text, count=1, flags=re.M | re.S)
        path.write_text(longer, encoding="utf-8")
        environment = {**workflow.os.environ, "PYTHONPATH": str(folder / "src")}
        done = subprocess.run(
            [sys.executable, "-c", PLAN], cwd=folder, env=environment, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        used = re.search(r"^USED (\S+) (\S+)$", done.stdout, re.MULTILINE)
        jobs = workflow.planned(done.stdout)
        if not used or not jobs:
            raise SystemExit(f"the dry run failed:\n{done.stdout[-2000:]}")
        return jobs, float(used[1]), float(used[2]) * 1024 / 1e6


def table(lines: Sequence[tuple[str, Price]]) -> str:
    """Return a table in Markdown."""
    heads = ("jobs", "work, core hours", "workflow, core hours", "results, MB", "records, MB", "plan, s", "plan, MB")
    told = [
        f"| {name} | {one.jobs:,} | {one.work / 3600:,.2f} | {one.workflow / 3600:,.2f} | {one.results / 1e6:,.0f} | "
        f"{one.records / 1e6:,.1f} | {one.plan[0]:,.0f} | {one.plan[1]:,.0f} |"
        for name, one in lines
    ]
    return "\n".join([f"| | {' | '.join(heads)} |", "|---|" + "--:|" * 7, *told]).replace(" nan ", " – ")


def main() -> None:
    """Parse the command line, and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.scaling", description=__doc__.splitlines()[0])
    parser.add_argument("--fit", required=True, metavar="FOLDER:SCALE")
    parser.add_argument("--check", nargs="*", default=[], metavar="FOLDER:SCALE")
    parser.add_argument("--grow", metavar="FOLDER:SCALE", help="whose grid is made larger (default: that of --fit)")
    parser.add_argument("--epsilons", type=int, nargs="+", default=[10, 100, 400], help="of the dry runs")
    known = parser.parse_args()

    def read(place: str) -> Facts:
        folder, _, scale = place.rpartition(":")
        where = Path(folder).resolve()
        return facts(where, scale, workflow.names(where, scale))

    plans = [dry(count) for count in known.epsilons]
    for jobs, seconds, memory in plans:
        print(f"dry run of {jobs:,} jobs: {seconds:.1f} s of CPU, {memory:.0f} MB")
    model = fit(read(known.fit), plans)
    lines = []
    for place in known.check:
        name, run = place.rpartition(":")[2], read(place)
        lines += [(f"{name}, measured", measured(run)), (f"{name}, by the model", price(model, run))]
    grid = read(known.grow or known.fit)
    scale = (known.grow or known.fit).rpartition(":")[2]
    # Its own work per row, where it was measured: what a larger grid multiplies.
    own = fit(grid, plans)
    for times, batch in ((10, 1), (10, 10), (1000, 1), (1000, 100)):
        words = f", {batch} times the cells in a job" if batch > 1 else ""
        lines.append((f"{scale} x {times:,}{words}", price(own, grown(grid, times, batch))))
    print(table(lines))


if __name__ == "__main__":
    main()
