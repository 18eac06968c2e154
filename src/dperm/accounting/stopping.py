r"""What the best of a random number of private trials spends (Liu & Talwar 2019; Papernot & Steinke 2022).

A trial M(D) gives an output that holds its own score. K is drawn, M runs K times, each time with its own noise, and of
the K outputs the one of the best score is released: the first of these, if several are equally good. Nothing else is,
and K neither. K has the truncated negative binomial law of shape eta >= 0 and 0 < gamma < 1 (eta = 1: geometric, eta =
0: logarithmic), with the generating function

    phi(t) = E t^K = ((1 - (1 - gamma) t)^-eta - 1)/(gamma^-eta - 1),     for eta = 0 log(1 - (1 - gamma) t)/log gamma,
    phi'(t) = E[K] (gamma/(gamma + (1 - gamma)(1 - t)))^(1 + eta),
    E[K] = eta (1 - gamma)/(gamma (1 - gamma^eta)),                       for eta = 0 (1/gamma - 1)/log(1/gamma).

Let delta_M be a privacy curve of a trial (M is (e, delta_M(e))-DP for every e >= 0), and e_1 >= 0 such that

    delta_M(e_1) <= (exp(e_1) - 1) gamma/(1 - gamma).                                                             (*)

**Theorem X.** The release is (e, E[K] delta_M(e - (1 + eta) e_1))-DP for every e >= (1 + eta) e_1.

Proof: docs/privacy.md, section 13. A pure trial, delta_M(e_0) = 0, meets (*) with e_1 = e_0: (2 + eta) e_0, as in
Papernot & Steinke 2022, Corollary 3. The smallest e_1 is the best; with it the pure case is attained (tests).

`base_budget` turns this around: a trial of (x, delta/E[K]) serves (e, delta) if x + (1 + eta) e_1 <= e, where e_1
belongs to its curve: that of a Gaussian release (`gaussian`), or the worst that (x, delta/E[K]) allows (`worst`).

Neighbouring relation: that of the trials.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from dperm.accounting.gaussian import gaussian_ratio, hockey_stick
from dperm.domain import Budget, number
from dperm.errors import InvalidBudget

# Curve: e >= 0 -> delta.
Curve = Callable[[float], float]
# A trial is handed this share of the delta that it is charged for: room for what its own calibration rounds.
_ROOM = 0.999
_HALVINGS = 50
# The smallest P(K = 1).
_RAREST = 1e-250


@dataclass(frozen=True)
class Trials:
    """The law of K, the number of trials.

    Parameters
    ----------
    gamma : float
        In (0, 1]; 1 is one trial for certain.
    shape : float
        eta, 0 or above.
    """

    gamma: float
    shape: float

    @property
    def mean(self) -> float:
        """E[K]."""
        return _mean(math.log(self.gamma), self.shape)

    def generating(self, t: float | np.ndarray) -> float | np.ndarray:
        """Return phi(t) = E t^K.

        Parameters
        ----------
        t : float or ndarray
            In [0, 1].
        """
        if self.gamma == 1:
            return t
        falling = np.log1p(-(1 - self.gamma) * t)
        if self.shape == 0:
            return falling / math.log(self.gamma)
        return np.expm1(-self.shape * falling) / math.expm1(-self.shape * math.log(self.gamma))

    def draw(self, rng: np.random.Generator) -> int:
        """Draw K.

        Parameters
        ----------
        rng : Generator
        """
        left, k = rng.random(), 1
        # P(K = 1) = phi'(0).
        p = 1.0 if self.gamma == 1 else self.mean * self.gamma ** (1 + self.shape)
        while left >= p > 0:
            left -= p
            p *= (1 - self.gamma) * (k + self.shape) / (k + 1)
            k += 1
        return k


def _mean(log_gamma: float, shape: float) -> float:
    if log_gamma == 0:
        return 1.0
    over = math.expm1(-log_gamma)
    return over / -log_gamma if shape == 0 else shape * over / -math.expm1(shape * log_gamma)


def trials(mean: float, shape: float) -> Trials:
    """Return the law of K with this mean.

    Parameters
    ----------
    mean : float
        E[K], in [1, 1e6].
    shape : float
        eta, in [0, 100].

    Raises
    ------
    ValueError
        If a value is outside its range.
    """
    mean = number("n_iter", mean, 1, 1e6, ends="[]", remedy="it is the expected number of trials; 10 is usual")
    shape = number("shape", shape, 0, 100, ends="[]", remedy="0 is the logarithmic law, 1 the geometric one")
    if mean - 1 < 1e-9:
        return Trials(1.0, shape)
    # E[K] falls in gamma, and is at most 1/gamma.
    log_gamma = optimize.brentq(lambda x: _mean(x, shape) - mean, -60.0, -1e-12, xtol=1e-14)
    # P(K = 1), from which all others are computed.
    if math.log(mean) + (1 + shape) * log_gamma < math.log(_RAREST):
        raise ValueError(
            f"n_iter={mean:g} with shape={shape:g} makes a single trial rarer than {_RAREST:g}, which doubles do not "
            "hold; lower shape (0 and 1 are usual)"
        )
    return Trials(math.exp(log_gamma), shape)


def worst(budget: Budget) -> Curve:
    """Return the largest privacy curve of what is (epsilon, delta)-DP, and of which nothing more is known.

    Parameters
    ----------
    budget : Budget

    References
    ----------
    Kairouz, Oh & Viswanath 2015: with probability delta all is told, else it is randomised response.
    """
    top, delta = math.exp(min(budget.epsilon, 700.0)), budget.delta
    return lambda e: delta + (1 - delta) * max(0.0, top - math.exp(min(e, 700.0))) / (1 + top)


def gaussian(budget: Budget) -> Curve:
    """Return the privacy curve of the Gaussian release that just meets a budget.

    Parameters
    ----------
    budget : Budget
        delta above 0.
    """
    ratio = gaussian_ratio(budget.epsilon, budget.delta)
    return lambda e: float(hockey_stick(e, ratio))


def first_epsilon(curve: Curve, gamma: float) -> float:
    """Return the smallest e_1 of (*), rounded up.

    Parameters
    ----------
    curve : callable
        Does not rise.
    gamma : float
        In (0, 1].
    """
    if gamma == 1:
        return 0.0
    # At the upper end the right side is 1.
    low, high = 0.0, -math.log(gamma) * (1 + 1e-12)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = curve(middle) * (1 - gamma) <= math.expm1(middle) * gamma
        low, high = (low, middle) if enough else (middle, high)
    return high


@functools.lru_cache(maxsize=64)
def base_budget(budget: Budget, law: Trials, curve_of: Callable[[Budget], Curve]) -> Budget:
    """Return the largest budget with which each trial may run, so that their best spends `budget`.

    Parameters
    ----------
    budget : Budget
        Of the whole search.
    law : Trials
    curve_of : {worst, gaussian}
        The privacy curve of a trial that spends a budget; `gaussian` needs delta above 0.

    Returns
    -------
    Budget
        With 0.999 of the delta that is charged.

    Raises
    ------
    InvalidBudget
        If nothing is left for a trial.
    """
    delta = budget.delta / law.mean
    low, high = 0.0, budget.epsilon
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        first = first_epsilon(curve_of(Budget(middle, delta)), law.gamma)
        low, high = (middle, high) if middle + (1 + law.shape) * first <= budget.epsilon else (low, middle)
    if low == 0:
        raise InvalidBudget(
            f"epsilon={budget.epsilon:g}, delta={budget.delta:g} leave nothing for one of n_iter={law.mean:g} trials; "
            "raise epsilon, or take a smaller n_iter or delta"
        )
    return Budget(low, _ROOM * delta)
