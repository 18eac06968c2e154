"""NAPP-ERM's fixed point, solved cold, against Algorithm 1 of li2021 to the letter; and what the paper's grid costs.

The literal run appends n_e = 10,000 rows of noise and refits T = 80 times; ours solves the convex problem whose
minimiser the iteration approaches as n_e and T grow (lasso with MOOR, NAPP-ERM, delta = 1e-4, noise as printed).

The grid is that of Figures 3 to 8 and S.1 to S.4: every cell of four experiments at scale paper. Where a run has left
the processor times of all cells of an experiment (logs/paper), they are added up. Otherwise its largest cell is
run in full, and every other one counts as the largest times the ratio of the two with fewer repeats, at one epsilon.
Memory is the peak of the largest cell (its high-water mark), in a process of its own.
"""

import copy
import multiprocessing
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.domain import Budget
from dperm.mechanisms.napp.limit import path, problems
from dperm.mechanisms.napp.literal import literal
from dperm.mechanisms.napp.noise import Bounds, calibrate, floor
from dperm.mechanisms.napp.scheme import Scheme
from dperm_papers.li2021.shared import designs
from dperm_pipeline import experiments, plan, script
from dperm_pipeline.report import cost

ROOT = Path(__file__).parents[1]
SHARE, STRENGTH, ROWS, STEPS = 0.5, 1.0, 10_000, 80
COLD, ROUNDS = 100, 5
GOALS = {"linear-500": 5_000.0, "logistic-1000": 300.0, "poisson-1000": 300.0}
# The experiment's largest cell: mechanism and scenario, as in the names of its files.
LARGEST = {
    "li2021-simulations": ("napp.paper.add-remove", "poisson-1000_epsilon-0.4"),
    "li2021-recycling": ("napp.paper.add-remove", "linear-500_epsilon-0.4"),
    "li2021-moor": ("napp.paper.add-remove", "poisson-1000"),
    "li2021-adult": ("napp.paper.add-remove", "adult"),
}
# Of the repeats, to compare cells.
FEWER = 25
LIMIT_MINUTES, AIM_MINUTES, LIMIT_BYTES = 40.0, 20.0, 1e9


class Cost(NamedTuple):
    """What an experiment costs.

    Parameters
    ----------
    cells : int
    minutes : float
        Of one core, all cells.
    seconds : float
        Of the largest cell, now.
    peak : float
        Bytes, of the largest cell's process.
    source : str
    """

    cells: int
    minutes: float
    seconds: float
    peak: float
    source: str


