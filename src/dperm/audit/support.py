r"""Attacks on the private choice of a support: Exp-mech and Samp-Agg (kifer2012, Algorithms 4 and 5). All are exact.

The outcomes are few, so their probabilities are written down from the formulas (p = 2 s, s = 1 or 2; weights and noise
as the mechanisms' `exponent` and `calibrate` name them), and no event is missed. Whether the code draws from that law
is what a chi-square test of its draws asks, on data where no outcome is rare.

Exp-mech, pair `shifted`. Records (1/2, 0) with y = B and (0, 1/2) with y = -B press theta_1 to B and theta_2 to -B, the
ends of the box, with force to spare. The record (1, 1) with y = -Y then costs support {1} all of alpha =
(Y + B)^2/2 and support {2} nothing (Y = B = 1). Under replace-one it takes the place of (1, 1) with y = Y, which does
the opposite. So the log-odds move by w alpha, or 2 w alpha; support {1}, made rare by more records of the other kind,
shows it all. For s = 2 (`exponential_s2`) there are two features of each kind, and the record is (1, 1)/sqrt(2) in the
first two and (1, 1)/2 in the others: <x, theta> is sqrt(2) at {1, 2} and -1 = y at {3, 4}, so that alpha =
(Y + sqrt(2) B)^2/2 is attained by one and 0 by the other; under replace-one it takes the place of its mirror image.
For s = 1 beside it all pairs of a tiny domain are tried: x in {-1, 0, 1}^2, y in {-1, 0, 1}, two records.

Samp-Agg, pair `votes`: `dperm.audit.voting`; `laplace_s2`: a vote turns from {1, 2} to {3, 4}; `laplace_at_k`: the
printed blocks, as many for both.

Neighbouring relation: each budget's.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
from scipy import optimize, special, stats

from dperm.audit import columns, exact, jobs, reference_laws, voting
from dperm.audit.linear_targets import LinearData, with_record
from dperm.audit.voting import Selector
from dperm.audit.white_box import pooled
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.mechanisms.support import exp_mech

PAIRS = ("shifted", "votes")
DOMAIN = Domain(x_norm=1.0, y_bound=1.0)
# A rare support: its log-odds without the record that differs.
RARE = 25.0
# Draws that are held against the law; each of Samp-Agg's corrected ones solves its own lassos.
_DRAWS = 2_000
VARIANTS = {"exp_mech": ("exponential", "exponential_s2"), "samp_agg": ("laplace", "laplace_s2", "laplace_at_k")}


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; ConfigError if a `variant` is not the law of the mechanism's noise (s = 2 or 1)."""
    for row in job["rows"]:
        if row["variant"] not in VARIANTS[job["mechanism"]]:
            raise ConfigError(
                f"config/audits.yaml: variant {row['variant']!r} of {job['mechanism']!r}: it is not one of "
                f"{', '.join(VARIANTS[job['mechanism']])}"
            )
    return [record for row in job["rows"] for record in _attacks(job, row)]


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    budget, neighbours = Budget(row["epsilon"], row["delta"]), row["neighbours"]
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": job["calibration"]}
    size = 2 if row["variant"].endswith("_s2") else 1
    names = (*(job[key] for key in ("mechanism", "calibration", "pair")), neighbours, budget.epsilon)
    own = {"exponential_s2": (2,), "laplace_s2": (2,), "laplace_at_k": ("given k",)}.get(row["variant"], ())
    rng = jobs.generators(job, *names, *own)
    if job["mechanism"] == "exp_mech":
        selector = exponential(**fixed, size=size)
        words = "shifted: one record costs one support all of alpha, another nothing"
        pair, probed = shifted(**fixed, size=size), (selector, wavering(rng("probe")))
    elif size == 2:
        selector = voting.selector_of_two(**fixed, blocks=voting.BLOCKS_OF_TWO)
        *pair, words = voting.both_flipped(neighbours, voting.BLOCKS_OF_TWO)
        probed = voting.selector_of_two(**fixed, blocks=3), voting.crowd_of_two(60)
    elif row["variant"] == "laplace_at_k":
        if (job["calibration"], neighbours) != ("paper", "add_remove"):
            raise ConfigError(
                "config/audits.yaml: variant 'laplace_at_k' is of calibration 'paper' and neighbours 'add_remove' "
                "alone: elsewhere one record moves no end of a block"
            )
        selector = voting.selector(**fixed, blocks=voting.GIVEN)
        *pair, words = voting.list_cut_at_k()
        probed = voting.selector(**fixed, blocks=3), voting.list_with_segments(5, 24)
    elif job["calibration"] == "paper":
        selector = voting.selector(**fixed, blocks=None)
        *pair, words = voting.flipped(neighbours=neighbours, calibration="paper")
        probed = selector, voting.list_with_segments(5, 24)
    else:
        selector = voting.selector(**fixed, blocks=voting.BLOCKS)
        *pair, words = voting.flipped(neighbours=neighbours, calibration="corrected")
        # Few blocks, so that no outcome is rare.
        probed = voting.selector(**fixed, blocks=3), voting.one_feature([0, 1, 1, 0], [0.2, 0.3, -0.9, 0.6])
    record = {
        **columns.head(job, row),
        "guarantee": selector.guarantee,
        "loss": "squared",
        "white_box_p": law_test(*probed, rng("draws")),
    }
    yield record | {"pair_words": words} | columns.over_outcomes(selector.law, *pair, delta=budget.delta)
    if job["mechanism"] == "exp_mech" and size == 1:
        words = "all pairs of two records with x in {-1, 0, 1}^2, y in {-1, 0, 1}"
        tiny = exact.exact(lambda data: selector.law(as_arrays(data)), tiny_pairs(neighbours), delta=budget.delta)
        yield record | {"pair_words": words} | columns.of_finite(tiny)


