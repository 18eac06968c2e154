"""Run one way of fitting on every split and budget, and print a line of JSON for each; it needs NumPy alone."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

# `fit(X, y, epsilon, delta, seed)` returns a function from rows to labels, or None: that budget is not served.
Fit = Callable[[np.ndarray, np.ndarray, float, float, int], Callable[[np.ndarray], np.ndarray] | None]


def measure(folder: Path, method: str, neighbours: str, fit: Fit, *, pure: bool = False) -> Iterator[dict]:
    """Give a line for each split and budget of the folder; delta is 0 if `pure`."""
    budgets = json.loads((folder / "budgets.json").read_text(encoding="utf-8"))
    delta = 0.0 if pure else budgets["delta"]
    for path in sorted(folder.glob("*.npz")):
        with np.load(path) as file:
            X, y, Q, target = (file[name] for name in ("X", "y", "Q", "target"))
        dataset, number = path.stem.rsplit("-", 1)
        for place, epsilon in enumerate(budgets["epsilons"]):
            predict = fit(X, y, epsilon, delta, 1000 * int(number) + place)
            if predict is None:
                continue
            line = {"method": method, "neighbours": neighbours, "dataset": dataset, "split": int(number)}
            yield {**line, "epsilon": epsilon, "delta": delta, "error": float(np.mean(predict(Q) != target))}


def run(method: str, neighbours: str, fit: Fit, *, pure: bool = False) -> None:
    """Print the lines of `measure` for the folder that the command line names."""
    for line in measure(Path(sys.argv[1]), method, neighbours, fit, pure=pure):
        print(json.dumps(line), flush=True)
