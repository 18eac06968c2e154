r"""Private predictions and private models on real data (dwork2018, Sections 1 and 7).

A data set is divided by its public norm bound, so ||x|| <= 1, and split at random into rows to train on and rows to
test on, once a repeat; an own test file is pooled with the rest. Every method spends (epsilon, delta) on all it
releases, neighbours replace-one, calibration `tight` where no other is named. A prediction mechanism answers m queries
at the price `each` that the best valid accountant allows (`dperm.accounting.filters`); its `error` is the probability
that the answer to a test row is wrong, over noise, bits and query keys, exactly, given the split and its shards:

    soft_majority, averaged  of r shards with a ridge classifier (`committee`), r = min(printed r, floor(n/20)): with
                             fewer than 20 records a shard has too little to learn from;
    stable_erm               Corollary 4.11, logistic loss, ball of radius R; the sign of the noisy answer;
    stable_sgd               Corollary 4.13, likewise, records in a public random order;
    exppw                    on one public feature, named in the configuration (choosing it on the data would leak);
    objective                the private model: objective perturbation with Gaussian noise, logistic loss, its default
                             curvature; released once, it answers everything. `error` is the mean over its draws. With
                             calibration `separate` too, the noise without Theorem 4 (docs/privacy.md), which is later
                             than the paper; both have the same draws.

Series: `epsilon`, one query over epsilon; `queries`, over m within one epsilon (of `objective` a row with queries = 0,
of soft majority alone at `fine_queries` too, so that the m up to which it is ahead is not one of decades); `radius`, R
of the stable mechanisms at one query. mechanism `nonprivate`: `logistic` and `majority`.
"""

import functools
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm import losses
from dperm.accounting import filters
from dperm.domain import Budget, Calibration, Domain
from dperm.errors import ConfigError
from dperm.mechanisms import nonprivate, objective
from dperm.mechanisms.prediction import averaged, exppw, shards, soft_majority, stable_erm, stable_sgd
from dperm_papers.dwork2018.realdata import committee
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

LOSS = losses.logistic()
# Records that a shard has at least.
_LEAST_SHARD = 20
# Calibrations of the private model.
MODELS: tuple[Calibration, ...] = ("tight", "separate")
# Of the solvers, relative to what one record moves.
_TOLERANCE = 1e-3
_CONSTANT = "(constant)"
_BLANK = {"series": "", "queries": 0, "radius": 0.0, "shards": 0, "each": 0.0}
# Columns, and an error.
Measured = tuple[dict[str, Any], float]


@dataclass(frozen=True)
class Split:
    """Rows to train on and to test on, with ||x|| <= 1; labels -1 and +1."""

    X: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    target: np.ndarray

    def error(self, positive: np.ndarray) -> float:
        """Return the mean probability of a wrong answer, given that of the answer +1 for each test row."""
        return float(np.where(self.target > 0, 1 - positive, positive).mean())


