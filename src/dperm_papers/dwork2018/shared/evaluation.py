r"""What privacy of one prediction means for attacks, for groups and for losses (dwork2018, Sections 1, 3 and 6; exact).

A bit mechanism is a *chain*: Pr[1] = p_j in states j = 0..m, where one changed record moves j by at most s: the count
of votes (s = 1), or ExpPW's V (s = 2 under replace-one, 1 under add/remove). All pairs of neighbours are all pairs of
states at most s apart, and of data sets with k changes those at most k s apart.

    groups      Lemma 3.1: k changes are (k eps, k e^{eps(k-1)} delta). For pure chains the largest log ratio minus k
                eps; for the extreme chains, p_{j+1} the greatest that (eps, delta) allows after p_j, and for a mean of
                r predictions with Gaussian noise, shifted by k/r, the delta at k eps minus the lemma's;
    membership  an attack on one bit tells a record's presence with TPR - FPR = |p_i - p_j| at most, and eps-DP allows
                tanh(eps/2); of a value with Laplace noise 1 - e^{-eps/2}. Control: the majority without noise;
    losses      Lemma 6.2: a loss of a private prediction is as private: random laws on a few values, and losses that
                take some of them to the same number; delta after minus delta before;
    means       Lemma 6.3: the largest E[U] - e^eps E[V] of two laws on a grid of [0, B] with P(U in A) <= e^eps P(V in
                A) + delta for all A, by linear programming, minus delta B;
    stability   Section 2.3: the largest |E[U] - E[V]| of two such laws of [0, 1] at delta = 0, either way, minus
                tanh(eps/2): the rate of uniform prediction stability that privacy implies;
    whole       Section 2.3: tanh(eps/2) minus what an attack tells that sees `_ANSWERS` answers of `member`: each is
                private, the model that gives them is not.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, stats

from dperm.accounting import gaussian
from dperm.laws.finite import closeness
from dperm.mechanisms.prediction import averaged, exppw, soft_majority
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Of the mechanism `member`: Pr[1] for its own records, in units of the most that epsilon allows.
_SHARE = 0.5
# The largest bound B of losses, and the points of a grid of [0, B].
_BOUND, _GRID = 2.0, 4
# Answers of one predictor that an attack on the whole of it sees.
_ANSWERS = 10_000
# Where chains of (epsilon, delta) start, and how long they are.
_STARTS = (0.0, 1e-3, 0.1, 0.4)


class Chain(NamedTuple):
    """Pr[1] and Pr[0] in each state, and how many states one changed record moves at most."""

    mechanism: str
    calibration: str
    neighbours: str
    variant: str
    ones: np.ndarray
    zeros: np.ndarray
    step: int


def member(epsilon: float, share: float = _SHARE) -> float:
    """Return a, the Pr[1] of the mechanism `member` for its own records; for all others it is a e^eps.

    `share`, in (0, 1], is of the greatest a whose bit 0 keeps epsilon too, 1/(e^eps + 1).
    """
    return share / (math.exp(epsilon) + 1)


def chains(epsilon: float, shards: list[int], alphas: list[float]) -> Iterator[Chain]:
    """Give the bit mechanisms whose guarantee is proved, and `member`; `alphas` are accuracies of ExpPW, setting T."""
    for r in shards:
        counts = np.arange(r + 1)
        for neighbours in ("replace", "add_remove"):
            # Each mechanism is its own mirror image: Pr[0] keeps its digits where Pr[1] is nearly 1.
            ones, zeros = (soft_majority.probability(votes, r, epsilon, "tight") for votes in (counts, r - counts))
            yield Chain("soft_majority", "tight", neighbours, f"{r}-shards", ones, zeros, 1)
            for calibration in ("paper", "tight"):
                noise = averaged.scale(r, epsilon, calibration, bits=True)
                ones, zeros = (averaged.expected_clip(votes / r, noise) for votes in (counts, r - counts))
                yield Chain("averaged", calibration, neighbours, f"{r}-shards", ones, zeros, 1)
    for alpha in alphas:
        for neighbours, step in (("replace", 2), ("add_remove", 1)):
            bound = int(exppw.walk_bound(alpha, epsilon, "tight", neighbours))
            v = np.arange(-bound, bound + 1)
            ones, zeros = (exppw.probability(walk, epsilon, "tight", neighbours) for walk in (v, -v))
            yield Chain("exppw", "tight", neighbours, f"alpha-{alpha:g}", ones, zeros, step)
    ones = member(epsilon) * np.array([1.0, math.exp(epsilon)])
    yield Chain("member", "", "replace", "", ones, 1 - ones, 1)


def log_ratio(chain: Chain, changes: int) -> float:
    """Return the largest |log| of a ratio of probabilities of either bit, over all pairs at most `changes` apart."""
    # Monotone in the state, so of all pairs those furthest apart are the worst.
    apart = min(changes * chain.step, len(chain.ones) - 1)
    bits = (np.log(chain.ones), np.log(chain.zeros))
    return float(max(np.abs(bit[apart:] - bit[: len(bit) - apart]).max() for bit in bits))


def advantage(chain: Chain) -> float:
    """Return the largest TPR - FPR of an attack on one bit, over all neighbours."""
    apart = min(chain.step, len(chain.ones) - 1)
    return float(np.abs(chain.ones[apart:] - chain.ones[: len(chain.ones) - apart]).max())


def extreme_chain(start: float, epsilon: float, delta: float, length: int) -> np.ndarray:
    """Return p_0 = start and each p_{j+1} the greatest Pr[1] that is (eps, delta)-close to p_j in both directions."""
    p, factor = [start], math.exp(epsilon)
    for _ in range(length):
        p.append(min(factor * p[-1] + delta, 1 - (1 - p[-1] - delta) / factor, 1.0))
    return np.array(p)


def largest_gap(epsilon: float, delta: float, bound: float) -> float:
    """Return the largest E[U] - e^eps E[V] of laws on a grid of [0, B] with U (eps, delta)-close to V.

    Variables u, v (laws) and s_j >= u_j - e^eps v_j, s >= 0, sum s <= delta: P(U in A) - e^eps P(V in A) is at most the
    sum of these excesses, and equal to it on the set where they are above 0.
    """
    grid, factor, m = np.linspace(0, bound, _GRID), math.exp(epsilon), _GRID
    eye, none = np.eye(m), np.zeros(m)
    found = optimize.linprog(
        np.concatenate([-grid, factor * grid, none]),
        A_ub=np.vstack([np.hstack([eye, -factor * eye, -eye]), np.concatenate([none, none, np.ones(m)])]),
        b_ub=np.concatenate([none, [delta]]),
        A_eq=np.vstack([np.concatenate([np.ones(m), none, none]), np.concatenate([none, np.ones(m), none])]),
        b_eq=[1.0, 1.0],
        bounds=(0, None),
        method="highs",
    )
    return -float(found.fun)


def widest(epsilon: float) -> float:
    """Return the largest E[U] - E[V] of laws on a grid of [0, 1] that are epsilon-close to each other."""
    grid, factor, eye = np.linspace(0, 1, _GRID), math.exp(epsilon), np.eye(_GRID)
    found = optimize.linprog(
        np.concatenate([-grid, grid]),
        A_ub=np.vstack([np.hstack([eye, -factor * eye]), np.hstack([-factor * eye, eye])]),
        b_ub=np.zeros(2 * _GRID),
        A_eq=np.kron(np.eye(2), np.ones(_GRID)),
        b_eq=[1.0, 1.0],
        bounds=(0, None),
        method="highs",
    )
    return -float(found.fun)


def told(epsilon: float, answers: int) -> float:
    """Return the largest TPR - FPR of an attack that sees how often `member` answers 1."""
    a, ones = member(epsilon), np.arange(answers + 1)
    inside, outside = (stats.binom.cdf(ones, answers, p) for p in (a, a * math.exp(epsilon)))
    return float((inside - outside).max())


def check(cell: Cell, rows: Rows) -> None:
    """Measure Lemmas 3.1, 6.2 and 6.3, membership inference and what Section 2.3 says of stability.

    `excess` is what is measured minus what is said, `advantage` the TPR - FPR of the best attack on one bit.
    """
    settings = cell.settings
    for epsilon in settings.epsilons:
        _groups(settings, epsilon, rows)
        _membership(settings, epsilon, rows)
        for delta, bound in itertools.product(settings.deltas, (1.0, _BOUND)):
            gap = largest_gap(epsilon, delta, bound)
            here = rows.at(series="means", mechanism="finite", epsilon=epsilon, delta=delta, bound=bound)
            here.add("excess", gap - delta * bound)
            here.add("gap", gap)
        here, allowed = rows.at(epsilon=epsilon), math.tanh(epsilon / 2)
        here.add("excess", widest(epsilon) - allowed, series="stability", mechanism="finite")
        here.add("excess", allowed - told(epsilon, _ANSWERS), series="whole", mechanism="member")
    _losses(cell, rows)


def _groups(settings: Any, epsilon: float, rows: Rows) -> None:
    for changes in range(1, settings.changes + 1):
        here = rows.at(series="groups", epsilon=epsilon, k=changes)
        for chain in chains(epsilon, settings.shards, settings.alphas):
            here.add("excess", log_ratio(chain, changes) - changes * epsilon, **_columns(chain))
        for delta in settings.deltas:
            if delta == 0:
                continue
            allowed = changes * math.exp(epsilon * (changes - 1)) * delta
            approximate = here.at(delta=delta, neighbours="replace")
            for start in _STARTS:
                p = extreme_chain(start, epsilon, delta, 10 * settings.changes)
                pairs = zip(p[changes:], p[:-changes], strict=True)
                found = max(closeness(np.array([b, 1 - b]), np.array([a, 1 - a]), changes * epsilon) for b, a in pairs)
                approximate.add("excess", found - allowed, mechanism="extreme", variant=f"from-{start:g}")
            # The shift of a mean in standard deviations: that of one record times their number.
            shift = gaussian.gaussian_ratio(epsilon, delta)
            found = gaussian.hockey_stick(changes * epsilon, changes * shift)
            approximate.add("excess", found - allowed, mechanism="gaussian_average")


def _membership(settings: Any, epsilon: float, rows: Rows) -> None:
    here, allowed = rows.at(series="membership", epsilon=epsilon), math.tanh(epsilon / 2)
    found = [(_columns(chain), advantage(chain)) for chain in chains(epsilon, settings.shards, settings.alphas)]
    found.append(({"mechanism": "laplace", "neighbours": "replace"}, -math.expm1(-epsilon / 2)))
    for r in settings.shards:
        hard = (2 * np.arange(r + 1) > r).astype(float)
        control = Chain("nonprivate", "", "replace", f"{r}-shards", hard, 1 - hard, 1)
        found.append((_columns(control), advantage(control)))
    for columns, value in found:
        here.add("advantage", value, **columns)
        here.add("excess", value - allowed, **columns)


def _losses(cell: Cell, rows: Rows) -> None:
    rng, epsilons = cell.rng("losses"), cell.settings.epsilons
    excess = np.empty((cell.settings.instances, len(epsilons)))
    for k in range(len(excess)):
        outcomes = int(rng.integers(2, 9))
        p, q = rng.dirichlet(np.full(outcomes, 0.5), size=2)
        # Losses of a few values: some outcomes are told apart no more.
        values = rng.integers(0, outcomes, size=outcomes)
        after = [np.bincount(values, weights=law, minlength=outcomes) for law in (p, q)]
        excess[k] = [closeness(*after, epsilon) - closeness(p, q, epsilon) for epsilon in epsilons]
    rows.add("excess", excess, series="losses", mechanism="finite", epsilon=np.array(epsilons, float))


def _columns(chain: Chain) -> dict[str, Any]:
    guarantee = "none" if chain.mechanism == "nonprivate" else "proved"
    return {**{key: getattr(chain, key) for key in Chain._fields[:4]}, "guarantee": guarantee}
