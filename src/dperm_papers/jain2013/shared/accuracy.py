"""What Figure 2a and the figure on URL Reputation share: splits, and the accuracy of every private method on one fit.

A split permutes the rows: some to train on, a pool from which T public points come, some to score on, all disjoint. A
row of the pool may equal a training row: metric `equal_rows` says how many do, and they stay, because a choice of
public points that looks at the training rows would not be covered by any guarantee.
Metric `accuracy`: share of test rows with sign <w^, phi(x)> = y, the mean over the draws of noise of a split, so that
`repeat` counts splits; `accuracy_one` is that of the first draw alone (the paper's runs).

    tddl             paper, corrected, tight, and variant `bare` (the printed O(.) with constant 1: no privacy)
    rkhs_gaussian    tight: the first `path_rows` test rows, answered by one kept path a draw
    explicit_output  tight: w* + N(0, sigma^2 I) in feature space: the same law, and no public points

`penalty` says how total = n lambda was chosen, `queries` is T. Neighbours: replace-one; R, L and the slack are public.
Where the rows were prepared by a look at all of them, `guarantee` is `none` for every method, and `reason` says why.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm.domain import Budget
from dperm.errors import DataError
from dperm.kernels import Kernel, gram
from dperm.mechanisms.kernel import rkhs, tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius, sigma
from dperm_papers.jain2013.shared.kdd_data import generator, touched
from dperm_pipeline.datasets import overlap, prepared
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# sup |l'| and l(0, y) of the hinge loss.
LIPSCHITZ, LOSS_AT_ZERO = 1.0, 1.0
CALIBRATIONS = (("paper", False), ("corrected", False), ("tight", False), ("paper", True))
# Entries of a block of K(Q, Z), and of predictions.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Split:
    """Training rows X, y; the pool Z of public points; test rows Q, target."""

    X: sparse.csr_array
    y: np.ndarray
    Z: sparse.csr_array
    Q: sparse.csr_array
    target: np.ndarray

    @functools.cached_property
    def equal_rows(self) -> int:
        """How many rows of the pool equal a training row."""
        return int(overlap.overlapping(self.Z, self.X).sum())


@dataclass(frozen=True)
class Model:
    """A certified non-private fit, and what its mechanisms may know of it: L, R, total, C and the public slack.

    `predict` maps rows to <w*, phi(x)>; `noise` maps rows, a generator and a number to draws of <xi, phi(x)>, one a
    row, xi ~ N(0, I) in feature space.
    """

    kernel: Kernel
    setting: Setting
    predict: Callable[[sparse.csr_array], np.ndarray]
    noise: Callable[[sparse.csr_array, np.random.Generator, int], np.ndarray]


def splits(cell: Cell, dataset: prepared.Dataset, count: int) -> Iterator[Split]:
    """Give the first `count` splits of a data set; DataError if rows are too few or `row_splits` does not know it."""
    settings, name = cell.settings, dataset.name
    if name not in settings.row_splits:
        raise DataError(
            f"row_splits: {name!r} is missing (it has {', '.join(settings.row_splits)}); add "
            f"{name}: [training rows, rows of the pool of public points, test rows]"
        )
    sizes = settings.row_splits[name]
    X = sparse.csr_array(dataset.X)
    if sum(sizes) > len(dataset.y):
        raise DataError(
            f"{name} has {len(dataset.y)} rows; row_splits asks for {sum(sizes)} of them: lower its numbers"
        )
    for k in range(count):
        order = generator(cell, "rows", k).permutation(len(dataset.y))[: sum(sizes)]
        cuts = np.cumsum(sizes)[:-1]
        # Of millions of columns, those that a row of the split has.
        train, pool, test = _cut(touched(X[order]), cuts)
        y, _, target = np.split(dataset.y[order], cuts)
        yield Split(train, y, pool, test, target)


def _cut(X: sparse.csr_array, cuts: np.ndarray) -> list[sparse.csr_array]:
    return [X[low:high] for low, high in itertools.pairwise((0, *cuts, X.shape[0]))]


def setting(kernel: Kernel, total: float, n: int, slack_share: float) -> Setting:
    """Return the public constants of the hinge loss under a kernel, `slack_share` being slack over Delta_w."""
    R = kernel.R
    return Setting(
        lipschitz=LIPSCHITZ, feature_norm=R, total=total, slack=slack_share * 2 * LIPSCHITZ * R / total,
        radius=a_priori_radius(LOSS_AT_ZERO, LIPSCHITZ, R, total, n),
    )  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A data set, splits and values of T that `measure` runs; `reason`: why no guarantee covers it, if none does."""

    dataset: prepared.Dataset
    splits: int
    queries: Sequence[int]
    reason: str = ""

    def covered(self, guarantee: str) -> str:
        """Return what is guaranteed here of a mechanism that guarantees this."""
        return "none" if self.reason else guarantee


