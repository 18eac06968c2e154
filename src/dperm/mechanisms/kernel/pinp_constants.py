r"""Private interactive prediction (jain2013, Algorithm 1, "PINP"): its constants, and what they promise.

Queries z_1, z_2, ... arrive one by one; f_t = <w*, phi(z_t)>, g_t = <w_t, phi(z_t)>, d_t = f_t - g_t. While fewer than
B updates were made, noise decides whether |d_t| is large. If it is not, the answer is g_t; else a noisy f_t is answered
and w_t moves towards w*. One record moves every f_t by at most S = R Delta_w (`constants.Setting`; replace-one by
default), so what the queries learn of the data is the decisions and the noisy answers, and nothing else: g_t is made of
those and of the queries, and so is protected itself. The queries are not.

calibration="paper": one zeta_t ~ Lap(1/eps0) decides (|d_t + zeta_t| > sigma) and answers (f_t + zeta_t); step
w += eta sign(d_t + zeta_t) phi(z_t); after B updates the run halts. With P = total eps/(L R),

    B = P C^2/(200 sqrt(2 l) log(4/delta)),   eps0 = P/(200 R sqrt(B) log(4/delta)),   sigma = 4 l/eps0,
    eta = sigma/(4 R^2),   l = log(2T/beta);   "counter < B" lets ceil(B) updates happen.

It is judged by its own constants: ceil(B) "yes" rounds of e = S eps0 (`rounds.rounds_delta`).

"corrected" (errata J2 to J5): a sparse vector, all of its parts e0-DP, e0 = Theorem 11 inverted for 2 B releases (after
each update a new threshold noise rho ~ Lap(2 S/e0); nu_t ~ Lap(4 S/e0); an update if |d_t| + nu_t > sigma + rho; answer
f_t + Lap(S/e0), with its own sign as the step's). After B updates the frozen w_t answers: post-processing.

"tight": zeta_t ~ Lap(S/e) decides as in Algorithm 1, an answer is f_t + N(0, s^2), and B updates of both are counted by
Renyi divergences (`accounting.rounds`: only updates pay). w_t is kernel ridge on the released answers.

The model asked is what the solver returns, w~: ||w~ - w*|| <= slack and ||w*|| <= C, so ||w~|| <= C + slack = reach.
Errors are promised to <w~, phi(z_t)>; to those of w* add R slack. (The printed form is run on w* itself.)

sigma and B. Let noise be such that, except with probability beta, no decision is off by more than sigma/4. Then an
update has |d_t| >= theta = 3 sigma/4, and no update has |d_t| <= 5 sigma/4. If no answer is off by more than tau
either,

- sign steps: ||w~ - w_t||^2 falls by 2 eta |d_t| - eta^2 R^2 >= 5 sigma^2/(16 R^2) (tau < theta gives the sign), so
  there are at most B = 3.2 reach^2 R^2/sigma^2 updates (erratum J3);
- ridge with kappa = R^2 tau/(theta - 2 tau): at most B = reach^2 R^2/(theta - 2 tau)^2 (docs/privacy.md, section 11).

sigma grows with the noise, hence with B: B is the least integer with B >= min(T, the bound at sigma(B)). Where this
holds, every answer of a run is within 5 sigma/4 of w~'s, except with probability beta; B < 1 or sigma >= C R/2 promises
less than answering 0 does, nearly: `vacuous`.

Sources: jain2013, Algorithm 1, Theorems 2, 3, 9, 10; errata J1 to J5, J17; Gupta, Roth & Ullman 2011; docs/privacy.md,
section 11.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy import special

from dperm.accounting import composition, rounds
from dperm.domain import Budget, Calibration, Guarantee, Mended, Mode, number, one_of
from dperm.errors import InvalidBudget
from dperm.mechanisms.base import budget_event, representable
from dperm.mechanisms.kernel.constants import Setting

# The answers' part of the tight budget. Decisions must hold for all T queries, answers for B of them: where B < T (from
# T = 1,000 to 10^6, epsilon .1 and 1) the sigma that results is within 1 % of its least over all shares.
ANSWER_SHARE = 0.3
# sigma is so many times what no decision is off by.
_ROOM = 4.0
# Past so many updates nothing is run.
_MOST_UPDATES = 2**53


@dataclass(frozen=True)
class Constants:
    """What a run is made of; public.

    - bound: B before it is made whole: as printed, or what the potential argument gives at `threshold`.
    - epsilon0: the inverse scale of the noise of an answer ("paper", "corrected") or of a decision ("tight"), in
      1/units of f.
    - threshold: sigma.
    - step: eta of the sign step; 0 with kernel ridge.
    - ridge: kappa of kernel ridge; 0 with sign steps.
    - deciding, moving, answering: scales of the noise on |d_t| or d_t, on the threshold, and of an answer (its sd in
      "tight"); 0 where there is none.
    - error: 5 sigma/4, to the exact answers of what the solver returned; R slack more to those of w*.
    """

    calibration: Calibration
    bound: float
    updates: int
    epsilon0: float
    threshold: float
    step: float
    ridge: float
    deciding: float
    moving: float
    answering: float
    error: float
    vacuous: bool
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]
    mode: Mode = "science"

    def __str__(self) -> str:
        verdict = "vacuous" if self.vacuous else f"answers within {self.error:.3g}"
        return f"B={self.bound:.3g}, sigma={self.threshold:.3g}: {verdict}"


@dataclass(frozen=True)
class _Scales:
    """Noise and sigma at one B."""

    threshold: float
    bound: float
    deciding: float
    moving: float
    answering: float
    tau: float = 0.0


def constants(
    setting: Setting, budget: Budget, *, queries: float, beta: float = 0.05, calibration: Calibration = "tight"
) -> Constants:
    """Return the constants of Algorithm 1.

    - setting: with a finite radius C.
    - queries: T, 1 or above: for how many of them the error is promised. Privacy holds for any number.
    - beta: in (0, 1): how often the error may be larger.
    - Source: jain2013, Algorithm 1, lines 1 and 2; errata J2 to J4.
    """
    one_of("calibration", calibration, Mended)
    number("queries", queries, 1, math.inf, ends="[)", remedy="it is T, the number of queries")
    number("beta", beta, 0, 1, remedy="it is the probability of a larger error; 0.05 is usual")
    number("delta", budget.delta, 0, 1, error=InvalidBudget, remedy="composition needs some: say 1e-6")
    if math.isinf(setting.radius):
        raise ValueError("radius=inf: B and sigma need a public bound C on ||w*||; `a_priori_radius` has one")
    length = math.log(2) + math.log(queries) - math.log(beta)
    if calibration == "paper":
        return _printed(setting, budget, length)
    at = _AT[calibration]

    def scales(updates: int) -> _Scales:
        return at(setting, budget, updates, length, beta)

    updates = whole(lambda updates: min(queries, scales(updates).bound))
    found = scales(updates)
    step, ridge, noise = 0.0, 0.0, found.deciding
    if calibration == "corrected":
        step, noise = found.threshold / (4 * setting.feature_norm**2), found.answering
    else:
        # Where the answers' noise leaves no distance, B is T, and any kappa serves.
        distance = 0.75 * found.threshold - 2 * found.tau
        ridge = setting.feature_norm**2 * (found.tau / distance if distance > 0 else 1.0)
    return Constants(
        calibration,
        min(queries, found.bound),
        updates,
        1 / representable(noise, budget),
        found.threshold,
        step,
        ridge,
        found.deciding,
        found.moving,
        found.answering,
        1.25 * found.threshold,
        found.bound < 1 or 2 * found.threshold >= setting.radius * setting.feature_norm,
        "proved",
        budget_event(budget),
    )


def _printed(setting: Setting, budget: Budget, length: float) -> Constants:
    """Lines 1 and 2 of Algorithm 1."""
    L, R, C = setting.lipschitz, setting.feature_norm, setting.radius
    part = setting.total * budget.epsilon / (200 * L * R * math.log(4 / budget.delta))
    bound = part * C**2 / math.sqrt(2 * length)
    epsilon0 = part / (R * math.sqrt(bound))
    threshold = 4 / epsilon0 * length
    scale = representable(1 / epsilon0, budget)
    updates = min(max(1, math.ceil(bound)), _MOST_UPDATES)
    spent = rounds.rounds_delta(budget.epsilon, R * setting.shift * epsilon0, updates)
    return Constants(
        "paper",
        bound,
        updates,
        epsilon0,
        threshold,
        threshold / (4 * R**2),
        0.0,
        scale,
        0.0,
        scale,
        1.25 * threshold,
        bound < 1 or 2 * threshold >= C * R,
        "proved_exact" if spent <= budget.delta else "none",
        budget_event(budget),
    )


def _corrected(setting: Setting, budget: Budget, updates: int, length: float, beta: float) -> _Scales:
    """Sparse vector: T decisions share one half of beta, and B thresholds and B answers the other."""
    S = setting.feature_norm * setting.covered
    e0 = composition.inverted(budget.epsilon, budget.delta, 2 * updates)
    deciding, moving, answering = 4 * S / e0, 2 * S / e0, S / e0
    few = math.log(4 * updates / beta)
    threshold = _ROOM * (deciding * length + moving * few)
    return _Scales(threshold, 3.2 * _squared(setting, threshold), deciding, moving, answering)


def _tight(setting: Setting, budget: Budget, updates: int, length: float, beta: float) -> _Scales:
    """Only updates pay: T decisions share one half of beta, and B answers the other."""
    e, answering, tau = _tau(setting, budget, updates, beta)
    deciding = setting.feature_norm * setting.covered / e
    threshold = _ROOM * deciding * length
    return _Scales(threshold, _squared(setting, 0.75 * threshold - 2 * tau), deciding, 0.0, answering, tau)


def _tau(setting: Setting, budget: Budget, updates: int, beta: float) -> tuple[float, float, float]:
    """Return e of a decision, the sd of an answer, and what none of B answers is off by, but with beta/2."""
    e, rho = rounds.rounds(budget.epsilon, budget.delta, updates, ANSWER_SHARE)
    answering = setting.feature_norm * setting.covered / math.sqrt(2 * rho)
    return e, answering, answering * -float(special.ndtri(beta / (4 * updates)))


_AT: dict[str, Callable[..., _Scales]] = {"corrected": _corrected, "tight": _tight}


def _squared(setting: Setting, distance: float) -> float:
    """((C + slack) R/distance)^2; infinite where the answers' noise leaves no distance."""
    if distance <= 0:
        return math.inf
    return (setting.reach * setting.feature_norm / distance) ** 2


