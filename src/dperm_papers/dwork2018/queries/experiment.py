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
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import stats

from dperm.accounting import filters
from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms.prediction import consensus, soft_majority
from dperm_papers.dwork2018.queries.settings import Settings
from dperm_papers.dwork2018.shared import flips, worst_bits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Shards have at least so many records (the catalogue's default on real data).
_LEAST = 20
# So many rows are looked at in consensus mode.
_COUNTED = 10**7
_BLANK = {"series": "", "accountant": "", "m": 0, "r": 0, "each": 0.0, "contested": 0, "n": 0, "level": 0.0}


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the accuracy without privacy: of logistic regression on all training rows, and of the majority."""
    logistic, majority = [], []
    for X, y, _, Q, target in _splits(cell):
        logistic.append((_learner().fit(X, y).predict(Q) == target).mean())
        majority.append(((y.mean() > 0.5) == target).mean())
    rows = rows.at(**_BLANK).at(series="accuracy", epsilon=np.inf, delta=0.0)
    rows.add("accuracy", logistic, variant="logistic")
    rows.add("accuracy", majority, variant="majority")


def run(cell: Cell, rows: Rows) -> None:
    """Measure the accountants, the flip law and the data set.

    Metrics: total_epsilon, delta, excess (that of delta over the one that is allowed, relative), accuracy, answered
    (how many answers at the accuracy `level`), unlimited (1 if a student has that accuracy).
    """
    rows = rows.at(**_BLANK, mechanism="soft_majority", calibration="tight", neighbours="replace", guarantee="proved")
    totals(cell.settings, rows)
    attacks(cell.settings, rows)
    _flip(cell, rows)
    _real(cell, rows)


def _by(accountant: str) -> dict[str, str]:
    """Return the columns that tell an accountant: of the paper's time, or later."""
    return {"accountant": accountant, "calibration": "paper" if accountant in ("basic", "advanced") else "tight"}


def totals(settings: Settings, rows: Rows) -> None:
    """Add the total epsilon of m answers, and the exact delta of m bits there."""
    each, delta = settings.each, settings.delta
    for name, m in itertools.product(filters.ACCOUNTANTS, settings.queries):
        wide = {"bounded_range": name == "bounded_range"}
        total = filters.spent(each, m, delta, accountant=name, **wide)
        found = worst_bits.worst_delta(total, m, each, **wide)
        here = rows.at(series="total", dataset="no-data", **_by(name), m=m, each=each, epsilon=total, delta=delta)
        here.add("total_epsilon", total)
        here.add("delta", found)
        here.add("excess", found / delta - 1)


def attacks(settings: Settings, rows: Rows) -> None:
    """Add what the best adaptive choice of soft majority bits achieves where m of them fill the budget."""
    epsilon, delta = settings.epsilon, settings.delta
    for name, m in itertools.product(("advanced", "bounded_range"), settings.attacked_queries):
        each = filters.each(epsilon, delta, m, bounded_range=True, accountant=name)
        found = worst_bits.adaptive_delta(epsilon, m, each)
        here = rows.at(series="adaptive", dataset="votes", **_by(name), m=m, each=each, epsilon=epsilon, delta=delta)
        here.add("delta", found)
        here.add("excess", found / delta - 1)


def _prices(settings: Settings) -> Iterator[tuple[str, int, float]]:
    """Give accountant, m, and the price at which m answers fit."""
    for name, m in itertools.product(filters.ACCOUNTANTS, settings.queries):
        wide = name == "bounded_range"
        yield name, m, filters.each(settings.epsilon, settings.delta, m, bounded_range=wide, accountant=name)


def _shards(each: float, alpha: float, n: int) -> int:
    return min(soft_majority.shards_needed(alpha, each), n // _LEAST)


def _consensus(settings: Settings, n: int) -> Iterator[tuple[int, int, consensus.Terms]]:
    """Give B, the number of shards, and the terms, wherever there are shards enough."""
    epsilon, delta = settings.epsilon, settings.delta
    for contested in settings.contested:
        r = min(consensus.shards_needed(epsilon, delta, contested), n // _LEAST)
        try:
            yield contested, r, consensus.terms(epsilon, delta, r, contested)
        except InvalidBudget:
            continue


def answered(m: int, contested: int, share: float) -> float:
    """Return the mean share of m rows, a share c of them contested, up to the last of B that may be spent."""
    # sum over i < m of Pr[Bin(i, c) < B] is E min(N, m), N the row of the B-th contested answer.
    if share == 0:
        return 1.0
    law = stats.nbinom(contested, share)  # N - B
    below = np.arange(max(m - contested, 0))
    return float((below + contested) @ law.pmf(below) + m * law.sf(m - contested - 1)) / m


def _at_levels(settings: Settings, rows: Rows, n: int, right: Callable[[float], float]) -> None:
    """Add how many answers fit at the least price at which they are right so often, by each accountant."""
    epsilon, delta = settings.epsilon, settings.delta
    for level in settings.levels:
        price = least_price(right, level, epsilon)
        r = _shards(price, settings.alpha, n) if price else 0
        for name in filters.ACCOUNTANTS:
            how = {"bounded_range": name == "bounded_range", "accountant": name}
            m = filters.capacity(epsilon, delta, price, **how) if price else 0
            rows.add("answered", m, **_by(name), level=level, each=price, r=r)


def least_price(right: Callable[[float], float], level: float, most: float) -> float:
    """Return the least price, to 10^-12 of it upwards, at which what rises with it reaches a level; 0 if none does.

    None above `most` is looked at.
    """
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


def most_rows(right: Callable[[int], float], level: float) -> int:
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


def _students(settings: Settings, rows: Rows, found: dict[int, list[float]], n: int) -> None:
    """Add the accuracies of students by their numbers of labels, and for each level the least number that has it."""
    for m, values in found.items():
        each = _label_price(settings, m)
        rows.add("accuracy", values, series="student", m=m, r=_shards(each, settings.alpha, n), each=each)
    for level in settings.levels:
        enough = [m for m, values in found.items() if np.mean(values) >= level]
        rows.add("unlimited", len(enough) > 0, series="student", level=level, m=min(enough, default=0))


def _label_price(settings: Settings, m: int) -> float:
    """Return the price at which m labels fit."""
    return filters.each(settings.epsilon, settings.delta, m, bounded_range=True)


def _flip(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    n, alpha = settings.records, settings.alpha
    rows = rows.at(dataset="flip", n=n, epsilon=settings.epsilon, delta=settings.delta)

    @functools.cache
    def accuracy(r: int, each: float) -> float:
        one = soft_majority.probability(np.arange(r + 1), r, each)
        return flips.accuracy(flips.mean_over_votes(n // r, r, one, 1 - one[::-1]))

    here = rows.at(series="accuracy")
    for name, m, each in _prices(settings):
        r = _shards(each, alpha, n)
        here.add("accuracy", accuracy(r, each), **_by(name), m=m, r=r, each=each)
    _at_levels(settings, here, n, lambda each: accuracy(_shards(each, alpha, n), each))
    for contested, r, terms in _consensus(settings, n):
        _with_consensus(settings, rows, n, contested, r, terms)
    learnt = {m: [_learnt(cell, n, m, repeat) for repeat in range(settings.repeats)] for m in settings.labelled}
    _students(settings, rows, learnt, n)
    everything = 1 - flips.FLIP - flips.mean_excess(n, 1, 0.0)
    without = {"mechanism": "nonprivate", "neighbours": "", "guarantee": "none", "epsilon": np.inf, "delta": 0.0}
    here.at(**without).add("accuracy", everything, variant="erm")


def _with_consensus(settings: Settings, rows: Rows, n: int, contested: int, r: int, terms: consensus.Terms) -> None:
    count = np.arange(r + 1)
    free = consensus.free_probability(count, r, terms)
    one = free * consensus.majority(count, r) + (1 - free) * soft_majority.probability(count, r, terms.each)
    share = flips.mean_over_votes(n // r, r, 1 - free, 1 - free[::-1])
    right = flips.accuracy(flips.mean_over_votes(n // r, r, one, 1 - one[::-1]))

    def mean(m: int) -> float:
        before = answered(m, contested, share)
        return before * right + (1 - before) / 2

    here = rows.at(series="consensus", contested=contested, r=r, each=terms.each)
    for m in settings.queries:
        here.add("accuracy", mean(m), m=m)
    for level in settings.levels:
        here.add("answered", most_rows(mean, level), level=level)


def _learnt(cell: Cell, n: int, m: int, repeat: int) -> float:
    """Return the accuracy of a threshold that is learned from m labels."""
    each, rng = _label_price(cell.settings, m), cell.rng("flip", m, repeat)
    r = _shards(each, cell.settings.alpha, n)
    shards = np.sort(flips.thresholds(n // r, (r,), rng))
    x = rng.random(m)
    bits = soft_majority.probability(np.searchsorted(shards, x, side="right"), r, each) > rng.random(m)
    return 1 - float(flips.error(flips.erm(x[None, :], bits[None, :]))[0])


def _real(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    prices, measured, students, n = [*_prices(settings)], [], {}, 0
    for repeat, (X, y, pool, Q, target) in enumerate(_splits(cell)):
        n = len(y)
        public, counts = _voting(cell, X, y, repeat, pool, Q)
        measured.append(functools.cache(functools.partial(_accuracy, counts, target, settings.alpha, n)))
        for m in settings.labelled:
            if m > len(pool):
                continue
            each = _label_price(settings, m)
            r, rng = _shards(each, settings.alpha, n), cell.rng("labels", m, repeat)
            bits = soft_majority.release(public(r)[:m], r, each, calibration="tight", rng=rng)[0]
            said = _learner().fit(pool[:m], bits).predict(Q) if 0 < bits.sum() < m else np.full(len(Q), bits[0])
            students.setdefault(m, []).append(float((said == target).mean()))
    rows = rows.at(n=n, epsilon=settings.epsilon, delta=settings.delta)
    here = rows.at(series="accuracy")
    for name, m, each in prices:
        values = [accuracy(each) for accuracy in measured]
        here.add("accuracy", values, **_by(name), m=m, r=_shards(each, settings.alpha, n), each=each)
    _students(settings, rows, students, n)
    _at_levels(settings, here, n, lambda each: float(np.mean([accuracy(each) for accuracy in measured])))


def _accuracy(counts: Callable[[int], np.ndarray], target: np.ndarray, alpha: float, n: int, each: float) -> float:
    """Return the accuracy on the rows that `counts` is about, noise integrated."""
    r = _shards(each, alpha, n)
    one = soft_majority.probability(counts(r), r, each)
    return float(np.where(target == 1, one, 1 - one).mean())


def _voting(
    cell: Cell, X: np.ndarray, y: np.ndarray, repeat: int, *rows: np.ndarray
) -> list[Callable[[int], np.ndarray]]:
    """Return, for each lot of rows, what gives the votes of r shards on it; each r is fitted once."""
    # Loaded here: experiments on laws need no scikit-learn.
    from dperm.mechanisms.prediction import shards

    @functools.cache
    def models(r: int) -> list[Any]:
        rng = cell.rng("shards", r, repeat)
        return shards.fit_shards(_learner(), X, y, shards.assign(len(y), r, neighbours="replace", rng=rng), rng=rng)

    return [functools.cache(lambda r, lot=lot: shards.votes(models(r), lot)) for lot in rows]


def _learner() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1.0, max_iter=200)


def _splits(cell: Cell) -> Iterator[tuple[np.ndarray, ...]]:
    """Give training rows and labels, public rows, test rows and labels of every split; labels 0 and 1."""
    settings, dataset = cell.settings, cell.data
    n = len(dataset.y)
    test, pool = round(settings.test_share * n), round(settings.public_share * n)
    if n - test - pool < 2 * _LEAST:
        raise DataError(f"{dataset.name} has {n} rows, too few for two shards of {_LEAST} beside its other parts")
    y = (dataset.y > 0).astype(np.int8)
    for repeat in range(settings.repeats):
        order = cell.rng("rows", repeat).permutation(n)
        held, public, train = np.split(order, [test, test + pool])
        yield dataset.X[train], y[train], dataset.X[public], dataset.X[held], y[held]