def measure(
    cell: Cell, rows: Rows, fits: Callable[[Split], Iterable[tuple[str, Model]]], part: Part | None = None
) -> None:
    """Measure every fit, named by its penalty, on every split: without privacy, and by every method, epsilon, T."""
    settings = cell.settings
    part = part or Part(cell.data, settings.repeats, settings.queries)
    for repeat, split in enumerate(splits(cell, part.dataset, part.splits)):
        for penalty, model in fits(split):
            here = rows.at(repeat=repeat, penalty=penalty, total=model.setting.total, queries=0)
            exact = model.predict(split.Q)
            plain = here.at(mechanism="nonprivate", calibration="", epsilon=math.inf, delta=0.0)
            plain.add("accuracy", agreement(exact, split.target), variant="svm")
            plain.add("equal_rows", split.equal_rows, variant="pool")
            pool = model.predict(split.Z)
            for T in part.queries:
                # The largest T on a few splits.
                if settings.large_queries >= T or repeat < settings.large_splits:
                    _semi_interactive(cell, here, part, model, split, pool, T, repeat)
            _without_points(cell, here, part, model, split, exact, repeat)


def _semi_interactive(
    cell: Cell, rows: Rows, part: Part, model: Model, split: Split, pool: np.ndarray, T: int, repeat: int
) -> None:
    """Measure TDDL at one T."""
    settings, Z = cell.settings, split.Z[:T]
    # All of T at a few epsilons, all epsilons at one T.
    epsilons = settings.epsilons if settings.public_points == T else settings.query_epsilons
    asked = [(Budget(e, settings.delta), name, bare) for e in epsilons for name, bare in CALIBRATIONS]
    made = tddl.releases(
        tddl.spectrum(gram(model.kernel, Z)), pool[:T], model.setting, asked, repeats=settings.draws,
        rng=generator(cell, "noise", "tddl", model.setting.total, T, repeat),
    )  # fmt: skip
    right = _right(model.kernel, split, Z, np.concatenate([one.coefficients for one in made]))
    for (budget, calibration, bare), one, values in zip(asked, made, np.split(right, len(asked)), strict=True):
        here = rows.at(mechanism="tddl", calibration=calibration, variant="bare" if bare else "", queries=T)
        _add_accuracy(here.at(guarantee=part.covered(one.guarantee)), budget, values)


def _right(kernel: Kernel, split: Split, Z: sparse.csr_array, coefficients: np.ndarray) -> np.ndarray:
    """Return the accuracy of each row of coefficients, block by block of test rows."""
    hits = np.zeros(len(coefficients))
    step = max(1, _BLOCK // max(len(coefficients), Z.shape[0]))
    for low in range(0, len(split.target), step):
        predictions = coefficients @ kernel(split.Q[low : low + step], Z).T
        hits += ((predictions > 0) == (split.target[low : low + step] > 0)).sum(axis=1)
    return hits / len(split.target)


def _without_points(
    cell: Cell, rows: Rows, part: Part, model: Model, split: Split, exact: np.ndarray, repeat: int
) -> None:
    """Measure the two Gaussian methods that need no public points."""
    settings, rng = cell.settings, generator(cell, "noise", "explicit", model.setting.total, repeat)
    # One draw of xi a repeat serves every epsilon, each in its own scale: a figure, not a release.
    noise = model.noise(split.Q, rng, settings.draws)
    first = slice(0, settings.path_rows)
    near = tddl.spectrum(gram(model.kernel, split.Q[first]))
    rng = generator(cell, "noise", "path", model.setting.total, repeat)
    for epsilon in settings.epsilons:
        budget = Budget(epsilon, settings.delta)
        scale = sigma(model.setting, budget)
        values = np.array([agreement(exact + scale * draw, split.target) for draw in noise])
        here = rows.at(mechanism="explicit_output", calibration="tight", guarantee=part.covered("proved"))
        _add_accuracy(here, budget, values)
        path = rkhs.release(near, exact[first], model.setting, budget, rng=rng, repeats=settings.draws)
        values = np.array([agreement(answers, split.target[first]) for answers in path.answers])
        here = rows.at(mechanism="rkhs_gaussian", calibration="tight", guarantee=part.covered(path.guarantee))
        _add_accuracy(here, budget, values)


def _add_accuracy(rows: Rows, budget: Budget, values: np.ndarray) -> None:
    """Add the mean over the draws of noise, and the first."""
    here = rows.at(epsilon=budget.epsilon, delta=budget.delta)
    here.add("accuracy", values.mean())
    here.add("accuracy_one", values[0])


def without_privacy(rows: Rows) -> Rows:
    """Return rows of a baseline."""
    return rows.at(
        mechanism="nonprivate", calibration="", neighbours="", epsilon=math.inf, delta=0.0, queries=0
    )  # fmt: skip


def majority(split: Split) -> float:
    """Return the share of test rows with the label of most training rows."""
    return agreement(np.full(1, split.y.mean()), split.target)


def agreement(predictions: np.ndarray, target: np.ndarray) -> float:
    """Return the share of predictions with the sign of the target, 0 counting as -1."""
    return float(((predictions > 0) == (target > 0)).mean())
