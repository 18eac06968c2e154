"""NAPP-ERM's fixed point, solved cold, against Algorithm 1 of li2021 to the letter; and what the paper's grid costs.

The literal run appends n_e = 10,000 rows of noise and refits T = 80 times; ours solves the convex problem whose
minimiser the iteration approaches as n_e and T grow (lasso with MOOR, NAPP-ERM, delta = 1e-4, noise as printed).
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from dperm import seeds
from dperm.domain import Budget
from dperm.experiments.li2021 import designs
from dperm.mechanisms.napp.limit import path, problems
from dperm.mechanisms.napp.literal import literal
from dperm.mechanisms.napp.noise import Bounds, calibrate, floor
from dperm.mechanisms.napp.scheme import Scheme

SHARE, STRENGTH, ROWS, STEPS = 0.5, 1.0, 10_000, 80
COLD, ROUNDS = 100, 5
GOALS = {"linear-500": 5_000.0, "logistic-1000": 300.0, "poisson-1000": 300.0}
# The simulations of li2021, Figures 4, 5, 7 and S.1 to S.3: what stands on each axis of the grid.
EPSILONS, DELTAS, VARIANTS, REPEATS = (0.4, 0.6, 0.8, 1.0), (0.0, 1e-4), ("erm", "vs", "vs_plus"), 500
STRENGTHS = np.geomspace(100, 0.05, 15)
TIMED = 20
GOAL_MICROSECONDS, GOAL_MINUTES = 300.0, 20.0


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


def grid(name: str) -> tuple[float, float, float]:
    """Return seconds a fit over the warm paths of a design, the slowest setting's, and the share that converged."""
    seconds, converged = [], []
    for epsilon in EPSILONS:
        for delta in DELTAS:
            for variant in VARIANTS:
                for moor in (True, False):
                    loss, X, y, b, scheme = setting(name, epsilon, delta, variant, moor, TIMED)
                    own = problems(loss, X, y)
                    path(own, b, scheme, STRENGTHS[:1], variant=variant)  # compiles
                    spent, found = clock(lambda p=own, b=b, s=scheme, v=variant: path(p, b, s, STRENGTHS, variant=v))
                    seconds.append(spent / found.gap.size)
                    converged.append(found.converged.mean())
    return float(np.mean(seconds)), max(seconds), float(np.mean(converged))


def report() -> None:
    """Print the tables."""
    print(f"\nNAPP-ERM, lasso with MOOR, Lambda={STRENGTH:g}, epsilon=1, delta=1e-4; one thread, CPU time.")
    print(f"literal: n_e={ROWS:,}, T={STEPS}; ours: {COLD} data sets and")
    print(f"draws, each fit cold and from the data on, median of {ROUNDS} rounds.\n")
    print(f"{'design':<16}{'literal, s':>12}{'ours, us':>10}{'gap':>10}{'ratio':>11}{'goal':>9}")
    with threadpool_limits(1):
        for name, goal in GOALS.items():
            theirs, ours, gap = against_the_letter(name)
            aim = f">{goal:,.0f}x"
            print(f"{name:<16}{theirs:>12.2f}{1e6 * ours:>10.1f}{gap:>10.1e}{theirs / ours:>10,.0f}x{aim:>9}")
        print("\nThe grid of li2021's simulations: 6 designs, 4 epsilon, 2 delta, 6 methods, warm paths of 15;")
        print(f"{TIMED} repeats timed of {REPEATS}.\n")
        print(f"{'design':<16}{'us a fit':>10}{'slowest':>9}{'converged':>11}{'minutes in all':>16}")
        fits = len(EPSILONS) * len(DELTAS) * len(VARIANTS) * 2 * len(STRENGTHS) * REPEATS
        minutes = 0.0
        for name in designs.DESIGNS:
            mean, slowest, converged = grid(name)
            minutes += mean * fits / 60
            print(f"{name:<16}{1e6 * mean:>10.1f}{1e6 * slowest:>9.1f}{converged:>11.4f}{mean * fits / 60:>16.2f}")
    aim = f"goals: at most {GOAL_MINUTES:g}, and {GOAL_MICROSECONDS:g} us a fit"
    print(f"\n{fits * len(designs.DESIGNS):,} fits: {minutes:.1f} minutes of one core ({aim})")
