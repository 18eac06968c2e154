r"""How many queries a budget answers, and how well (dwork2018, Definition 1.1 and Section 1).

**Total epsilon.** m answers at a price of 0.01 each, by every accountant; and the exact delta of the m worst bits at
the epsilon that it says (`worst_bits`), which must not be above delta. For the prices at which m answers fit into
epsilon, the delta of the best adaptive choice of soft majority bits.

**Accuracy** of one answer if m are to be given within (epsilon, delta) in all: soft majority at the price that every
accountant allows, r = ceil(6 ln(4/alpha)/price) shards but never fewer than 20 records in one;

    consensus    rounds in which the shards' majority is free and only contested rows are paid for; rows after the last
                 contested answer get a coin. With a part c of all rows contested, the i-th row is answered with
                 probability Pr[Bin(i - 1, c) < B];
    student      m public rows are labelled by soft majority (the best accountant), and a learner trained on them
                 answers any number of queries.

flip: x uniform on [0, 1], y = 1[x >= 1/2] flipped with probability 0.2, shards by empirical risk minimisation. The
accuracy is integrated over x, over the data and over the noise (`flips`); only the student is drawn. digits: logistic
regression on the shards; the mean over test rows and splits, noise integrated. Consensus needs more shards than digits
has records for.

**Answers at a given accuracy**: how many a budget has, by every accountant, if each is to be right with probability
`level`. The accuracy rises with the price, so the least price is found by halving, and the number is how many answers
of that price fit. In consensus mode it is the largest m at which the mean over all m is right so often; a student whose
mean accuracy reaches the level has no bound on them: metric `unlimited`, 1 or 0, and `m` labels are enough for it.

References
----------
dwork2018, Definition 1.1, Theorem 4.1; docs/privacy.md, section 12, Theorems T and U.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from dperm import seeds
from dperm.accounting import filters
from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms.prediction import consensus, soft_majority
from dperm_papers.dwork2018.shared import flips, worst_bits
from dperm_pipeline.datasets import prepared

# Shards have at least so many records (the catalogue's default on real data).
_LEAST = 20
# So many rows are looked at in consensus mode.
_COUNTED = 10**7
# What the accountants of the paper's time are, and what came later.
_CALIBRATIONS = {"basic": "paper", "advanced": "paper"}
_NO_COLUMNS = {
    "series": "", "accountant": "", "m": 0, "r": 0, "each": 0.0, "contested": 0, "n": 0, "repeat": 0, "level": 0.0
}  # fmt: skip


def baseline(cell: Mapping[str, Any], *, data: str) -> pd.DataFrame:
    """Return the accuracy without privacy: logistic regression on all training rows of every split, and the majority.

    - cell: as `dperm_pipeline.plan` made it.
    - data: the prepared data set.
    """
    found = []
    for repeat, (X, y, _, Q, target) in enumerate(_splits(cell, data)):
        said = {"logistic": _learner().fit(X, y).predict(Q), "majority": np.full(len(target), y.mean() > 0.5)}
        found += [{"variant": name, "repeat": repeat, "value": (bits == target).mean()} for name, bits in said.items()]
    head = {**_head(cell), "mechanism": "nonprivate", "calibration": "", "neighbours": "", "guarantee": "none"}
    head |= {**_NO_COLUMNS, "dataset": cell["point"]["dataset"], "epsilon": np.inf, "delta": 0.0, "metric": "accuracy"}
    return pd.DataFrame([{**head, "series": "accuracy", **row} for row in found])


def run(cell: Mapping[str, Any], *, data: str, baseline: str) -> pd.DataFrame:
    """Return the rows of the accountants, of the flip law and of the data set.

    - cell: as `dperm_pipeline.plan` made it.
    - data, baseline: the prepared data set; the baseline's rows stand beside these and are not read.
    - Returns: metrics total_epsilon, delta, excess (its excess over the allowed delta, relative), accuracy, answered:
      how many answers at the accuracy `level`, and unlimited: 1 if a student has that accuracy.
    - Raises DataError: if the data set has too few rows.
    """
    del baseline
    head = {**_head(cell), "mechanism": "soft_majority", "neighbours": "replace", "guarantee": "proved", "variant": ""}
    head |= _NO_COLUMNS
    rows = [*_totals(cell), *_attacks(cell), *_flip(cell), *_real(cell, data)]
    rows += _unlimited(cell["settings"], pd.DataFrame(rows))
    frame = pd.DataFrame([{**head, **row} for row in rows])
    calibrations = frame["accountant"].map(lambda name: _CALIBRATIONS.get(name, "tight"))
    return frame.assign(calibration=calibrations)


def _head(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {"paper": cell["paper"], "experiment": cell["experiment"], "status": "ok"}


def _totals(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Total epsilon of m answers, and the exact delta of m bits there."""
    settings = cell["settings"]
    each, delta = settings["each"], settings["delta"]
    for name in filters.ACCOUNTANTS:
        wide = {"bounded_range": name == "bounded_range"}
        for m in settings["queries"]:
            total = filters.spent(each, m, delta, accountant=name, **wide)
            at = {"series": "total", "dataset": "no-data", "accountant": name, "m": m, "each": each}
            at |= {"epsilon": total, "delta": delta}
            found = worst_bits.worst_delta(total, m, each, **wide)
            yield {**at, "metric": "total_epsilon", "value": total}
            yield {**at, "metric": "delta", "value": found}
            yield {**at, "metric": "excess", "value": found / delta - 1}


