r"""Exp-mech: the exponential mechanism over all supports of size s (kifer2012, Algorithm 4).

    q(Gamma) = min_{theta in F_Gamma} sum_i 1/2 (y_i - <x_i, theta>)^2,     F_Gamma = {|theta_j| <= B, supp in Gamma},
    P(Gamma) proportional to exp(-w q(Gamma)).

Write r for the public bound on the l2 norm of the s largest entries of a row and Y for that on |y|. A record's loss
lies in [0, alpha] with alpha = (Y + r B sqrt(s))^2/2: |<x, theta>| <= r ||theta||_2 <= r B sqrt(s). (The case study has
r = sqrt(s), B = 1, Y = s: alpha = 2 s^2. The paper prints 4 s^2, which is (Y + r B sqrt(s))^2; erratum K5.)

One more record raises every score by something in [0, alpha] (Lemma 33, and losses are not negative), one that is
replaced changes them by something in [-alpha, alpha]. If all changes lie in an interval of length I, then
exp(-epsilon q/I) is epsilon-differentially private. The scores that are used may be off by the solver's error, to
either side and by at most tau = 1e-6 alpha, which is public (erratum K5): a change is then off by at most 2 tau, and I
is 4 tau longer. So

    calibration="paper":  w = epsilon/(2 (2 alpha)),  both relations, with the printed alpha' = 2 alpha = 4 s^2;
    calibration="tight":  w = epsilon/(alpha + 4 tau) under add/remove,  epsilon/(2 (alpha + 2 tau)) under replace-one.

The certificate of a score is its duality gap and a bound on the rounding of its sums (`subsets`), in which all records
count: S^2 <= 2 n alpha. The moments of a few 10^5 records, summed in doubles, may be off by more than tau; those of
`solvers.moments` are as exact as one product, and then

    (16 s + 3 (1 + 2 s + 4)) u 2 n alpha + 24 s 2^-60 n alpha <= 10^-6 alpha      for n <= 10^8/s,

whatever the records are. (That the duality gap meets its own target, 16 s u S^2, is tested and not proved.)

The law is sampled exactly (up to the rounding of doubles), by log-sum-exp over all C(p, s) supports.
"""

import dataclasses
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from dperm import losses
from dperm.domain import Budget, Domain, Guarantee, Neighbours, number, one_of
from dperm.errors import InvalidBudget
from dperm.mechanisms.base import budget_event
from dperm.mechanisms.support import limits
from dperm.solvers import subsets
from dperm.solvers.blas import one_thread
from dperm.solvers.moments import OFF, exact

CALIBRATIONS = ("paper", "tight")

Offered = Literal["paper", "tight"]
# Largest error of a score, to either side and in alphas, that the calibration leaves room for.
TOLERANCE = 1e-6


@dataclass(frozen=True)
class Selection:
    """What `select` returns. Only `supports` is private; the rest is for science.

    - supports: shape (repeats, s); ascending indices. Each repeat spends the budget.
    - log_probabilities: shape (C(p, s),); the law that they were drawn from, in the order of `subsets`: not private.
    - scores: shape (C(p, s),); q: not private.
    - certificate: bound on the error of a score.
    - converged: whether that is within the public tolerance tau; if not, nothing is promised.
    """

    supports: np.ndarray
    log_probabilities: np.ndarray
    scores: np.ndarray
    certificate: float
    converged: bool
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]


def largest_loss(size: int, domain: Domain, bound: float = 1.0) -> float:
    """Return alpha = (Y + r B sqrt(s))^2/2, the largest loss of a record, r = domain.x_norm and Y = domain.y_bound."""
    if domain.y_bound is None:
        raise ValueError("y_bound is missing: the score's sensitivity needs the public bound on |y|")
    bound = number("bound", bound, 0, math.inf, remedy="it is the public bound on the entries of theta")
    return 0.5 * (domain.y_bound + domain.x_norm * bound * math.sqrt(size)) ** 2


def exponent(alpha: float, budget: Budget, *, neighbours: Neighbours, calibration: Offered) -> float:
    """Return w of exp(-w q)."""
    one_of("neighbours", neighbours, Neighbours)
    if budget.delta > 0:
        raise InvalidBudget(
            f"delta={budget.delta:g} must be 0: a support spends epsilon alone; keep delta for the rest"
        )
    if calibration == "paper":
        return budget.epsilon / (4 * alpha)
    if calibration != "tight":
        raise ValueError(f"calibration={calibration!r}: the exponential mechanism offers 'paper' and 'tight'")
    tau = TOLERANCE * alpha
    length = {"add_remove": alpha + 4 * tau, "replace": 2 * (alpha + 2 * tau)}[neighbours]
    return budget.epsilon / length


def select(
    X: np.ndarray,
    y: np.ndarray,
    *,
    size: int,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Offered,
    bound: float = 1.0,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Selection:
    """Draw `repeats` supports (kifer2012, Algorithm 4).

    - X: shape (n, p); rows whose s largest entries have an l2 norm of at most domain.x_norm; not checked here.
    - size: s in [1, p], with C(p, s) <= 10^7.
    """
    limits.checked_supports(limits.checked_size(size, X.shape[1]), X.shape[1])
    alpha = largest_loss(size, domain, bound)
    y = losses.squared().targets_of(y, domain)
    weight = exponent(alpha, budget, neighbours=neighbours, calibration=calibration)
    allowed = TOLERANCE * alpha
    with one_thread():
        G, c, yy, terms = moments(X, y)
        found = subsets.search(G, c, yy, size, bound=bound, records=terms)
        if found.gap > allowed:
            found = _exactly(X, y, size, alpha, bound)
    logits = -weight * found.scores
    log_probabilities = logits - special.logsumexp(logits)
    cumulative = np.cumsum(np.exp(log_probabilities))
    drawn = np.searchsorted(cumulative, rng.random(repeats) * cumulative[-1], side="right")
    supports = np.array([subsets.subset(int(k), X.shape[1], size) for k in drawn]).reshape(repeats, size)
    converged = bool(found.gap <= allowed)
    return Selection(supports, log_probabilities, found.scores, found.gap, converged, "proved", budget_event(budget))


def moments(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, float, int]:
    """Return X'X, X'y, y'y and the length of the longest chain of additions behind them.

    About sqrt(n) partial sums of about sqrt(n) records each: the rounding of a sum is bounded by the chain's length, so
    its certificate is that of 2 sqrt(n) records and not of n.
    """
    n = len(y)
    block = max(1, math.isqrt(n))
    Z = np.column_stack([X, y])
    total = np.zeros((Z.shape[1], Z.shape[1]))
    for start in range(0, n, block):
        part = Z[start : start + block]
        total += part.T @ part
    return total[:-1, :-1], total[:-1, -1], float(total[-1, -1]), block + math.ceil(n / block)


def _exactly(X: np.ndarray, y: np.ndarray, size: int, alpha: float, bound: float) -> subsets.Scores:
    """Return the scores from moments that are right to the last digit: as if the sums had one term."""
    total = exact(np.column_stack([X, y]))
    found = subsets.search(total[:-1, :-1], total[:-1, -1], float(total[-1, -1]), size, bound=bound, records=1)
    # The rest of the moments' error, with (Y + s r B)^2 <= 2 s alpha in place of S^2/n (`subsets`).
    rest = 3 * len(y) * OFF * 2 * size * alpha
    return dataclasses.replace(found, gap=found.gap + rest)