def exponential(*, budget: Budget, neighbours, calibration, size: int = 1) -> Selector:
    """Return Exp-mech within `DOMAIN` and the box |theta_j| <= 1 (size: s)."""
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    weight = exp_mech.exponent(exp_mech.largest_loss(size, DOMAIN), **fixed)

    def law(data):
        return special.softmax(-weight * box_scores(*data, bound=1.0, size=size))

    def draw(data, repeats, rng):
        return exp_mech.select(*data, size=size, domain=DOMAIN, **fixed, rng=rng, repeats=repeats).supports

    return Selector(law, draw, "proved")


def scores(X: np.ndarray, y: np.ndarray, bound: float) -> np.ndarray:
    """Return min over |t| <= bound of sum_i (y_i - x_ij t)^2/2, for every feature j."""
    records = list(zip(map(tuple, X), y, strict=True))
    return reference_laws.one_feature_scores(records, features=X.shape[1], bound=bound)


def box_scores(X: np.ndarray, y: np.ndarray, bound: float, size: int) -> np.ndarray:
    """Return min over the box |theta_j| <= bound of the squared loss, for supports of `size` in lexicographic order."""
    if size == 1:
        return scores(X, y, bound)
    supports = combinations(range(X.shape[1]), size)
    box = (-bound, bound)
    return np.array([optimize.lsq_linear(X[:, s], y, bounds=box, method="bvls").cost for s in map(list, supports)])


def shifted(*, budget: Budget, neighbours, calibration, size: int = 1) -> tuple[LinearData, LinearData]:
    """Return data of 2 s features that move the scores of two supports apart by as much as the bounds allow.

    The calibration's weights decide on how many records make the first support rare.
    """
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    weight = exp_mech.exponent(exp_mech.largest_loss(size, DOMAIN), **fixed)
    common = pressed(16, 16 + round(RARE / (weight * GAIN)), size)
    heavy, light = np.full(size, 1 / math.sqrt(size)), np.full(size, 1 / size)
    worst = with_record(common, (*heavy, *light), -1.0)
    return (common, worst) if neighbours == "add_remove" else (with_record(common, (*light, *heavy), 1.0), worst)


# What a record (1/2, 0) with y = 1 gains by theta_1 = 1: (1 - (1 - 1/2)^2)/2.
GAIN = 0.375


def pressed(first: int, second: int, size: int = 1) -> LinearData:
    """Return records, `first` or `second` of each feature, that press s features up and s more down.

    At least 8 of each: one record more, of force 1 + sqrt(s) at most, does not move theta.
    """
    feature = np.repeat(np.arange(2 * size), [first] * size + [second] * size)
    return 0.5 * np.eye(2 * size)[feature], np.where(feature < size, 1.0, -1.0)


def wavering(rng: np.random.Generator) -> LinearData:
    """Return few records with four features, between which Exp-mech wavers."""
    return rng.uniform(-0.5, 0.5, (6, 4)), rng.uniform(-1, 1, 6)


def tiny_pairs(neighbours) -> Iterator[tuple[tuple, tuple]]:
    """Give every pair of neighbours of two records with entries in {-1, 0, 1}."""
    values = (-1, 0, 1)
    records = [((a, b), y) for a in values for b in values for y in values]
    return exact.neighbours_of_tiny_domain(records, 2, neighbours)


def as_arrays(data: tuple) -> LinearData:
    """Return the records of a tiny data set as (X, y)."""
    X = np.array([x for x, _ in data], dtype=float).reshape(len(data), 2)
    return X, np.array([y for _, y in data], dtype=float)


def law_test(selector: Selector, data: LinearData, rng: np.random.Generator) -> float:
    """Return the p-value of a chi-square test of the code's draws against the law; 1 if only one outcome is likely."""
    supports = selector.draw(data, _DRAWS, rng)
    places = {support: k for k, support in enumerate(combinations(range(data[0].shape[1]), supports.shape[1]))}
    drawn = np.array([places[support] for support in map(tuple, supports.tolist())])
    law = selector.law(data)
    seen = np.bincount(drawn, minlength=len(law)).astype(float)
    seen, expected = pooled(seen, _DRAWS * law / law.sum())
    # Together the rare ones may still be rarer than that: then they say too little, and too much.
    if len(expected) < 2 or expected[-1] < 1:
        return 1.0
    return float(stats.chisquare(seen, expected).pvalue)
