r"""Approximate Minima Perturbation: objective perturbation whose minimiser need not be exact.

Iyengar, Near, Song, Thakkar, Thakurta & Wang 2019, Algorithm 1. For a loss with ||grad l|| <= L, Hessian of l at most
beta and of rank at most rho, r = min(p, 2 rho) (a GLM loss has rho = 1), and a target gamma > 0:

1. split epsilon = epsilon1 + epsilon2, delta = delta1 + delta2, and 0 < epsilon1 - epsilon3 < 1;
2. Lambda >= r beta/(epsilon1 - epsilon3);
3. b1 ~ N(0, sigma1^2 I),     sigma1 = (2L/n) (1 + sqrt(2 log(1/delta1)))/epsilon3;
4. J(theta) = 1/n sum_i l_i(theta) + Lambda/(2n) ||theta||^2 + <b1, theta>;
5. any theta' with ||grad J(theta')|| <= gamma;
6. b2 ~ N(0, sigma2^2 I),     sigma2 = (n gamma/Lambda) (1 + sqrt(2 log(1/delta2)))/epsilon2;
7. release theta' + b2.

Here step 5 is relaxed to what its proof needs, ||theta' - argmin J|| <= n gamma/Lambda. A gradient as short as step 5
asks for certifies this distance. Where many records agree, rounding may not let a gradient become so short; then the
distance is certified in extended precision.

The objective is n J here, a sum. Its tilt is n b1, whose scale 2L (1 + ...)/epsilon3 does not depend on n; its
curvature is Delta = Lambda, and the solver's target is n gamma/Lambda. L is our zeta, beta our lambda. (kifer2012's
Algorithm 1 for delta > 0 has another scale of the tilt and lacks steps 5 and 6.) Neighbours are replace-one and n is
public.

neighbours="add_remove": only the solver's target depends on n, and a public guess `n_public` takes its place. One
record's gradient changes in place of two, so the 2L of step 3 is L; all else stays as printed (also r, although the
Hessian changes by rank 1 then).

Defaults are the paper's (it calls itself free of hyperparameters): epsilon2 = 0.01 epsilon, delta2 = 0.01 delta,
gamma = 1/n^2 (for L = 1; here L/n^2), Lambda the least that is allowed, and epsilon3 = f epsilon1 with
f = max{min{0.887 + 0.019/epsilon1^0.373, 0.99}, 1 - 0.99/epsilon1}.

What is proved. theta' lies within tau = n gamma/Lambda of the minimiser. Given the minimiser, the solver's error is a
function of the data alone, but on two data sets it may point to opposite sides: its sensitivity is 2 tau, while step 6
is made for tau. For small delta2 step 6 therefore does not spend (epsilon2, delta2), and the paper's split proves
nothing. Step 3 has room to spare, though. So the statement is `proved` if for some t in (0, epsilon)

    delta_1(epsilon - t) + H_t(2 tau/sigma2) <= delta

(docs/privacy.md, section 9: Theorem 1 or 2 for b1, or for the logistic loss Theorem 4, the exact curve of a Gaussian
for b2, adaptive composition): so it is for the default shares at every usual budget. Else it is `claimed`: the paper's
word only. No trust in the solver is needed beyond tau, which is certified: where `converged` is False, nothing is
promised.
"""

import functools
import math
from typing import NamedTuple

import numpy as np

from dperm.accounting import gaussian
from dperm.accounting.tilt import Record
from dperm.domain import MOST, Budget, Calibration, Domain, Guarantee, Neighbours, changed_gradients, number, one_of
from dperm.errors import InvalidBudget
from dperm.losses import Loss
from dperm.mechanisms.base import (
    TARGET,
    Release,
    bounds_everywhere,
    budget_event,
    curvature_or_default,
    record,
    representable,
)
from dperm.mechanisms.vacuous import Noise
from dperm.noise import Gaussian
from dperm.solvers import newton

CALIBRATIONS = ("paper",)

# Rounding, when a given Lambda is held against the least that is allowed.
_ROUNDING = 1e-12
# Shares t/epsilon that are tried for the proof; any that serves is a proof.
_TRIED = np.concatenate([np.geomspace(1e-5, 0.1, 30), np.linspace(0.11, 0.99, 89)])


