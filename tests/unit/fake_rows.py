"""Rows for the showing wing's tests: made up in realistic shapes, or by an experiment that takes no time."""

import itertools

import numpy as np
import pandas as pd

from dperm import experiments, tables

METHODS = (("objective", "tight"), ("objective", "paper"), ("output", "tight"))
# Non-private risk and test loss, and how hard the set is; diabetes is a regression: it has no test error.
SETS = {"adult": (0.33, 0.02), "breast-cancer": (0.12, 2.0), "diabetes": (0.04, 0.6), "digits": (0.06, 1.5)}
METRICS = ("excess_risk", "test_loss", "test_error")


def rows(
    *,
    seed=1,
    datasets=tuple(SETS),
    epsilons=(0.1, 0.3, 1.0, 3.0),
    deltas=(0.0, 1e-6),
    multiples=(2.0, 20.0, 200.0),
    repeats=30,
    worse=4.0,
):
    """Rows in which output perturbation's excess risk is about `worse` times that of objective perturbation."""
    rng = np.random.default_rng(seed)
    head = {"paper": "kifer2012", "experiment": "kifer2012-output", "variant": "", "neighbours": "add_remove"}
    frames = []

    def add(metric, values, **columns):
        frames.append(
            pd.DataFrame(
                {
                    **head, **columns, "repeat": np.arange(len(values)), "metric": metric, "value": values,
                    "status": "ok",
                }
            )
        )  # fmt: skip

    for dataset in datasets:
        level, hard = SETS[dataset]
        base = {"mechanism": "nonprivate", "calibration": "", "guarantee": "none", "dataset": dataset, "delta": 0.0}
        base |= {"epsilon": np.inf, "ridge_multiple": 0.0, "chosen": True}
        for metric in ("risk", "test_loss", *(() if dataset == "diabetes" else ("test_error",))):
            add(metric, np.array([level * (1.1 if metric == "test_loss" else 1)]), **base)
        for (mechanism, calibration), epsilon, delta in itertools.product(METHODS, epsilons, deltas):
            factor = worse if mechanism == "output" else 1.6 if calibration == "paper" else 1.0
            noise = hard * factor / epsilon * (1 if delta == 0 else 0.35)
            for multiple in multiples:
                here = {"mechanism": mechanism, "calibration": calibration, "guarantee": "proved_exact"}
                here |= {"dataset": dataset, "epsilon": epsilon, "delta": delta, "ridge_multiple": multiple}
                here["chosen"] = multiple == multiples[min(1, len(multiples) - 1)]
                bias = 0.004 * hard * multiple / epsilon / (1 + multiple / epsilon / 400)
                mean = 0.02 * noise**2 / multiple**0.7 + bias
                excess = mean * rng.gamma(6.0, 1 / 6.0, repeats)
                add("excess_risk", excess, **here)
                add("test_loss", 1.1 * level + excess * rng.uniform(0.9, 1.2, repeats), **here)
                if dataset != "diabetes":
                    add("test_error", np.minimum(0.5, level / 4 + 0.1 * excess), **here)
                add("tuning_loss", level + mean * rng.gamma(6.0, 1 / 6.0, 10), **here)
    return pd.concat(frames, ignore_index=True)


def table1(*, features=(8, 16), calibrations=("paper", "tight"), repeats=20):
    """Rows of kifer2012-table1 by the experiment itself, which takes a tenth of a second."""
    settings = {"repeats": repeats, "epsilon": 1.0, "delta": 1e-6, "sizes": [10**6, 10**7], "gammas": [0.1, 0.5]}
    settings["designs"] = ["extremal", "hadamard"]
    head = {"experiment": "kifer2012-table1", "paper": "kifer2012", "mechanism": "objective", "seed": 1}
    cells = [
        {**head, "calibration": calibration, "neighbours": "add_remove", "point": {"p": p}, "settings": settings}
        for p in features
        for calibration in calibrations
    ]
    return pd.concat([experiments.run(cell) for cell in cells], ignore_index=True)


def of_figure(name):
    """Rows that a figure or table can be drawn from."""
    return table1() if name == "kifer2012-table1" else rows()


def fail(frame, mask):
    """Turn the rows under `mask` into failed ones: no value."""
    frame = frame.copy()
    frame.loc[mask, "value"] = np.nan
    frame.loc[mask, "status"] = "failed"
    return frame


def write(frame, path, **metadata):
    tables.write(frame, path, metadata={"scale": "quick", "seed": 2012, **metadata})
    return path
