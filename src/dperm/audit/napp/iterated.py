r"""NAPP-ERM's T steps, recycling and returning with one feature: exact laws by inversion (li2021, 3.4, 3.7).

Data are {(0, 0)} or {(0, 0), (1, 0)}: h = 0 or 1 records of force theta, which goes on as e beyond |theta| = e. By
symmetry |theta| = m(|b|), and m never falls; so with v(t) = sup{u: m(u) <= t}, found by bisection,

    P(|theta| <= t) = P(|b| <= v(t)).

T steps (Table 2), u = |b|: the step with weight w is h min(m, e) + 2 w m = u, with

    w_1 = Lambda0,   w_t = max(Lambda/m_{t-1}, Lambda0) with MOOR,  Lambda/m_{t-1} + Lambda0 without.

On {(0, 0)} with MOOR m_T = (u/2 Lambda0) (u/2 Lambda)^{T-1} for u <= 2 Lambda: the gap of the fixed point fills, but
ever more thinly: its density at t is 2 Lambda/(T t) times that of b.

Recycling (Eqs 13 to 15, max for min and the missing 2 put in), with MOOR: m_0 solves the fixed point at u with the
floor Lambda0; w = max(Lambda/m_0, Lambda0), q = 1 - Lambda0/w; m solves it at f(q) u with the floor w.

Returning: the run claims epsilon - q (1 - r) epsilon. All outcomes with q >= q0 are then claimed to cost
epsilon (1 - q0 (1 - r)) at most, and that is what the ledger's row says: the run itself is planned with more.

Neighbouring relation: add/remove.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm.audit import columns
from dperm.audit.napp import cases
from dperm.audit.napp import problem as line
from dperm.audit.napp.problem import SHARE, Problem, Records
from dperm.audit.target import Target, halves
from dperm.compiled import compiled
from dperm.domain import Budget
from dperm.laws import tails
from dperm.laws.finite import best_event
from dperm.laws.tails import lower_tail
from dperm.mechanisms.napp import limit, retrieval

# Bisections of |b|, on a scale of logarithms.
_HALVINGS = 60
_PIECES = 400
NEAR = 1e-6
# What rounds to 0 may be this large.
_LEAST = 1e-300


@dataclass(frozen=True)
class Magnitude:
    """|theta| as a function of |b|.

    `of` maps problem, h and u to |theta|, never falling in u; `draw` problem, X, y and b to theta of the
    mechanism's own code.
    """

    problem: Problem
    of: Callable[[Problem, float, np.ndarray], np.ndarray]
    draw: Callable[[Problem, np.ndarray, np.ndarray, np.ndarray], np.ndarray]

    def target(self) -> Target:
        """Return the release as the auditor sees it, rounded to 0 within `NEAR`, which is what a solver may miss."""
        law = line.symmetric(self.problem)

        def outside(points, data):
            """Return P(|theta| > t), shape of t."""
            points = np.maximum(points, NEAR)
            return 2 * lower_tail(law, -self.reach(_curving(data), points) / law.scale)

        def tails(t, data):
            thin = outside(np.abs(t), data) / 2
            return np.where(t >= 0, 1 - thin, thin), np.where(t >= 0, thin, 1 - thin)

        def draw(data, repeats, rng):
            b = self.problem.sample((repeats, 1), rng)
            return self.draw(self.problem, *data.expanded(), b)[:, 0]

        cdf, sf = halves(tails)
        return Target(draw=draw, law=law, cdf=cdf, sf=sf, atoms=(0.0,))

    def reach(self, h: float, t: np.ndarray) -> np.ndarray:
        """Return v(t), the largest |b| for which |theta| <= t (t: 0 or above)."""
        low, high = np.zeros_like(t), np.full_like(t, 1.0)
        while (short := self.of(self.problem, h, high) <= t).any():
            high = np.where(short, 2 * high, high)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if ((middle <= low) | (middle >= high)).all():
                break
            inside = self.of(self.problem, h, middle) <= t
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return low


def steps(problem: Problem, number: int) -> Magnitude:
    """Return the release of theta^(T)."""

    def of(made, h, u):
        return _steps(np.asarray(u, float), h, made.strength, made.floor, made.eta_bound, made.moor, number)

    def draw(made, X, y, b):
        data = limit.problems(made.loss, X[None], y[None], made.eta_bound)
        strengths = np.array([made.strength])
        return limit.reweighted(data, b, made.scheme, strengths, variant=made.solved_as, steps=number).theta[:, 0]

    return Magnitude(problem, of, draw)


@compiled
def _steps(u, h, strength, floor, bound, moor, number):
    """Return m_T of the module's docstring for every u."""
    found = np.empty_like(u)
    for k in range(len(u)):
        w, m = floor, 0.0
        for t in range(number):
            if t > 0:
                # A double below this has a weight beyond a double: m stays 0.
                own = strength / m if m > 1e-290 else np.inf
                w = max(own, floor) if moor else own + floor
            m = u[k] / (h + 2 * w)
            if m > bound:
                m = (u[k] - h * bound) / (2 * w)
        found[k] = m
    return found