class Split(NamedTuple):
    """The budget's parts: epsilon1 for tilt and curvature, epsilon3 of it for the tilt, epsilon2 for the output."""

    epsilon1: float
    epsilon2: float
    epsilon3: float
    delta1: float
    delta2: float


def split(budget: Budget, *, output_share: float = 0.01, tilt_share: float | None = None) -> Split:
    """Return the parts: output_share is epsilon2/epsilon = delta2/delta, tilt_share epsilon3/epsilon1 (default: f)."""
    remedy = "both noises are Gaussian; for pure privacy take 'objective' or 'cms11'"
    number("delta", budget.delta, gaussian.SMALLEST_DELTA, 1, ends="[)", error=InvalidBudget, remedy=remedy)
    remedy = "it is the share of the budget that hides the solver's error; 0.01 is the paper's"
    output_share = number("output_share", output_share, 1e-6, 1, ends="[)", error=InvalidBudget, remedy=remedy)
    epsilon2, delta2 = output_share * budget.epsilon, output_share * budget.delta
    epsilon1, delta1 = budget.epsilon - epsilon2, budget.delta - delta2
    if tilt_share is None:
        # As a Python float its power would raise where epsilon1 is tiny; there the least of the two is 0.99 anyway.
        fitted = 0.887 + 0.019 / max(epsilon1, 1e-3) ** 0.373
        tilt_share = max(min(fitted, 0.99), 1 - 0.99 / epsilon1)
    tilt_share = number(
        "tilt_share", tilt_share, 0, 1, error=InvalidBudget, remedy="it is epsilon3/epsilon1; leave it out"
    )
    epsilon3 = tilt_share * epsilon1
    if not 0 < epsilon1 - epsilon3 < 1:
        raise InvalidBudget(
            f"tilt_share={tilt_share:g} leaves epsilon1 - epsilon3 = {epsilon1 - epsilon3:g}, which Algorithm 1 "
            f"needs in (0, 1); take a share above {max(0.0, 1 - 1 / epsilon1):g}, or leave it out"
        )
    return Split(epsilon1, epsilon2, epsilon3, delta1, delta2)


def default_curvature(
    loss: Loss,
    domain: Domain,
    budget: Budget,
    *,
    p: int,
    output_share: float = 0.01,
    tilt_share: float | None = None,
) -> float:
    """Return r beta/(epsilon1 - epsilon3), the least Lambda that Algorithm 1 allows, under either relation."""
    parts = split(budget, output_share=output_share, tilt_share=tilt_share)
    return min(p, 2) * bounds_everywhere(loss, domain)[1] / (parts.epsilon1 - parts.epsilon3)


class Calibrated(NamedTuple):
    """What Algorithm 1 asks for, of the sum.

    - tilt: law of n b1.
    - output: law of b2.
    - curvature: Lambda.
    - gradient_norm: n gamma; over Lambda, the solver's target: a distance from the minimiser.
    """

    tilt: Gaussian
    output: Gaussian
    curvature: float
    gradient_norm: float
    guarantee: Guarantee


def calibrate(
    loss: Loss,
    domain: Domain,
    budget: Budget,
    *,
    n: int,
    p: int,
    gamma: float | None = None,
    curvature: float | None = None,
    output_share: float = 0.01,
    tilt_share: float | None = None,
    neighbours: Neighbours = "replace",
) -> Calibrated:
    """Return the noises, the curvature and the solver's target of Algorithm 1, and what is proved of them.

    - budget: under `neighbours`; delta above 0.
    - n, p: public numbers (under add/remove, of n a public guess) of records and features.
    - Source: Iyengar et al. 2019, Algorithm 1 and Theorem 1; docs/privacy.md, section 9; erratum K8.
    """
    parts = split(budget, output_share=output_share, tilt_share=tilt_share)
    zeta, lam = bounds_everywhere(loss, domain)
    least = default_curvature(loss, domain, budget, p=p, output_share=output_share, tilt_share=tilt_share)
    curvature = curvature_or_default(least if curvature is None else curvature, loss, domain, budget.epsilon)
    if curvature < least * (1 - _ROUNDING):
        raise InvalidBudget(
            f"curvature={curvature:g} is below r beta/(epsilon1 - epsilon3) = {least:g}, which Algorithm 1 needs; "
            "raise it, leave it out, or lower tilt_share"
        )
    if gamma is None:
        gamma = zeta / max(int(n), 1) ** 2
    gamma = number(
        "gamma", gamma, 1e-100, zeta, ends="[]", remedy="it bounds the gradient of the mean; leave it out for zeta/n^2"
    )
    gradient_norm = max(n, 1) * gamma
    sigma1 = changed_gradients(neighbours) * zeta * (1 + math.sqrt(2 * math.log(1 / parts.delta1))) / parts.epsilon3
    # delta2 as a sum of logarithms: the share of the smallest delta is no double.
    root = math.sqrt(2 * (math.log(1 / budget.delta) + math.log(1 / output_share)))
    sigma2 = gradient_norm / curvature * (1 + root) / parts.epsilon2
    tilt, output = Gaussian(representable(sigma1, budget)), Gaussian(representable(sigma2, budget))
    one, ratio = record(loss, (zeta, lam)), 2 * gradient_norm / curvature / sigma2
    proved = _proved(one, sigma1, ratio, budget, curvature, neighbours)
    return Calibrated(tilt, output, curvature, gradient_norm, "proved" if proved else "claimed")


