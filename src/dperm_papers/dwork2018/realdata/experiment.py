r"""Private predictions and private models on real data (dwork2018, Sections 1 and 7).

A data set is divided by its public norm bound, so ||x|| <= 1, and split at random into rows to train on and rows to
test on, once a repeat; an own test file is pooled with the rest. Every method spends (epsilon, delta) on all it
releases, neighbours replace-one, calibration `tight`. A prediction mechanism answers m queries at the price `each` that
the best valid accountant allows (`dperm.accounting.filters`); its `error` is the probability that the answer to a test
row is wrong, over noise, bits and query keys, exactly, given the split and its shards:

    soft_majority, averaged  of r shards with a ridge classifier (`committee`), r = min(printed r, floor(n/20)): with
                             fewer than 20 records a shard has too little to learn from;
    stable_erm               Corollary 4.11, logistic loss, ball of radius R; the sign of the noisy answer;
    stable_sgd               Corollary 4.13, likewise, records in a public random order;
    exppw                    on one public feature, named in the configuration (choosing it on the data would leak);
    objective                the private model: objective perturbation with Gaussian noise, logistic loss, its default
                             curvature; released once, it answers everything. `error` is the mean over its draws.

Series: `epsilon`, one query over epsilon; `queries`, over m within one epsilon (of `objective` a row with queries = 0,
of soft majority alone at `fine_queries` too, so that the m up to which it is ahead is not one of decades); `radius`, R
of the stable mechanisms at one query. mechanism `nonprivate`: `logistic` and `majority`.
"""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dperm import losses, seeds
from dperm.accounting import filters
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.mechanisms import nonprivate, objective
from dperm.mechanisms.prediction import averaged, exppw, shards, soft_majority, stable_erm, stable_sgd
from dperm_papers.dwork2018.realdata import committee
from dperm_pipeline.datasets import prepared

LOSS = losses.logistic()
# Records that a shard has at least.
_LEAST_SHARD = 20
# Of the solvers, relative to what one record moves.
_TOLERANCE = 1e-3
_CONSTANT = "(constant)"


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
    """Votes of r shards for each test row, made when they are first asked for.

    - rng: from r to the generator of its shards.
    """

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


def baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the error of logistic regression without privacy and of the majority of the training labels.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    """
    lines = []
    for repeat, split in enumerate(_splits(cell, prepared.read(data))):
        theta, _, met = nonprivate.fit(split.X, split.y, LOSS, ridge=cell["settings"]["ridge"], tolerance=1e-6)
        logistic = split.error((split.Q @ theta > 0).astype(float)) if met else np.nan
        majority = split.error(np.full(len(split.Q), float(split.y.sum() > 0)))
        for name, value in {"logistic": logistic, "majority": majority}.items():
            lines.append({"variant": name, "repeat": repeat, "value": value})
    told = {"mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none", "series": ""}
    told |= {"epsilon": np.inf, "delta": 0.0, "queries": 0, "radius": 0.0, "shards": 0, "each": 0.0}
    return _finished(cell, pd.DataFrame(lines).assign(**told))


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> pd.DataFrame:
    """Return the error of every private method on every split of a data set.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    - baseline: the rows of `baseline`; no row here is measured against them.
    - Returns: metric `error`; columns `series`, `queries` (m), `each`, `shards` (r) and `radius` (R), 0 where there is
      none.
    """
    settings, dataset, lines = cell["settings"], prepared.read(data), []
    feature = _feature(settings, dataset)
    for repeat, split in enumerate(_splits(cell, dataset)):
        votes = Committee(split, lambda r, repeat=repeat: _generator(cell, "shards", repeat, r))
        grid = [("epsilon", epsilon, 1) for epsilon in settings["epsilons"]]
        grid += [("queries", settings["epsilon"], m) for m in settings["queries"]]
        for series, epsilon, m in grid:
            head = {"series": series, "epsilon": epsilon, "queries": m, "repeat": repeat}
            budget = Budget(epsilon, settings["delta"])
            lines += [{**head, **line} for line in _shared(split, votes, budget, m, settings["alpha"])]
            lines += [{**head, **line} for line in _stable(split, budget, m, settings["radius"])]
            rng = _generator(cell, "keys", repeat)
            lines.append({**head, **_walked(split, feature, budget, m, settings["alpha"], rng)})
        budget = Budget(settings["epsilon"], settings["delta"])
        for m in settings["fine_queries"]:
            line = {"series": "queries", "epsilon": settings["epsilon"], "queries": m, "repeat": repeat}
            lines.append({**line, **_voted(split, votes, budget, m, settings["alpha"])})
        for epsilon in settings["epsilons"]:
            rng, budget = _generator(cell, "noise", repeat, epsilon), Budget(epsilon, settings["delta"])
            line = {"epsilon": epsilon, "repeat": repeat, **_model(split, budget, settings["draws"], rng)}
            lines.append({**line, "series": "epsilon", "queries": 1})
            if epsilon == settings["epsilon"]:
                lines.append({**line, "series": "queries", "queries": 0})
        if repeat < settings["side_repeats"]:
            for radius in settings["radii"]:
                head = {"series": "radius", "epsilon": settings["epsilon"], "queries": 1, "repeat": repeat}
                budget = Budget(settings["epsilon"], settings["delta"])
                lines += [{**head, **line} for line in _stable(split, budget, 1, radius)]
    rows = pd.DataFrame(lines).assign(calibration="tight", neighbours="replace", variant="", delta=settings["delta"])
    return _finished(cell, rows.fillna({"radius": 0.0, "shards": 0, "each": 0.0}))


@functools.cache
def price(budget: Budget, m: int, *, bounded_range: bool) -> float:
    """Return epsilon of one of m answers that fit into a budget together."""
    return filters.each(budget.epsilon, budget.delta, m, bounded_range=bounded_range)


def _shared(split: Split, votes: Committee, budget: Budget, m: int, alpha: float) -> Iterator[dict[str, Any]]:
    """Give the errors of the two aggregates of shards."""
    yield _voted(split, votes, budget, m, alpha)
    each = price(budget, m, bounded_range=False)
    r = max(2, min(averaged.shards_needed(alpha, each), votes.most))
    noise = averaged.scale(r, each, "tight", bits=True)
    positive = averaged.expected_clip(votes.counts(r) / r, noise)
    yield {"mechanism": "averaged", "guarantee": "proved", "shards": r, "each": each, "value": split.error(positive)}


def _voted(split: Split, votes: Committee, budget: Budget, m: int, alpha: float) -> dict[str, Any]:
    """Return the error of soft majority."""
    each = price(budget, m, bounded_range=True)
    r = min(soft_majority.shards_needed(alpha, each), votes.most)
    positive = soft_majority.probability(votes.counts(r), r, each, "tight")
    told = {"mechanism": "soft_majority", "guarantee": soft_majority.guarantee("tight")}
    return {**told, "shards": r, "each": each, "value": split.error(positive)}


def _stable(split: Split, budget: Budget, m: int, radius: float) -> Iterator[dict[str, Any]]:
    """Give the errors of the signs of the two stable predictors' answers."""
    each = price(budget, m, bounded_range=False)
    fixed = {"domain": Domain(x_norm=1.0, y_bound=1.0, theta_norm=radius), "epsilon": each, "calibration": "tight"}
    made = {
        "stable_erm": stable_erm.prepare(split.X, split.y, LOSS, neighbours="replace", tolerance=_TOLERANCE, **fixed),
        "stable_sgd": stable_sgd.prepare(split.X, split.y, LOSS, **fixed),
    }
    for mechanism, found in made.items():
        value = split.error(above_zero(split.Q @ found.w, found.scale))
        yield {
            "mechanism": mechanism, "guarantee": found.guarantee, "radius": radius, "each": each, "value": value
        }  # fmt: skip


def above_zero(answers: np.ndarray, scale: float) -> np.ndarray:
    """Return Pr[a + Lap(scale) > 0] for each a."""
    tail = 0.5 * np.exp(-np.abs(answers) / scale)
    return np.where(answers > 0, 1 - tail, tail)


