r"""Attacks on one answer that is a bit of votes: soft majority and the average's bit (dwork2018, 4.1 and 4.3).

The input is (count, r): count of r shards vote 1. A changed record is in one shard, under replace-one and under
add/remove, and moves count by one: all margins of 2 to 50 shards are looked at, exactly. The laws are written here from
the formulas. Beside them stand the mechanism's own bits, held against these laws (`fit_p`), and attacked by sampling at
the margin that twenty thousand draws show most of.

    exponential   soft majority. As printed in prose, e^{eps count}: 2 eps (D1).
    bit           the average's: E clip(count/r + Lap(b), 0, 1).

Of the soft majority (tight) also all small data sets at one point: records assigned by lot, shards that vote for their
most frequent label.

Neighbouring relation: each row's.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special, stats
from sklearn.dummy import DummyClassifier

from dperm.audit import columns, exact, reference_laws
from dperm.audit.target import Target
from dperm.mechanisms.prediction import averaged, shards, soft_majority

SHARDS = 50
# Bits drawn at an input, and inputs, of the test of the code.
FITTED, WATCHED = 2_000, 5
# Outcomes rarer than this on either side are not what sampling is for.
_SEEN = 0.003
# Beside an exact law the sampled attack looks at the code alone.
MOST_DRAWS = 20_000
# Small data sets: records, shards, and assignments that the code draws.
_RECORDS, _FEW_SHARDS, _ASSIGNED = 5, 3, 300


class Bits(NamedTuple):
    """A mechanism that answers with a bit, its guarantee as it states it, and in `words` what is looked at.

    `law` maps an input to (P(0), P(1)), `pairs` are (input, neighbour), `release` gives the mechanism's own bits.
    """

    law: Callable[[Any], np.ndarray]
    pairs: Iterable[tuple[Any, Any]]
    release: Callable[[Any, int, np.random.Generator], np.ndarray]
    guarantee: str
    words: str


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one bit."""
    made = (majority if job["mechanism"] == "soft_majority" else average)(row)
    yield from on(made, job, row, rng)
    if (job["mechanism"], row["calibration"]) == ("soft_majority", "tight"):
        yield _of_small_sets(row, rng)