def recycled(problem: Problem) -> Magnitude:
    """Return the release of one round of recycling (problem: Lasso with MOOR)."""

    def of(made, h, u):
        first = _fixed_point(made, h, u, made.floor)
        with np.errstate(divide="ignore"):
            floor = np.maximum(made.strength / np.where(first > 0, first, np.nan), made.floor)
        again = _fixed_point(made, h, line.rescaled(made.budget, 1 - made.floor / floor) * u, floor)
        return np.where(first > 0, again, 0.0)

    return Magnitude(problem, of, _again)


def redrawn(problem: Problem) -> Target:
    """Return the release of one round of recycling, VS or VS+ with MOOR, whose law has no formula here: to be sampled.

    What lies within `NEAR` of 0 is 0.
    """

    def draw(data, repeats, rng):
        theta = _again(problem, *data.expanded(), problem.sample((repeats, 1), rng))
        return np.where(np.abs(theta) <= NEAR, 0.0, theta)

    return Target(draw=draw)


def _again(made: Problem, X: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return theta of one round of recycling, by the mechanism's own code."""
    data = limit.problems(made.loss, X[None], y[None], made.eta_bound)
    strengths = np.array([made.strength])
    rounds = retrieval.recycle(
        data, b, made.scheme, strengths, variant=made.solved_as, budget=made.budget, share=SHARE, rounds=1
    )
    return rounds[-1].theta[:, 0]


def attack(made: Magnitude, *, delta: float) -> dict[str, Any]:
    """Return the exact attack in the gap: pieces of 0 < |theta| <= Lambda/Lambda0, and |theta| outside it."""
    law = line.symmetric(made.problem)
    end = made.problem.strength / made.problem.floor
    edges = np.concatenate([np.geomspace(1e-6, 0.5, _PIECES // 4), np.linspace(0.5, 1.0, _PIECES)[1:]]) * end
    masses = []
    for h in (0.0, 1.0):
        reach = np.concatenate([[0.0], made.reach(h, np.concatenate([[0.0], edges])), [np.inf]])
        outside = 2 * lower_tail(law, -reach / law.scale)
        masses.append(-np.diff(outside))
    words = ["theta = 0", f"0 < |theta| <= {edges[0]:.4g}"]
    words += [f"{low:.4g} < |theta| <= {high:.4g}" for low, high in itertools.pairwise(edges)]
    return best(masses[0], masses[1], [*words, f"|theta| > {end:.4g}"], delta)


def best(data: np.ndarray, neighbour: np.ndarray, words: list[str], delta: float) -> dict[str, Any]:
    """Return the best union of pieces, in either direction, as `columns.on_a_line`.

    Their probabilities, with the data and the neighbour, are known, and need not be all that there is.
    """
    data, neighbour = (np.maximum(side, 0.0) for side in (data, neighbour))
    found = []
    for side, p, q in (("data", data, neighbour), ("neighbour", neighbour, data)):
        value, chosen = best_event(p, q + _LEAST, delta)
        found.append((value, side, chosen, float(p[chosen].sum()), float(q[chosen].sum())))
    value, side, chosen, p, q = max(found, key=lambda entry: entry[0])
    ends = [words[chosen[0]], words[chosen[-1]]] if len(chosen) else ["none"]
    more = f" to {ends[-1]}" if len(chosen) > 1 else ""
    return columns.certain(columns.EXACT, side, f"{len(chosen)} pieces: {ends[0]}{more}", value, p, q)


def returned(epsilon: float, delta: float, calibration: str, *, moor: bool, ridge: bool = False) -> Iterator[tuple]:
    """Give attacks on what a run that returns budget claims.

    `epsilon` is epsilon - Delta epsilon: what outcomes with at least this return are claimed to cost. Of a
    corrected `ridge` w = max(Lambda, Lambda0) is public, and so is what is returned.
    """
    # Half of the Jacobian's budget; without MOOR all but a hundredth, which leaves little more than r epsilon.
    q = 0.5 if moor or ridge else 0.99
    budget = Budget(epsilon / (1 - q * (1 - SHARE)), delta)
    if moor:
        made = cases.wide(budget, calibration, moor=True)
        # q = 1 - Lambda0 |theta|/Lambda.
        pairs, end = cases.gap(made), (1 - q) * made.strength / made.floor
        far = end
    elif ridge:
        made = cases.squared(budget, calibration, target="ridge")
        made = replace(made, strength=made.floor / (1 - q), retrieval="return")
        pairs, end, far = cases.walled(made, "ridge, Lambda = 2 Lambda0"), cases.EDGE, 10 * cases.EDGE
    else:
        made = cases.squared(budget, calibration)
        # q = 1/(1 + Lambda0 |theta|/Lambda).
        made = replace(made, strength=cases.EDGE * made.floor * q / (1 - q))
        pairs, end, far = cases.walled(made, "lasso without MOOR"), cases.EDGE, cases.EDGE
    what = line.target(made)
    for pair in pairs:
        edges = np.concatenate([[np.nextafter(0, -1), 0.0], np.linspace(0, end, _PIECES // 2)[1:]])
        if far > end:
            edges = np.append(edges, np.linspace(end, far, _PIECES // 2)[1:])
        masses = [
            tails.differences(what.cdf(edges, side), what.sf(edges, side)) for side in (pair.data, pair.neighbour)
        ]
        words = [
            "theta = 0",
            *(f"{low:.4g} < theta <= {high:.4g}" for low, high in itertools.pairwise(edges[1:])),
        ]
        words_of_pair = (
            f"{pair.words}; a run planned with {budget.epsilon:.4g} that returns {budget.epsilon - epsilon:.4g}"
        )
        yield pair._replace(words=words_of_pair), best(*masses, words, delta)


def _curving(data: Records) -> float:
    """Return h; the data are of the two that the module knows."""
    return float(data.count[data.x != 0].sum())


def _step(made: Problem, h: float, u: np.ndarray, w: np.ndarray | float) -> np.ndarray:
    """Return m with h min(m, e) + 2 w m = u."""
    inside = u / (h + 2 * w)
    return np.where(inside <= made.eta_bound, inside, (u - h * made.eta_bound) / (2 * w))


def _fixed_point(made: Problem, h: float, u: np.ndarray, floor: np.ndarray | float) -> np.ndarray:
    """Return m with h min(m, e) + 2 max(Lambda, floor m) = u, or 0 where u <= 2 Lambda."""
    flat, floored = u - 2 * made.strength, _step(made, h, u, floor)
    with np.errstate(invalid="ignore"):
        if h == 0:
            return np.where(flat > 0, floored, 0.0)
        # Where the penalty is flat the record alone holds theta; e is not reached before Lambda/floor.
        return np.where(
            flat <= 0, 0.0, np.where(flat <= np.minimum(made.strength / floor, made.eta_bound), flat, floored)
        )
