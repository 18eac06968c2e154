"""What Figure 2a and the figure on URL Reputation share: splits, and the accuracy of every private method on one fit.

A split permutes the rows: some to train on, a pool from which T public points come, some to score on, all disjoint. A
row of the pool that equals a training row is left out before T of them are taken, for equal rows may be one person; how
many is metric `left_out`. This looks at the training rows, so it is part of the experiment and of no mechanism: the
estimators refuse such points.
Metric `accuracy`: share of test rows with sign <w^, phi(x)> = y, the mean over the draws of noise of a split, so that
`repeat` counts splits; `accuracy_one` is that of the first draw alone (the paper's runs).

    tddl             paper, corrected, tight, and variant `bare` (the printed O(.) with constant 1: no privacy)
    rkhs_gaussian    tight: the first `path_rows` test rows, answered by one kept path a draw
    explicit_output  tight: w* + N(0, sigma^2 I) in feature space: the same law, and no public points

`penalty` says how total = n lambda was chosen, `queries` is T. Neighbours: replace-one; R, L and the slack are public.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from dperm import seeds
from dperm.domain import Budget
from dperm.errors import ConfigError, DataError
from dperm.kernels import Kernel, gram
from dperm.mechanisms.kernel import rkhs, tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius, sigma
from dperm_papers.jain2013.shared.kdd_data import touched
from dperm_pipeline.datasets import overlap, prepared

# sup |l'| and l(0, y) of the hinge loss.
LIPSCHITZ, LOSS_AT_ZERO = 1.0, 1.0
CALIBRATIONS = (("paper", False), ("corrected", False), ("tight", False), ("paper", True))
# Entries of a block of K(Q, Z), and of predictions.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Split:
    """One split of a data set.

    - X, y: training rows, CSR of shape (n, d), and their labels.
    - Z: the pool of public points, none of them equal to a training row.
    - Q, target: test rows and their labels.
    - left_out: rows of the pool that equalled one.
    """

    X: sparse.csr_array
    y: np.ndarray
    Z: sparse.csr_array
    Q: sparse.csr_array
    target: np.ndarray
    left_out: int


@dataclass(frozen=True)
class Model:
    """A certified non-private fit, and what its mechanisms may know of it.

    - setting: L, R, total, C and the public slack.
    - predict: maps rows to <w*, phi(x)>.
    - noise: maps rows and a generator to one draw of <xi, phi(x)>, xi ~ N(0, I) in feature space.
    """

    kernel: Kernel
    setting: Setting
    predict: Callable[[sparse.csr_array], np.ndarray]
    noise: Callable[[sparse.csr_array, np.random.Generator], np.ndarray]


def splits(cell: Mapping[str, Any], data: str | prepared.Dataset, count: int) -> Iterator[Split]:
    """Give the first `count` splits of a data set, one after another.

    - cell: settings `row_splits`: data set -> [training rows, rows of the pool, test rows]; `queries`, `public_points`.
    - data: the prepared data set.
    - Raises ConfigError: if `public_points` is none of `queries`.
    - Raises DataError: if the data set has too few rows or stands not in `row_splits`, or its pool has fewer than T
      rows.
    """
    dataset = data if isinstance(data, prepared.Dataset) else prepared.read(data)
    sizes = _sizes(cell["settings"], dataset.name)
    X = sparse.csr_array(dataset.X)
    if sum(sizes) > len(dataset.y):
        raise DataError(
            f"{dataset.name} has {len(dataset.y)} rows; row_splits asks for {sum(sizes)} of them: lower its numbers"
        )
    for k in range(count):
        order = generator(cell, "rows", k).permutation(len(dataset.y))[: sum(sizes)]
        cuts = np.cumsum(sizes)[:-1]
        # Of millions of columns, those that a row of the split has.
        train, pool, test = _cut(touched(X[order]), cuts)
        y, _, target = np.split(dataset.y[order], cuts)
        equal = overlap.overlapping(pool, train)
        pool, left_out = pool[np.flatnonzero(~equal)], int(equal.sum())
        _enough(cell["settings"], dataset.name, pool.shape[0], left_out)
        yield Split(train, y, pool, test, target, left_out)


def _sizes(settings: Mapping[str, Any], name: str) -> Sequence[int]:
    """Return the training rows, the pool and the test rows of a data set, checked against T."""
    if settings["public_points"] not in settings["queries"]:
        raise ConfigError(
            f"public_points: {settings['public_points']} is none of queries {settings['queries']}, so no T would be "
            "run at all epsilons; make it one of them"
        )
    if name not in settings["row_splits"]:
        raise DataError(
            f"row_splits: {name!r} is missing (it has {', '.join(settings['row_splits'])}); add "
            f"{name}: [training rows, rows of the pool of public points, test rows]"
        )
    _enough(settings, name, settings["row_splits"][name][1], 0)
    return settings["row_splits"][name]


def _enough(settings: Mapping[str, Any], name: str, rows: int, left_out: int) -> None:
    """Refuse a T above the pool: it would be cut, and its rows would tell another T."""
    if max(settings["queries"]) > rows:
        equal = f", {left_out} more equal a training row" if left_out else ""
        raise DataError(
            f"queries: T={max(settings['queries'])} is above the {rows} public points in the pool of {name}{equal}; "
            "lower queries, or raise the second number of row_splits"
        )


def _cut(X: sparse.csr_array, cuts: np.ndarray) -> list[sparse.csr_array]:
    return [X[low:high] for low, high in itertools.pairwise((0, *cuts, X.shape[0]))]


def setting(kernel: Kernel, total: float, n: int, slack_share: float) -> Setting:
    """Return the public constants of the hinge loss under a kernel, `slack_share` being slack over Delta_w."""
    R = kernel.R
    return Setting(
        lipschitz=LIPSCHITZ, feature_norm=R, total=total, slack=slack_share * 2 * LIPSCHITZ * R / total,
        radius=a_priori_radius(LOSS_AT_ZERO, LIPSCHITZ, R, total, n),
    )  # fmt: skip


def lines(cell: Mapping[str, Any], model: Model, split: Split, repeat: int, penalty: str) -> Iterator[dict[str, Any]]:
    """Give the rows of one fit on one split: without privacy, and every method at every epsilon and T.

    - repeat: number of the split.
    """
    settings, head = cell["settings"], {"repeat": repeat, "penalty": penalty, "total": model.setting.total}
    exact = model.predict(split.Q)
    plain = {"mechanism": "nonprivate", "variant": "svm", "calibration": "", "guarantee": "none", "epsilon": math.inf}
    yield {**head, **plain, "delta": 0.0, "queries": 0, "metric": "accuracy", "value": agreement(exact, split.target)}
    told = {**head, **plain, "delta": 0.0, "queries": 0}
    yield {**told, "variant": "pool", "metric": "left_out", "value": float(split.left_out)}
    pool = model.predict(split.Z)
    for T in settings["queries"]:
        # All of T at a few epsilons, all epsilons at one T; the largest T on a few splits.
        if settings["large_queries"] < T and repeat >= settings["large_splits"]:
            continue
        epsilons = settings["epsilons"] if settings["public_points"] == T else settings["query_epsilons"]
        for line in _semi_interactive(cell, model, split, pool, T, epsilons, repeat):
            yield {**head, **line}
    for line in _without_points(cell, model, split, exact, repeat):
        yield {**head, **line}


def _semi_interactive(
    cell: Mapping[str, Any],
    model: Model,
    split: Split,
    pool: np.ndarray,
    T: int,
    epsilons: Sequence[float],
    repeat: int,
) -> Iterator[dict[str, Any]]:
    """Give TDDL's rows at one T."""
    settings, Z = cell["settings"], split.Z[:T]
    asked = [(Budget(e, settings["delta"]), name, bare) for e in epsilons for name, bare in CALIBRATIONS]
    made = tddl.releases(
        tddl.spectrum(gram(model.kernel, Z)), pool[:T], model.setting, asked, repeats=settings["draws"],
        rng=generator(cell, "noise", "tddl", model.setting.total, T, repeat),
    )  # fmt: skip
    right = _right(model.kernel, split, Z, np.concatenate([one.coefficients for one in made]))
    for (budget, calibration, bare), one, values in zip(asked, made, np.split(right, len(asked)), strict=True):
        variant = "bare" if bare else ""
        yield from _scored("tddl", variant, calibration, one.guarantee, budget, T, values)