def _attacks(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What the best adaptive choice of soft majority bits achieves where m of them fill the budget."""
    settings = cell["settings"]
    epsilon, delta = settings["epsilon"], settings["delta"]
    for name, m in itertools.product(("advanced", "bounded_range"), settings["attacked_queries"]):
        each = filters.each(epsilon, delta, m, bounded_range=True, accountant=name)
        found = worst_bits.adaptive_delta(epsilon, m, each)
        at = {"series": "adaptive", "dataset": "votes", "accountant": name, "m": m, "each": each}
        at |= {"epsilon": epsilon, "delta": delta}
        yield {**at, "metric": "delta", "value": found}
        yield {**at, "metric": "excess", "value": found / delta - 1}


def _prices(settings: Mapping[str, Any]) -> Iterator[tuple[str, int, float]]:
    """Accountant, m, and the price at which m answers fit."""
    for name in filters.ACCOUNTANTS:
        for m in settings["queries"]:
            wide = name == "bounded_range"
            yield name, m, filters.each(
                settings["epsilon"], settings["delta"], m, bounded_range=wide, accountant=name
            )  # fmt: skip


def _shards(each: float, alpha: float, n: int) -> int:
    return min(soft_majority.shards_needed(alpha, each), n // _LEAST)


def _consensus(settings: Mapping[str, Any], n: int) -> Iterator[tuple[int, int, consensus.Terms]]:
    """B, the number of shards, and the terms, wherever there are shards enough."""
    epsilon, delta = settings["epsilon"], settings["delta"]
    for contested in settings["contested"]:
        r = min(consensus.shards_needed(epsilon, delta, contested), n // _LEAST)
        try:
            yield contested, r, consensus.terms(epsilon, delta, r, contested)
        except InvalidBudget:
            continue


def _answered(m: int, contested: int, share: float) -> float:
    """Mean share of m rows that come before the last contested answer is spent, the row of that one included."""
    # sum over i < m of Pr[Bin(i, c) < B] is E min(N, m), N the row of the B-th contested answer.
    if share == 0:
        return 1.0
    law = stats.nbinom(contested, share)  # N - B
    below = np.arange(max(m - contested, 0))
    return float((below + contested) @ law.pmf(below) + m * law.sf(m - contested - 1)) / m


def _at_levels(settings: Mapping[str, Any], right: Callable[[float], float]) -> Iterator[dict[str, Any]]:
    """How many answers fit at the least price at which they are right so often."""
    epsilon, delta = settings["epsilon"], settings["delta"]
    for level in settings["levels"]:
        price = _least_price(right, level, epsilon)
        for name in filters.ACCOUNTANTS:
            how = {"bounded_range": name == "bounded_range", "accountant": name}
            m = filters.capacity(epsilon, delta, price, **how) if price else 0
            yield {"metric": "answered", "accountant": name, "level": level, "each": price, "value": float(m)}


def _least_price(right: Callable[[float], float], level: float, most: float) -> float:
    """The price at which what rises with it reaches a level, rounded up by 10^-12 of it; 0 if `most` is too little."""
    if right(most) < level:
        return 0.0
    low, high = most / 2, most
    # An answer that costs nothing is a coin, and every level is above that.
    while right(low) >= level:
        low, high = low / 2, low
    while high > low * (1 + 1e-12):
        middle = (low + high) / 2
        low, high = (low, middle) if right(middle) >= level else (middle, high)
    return high


def _most_rows(right: Callable[[int], float], level: float) -> int:
    """Return the largest m at which what falls with it is at least a level above its limit; at most some 10^7."""
    if right(1) < level:
        return 0
    low, high = 1, 2
    while high < _COUNTED and right(high) >= level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if right(middle) >= level else (low, middle)
    return low


def _unlimited(settings: Mapping[str, Any], rows: pd.DataFrame) -> list[dict[str, Any]]:
    """For each law and level, whether a student reaches it, and after how few labels."""
    found = []
    for dataset, own in rows[rows["series"] == "student"].groupby("dataset"):
        means = own.groupby("m")["value"].mean()
        shared = own.iloc[0][["epsilon", "delta", "n"]].to_dict()
        for level in settings["levels"]:
            enough = means.index[means >= level]
            at = {**shared, "series": "student", "dataset": dataset, "metric": "unlimited", "level": level}
            found.append({**at, "m": int(min(enough, default=0)), "value": float(len(enough) > 0)})
    return found


def _flip(cell: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]
    n, alpha = settings["records"], settings["alpha"]
    budget = {"epsilon": settings["epsilon"], "delta": settings["delta"]}
    at = {"series": "accuracy", "dataset": "flip", "metric": "accuracy", "n": n, **budget}

    @functools.cache
    def accuracy(r: int, each: float) -> float:
        one = soft_majority.probability(np.arange(r + 1), r, each)
        return _right(flips.mean_over_votes(n // r, r, one, 1 - one[::-1]))

    for name, m, each in _prices(settings):
        r = _shards(each, alpha, n)
        yield {**at, "accountant": name, "m": m, "r": r, "each": each, "value": accuracy(r, each)}
    for row in _at_levels(settings, lambda each: accuracy(_shards(each, alpha, n), each)):
        yield {**at, **row, "r": _shards(row["each"], alpha, n) if row["each"] else 0}
    for contested, r, terms in _consensus(settings, n):
        count = np.arange(r + 1)
        free = consensus.free_probability(count, r, terms)
        one = free * consensus.majority(count, r) + (1 - free) * soft_majority.probability(count, r, terms.each)
        share = flips.mean_over_votes(n // r, r, 1 - free, 1 - free[::-1])
        right = _right(flips.mean_over_votes(n // r, r, one, 1 - one[::-1]))
        own = {**at, "series": "consensus", "contested": contested, "r": r, "each": terms.each}

        def mean(m: int, own: tuple[int, float, float] = (contested, share, right)) -> float:
            answered = _answered(m, *own[:2])
            return answered * own[2] + (1 - answered) / 2

        for m in settings["queries"]:
            yield {**own, "m": m, "value": mean(m)}
        for level in settings["levels"]:
            yield {**own, "metric": "answered", "level": level, "value": float(_most_rows(mean, level))}
    for m, each in _students(settings, None):
        r = _shards(each, alpha, n)
        own = {**at, "series": "student", "m": m, "r": r, "each": each}
        for repeat in range(settings["repeats"]):
            rng = seeds.generator(cell["seed"], cell["experiment"], "flip", m, repeat)
            shards = np.sort(flips.thresholds(n // r, (r,), rng))
            x = rng.random(m)
            bits = soft_majority.probability(np.searchsorted(shards, x, side="right"), r, each) > rng.random(m)
            learnt = flips.erm(x[None, :], bits[None, :])
            yield {**own, "repeat": repeat, "value": 1 - float(flips.error(learnt)[0])}
    everything = 1 - flips.FLIP - flips.mean_excess(n, 1, 0.0)
    head = {"mechanism": "nonprivate", "neighbours": "", "guarantee": "none", "epsilon": np.inf, "delta": 0.0}
    yield {**at, **head, "variant": "erm", "value": everything}


def _right(wrong: float) -> float:
    """Accuracy, of the probability that a bit is not 1[x >= 1/2]."""
    return 1 - flips.FLIP - (1 - 2 * flips.FLIP) * wrong


def _students(settings: Mapping[str, Any], most: int | None) -> Iterator[tuple[int, float]]:
    for m in settings["labelled"]:
        if most is None or m <= most:
            yield m, filters.each(settings["epsilon"], settings["delta"], m, bounded_range=True)


def _real(cell: Mapping[str, Any], data: str) -> Iterator[dict[str, Any]]:
    settings = cell["settings"]
    at = {"series": "accuracy", "dataset": cell["point"]["dataset"], "metric": "accuracy"}
    at |= {"epsilon": settings["epsilon"], "delta": settings["delta"]}
    measured = []
    for repeat, (X, y, pool, Q, target) in enumerate(_splits(cell, data)):
        public, counts = _voting(cell, X, y, repeat, pool, Q)
        accuracy = functools.partial(_accuracy, counts, target, settings["alpha"], len(y))
        measured.append(accuracy)
        at["n"] = len(y)
        for name, m, each in _prices(settings):
            r = _shards(each, settings["alpha"], len(y))
            own = {"accountant": name, "m": m, "r": r, "each": each, "repeat": repeat}
            yield {**at, **own, "value": accuracy(each)}
        for m, each in _students(settings, len(pool)):
            r = _shards(each, settings["alpha"], len(y))
            rng = seeds.generator(cell["seed"], cell["experiment"], "labels", m, repeat)
            bits = soft_majority.release(public(r)[:m], r, each, calibration="tight", rng=rng)[0]
            said = _learner().fit(pool[:m], bits).predict(Q) if 0 < bits.sum() < m else np.full(len(Q), bits[0])
            own = {"series": "student", "m": m, "r": r, "each": each, "repeat": repeat}
            yield {**at, **own, "value": float((said == target).mean())}
    for row in _at_levels(settings, lambda each: float(np.mean([accuracy(each) for accuracy in measured]))):
        yield {**at, **row, "r": _shards(row["each"], settings["alpha"], at["n"]) if row["each"] else 0}


def _accuracy(counts: Callable[[int], np.ndarray], target: np.ndarray, alpha: float, n: int, each: float) -> float:
    """Accuracy on the rows that `counts` is about, noise integrated."""
    r = _shards(each, alpha, n)
    one = soft_majority.probability(counts(r), r, each)
    return float(np.where(target == 1, one, 1 - one).mean())


def _voting(
    cell: Mapping[str, Any], X: np.ndarray, y: np.ndarray, repeat: int, *rows: np.ndarray
) -> list[Callable[[int], np.ndarray]]:
    """Return, for each lot of rows, what gives the votes of r shards on it; each r is fitted once."""
    # Loaded here: experiments on laws need no scikit-learn.
    from dperm.mechanisms.prediction import shards

    @functools.cache
    def models(r: int) -> list[Any]:
        rng = seeds.generator(cell["seed"], cell["experiment"], "shards", r, repeat)
        return shards.fit_shards(_learner(), X, y, shards.assign(len(y), r, neighbours="replace", rng=rng), rng=rng)

    return [functools.cache(lambda r, lot=lot: shards.votes(models(r), lot)) for lot in rows]


def _learner() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=200)


def _splits(cell: Mapping[str, Any], data: str) -> Iterator[tuple[np.ndarray, ...]]:
    """Give training rows and labels, public rows, test rows and labels of every split; labels 0 and 1."""
    settings, dataset = cell["settings"], prepared.read(data)
    n = len(dataset.y)
    test, pool = round(settings["test_share"] * n), round(settings["public_share"] * n)
    if n - test - pool < 2 * _LEAST:
        raise DataError(f"{dataset.name} has {n} rows, too few for two shards of {_LEAST} beside its other parts")
    y = (dataset.y > 0).astype(np.int8)
    for repeat in range(settings["repeats"]):
        order = seeds.generator(cell["seed"], cell["experiment"], "rows", repeat).permutation(n)
        held, public, train = np.split(order, [test, test + pool])
        yield dataset.X[train], y[train], dataset.X[public], dataset.X[held], y[held]
