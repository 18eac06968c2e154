r"""Attacks on ExpPW's bit (dwork2018, Section 5): all small data sets exactly, and one long run of a label.

The law, from the formulas and with no key drawn. Records of equal points stand in uniform order, and the query stands
among those of its own point at a uniform place; so with a ones and b zeros at a point the next is a one with
probability a/(a + b), and the law of V follows group by group:

    V = the walk over all groups below x, and over a uniform number 0..a+b of records at x.

Pr[1] = E expit(step V). Small data sets: all multisets of 1 to 6 records on 4 points, all neighbours, all queries, for
the T of several alpha. A long run: n records of label 0 push V to -T; one more or less there moves V by a whole step,
and the bit 1, rare now, tells all of epsilon.

    exponential   points <= x, lifted.
    strict        (paper) points < x, and a factor e^eps a step whatever the relation (D6).
    sorted        equal points sorted by (x, y), the query behind all of its own point: private, not accurate (D5).

Neighbouring relation: each row's; it sets the step.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import special

from dperm.audit import columns, exact
from dperm.audit.prediction import bits
from dperm.audit.prediction.bits import Bits
from dperm.mechanisms.prediction import exppw

POINTS, MOST_RECORDS = 4, 6
# They set T; the last is for the long run.
ALPHAS, _LONG = (0.49, 0.2, 0.05), 1e-8
_RECORDS = tuple(itertools.product(range(POINTS), (0, 1)))
# Repeats of the mechanism's own code, which sorts anew in each.
_MOST_DRAWS = 4_000

# The law of V: its values with their probabilities.
Law = dict[float, float]


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one bit: small data sets, their like by sampling, and a long run."""
    made = Form(row)
    worst = max((made.worst(alpha) for alpha in ALPHAS), key=lambda found: found[0])[1]
    small = made.bits([worst], f"(data set of {POINTS} points, query, alpha)")
    yield from bits.on(small, {**job, "draws": min(job["draws"], _MOST_DRAWS)}, row, rng)
    # Where one more or less still counts; a point of their own for the last record and for the query: no key decides.
    come = row["neighbours"] == "add_remove"
    length = math.floor(made.bound(_LONG)) - (not come)
    run, last = ((0, 0),) * length, () if come else ((1, 0),)
    pair = tuple(((*run, *end), 2, _LONG) for end in (last, ((1, 1),)))
    found = exact.exact(made.law, [pair], delta=row["delta"])
    yield {
        "guarantee": made.guarantee,
        "loss": "none",
        "pair_words": f"{length} records of label 0 before one of label 1, which is replaced or left out",
    } | columns.of_finite(found)