def _right(kernel: Kernel, split: Split, Z: sparse.csr_array, coefficients: np.ndarray) -> np.ndarray:
    """Return the accuracy of each row of coefficients, block by block of test rows."""
    hits = np.zeros(len(coefficients))
    step = max(1, _BLOCK // max(len(coefficients), Z.shape[0]))
    for low in range(0, len(split.target), step):
        predictions = coefficients @ kernel(split.Q[low : low + step], Z).T
        hits += ((predictions > 0) == (split.target[low : low + step] > 0)).sum(axis=1)
    return hits / len(split.target)


def _without_points(
    cell: Mapping[str, Any], model: Model, split: Split, exact: np.ndarray, repeat: int
) -> Iterator[dict[str, Any]]:
    """Give the rows of the two Gaussian methods that need no public points."""
    settings = cell["settings"]
    budgets = [Budget(epsilon, settings["delta"]) for epsilon in settings["epsilons"]]
    rng = generator(cell, "noise", "explicit", model.setting.total, repeat)
    # One draw of xi a repeat serves every epsilon, each in its own scale: a figure, not a release.
    noise = np.stack([model.noise(split.Q, rng) for _ in range(settings["draws"])])
    rows = slice(0, settings["path_rows"])
    near = tddl.spectrum(gram(model.kernel, split.Q[rows]))
    rng = generator(cell, "noise", "path", model.setting.total, repeat)
    for budget in budgets:
        scale = sigma(model.setting, budget)
        values = np.array([agreement(exact + scale * draw, split.target) for draw in noise])
        yield from _scored("explicit_output", "", "tight", "proved", budget, 0, values)
        path = rkhs.release(near, exact[rows], model.setting, budget, rng=rng, repeats=settings["draws"])
        values = np.array([agreement(answers, split.target[rows]) for answers in path.answers])
        yield from _scored("rkhs_gaussian", "", "tight", path.guarantee, budget, 0, values)


def _scored(
    mechanism: str, variant: str, calibration: str, guarantee: str, budget: Budget, T: int, values: np.ndarray
) -> Iterator[dict[str, Any]]:
    head = {
        "mechanism": mechanism, "variant": variant, "calibration": calibration, "guarantee": guarantee,
        "epsilon": budget.epsilon, "delta": budget.delta, "queries": T,
    }  # fmt: skip
    yield {**head, "metric": "accuracy", "value": float(values.mean())}
    yield {**head, "metric": "accuracy_one", "value": float(values[0])}


def rows(cell: Mapping[str, Any], data: str, fits: Callable[[Split], Iterable[tuple[str, Model]]]) -> pd.DataFrame:
    """Return the rows of every fit on every split.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    - fits: gives the fits on a split, each with the name of its penalty.
    """
    found = [
        line
        for repeat, split in enumerate(splits(cell, data, cell["settings"]["repeats"]))
        for penalty, model in fits(split)
        for line in lines(cell, model, split, repeat, penalty)
    ]
    return pd.DataFrame(found).assign(**head(cell))


def without_privacy(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that the rows of a baseline share."""
    return head(cell) | {
        "mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none", "epsilon": math.inf,
        "delta": 0.0, "metric": "accuracy", "queries": 0,
    }  # fmt: skip


def majority(split: Split) -> float:
    """Return the share of test rows with the label of most training rows."""
    return agreement(np.full(1, split.y.mean()), split.target)


def agreement(predictions: np.ndarray, target: np.ndarray) -> float:
    """Return the share of predictions with the sign of the target, 0 counting as -1."""
    return float(((predictions > 0) == (target > 0)).mean())


def head(cell: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that all rows of a cell share."""
    return {key: cell[key] for key in ("paper", "experiment")} | {
        "dataset": cell["point"]["dataset"], "neighbours": "replace", "status": "ok",
    }  # fmt: skip


def generator(cell: Mapping[str, Any], *names: str | float) -> np.random.Generator:
    """Return the generator of one purpose."""
    return seeds.generator(cell["seed"], cell["experiment"], cell["point"]["dataset"], *names)