class Committee:
    """Votes of r shards for each test row, made when first asked for; `rng` maps r to the generator of its shards."""

    def __init__(self, split: Split, rng):
        self._split, self._rng, self._found = split, rng, {}

    @property
    def most(self) -> int:
        """The largest number of shards with enough records each."""
        return max(2, len(self._split.y) // _LEAST_SHARD)

    def counts(self, r: int) -> np.ndarray:
        """Return the votes for +1, shape (m,)."""
        if r not in self._found:
            rng = self._rng(r)
            parts = shards.assign(len(self._split.y), r, neighbours="replace", rng=rng)
            self._found[r] = committee.counts(self._split.X, self._split.y, parts, self._split.Q)
        return self._found[r]


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the error of logistic regression without privacy and of the majority of the training labels."""
    logistic, majority = [], []
    for split in splits(cell):
        theta, _, met = nonprivate.fit(split.X, split.y, LOSS, ridge=cell.settings.ridge, tolerance=1e-6)
        logistic.append(split.error((split.Q @ theta > 0).astype(float)) if met else np.nan)
        majority.append(split.error(np.full(len(split.Q), float(split.y.sum() > 0))))
    rows = rows.at(**_BLANK, epsilon=np.inf, delta=0.0)
    rows.add("error", logistic, ok=np.isfinite(logistic), variant="logistic")
    rows.add("error", majority, variant="majority")


def run(cell: Cell, rows: Rows) -> None:
    """Measure the error of every private method on every split of a data set.

    Columns: `series`, `queries` (m), `each`, `shards` (r) and `radius` (R), 0 where there is none.
    """
    errors: dict[tuple, list[float]] = {}
    for repeat, split in enumerate(splits(cell)):
        for columns, value in _measured(cell, split, repeat):
            errors.setdefault(tuple(columns.items()), []).append(value)
    for columns, values in errors.items():
        here = rows.at(**_BLANK).at(calibration="tight", neighbours="replace", delta=cell.settings.delta)
        # The solver of the private model is the one that may miss its target.
        here.add("error", values, ok=np.isfinite(values), **dict(columns))


def _measured(cell: Cell, split: Split, repeat: int) -> Iterator[Measured]:
    """Give the columns and the error of every method on one split."""
    settings = cell.settings
    alpha, whole = settings.alpha, Budget(settings.epsilon, settings.delta)
    votes = Committee(split, lambda r: _rng(cell, "shards", repeat, r))

    # Series meet at a point: what was found there serves both.
    @functools.cache
    def stable(budget: Budget, m: int, radius: float) -> list[Measured]:
        return by_stable_learning(split, budget, m, radius)

    @functools.cache
    def found(budget: Budget, m: int) -> list[Measured]:
        walked = by_walk(cell, split, budget, m, _rng(cell, "keys", repeat))
        polled = [by_soft_majority(split, votes, budget, m, alpha), by_average(split, votes, budget, m, alpha)]
        return [*polled, *stable(budget, m, settings.radius), walked]

    grid = [("epsilon", epsilon, 1) for epsilon in settings.epsilons]
    grid += [("queries", settings.epsilon, m) for m in settings.queries]
    for series, epsilon, m in grid:
        for columns, value in found(Budget(epsilon, settings.delta), m):
            yield {"series": series, "epsilon": epsilon, "queries": m, **columns}, value
    for m in settings.fine_queries:
        columns, value = by_soft_majority(split, votes, whole, m, alpha)
        yield {"series": "queries", "epsilon": settings.epsilon, "queries": m, **columns}, value
    for epsilon, calibration in itertools.product(settings.epsilons, MODELS):
        rng, budget = _rng(cell, "noise", repeat, epsilon), Budget(epsilon, settings.delta)
        columns, value = by_private_model(split, budget, settings.draws, rng, calibration)
        yield {"series": "epsilon", "epsilon": epsilon, "queries": 1, **columns}, value
        if epsilon == settings.epsilon:
            yield {"series": "queries", "epsilon": epsilon, "queries": 0, **columns}, value
    if repeat < settings.side_repeats:
        for radius in settings.radii:
            for columns, value in stable(whole, 1, radius):
                yield {"series": "radius", "epsilon": settings.epsilon, "queries": 1, **columns}, value


@functools.cache
def price(budget: Budget, m: int, *, bounded_range: bool) -> float:
    """Return epsilon of one of m answers that fit into a budget together."""
    return filters.each(budget.epsilon, budget.delta, m, bounded_range=bounded_range)


def by_average(split: Split, votes: Committee, budget: Budget, m: int, alpha: float) -> Measured:
    """Return the columns and the error of an average of the votes."""
    each = price(budget, m, bounded_range=False)
    r = max(2, min(averaged.shards_needed(alpha, each), votes.most))
    noise = averaged.scale(r, each, "tight", bits=True)
    positive = averaged.expected_clip(votes.counts(r) / r, noise)
    columns = {"mechanism": "averaged", "guarantee": "proved", "shards": r, "each": each}
    return columns, split.error(positive)


def by_soft_majority(split: Split, votes: Committee, budget: Budget, m: int, alpha: float) -> Measured:
    each = price(budget, m, bounded_range=True)
    r = min(soft_majority.shards_needed(alpha, each), votes.most)
    positive = soft_majority.probability(votes.counts(r), r, each, "tight")
    columns = {"mechanism": "soft_majority", "guarantee": soft_majority.guarantee("tight"), "shards": r, "each": each}
    return columns, split.error(positive)


def by_stable_learning(split: Split, budget: Budget, m: int, radius: float) -> list[Measured]:
    """Return the columns and the errors of the signs of the two stable predictors' answers."""
    each = price(budget, m, bounded_range=False)
    fixed = {"domain": Domain(x_norm=1.0, y_bound=1.0, theta_norm=radius), "epsilon": each, "calibration": "tight"}
    made = {
        "stable_erm": stable_erm.prepare(split.X, split.y, LOSS, neighbours="replace", tolerance=_TOLERANCE, **fixed),
        "stable_sgd": stable_sgd.prepare(split.X, split.y, LOSS, **fixed),
    }
    found = []
    for mechanism, learned in made.items():
        columns = {"mechanism": mechanism, "guarantee": learned.guarantee, "radius": radius, "each": each}
        found.append((columns, split.error(above_zero(split.Q @ learned.w, learned.scale))))
    return found


def above_zero(answers: np.ndarray, scale: float) -> np.ndarray:
    """Return Pr[a + Lap(scale) > 0] for each a."""
    tail = 0.5 * np.exp(-np.abs(answers) / scale)
    return np.where(answers > 0, 1 - tail, tail)


def by_walk(cell: Cell, split: Split, budget: Budget, m: int, rng: np.random.Generator) -> Measured:
    """Return the columns and the error of ExpPW; a query's key is averaged over, the records' are drawn."""
    feature, each = _feature(cell), price(budget, m, bounded_range=True)
    x, queries = split.X[:, feature], split.Q[:, feature]
    walk = exppw.prepare(x, split.y > 0, rng.random(len(x)), exppw.walk_bound(cell.settings.alpha, each))
    columns = {"mechanism": "exppw", "guarantee": exppw.guarantee("tight"), "each": each}
    return columns, split.error(over_keys(walk, queries, each))


def over_keys(walk: exppw.Walk, queries: np.ndarray, each: float) -> np.ndarray:
    """Return Pr[1] of queries with uniform keys: at each point the mean over the gaps between its records' keys."""
    p = exppw.probability(walk.v, each)
    points, where = np.unique(queries, return_inverse=True)
    first, last = np.searchsorted(walk.x, points, "left"), np.searchsorted(walk.x, points, "right")
    # Sums by parts of (gap before each record) p, and of the gap after the last one.
    steps = np.append(walk.keys * (p[:-1] - p[1:]), 0.0)
    sums = np.add.reduceat(steps, np.column_stack([first, last]).ravel())[::2]
    means = p[last] + np.where(first < last, sums, 0.0)
    return means[where]


def by_private_model(
    split: Split, budget: Budget, draws: int, rng: np.random.Generator, calibration: Calibration
) -> Measured:
    """Return the columns and the mean error of private models, one a draw; NaN if one of them was not solved."""
    made = objective.release(
        split.X, split.y, LOSS, domain=Domain(x_norm=1.0, y_bound=1.0), budget=budget, neighbours="replace",
        calibration=calibration, rng=rng, repeats=draws,
    )  # fmt: skip
    wrong = (split.Q @ made.theta.T > 0) != (split.target[:, None] > 0)
    value = float(wrong.mean()) if made.converged.all() else np.nan
    return {"mechanism": "objective", "calibration": calibration, "guarantee": made.guarantee}, value


def splits(cell: Cell) -> Iterator[Split]:
    """Give the splits of a data set; training and test rows are cut to their largest numbers."""
    settings, dataset = cell.settings, cell.data
    X = dataset.X.toarray() if hasattr(dataset.X, "toarray") else dataset.X
    longest = dataset.bounds.x_norm
    if _CONSTANT not in dataset.features:
        X, longest = np.column_stack([X, np.ones(len(X))]), float(np.hypot(longest, 1.0))
    X = X / longest
    tested = round(settings.test_share * len(X))
    held, trained = min(tested, settings.test_rows), min(len(X) - tested, settings.train_rows)
    for repeat in range(settings.repeats):
        order = _rng(cell, "split", repeat).permutation(len(X))
        test, train = order[:held], order[-trained:]
        yield Split(X[train], dataset.y[train], X[test], dataset.y[test])


def _feature(cell: Cell) -> int:
    """Return the column that ExpPW walks along."""
    named, dataset = cell.settings.walk_features, cell.data
    if dataset.name not in named:
        raise ConfigError(
            f"walk_features: {dataset.name!r} is missing (it has {', '.join(named)}); name a feature, without a look "
            "at the data"
        )
    if named[dataset.name] not in dataset.features:
        raise ConfigError(f"walk_features: {named[dataset.name]!r} is not a feature of {dataset.name}")
    return dataset.features.index(named[dataset.name])


def _rng(cell: Cell, *names: str | float) -> np.random.Generator:
    return cell.rng(cell.point["dataset"], *names)