def on(made: Bits, job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the exact attack over all pairs, and the sampled one at the pair that shows most."""
    pairs = list(made.pairs)
    found = exact.exact(made.law, pairs, delta=row["delta"])
    seen = _seen(made.law, pairs)
    watched = [seen[0], seen[1], *(pairs[k][0] for k in np.linspace(0, len(pairs) - 1, WATCHED - 2).astype(int))]
    record = {
        "guarantee": made.guarantee,
        "loss": "none",
        "white_box_p": fit_p(made, watched, rng("fit")),
    }
    yield record | {"pair_words": f"{made.words}: {found.pair[0]} and {found.pair[1]}"} | columns.of_finite(found)
    sampled = columns.sampled(
        Target(draw=lambda value, repeats, rng: made.release(value, repeats, rng).astype(float)), *seen,
        delta=row["delta"], draws=min(job["draws"], MOST_DRAWS), confidence=job["confidence"], rng=rng("draws"),
    )  # fmt: skip
    yield record | {"pair_words": f"{made.words}: {seen[0]} and {seen[1]}"} | sampled


def fit_p(made: Bits, inputs: Iterable[Any], rng: np.random.Generator) -> float:
    """Return how well the mechanism's own bits fit the law: the p-value of exact binomial tests by Bonferroni."""
    found = []
    for value in inputs:
        ones = int(made.release(value, FITTED, rng).sum())
        # A probability above 1 by rounding is no law.
        found.append(float(stats.binomtest(ones, FITTED, min(made.law(value)[1], 1.0)).pvalue))
    return min(1.0, len(found) * min(found))


def margins(most: int) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield (count, r) and (count + 1, r) for all counts of 2 to `most` shards."""
    for r in range(2, most + 1):
        for count, other in reference_laws.vote_margins(r):
            yield (count, r), (other, r)


def majority(row: Mapping[str, Any]) -> Bits:
    """Return the soft majority."""
    calibration, epsilon = row["calibration"], row["epsilon"]
    law = reference_laws.weighted_votes if calibration == "paper" else reference_laws.soft_majority
    return Bits(
        law=lambda value: law(value[0], models=value[1], epsilon=epsilon),
        pairs=margins(SHARDS),
        release=lambda value, repeats, rng: soft_majority.release(
            np.array([value[0]]), value[1], epsilon, calibration=calibration, rng=rng, repeats=repeats
        )[:, 0],
        guarantee=soft_majority.guarantee(calibration),
        words="votes and shards",
    )


def average(row: Mapping[str, Any], share: float = 1.0) -> Bits:
    """Return the bit of the average with this share of the noise that is due; below 1 nothing is promised."""

    def scale(r):
        return share * averaged.scale(r, row["epsilon"], row["calibration"], bits=True)

    def release(value, repeats, rng):
        count, r = value
        return averaged.release(np.array([count / r]), scale(r), rng=rng, repeats=repeats, bits=True)[:, 0]

    return Bits(
        law=lambda value: clipped(value[0] / value[1], scale(value[1])),
        pairs=margins(SHARDS),
        release=release,
        guarantee="proved" if share == 1 else "none",
        words="votes and shards",
    )


def clipped(value: float, scale: float) -> np.ndarray:
    r"""Return the law of a bit drawn with the probability clip(v + Lap(b), 0, 1): P(1) = int_0^1 P(v + Lap(b) > t) dt.

    v is in [0, 1], b is `scale`.
    """

    def above(v):
        # Of t below v: 1 - e^{(t-v)/b}/2; above v: e^{(v-t)/b}/2.
        return v - scale / 2 * -math.expm1(-v / scale) + scale / 2 * -math.expm1(-(1 - v) / scale)

    return np.array([above(1 - value), above(value)])


def _seen(law: Callable, pairs: list) -> tuple[Any, Any]:
    """Return the pair of the largest loss among those none of whose outcomes is rare."""
    best, worst = pairs[0], -1.0
    for pair in pairs:
        p, q = law(pair[0]), law(pair[1])
        loss = float(np.abs(np.log(p / q)).max()) if min(p.min(), q.min()) >= _SEEN else 0.0
        if loss > worst:
            best, worst = pair, loss
    return best


def _of_small_sets(row: Mapping[str, Any], rng: Callable) -> dict[str, Any]:
    """Return the attack on all labels of few records at one point, each assigned to one of three shards by lot."""
    epsilon, relation = row["epsilon"], row["neighbours"]

    def law(data):
        ones = [int(votes(labels).sum()) for labels in assigned(data, relation)]
        odds = epsilon * (2 * np.array(ones) - _FEW_SHARDS) / 2
        return special.expit([-odds, odds]).mean(axis=1)

    pairs = exact.neighbours_of_tiny_domain((0, 1), _RECORDS, relation)
    found = exact.exact(law, pairs, delta=row["delta"])
    data = found.pair[0]
    rng = rng("shards")
    ones = sum(_released(np.array(data), epsilon, relation, rng) for _ in range(_ASSIGNED))
    words = f"labels of {_RECORDS} records in {_FEW_SHARDS} shards by lot: {found.pair[0]} and {found.pair[1]}"
    return {
        "guarantee": soft_majority.guarantee("tight"),
        "loss": "none",
        "white_box_p": float(stats.binomtest(ones, _ASSIGNED, law(data)[1]).pvalue),
        "pair_words": words,
    } | columns.of_finite(found)


def assigned(data: tuple, relation: str) -> Iterator[list[tuple]]:
    """Give the labels in each shard, once for each of all assignments alike."""
    if relation == "add_remove":
        for lots in itertools.product(range(_FEW_SHARDS), repeat=len(data)):
            yield [tuple(y for y, lot in zip(data, lots, strict=True) if lot == k) for k in range(_FEW_SHARDS)]
        return
    each = len(data) // _FEW_SHARDS
    for order in itertools.permutations(data):
        yield [order[k * each : (k + 1) * each] for k in range(_FEW_SHARDS)]


def votes(labels: list[tuple]) -> np.ndarray:
    """Return what the shards say: their most frequent label; 0 of two that are, and of none."""
    return np.array([int(2 * sum(part) > len(part)) for part in labels])


def _released(y: np.ndarray, epsilon: float, relation: str, rng: np.random.Generator) -> int:
    """Return a bit of the mechanism's own, from its own shards."""
    X = np.zeros((len(y), 1))
    parts = shards.assign(len(y), _FEW_SHARDS, neighbours=relation, rng=rng)
    models = shards.fit_shards(DummyClassifier(strategy="most_frequent"), X, y, parts, rng=rng)
    counts = shards.votes(models, X[:1])
    return int(soft_majority.release(counts, _FEW_SHARDS, epsilon, calibration="tight", rng=rng)[0, 0])


KNOWN = {
    ("soft_majority", "paper"): ("exponential",),
    ("soft_majority", "tight"): ("exponential",),
    ("averaged", "paper"): ("bit",),
    ("averaged", "tight"): ("bit",),
}
