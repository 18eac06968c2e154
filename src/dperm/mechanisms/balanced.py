r"""A default curvature for objective perturbation, from public values and a count: bias against noise.

Along a direction in which the records bend their summed loss by h and the best coefficient is t, the minimiser under
curvature Delta and a tilt of mean square s^2 a coordinate has the mean excess

    h/2 (Delta^2 t^2 + s^2)/(h + Delta)^2:              bias through Delta, noise through s = s(Delta).

The default is the Delta of least excess for what is usual, without a look at the data:

    h = .4 n lambda/p       rows near their bound, in p directions alike, that bend .4 of the most they can;
    t = zeta/(2 lambda)     margins half as large as those at which the loss has become straight.

For the logistic loss and R = 1 this is h = .1 n/p and t = 2. docs/assumptions.md (curvature) has the reason of both
numbers and what the rule loses on simulated data.

Under replace-one n is public. Under add/remove it is not: a share of epsilon pays for n + Z with Z discrete Laplace,
P(k) proportional to e^{-epsilon |k|}, or the user declares a number of that order. The count and what depends on it are
composed one after the other (Dwork & Roth 2014, Theorem 3.16), so that Delta may depend on the noisy count.
"""

import math

import numpy as np

from dperm.domain import MOST, Budget, Domain, Neighbours, number
from dperm.errors import InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms import objective
from dperm.mechanisms.base import TARGET, bounds, reachable

# Of epsilon, for the number of records: a count is right to 1 % when epsilon n is above 1e4.
COUNT_SHARE = 0.01
BENT, HALF = 0.4, 0.5
# Of lambda/epsilon: below the first the determinant takes the budget, beyond the last the noise hardly falls.
_MULTIPLES = (1.2, 2.0, 4.0, 8.0, 16.0)


def noisy_count(n: int, epsilon: float, rng: np.random.Generator) -> int:
    """Return n + Z, Z discrete Laplace, at least 1; pure epsilon-DP under add/remove (the count moves by 1).

    Raises InvalidBudget: if epsilon is below 1e-15, where Z is beyond the whole numbers that a machine has.
    """
    number("epsilon", epsilon, 1e-15, math.inf, ends="[]", error=InvalidBudget, remedy="raise epsilon, or say n_public")
    stop = -math.expm1(-epsilon)
    return max(1, n + int(rng.geometric(stop)) - int(rng.geometric(stop)))


def balanced_curvature(
    loss: Loss,
    domain: Domain,
    budget: Budget,
    *,
    n: int,
    p: int,
    neighbours: Neighbours,
    steepest: float,
    declared: Budget | None = None,
) -> float:
    """Return the Delta of least excess, for the noise of calibration="tight".

    - domain: as `base.searched` made it.
    - budget: what the tilt may spend.
    - n: a public number of records, or a noisy one; 1 or above.
    - steepest: the largest lambda/Delta that may come out.
    - declared: the budget that a refusal names. Where it is given and some Delta has a noise that no solver serves,
      InvalidBudget is raised whatever n is: else whether there is an error, and its words, would hang on a noisy n.
    """
    zeta, lam = bounds(loss, domain)
    # Under replace-one there may be no record at all.
    bend = BENT * max(n, 1) * lam / p
    size = min(HALF * zeta / lam, domain.theta_norm / math.sqrt(p))
    unit = objective.default_curvature(loss, domain, budget.epsilon) / 2

    def square(curvature: float) -> float:
        """s^2 of the noise at this curvature."""
        fixed = {"curvature": curvature, "calibration": "tight", "neighbours": neighbours}
        noise, _ = objective.calibrate(loss, domain, budget, **fixed)
        return noise.length(p) ** 2 / p

    def excess(curvature: float, noise: float) -> float:
        return (curvature**2 * size**2 + noise) / (bend + curvature) ** 2

    tried = {max(multiple * unit, lam / steepest) for multiple in _MULTIPLES}
    noises = {curvature: square(curvature) for curvature in sorted(tried)}
    if declared is not None:
        reachable(TARGET, math.sqrt(p * max(noises.values())) / zeta, declared)
    # Beyond them the noise hardly falls, and at a constant s the least excess stands at s^2/(h t^2).
    last, noise = max(noises.items())
    noises[max(last, min(noise / (bend * size**2), MOST))] = noise
    return min(noises, key=lambda curvature: excess(curvature, noises[curvature]))
