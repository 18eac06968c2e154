"""Where the exact attack on a line gets furthest: the search behind the budgets in config/audits.yaml."""

import argparse
import itertools

import numpy as np

from dperm.audit import line, pairs, targets
from dperm.domain import Budget

EPSILONS, DELTAS = (0.1, 0.3, 1.0, 3.0), (1e-9, 1e-6, 1e-4, 1e-2)


def attacked(calibration: str, neighbours: str, epsilon: float, delta: float) -> float:
    """Return the epsilon that the pair `line` shows objective perturbation to spend."""
    fixed = {"budget": Budget(epsilon, delta), "neighbours": neighbours, "calibration": calibration}
    case = pairs.line(**fixed, rng=np.random.default_rng(0))
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature}
    target = targets.target("objective", **problem, **fixed)
    return line.lower_bound(target, case.data, case.neighbour, delta=delta).epsilon


def main() -> None:
    """Print a table for each calibration and relation: spent, and as a share of the claim."""
    parser = argparse.ArgumentParser(prog="python -m bench.worst_budgets", description=__doc__)
    parser.parse_args()
    for calibration, neighbours in itertools.product(("tight", "paper"), ("add_remove", "replace")):
        for epsilon, delta in itertools.product(EPSILONS, (0.0, *DELTAS)):
            spent = attacked(calibration, neighbours, epsilon, delta)
            print(f"{calibration:<6} {neighbours:<11} {epsilon:<4g} {delta:<6g} {spent:8.4f} {spent / epsilon:7.4f}")


if __name__ == "__main__":
    main()
