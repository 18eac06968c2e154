"""Where the exact attacks get furthest: the search behind the budgets in config/audits.yaml."""

import argparse
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from dperm.audit import (
    columns,
    comparators,
    composed,
    constrained,
    exact,
    line,
    linear_targets,
    napp,
    pairs,
    support,
    voting,
)
from dperm.domain import Budget

EPSILONS, DELTAS = (0.1, 0.3, 1.0, 3.0), (1e-9, 1e-6, 1e-4, 1e-2)
BOTH = ("add_remove", "replace")
# NAPP-ERM's forms that there is a tight law for.
TIGHT = ("erm", "erm-moor", "vs", "vs_plus")


def plain(calibration: str, neighbours: str, budget: Budget) -> float:
    """Return the epsilon that the pair `line` shows objective perturbation to spend."""
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    case = pairs.line(**fixed, rng=np.random.default_rng(0))
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature}
    target = linear_targets.target("objective", **problem, **fixed)
    return line.lower_bound(target, case.data, case.neighbour, delta=budget.delta).epsilon


def confined(variant: str, calibration: str, neighbours: str, budget: Budget) -> float:
    """Return that of the pair `edge`, with a regularizer or within a set."""
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    case = constrained.edge(variant, **fixed)
    target = constrained.target(case, **fixed)
    return line.lower_bound(target, case.data, case.neighbour, delta=budget.delta).epsilon


def two_stages(stage_one: str, calibration: str, neighbours: str, budget: Budget) -> float:
    """Return that of the pair `joint` of sparse regression."""
    law = "gaussian" if budget.delta else "gamma"
    claim = {
        "epsilon": budget.epsilon,
        "delta": budget.delta,
        "variant": f"{stage_one}_{law}",
        "neighbours": neighbours,
    }
    job = {"paper": "kifer2012", "mechanism": "sparse", "calibration": calibration, "pair": "joint", "seed": 0}
    (row,) = composed.run({**job, "rows": [{**claim, "variant": f"{stage_one}_{law}"}]})
    return row["exact_bound"]


def exp_mech(calibration: str, neighbours: str, budget: Budget) -> float:
    """Return that of the pair `shifted`."""
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    return exact.exact(support.exponential(**fixed).law, [support.shifted(**fixed)]).epsilon


def samp_agg(calibration: str, neighbours: str, budget: Budget) -> float:
    """Return that of the pair `votes`."""
    blocks = voting.BLOCKS if calibration == "corrected" else None
    made = voting.selector(budget=budget, neighbours=neighbours, calibration=calibration, blocks=blocks)
    data, neighbour, _ = voting.flipped(neighbours=neighbours, calibration=calibration)
    return exact.exact(made.law, [(data, neighbour)]).epsilon


def augmented(variant: str, calibration: str, budget: Budget) -> float:
    """Return that of NAPP-ERM's pair `line`, among them laws by inversion."""
    claim = {"epsilon": budget.epsilon, "delta": budget.delta, "variant": variant, "neighbours": "add_remove"}
    job = {"paper": "li2021", "mechanism": "napp", "calibration": calibration, "pair": "line", "seed": 0}
    (row,) = napp.run({**job, "rows": [claim]})
    return row["exact_bound"]


def comparator(make: Callable[..., comparators.ComparatorCase], neighbours: str, budget: Budget) -> float:
    """Return that of a comparator on a line."""
    case, target, *_ = make(neighbours, budget)
    return columns.on_a_line(target, case.data, case.neighbour, delta=budget.delta)["exact_bound"]


def searches() -> Iterator[tuple[str, str, Callable[[Budget], float], bool, bool]]:
    """Give mechanism and law in words, what is attacked, and whether delta may be 0, and above."""
    for calibration, neighbours in itertools.product(("tight", "paper"), BOTH):
        words = f"{calibration:<9} {neighbours}"
        yield "objective", words, lambda b, c=calibration, n=neighbours: plain(c, n, b), True, True
        for variant in ("lasso", "ball", "box"):
            attack = lambda b, v=variant, c=calibration, n=neighbours: confined(v, c, n, b)  # noqa: E731
            yield f"objective {variant}", words, attack, True, True
        yield "exp_mech", words, lambda b, c=calibration, n=neighbours: exp_mech(c, n, b), True, False
    for calibration, neighbours in itertools.product(("corrected", "paper"), BOTH):
        words = f"{calibration:<9} {neighbours}"
        yield "samp_agg", words, lambda b, c=calibration, n=neighbours: samp_agg(c, n, b), True, False
    for stage, calibration, neighbours in itertools.product(
        ("exp_mech", "samp_agg"), ("tight", "corrected", "paper"), BOTH
    ):
        attack = lambda b, s=stage, c=calibration, n=neighbours: two_stages(s, c, n, b)  # noqa: E731
        yield f"sparse {stage}", f"{calibration:<9} {neighbours}", attack, True, True
    for calibration, variants in (("tight", TIGHT), ("corrected", napp.CORRECTED), ("paper", napp.PRINTED)):
        for variant in variants:
            attack = lambda b, v=variant, c=calibration: augmented(v, c, b)  # noqa: E731
            yield f"napp {variant}", f"{calibration:<9} add_remove", attack, True, True
    for name, make, pure in (
        ("gradient", comparators.descent, False),
        ("approximate_minima", comparators.approximate, False),
        ("cms11 objective", comparators.cms11_objective, True),
        ("cms11 output", comparators.cms11_output, True),
    ):
        for neighbours in BOTH:
            yield name, neighbours, lambda b, m=make, n=neighbours: comparator(m, n, b), pure, not pure


def main() -> None:
    """Print what each mechanism, calibration, relation and law spends at its worst budget."""
    parser = argparse.ArgumentParser(prog="python -m bench.worst_budgets", description=__doc__)
    parser.add_argument("names", nargs="*", help="only mechanisms whose name begins so; all take ten minutes")
    names = tuple(parser.parse_args().names) or ("",)
    for name, words, attack, pure, approximate in searches():
        if not name.startswith(names):
            continue
        for deltas in [(0.0,)] * pure + [DELTAS] * approximate:
            budgets = [Budget(epsilon, delta) for epsilon, delta in itertools.product(EPSILONS, deltas)]
            spent = [(attack(budget), budget) for budget in budgets]
            # The largest excess over the claim, else the largest share of it.
            most = max(spent, key=lambda entry: max(entry[0] - entry[1].epsilon, 0) or entry[0] / entry[1].epsilon - 9)
            law, share = "gaussian" if deltas[0] else "pure", most[0] / most[1].epsilon
            budget = f"epsilon {most[1].epsilon:<4g} delta {most[1].delta:<6g}"
            print(f"{name:<20} {words:<22} {law:<9} {budget} {most[0]:8.4f} {share:7.4f}", flush=True)


if __name__ == "__main__":
    main()