def whole(needed: Callable[[int], float]) -> int:
    """Return a B >= 1 with B >= floor(needed(B)): the least one if `needed` does not grow with B."""
    high = 1
    while math.floor(min(needed(high), _MOST_UPDATES)) > high:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if math.floor(needed(middle)) > middle else (low, middle)
    return high


def log_queries(
    setting: Setting,
    budget: Budget,
    *,
    error: float,
    beta: float = 0.05,
    calibration: Calibration = "tight",
) -> float:
    """Return log T for the largest T that is answered within `error`: 5 sigma/4 = error (beyond the doubles, T itself).

    - Returns: below 0 if not even one query is. (The cap B <= T, of use for small T only, is ignored.)
    - Source: jain2013, Sections 2 and 5 (claim J-c02).
    """
    one_of("calibration", calibration, Mended)
    number("error", error, 0, math.inf, remedy="it is the largest error of an answer")
    sigma = error / 1.25
    offset = math.log(beta) - math.log(2)
    if calibration == "paper":
        # sigma = 4 l/eps0 with eps0 proportional to B^{-1/2} and B to l^{-1/2}: sigma is proportional to l^{3/4}.
        one = _printed(setting, budget, 1.0)
        return (sigma / one.threshold) ** (4 / 3) + offset
    S = setting.feature_norm * setting.covered
    if calibration == "corrected":
        updates = max(1, math.floor(3.2 * _squared(setting, sigma)))
        e0 = composition.inverted(budget.epsilon, budget.delta, 2 * updates)
        return (sigma / _ROOM * e0 / S - 2 * math.log(4 * updates / beta)) / 4 + offset

    def enough(updates: int) -> bool:
        return _squared(setting, 0.75 * sigma - 2 * _tau(setting, budget, updates, beta)[2]) < updates + 1

    # At a fixed sigma more updates are needed the noisier the answers are: the least B that is enough, if any is.
    low, high = 0, max(1, math.floor(_squared(setting, 0.75 * sigma)))
    while not enough(high):
        if high > _MOST_UPDATES or 2 * _tau(setting, budget, high, beta)[2] >= 0.75 * sigma:
            return -math.inf
        low, high = high, high + 1 + high // 8
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    e, *_ = _tau(setting, budget, high, beta)
    return sigma / _ROOM * e / S + offset