@functools.lru_cache
def _proved(one: Record, sigma: float, output: float, budget: Budget, curvature: float, neighbours: Neighbours) -> bool:
    """Say whether some t proves the budget: epsilon - t for the tilt, t for the output noise of this ratio."""
    for share in _TRIED:
        spent = float(share) * budget.epsilon
        rest = {"epsilon": budget.epsilon - spent, "curvature": curvature, "neighbours": neighbours}
        hidden = gaussian.hockey_stick(spent, output)
        if hidden < budget.delta and one.delta(sigma, **rest) + hidden <= budget.delta:
            return True
    return False


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    budget: Budget,
    neighbours: Neighbours,
    calibration: Calibration,
    curvature: float | None = None,
    gamma: float | None = None,
    output_share: float = 0.01,
    tilt_share: float | None = None,
    n_public: int | None = None,
    rng: np.random.Generator,
    repeats: int = 1,
) -> Release:
    """Release `repeats` independent draws of Algorithm 1, solved as one batch.

    - curvature: Lambda, of the sum of losses; by default the least that Algorithm 1 allows.
    - gamma: in [1e-100, zeta]; public: n gamma/Lambda bounds the distance from the minimiser, as a gradient of the mean
      of at most gamma does; by default zeta/n^2.
    - n_public: a public number (or guess) of records, for the solver's target; by default n under replace-one. Needed
      under add/remove, where n is private.
    - rng: draws the tilts first, then the output noise.
    - Returns: the certificate is the solver's, for theta before b2, which hides it.
    """
    one_of("neighbours", neighbours, Neighbours)
    if calibration != "paper":
        raise ValueError(
            f"calibration={calibration!r}: Approximate Minima Perturbation offers 'paper'; "
            "'objective' with a solver_share is the same idea, 'tight'"
        )
    if n_public is None and neighbours == "add_remove":
        raise ValueError("n_public is missing: under add_remove n is private; give a public guess of it")
    n = len(X) if n_public is None else number("n_public", n_public, 1, MOST, ends="[]", remedy="it is a guess of n")
    made = calibrate(
        loss,
        domain,
        budget,
        n=n,
        p=X.shape[1],
        gamma=gamma,
        curvature=curvature,
        output_share=output_share,
        tilt_share=tilt_share,
        neighbours=neighbours,
    )
    y = loss.targets_of(y, domain)
    shape = (repeats, X.shape[1])
    tilt = made.tilt.sample(shape, rng)
    # Nearer than step 5 asks: where within a coarse target a solver stops hangs on the last digits of its sums.
    aim = min(made.gradient_norm, TARGET * bounds_everywhere(loss, domain)[0])
    solution = newton.minimise(loss, X, y, ridge=made.curvature, tilt=tilt, tolerance=aim)
    theta = solution.theta + made.output.sample(shape, rng)
    converged = solution.gradient_norm <= made.gradient_norm
    zeta, lam = bounds_everywhere(loss, domain)
    noise = Noise(made.tilt.scale / zeta, made.output.scale * lam / zeta)
    return Release(theta, solution.certificate, converged, made.guarantee, budget_event(budget), noise=noise)