class Form:
    """One form of ExpPW: its step, its T, its order, and its guarantee."""

    def __init__(self, row: Mapping[str, Any]):
        self.calibration, self.neighbours, self.epsilon = row["calibration"], row["neighbours"], row["epsilon"]
        self.order = row["variant"]
        self.guarantee = exppw.guarantee(self.calibration, self.neighbours)
        half = self.calibration == "tight" and self.neighbours == "replace"
        self.step = self.epsilon / 2 if half else self.epsilon

    def bound(self, alpha: float) -> float:
        """Return T."""
        if self.calibration == "paper":
            return math.log((1 - alpha) / alpha) / self.epsilon
        return float(math.ceil(math.log(2 / alpha) / self.step))

    def law(self, value: tuple) -> np.ndarray:
        """Return (P(0), P(1)) of (records, query, alpha)."""
        data, query, alpha = value
        return self._law(grouped(data)[: query + 1], self.bound(alpha))

    def worst(self, alpha: float) -> tuple[float, tuple]:
        """Return the largest loss over all small data sets, and the pair of inputs."""
        data, first, second = _neighbours(self.neighbours)
        bound, known = self.bound(alpha), {}
        laws = np.empty((len(data), POINTS, 2))
        for k, records in enumerate(data):
            groups = grouped(records)
            for query in range(POINTS):
                key = groups[: query + 1]
                if key not in known:
                    known[key] = self._law(key, bound)
                laws[k, query] = known[key]
        losses = np.abs(np.log(laws[first] / laws[second])).max(axis=2)
        pair, query = np.unravel_index(losses.argmax(), losses.shape)
        return float(losses.max()), tuple((data[side[pair]], int(query), alpha) for side in (first, second))

    def _law(self, groups: tuple, bound: float) -> np.ndarray:
        v = end(groups, bound, self.order)
        odds = self.step * np.array(list(v))
        return special.expit([-odds, odds]) @ np.array(list(v.values()))

    def bits(self, pairs: list[tuple], words: str) -> Bits:
        """Return what `dperm.audit.prediction.bits` attacks; `words` say what the pairs of inputs are."""
        return Bits(self.law, pairs, self._release, self.guarantee, words)

    def _release(self, value: tuple, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Return the mechanism's own bits."""
        data, query, alpha = value
        x, y = (np.array([record[k] for record in data], dtype=float) for k in (0, 1))
        asked = np.array([float(query)])
        fixed = {"calibration": self.calibration, "neighbours": self.neighbours}
        if self.order != "sorted":
            own = {"alpha": alpha, "epsilon": self.epsilon, "rng": rng, "repeats": repeats}
            return exppw.release(x, y, asked, **own, **fixed)[:, 0]
        walk = exppw.prepare(x, y, None, exppw.walk_bound(alpha, self.epsilon, **fixed))
        return rng.random(repeats) < exppw.probability(exppw.value(walk, asked), self.epsilon, **fixed)


def grouped(data: tuple) -> tuple[tuple[int, int], ...]:
    """Return (ones, records) at every point."""
    counts = [[0, 0] for _ in range(POINTS)]
    for x, y in data:
        counts[x][0] += y
        counts[x][1] += 1
    return tuple(map(tuple, counts))


@functools.cache
def _neighbours(relation: str) -> tuple[list[tuple], np.ndarray, np.ndarray]:
    """Return all small data sets, and the places of both of each pair of neighbours."""
    data = [
        records
        for size in range(MOST_RECORDS + 1)
        for records in itertools.combinations_with_replacement(_RECORDS, size)
    ]
    place = {records: k for k, records in enumerate(data)}
    pairs = [
        (place[one], place[other])
        for size in range(1, MOST_RECORDS + 1)
        for one, other in exact.neighbours_of_tiny_domain(_RECORDS, size, relation)
    ]
    return data, *np.array(pairs).T


def end(groups: tuple[tuple[int, int], ...], bound: float, order: str) -> Law:
    """Return the law of V at a query whose own point is the last group of (ones, records); `bound` is T."""
    before = after(groups[:-1], bound, order)
    ones, records = groups[-1]
    if order == "strict":
        return before
    if order == "sorted":
        return after(groups, bound, order)
    found: Law = {}
    for state in _places(before, ones, records, bound):
        _add(found, state, 1 / (records + 1))
    return found


@functools.lru_cache(maxsize=1 << 16)
def after(groups: tuple[tuple[int, int], ...], bound: float, order: str) -> Law:
    """Return the law of the walk behind these groups (groups: tuple of (ones, records)); dict of float to float."""
    if not groups:
        return {0.0: 1.0}
    before = after(groups[:-1], bound, order)
    ones, records = groups[-1]
    if order == "exponential":
        *_, last = _places(before, ones, records, bound)
        return last
    # Sorted by (x, y): zeros before ones.
    for label in [0] * (records - ones) + [1] * ones:
        before = _stepped(before, label, bound)
    return before


def _places(before: Law, ones: int, records: int, bound: float) -> Iterator[Law]:
    """Give the law of V before a group, after its first record, and so on, its records in uniform order."""
    # By how many ones are left.
    states: dict[int, Law] = {ones: dict(before)}
    yield before
    for left in range(records, 0, -1):
        following: dict[int, Law] = {}
        for rest, law in states.items():
            for label, chance in ((1, rest / left), (0, 1 - rest / left)):
                if chance:
                    _add(following.setdefault(rest - label, {}), _stepped(law, label, bound), chance)
        states = following
        together: Law = {}
        for law in states.values():
            _add(together, law, 1.0)
        yield together


def _stepped(law: Law, label: int, bound: float) -> Law:
    found: Law = {}
    for v, mass in law.items():
        to = min(max(v + 2 * label - 1, -bound), bound)
        found[to] = found.get(to, 0.0) + mass
    return found


def _add(into: Law, law: Law, weight: float) -> None:
    for v, mass in law.items():
        into[v] = into.get(v, 0.0) + weight * mass


KNOWN = {("exppw", "paper"): ("strict",), ("exppw", "tight"): ("exponential", "sorted")}