def _walked(
    split: Split, feature: int, budget: Budget, m: int, alpha: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the error of ExpPW; a query's key is averaged over, the records' are drawn."""
    each = price(budget, m, bounded_range=True)
    x, queries = split.X[:, feature], split.Q[:, feature]
    walk = exppw.prepare(x, split.y > 0, rng.random(len(x)), exppw.walk_bound(alpha, each))
    positive = over_keys(walk, queries, each)
    told = {"mechanism": "exppw", "guarantee": exppw.guarantee("tight")}
    return {**told, "each": each, "value": split.error(positive)}


def over_keys(walk: exppw.Walk, queries: np.ndarray, each: float) -> np.ndarray:
    """Return Pr[1] of queries with uniform keys: at each point the mean over the gaps between its records' keys."""
    p = exppw.probability(walk.v, each)
    points, where = np.unique(queries, return_inverse=True)
    first, last = np.searchsorted(walk.x, points, "left"), np.searchsorted(walk.x, points, "right")
    means = np.empty(len(points))
    for i, (low, high) in enumerate(zip(first, last, strict=True)):
        lengths = np.diff(walk.keys[low:high], prepend=0.0, append=1.0)
        means[i] = lengths @ p[low : high + 1]
    return means[where]


def _model(split: Split, budget: Budget, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the mean error of private models, one a draw."""
    made = objective.release(
        split.X, split.y, LOSS, domain=Domain(x_norm=1.0, y_bound=1.0), budget=budget, neighbours="replace",
        calibration="tight", rng=rng, repeats=draws,
    )  # fmt: skip
    wrong = (split.Q @ made.theta.T > 0) != (split.target[:, None] > 0)
    value = float(wrong.mean()) if made.converged.all() else np.nan
    return {"mechanism": "objective", "guarantee": made.guarantee, "value": value}


def _splits(cell: Mapping[str, Any], dataset: prepared.Dataset) -> Iterator[Split]:
    """Give the splits of a data set; training and test rows are cut to their largest numbers."""
    settings = cell["settings"]
    X = dataset.X.toarray() if hasattr(dataset.X, "toarray") else dataset.X
    longest = dataset.bounds.x_norm
    if _CONSTANT not in dataset.features:
        X, longest = np.column_stack([X, np.ones(len(X))]), float(np.hypot(longest, 1.0))
    X = X / longest
    held = min(round(settings["test_share"] * len(X)), settings["test_rows"])
    trained = min(len(X) - round(settings["test_share"] * len(X)), settings["train_rows"])
    for repeat in range(settings["repeats"]):
        order = _generator(cell, "split", repeat).permutation(len(X))
        test, train = order[:held], order[-trained:]
        yield Split(X[train], dataset.y[train], X[test], dataset.y[test])


def _feature(settings: Mapping[str, Any], dataset: prepared.Dataset) -> int:
    """Return the column that ExpPW walks along."""
    named = settings["walk_features"]
    if dataset.name not in named:
        raise ConfigError(
            f"walk_features: {dataset.name!r} is missing (it has {', '.join(named)}); name a feature, without a look "
            "at the data"
        )
    if named[dataset.name] not in dataset.features:
        raise ConfigError(f"walk_features: {named[dataset.name]!r} is no feature of {dataset.name}")
    return dataset.features.index(named[dataset.name])


def _finished(cell: Mapping[str, Any], rows: pd.DataFrame) -> pd.DataFrame:
    head = {key: cell[key] for key in ("paper", "experiment")} | {"dataset": cell["point"]["dataset"]}
    status = np.where(rows["value"].isna(), "failed", "ok")
    whole = {"queries": int, "shards": int, "repeat": int}
    return rows.assign(**head, metric="error", status=status).astype(whole)


def _generator(cell: Mapping[str, Any], *names: str | float) -> np.random.Generator:
    return seeds.generator(cell["seed"], cell["experiment"], cell["point"]["dataset"], *names)