def clock(function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one call, of this process's processors alone, and its result."""
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def setting(name: str, epsilon: float, delta: float, variant: str, moor: bool, repeats: int):
    """Return training sets, noise (R, p) and scheme of a design, all as published."""
    design = designs.DESIGNS[name]
    X, y = designs.training(0, "bench-napp", name, repeats)
    bounds, budget = Bounds(design.zeta1, design.zeta2, design.zeta3), Budget(epsilon, delta)
    law, *_ = calibrate(bounds, budget, share=SHARE, variant=variant, calibration="paper", features=design.p)
    b = law.sample((repeats, design.p), seeds.generator(0, "bench", "napp", name, epsilon, delta, variant))
    return design.loss, X, y, b, Scheme("lasso", floor(bounds, epsilon, SHARE), moor)


def against_the_letter(name: str) -> tuple[float, float, float]:
    """Return seconds of a literal run, seconds of a cold fit from the data, and the largest relative gap of those."""
    loss, X, y, b, scheme = setting(name, 1.0, 1e-4, "erm", True, COLD)

    def cold():
        return path(problems(loss, X, y), b, scheme, [STRENGTH], variant="erm")

    found = cold()  # compiles
    ours = float(np.median([clock(cold)[0] for _ in range(ROUNDS)]))
    rng = seeds.generator(0, "bench", "napp", "literal")
    theirs, _ = clock(
        lambda: literal(loss, X[0], y[0], b[0], scheme, STRENGTH, variant="erm", rows=ROWS, steps=STEPS, rng=rng)
    )
    return theirs, ours / COLD, float(found.gap.max())


def run_cell(cell: Mapping[str, Any], files: Mapping[str, str]) -> tuple[float, float]:
    """Return seconds of one cell, and the most bytes that this process has held."""
    seconds, _ = clock(lambda: experiments.run(cell, **files))
    return seconds, 2.0**20 * script.peak()


def alone(*given: Any) -> tuple[float, float]:
    """Return `run_cell` in a new process."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run_cell, *given).result()


def files_of(cell: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a cell reads; its baseline is no matter to its cost."""
    name = cell["point"].get("dataset")
    return {} if name is None else {"data": str(ROOT / f"resources/prepared/{name}.parquet"), "baseline": ""}


def left_behind(experiment: str, names: list[tuple[str, str]]) -> float | None:
    """Return the processor seconds of all jobs that a run at scale paper left, or None if one is missing."""
    planned = [f"paper/{experiment}/{mechanism}/{scenario}" for mechanism, scenario in names]
    ran = [job for job in cost.jobs(ROOT / "benchmarks/paper", planned) if job.logged]
    return sum(job.cpu + job.start for job in ran) if len(ran) == len(planned) else None


def sampled(cells: Mapping[tuple[str, str], Mapping[str, Any]], largest: tuple[str, str]) -> float:
    """Return the seconds of all cells over those of the largest, from few repeats at its epsilon."""
    seconds, times, of = {}, {}, {}
    for name, cell in cells.items():
        kind = (name[0], *(value for key, value in sorted(cell["point"].items()) if key != "epsilon"))
        times[kind] = times.get(kind, 0) + 1
        of[name] = kind
        if kind in seconds or cell["point"].get("epsilon") != cells[largest]["point"].get("epsilon"):
            continue
        few = copy.deepcopy(dict(cell))
        for key in ("repeats", "side_repeats"):
            if key in few["settings"]:
                few["settings"][key] = max(2, few["settings"][key] // FEWER)
        if "epsilons" in few["settings"]:
            few["settings"]["epsilons"] = few["settings"]["epsilons"][-1:]
        files = files_of(few)
        if not seconds:
            experiments.run(few, **files)  # compiles
        seconds[kind], _ = clock(lambda few=few, files=files: experiments.run(few, **files))
    return sum(seconds[kind] * number for kind, number in times.items()) / seconds[of[largest]]


def grid() -> dict[str, Cost]:
    """Return what each experiment of the grid costs at scale paper."""
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    planned = plan.load({**config, "scale": "paper", "mirror": None}, ROOT).experiments
    costs = {}
    for name, largest in LARGEST.items():
        cells = planned["paper", name].cells
        cell = cells[largest]
        seconds, peak = alone(cell, files_of(cell))
        known = left_behind(name, list(planned["paper", name].jobs))
        total, source = (seconds * sampled(cells, largest), "sampled") if known is None else (known, "a run's")
        costs[name] = Cost(len(cells), total / 60, seconds, peak, source)
    return costs


def verdict(value: float, goal: float) -> str:
    """Return whether a cost is within a goal."""
    return "met" if value <= goal else "missed"


def report() -> None:
    """Print the tables."""
    print(f"\nNAPP-ERM, lasso with MOOR, Lambda={STRENGTH:g}, epsilon=1, delta=1e-4; one thread, CPU time.")
    print(f"literal: n_e={ROWS:,}, T={STEPS}; ours: {COLD} data sets and")
    print(f"draws, each fit cold and from the data on, median of {ROUNDS} rounds.\n")
    print(f"{'design':<16}{'literal, s':>12}{'ours, us':>10}{'gap':>10}{'ratio':>11}{'goal':>9}")
    with threadpool_limits(1):
        for name, goal in GOALS.items():
            theirs, ours, gap = against_the_letter(name)
            ratio = theirs / ours
            row = f"{name:<16}{theirs:>12.2f}{1e6 * ours:>10.1f}{gap:>10.1e}{ratio:>10,.0f}x"
            print(f"{row}{f'>{goal:,.0f}x':>9}  {verdict(goal, ratio)}")
    print("\nli2021's grid, Figures 3 to 8 and S.1 to S.4, at scale paper:\n")
    print(f"{'experiment':<20}{'cells':>6}{'largest, s':>12}{'peak, MB':>10}{'at most':>9}{'core-minutes':>18}")
    costs = grid()
    for name, found in costs.items():
        memory = f"{found.peak / 1e6:>10.0f}{LIMIT_BYTES / 1e6:>9.0f}  {verdict(found.peak, LIMIT_BYTES):<6}"
        print(f"{name:<20}{found.cells:>6}{found.seconds:>12.1f}{memory}{found.minutes:>10.2f}, {found.source}")
    minutes = sum(found.minutes for found in costs.values())
    print(f"\n{minutes:.1f} core-minutes: limit {LIMIT_MINUTES:g} {verdict(minutes, LIMIT_MINUTES)}", end="")
    print(f", aim {AIM_MINUTES:g} {verdict(minutes, AIM_MINUTES)}")


if __name__ == "__main__":
    report()
