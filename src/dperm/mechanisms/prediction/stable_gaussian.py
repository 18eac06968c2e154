r"""A stable prediction with Gaussian noise: Lemma 4.5 of dwork2018 for delta > 0.

"Low sensitivity of the value predicted at each point implies that addition of Laplace or Gaussian noise suffices to
obtain a differentially private prediction algorithm." The lemma and its proof are about Laplace noise; this is the
other. If |A(S, x) - A(S', x)| <= gamma for all neighbours S, S' (Definition 4.4: one record replaced) and every x,

    M(S, x) = A(S, x) + Z,     Z ~ N(0, s^2),

is (epsilon, delta)-private for every single x as soon as the Gaussian mechanism of sensitivity gamma is.

- "paper": s = gamma sqrt(2 log(1.25/delta))/epsilon, of the book that the proof cites for its noise (Dwork & Roth 2014,
  Theorem A.1, for epsilon < 1; the statement is `none` where the exact formula does not confirm it).
- "tight": the least s that does, the analytic Gaussian mechanism (Balle & Wang 2018).

**Its cost**, by the argument of the lemma's proof with E|Z| = s sqrt(2/pi), E Z = 0 and E Z^2 = s^2:

    1. l(., y) L-Lipschitz:    E l(M(S, x), y) <= l(A(S, x), y) + L s sqrt(2/pi),
    2. l(., y) sigma-smooth:   E l(M(S, x), y) <= l(A(S, x), y) + sigma s^2/2.

The absolute loss attains the first at A(S, x) = y, the squared loss the second everywhere. For one answer the noise is
longer than Laplace's gamma/epsilon; for many under one budget it grows like the root of their number.

Neighbouring relation: that of the rate, replace-one in the paper.

Sources: dwork2018, Section 4.2, Definition 4.4, Lemma 4.5.
"""

import math

import numpy as np

from dperm.accounting import gaussian
from dperm.domain import Budget, Calibration, Guarantee, Neighbours, number, one_of
from dperm.errors import InvalidBudget
from dperm.mechanisms import output
from dperm.noise import Gaussian

CALIBRATIONS = ("paper", "tight")


def calibrate(rate: float, budget: Budget, *, calibration: Calibration) -> tuple[Gaussian, Guarantee]:
    """Return the noise of one answer and whether the budget is proved, for gamma under the caller's relation."""
    rate = number("rate", rate, 0, math.inf, remedy="it is gamma of Definition 4.4, in units of an answer")
    remedy = "Gaussian noise needs some; Laplace noise (averaged, stable_erm, stable_sgd) is for delta=0"
    number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget, remedy=remedy)
    return output.calibrate(rate, budget, calibration=calibration)


def lipschitz_cost(scale: float, lipschitz: float) -> float:
    """Return L s sqrt(2/pi): the most that the noise adds to the mean of an L-Lipschitz loss."""
    return lipschitz * scale * math.sqrt(2 / math.pi)


def smooth_cost(scale: float, smoothness: float) -> float:
    """Return sigma s^2/2: the most that the noise adds to the mean of a sigma-smooth loss."""
    return smoothness * scale**2 / 2


def release(
    values: np.ndarray,
    rate: float,
    budget: Budget,
    *,
    calibration: Calibration,
    neighbours: Neighbours = "replace",
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Answer queries with A(S, x) = values; each answer, and each repeat of it, spends the budget."""
    one_of("neighbours", neighbours, Neighbours)
    noise, _ = calibrate(rate, budget, calibration=calibration)
    return np.asarray(values, dtype=float) + noise.sample((repeats, len(values)), rng)
