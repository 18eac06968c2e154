r"""What li2021 says of its budgets, from formulas and small matrices alone: Sections 1.3, 4.1 and 4.2, Corollary 5,
Proposition 6.

Section 1.3, 2 (`over-protection`): Eq 2 "over-protects", for its quadratic term costs less than it is given. Eq 2 with
Lambda0 = k zeta3/epsilon and b of Eq 4 (r = 1/2) spends at most `dperm.accounting.objective`'s tight epsilon,
log_det = log(1 + zeta3/(2 Lambda0)) <= epsilon/2. The printed recipe for b (radius Gamma(1, .), erratum N1) has
infinite density at 0 and spends an infinite epsilon. `excess` = 1 - claimed/tight, at most 0 where the claim holds.

Corollary 5, with zeta = 1 and Lambda0 = zeta3/epsilon:

    eq-12    sigma = (sqrt(2 log(1/delta) + epsilon) + sqrt(2 log(1/delta)))/epsilon,
    short    sigma = 2 sqrt(2 log(1/delta) + epsilon)/epsilon: also the sigma of Eq 4,
    tight    the least sigma that `dperm.accounting.objective` proves enough.

`suffices`: excess = delta(epsilon)/delta - 1 at each sigma. `least`: "the lower bound on the variance", excess = 1 -
tight/sigma. `longer`: the short form is no smaller than Eq 12.

Proposition 6: of (1 - r) epsilon, the Jacobian spends (1 - r) epsilon Lambda0/(n_e l'' V_(1)); n_e l'' V_(1) = 2 min w
as printed, min w with the factor 2 restored (erratum N5). Held against the largest log det(A + E) - log det A over
E = zeta3 u u', ||u|| = 1, A = c I + D, p = 2: c the curvature of the records that are there, D the penalty's own. For
`fixed` D = diag P''(theta), the Jacobian of the map that is released, for `frozen` D = 2 diag w, as if the weights did
not depend on theta.

Section 4 (`target`): where the target is strongly convex enough, R^(t) tends to Lambda R. `own`: R^(t)(theta) of
Proposition 1, sum_j w_j theta_j^2, with the weights at theta itself, where the iteration stands; excess =
|R^(t) - Lambda R|/(Lambda R). `printed`: the penalty P that is minimised there, P' = 2 u w(u), in place of R^(t);
`halved`: P with the weights as erratum N6 mends them. Elsewhere (`limit`, lasso) R^(t) at its own theta is the sum over
coordinates of max{Lambda |theta_j|, Lambda0 theta_j^2} (`mended`), printed as max{Lambda R, Lambda0 ||theta||^2}.

Theorem 8 (`order-18`): `growth` is log^2(p/pi) of Equation 18 over log p of its printed order, mended over log^2 p, at
p = 10, ..., 10^12 and pi = 0.1; `multiple` is log p.

Section 4.2 (`ridge-term`): with r = 1/2, zeta <= 1 and C of Theorem 10, the noise's term becomes 16 p^2 log^2(p/pi)/
(epsilon^2 n^2 Lambda) for ridge Lambda ||theta||^2/2 (means). `printed` puts n Lambda/2 for n_e l'' V_(1), as the text
does; `mended` puts n Lambda, for R^(t) = n_e l'' V_(1) ||theta||^2/2 has to be n Lambda ||theta||^2/2. Excess: how far
the quotient of the two sides is from 1.

Neighbours: add/remove. Gradients of any sign.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize

from dperm.accounting import objective
from dperm.domain import Budget
from dperm.mechanisms.napp import noise
from dperm.mechanisms.napp.scheme import Scheme, curvature, knee, penalty, weights
from dperm.noise import Gaussian, SphericalLaplace
from dperm_papers.li2021.bounds import formulas
from dperm_pipeline.experiments import Cell

SHARE, FEATURES = 0.5, 16
# Lambda0 in units of the least that Eq 2 allows.
FLOORS = (1, 10)
_PAIR = {"neighbours": "add_remove"}
# Proposition 6: strengths in units of Lambda0, curvature of the records in units of zeta3, |theta| in units of the
# knee Lambda/Lambda0, directions u.
_STRENGTHS, _CURVATURES, _SIZES, _DIRECTIONS = (
    (0.5, 1.0, 2.0, 10.0, 100.0),
    (0.01, 1.0, 100.0),
    (0.1, 0.5, 0.9, 3.0),
    64,
)
# Section 4.2: n, in which both sides are homogeneous.
_RECORDS = 1000
# Section 4.1: kappa, and Lambda kappa (elastic net) or Lambda (ridge) in units of Lambda0.
_KAPPA, _MULTIPLES = 0.5, (1.0, 2.0, 10.0)


def rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """Give the rows of every statement."""
    settings = cell.settings
    for epsilon in settings.epsilons:
        for delta in settings.deltas:
            yield from _over_protection(Budget(epsilon, delta))
            if delta > 0:
                yield from _corollary_5(Budget(epsilon, delta))
        yield from _proposition_6(epsilon)
        yield from _ridge_term(epsilon, settings.gammas)
        rng = cell.rng("target", epsilon)
        yield from _target(epsilon, rng.uniform(-3, 3, (settings.instances, FEATURES)))
    yield from _order_18()


def tight_epsilon(law: noise.Law, zeta: float, delta: float, log_det: float) -> float:
    """Return the least epsilon that is proved of objective perturbation with this law of b, in p >= 2 dimensions.

    It is infinite for the printed radius (erratum N1). `zeta` bounds one record's gradient norm, of any sign; delta
    is above 0 for Gaussian b; `log_det` is log(1 + zeta3/(2 Lambda0)).
    """
    if isinstance(law, SphericalLaplace):
        return objective.gamma_epsilon(law.scale, zeta, log_det=log_det, **_PAIR)
    if not isinstance(law, Gaussian):
        return math.inf
    a = zeta / law.scale

    def over(epsilon: float) -> float:
        return objective.objective_delta(a, epsilon=epsilon, log_det=log_det, one_sided=False, **_PAIR) - delta

    high = log_det + 1.0
    while over(high) > 0:
        high *= 2
    return high if over(log_det) <= 0 else float(optimize.brentq(over, log_det, high, xtol=1e-12))


def equation_12(budget: Budget) -> float:
    """Return sigma/zeta of Corollary 5, Equation 12, at equality; delta above 0."""
    tail = 2 * math.log(1 / budget.delta)
    return (math.sqrt(tail + budget.epsilon) + math.sqrt(tail)) / budget.epsilon


def short_form(budget: Budget) -> float:
    """Return sigma/zeta of Corollary 5's simplified form; delta above 0."""
    return 2 * math.sqrt(2 * math.log(1 / budget.delta) + budget.epsilon) / budget.epsilon


def _over_protection(budget: Budget) -> Iterator[dict[str, Any]]:
    bounds, epsilon = noise.Bounds(1.0, 1.0, 1.0), budget.epsilon
    laws = [
        (name, *noise.calibrate(bounds, budget, share=SHARE, variant="erm", calibration=name, features=FEATURES)[::2])
        for name in ("paper", "corrected")
    ]
    forms = {noise.PrintedSpherical: "radius", SphericalLaplace: "density", Gaussian: "gaussian"}
    if budget.delta == 0:
        # Eq 4 as a density, and not by the recipe that is printed after it: that of the corrected law.
        laws.append(("paper", SphericalLaplace(1.0 / (SHARE * epsilon)), "proved_exact"))
    for (calibration, law, guarantee), multiple in itertools.product(laws, FLOORS):
        log_det = math.log1p(bounds.zeta3 / (2 * multiple * bounds.zeta3 / epsilon))
        found = tight_epsilon(law, bounds.zeta12, budget.delta, log_det)
        here = {
            "row": "over-protection", "form": forms[type(law)], "calibration": calibration, "variant": "erm",
            "guarantee": guarantee, "epsilon": epsilon, "delta": budget.delta, "p": FEATURES,
            "multiple": float(multiple),
        }  # fmt: skip
        yield {**here, "metric": "excess", "value": 1 - epsilon / found}
        # An infinite epsilon is no number; the excess 1 says it.
        if math.isfinite(found):
            yield {**here, "metric": "spent_share", "value": found / epsilon}


def _corollary_5(budget: Budget) -> Iterator[dict[str, Any]]:
    epsilon, delta = budget.epsilon, budget.delta
    log_det = math.log1p(epsilon / 2)
    ratio = objective.objective_ratio(epsilon=epsilon, delta=delta, log_det=log_det, one_sided=False, **_PAIR)
    sigmas = {"eq-12": equation_12(budget), "short": short_form(budget), "tight": 1 / ratio}
    here = {"row": "corollary-5", "epsilon": epsilon, "delta": delta}
    for form, sigma in sigmas.items():
        found = objective.objective_delta(1 / sigma, epsilon=epsilon, log_det=log_det, one_sided=False, **_PAIR)
        yield {**here, "form": form, "metric": "noise", "value": sigma}
        yield {**here, "form": form, "reading": "suffices", "metric": "excess", "value": found / delta - 1}
    yield {
        **here, "form": "eq-12", "reading": "least", "metric": "excess", "value": 1 - sigmas["tight"] / sigmas["eq-12"]
    }  # fmt: skip
    longer = sigmas["eq-12"] / sigmas["short"] - 1
    yield {**here, "form": "short", "reading": "longer", "metric": "excess", "value": longer}


def _proposition_6(epsilon: float) -> Iterator[dict[str, Any]]:
    bounds = noise.Bounds(1.0, 1.0, 1.0)
    floor, rest = noise.floor(bounds, epsilon, SHARE), (1 - SHARE) * epsilon
    for target, multiple in itertools.product(("ridge", "lasso"), _STRENGTHS):
        scheme, strength = Scheme(target, floor, moor=True), multiple * floor
        sizes = np.array(_SIZES) * (float(knee(scheme, strength)) if target == "lasso" else 1.0)
        thetas = np.array(list(itertools.product(sizes, sizes)))
        own = weights(scheme, strength, thetas)
        parts = {"fixed": curvature(scheme, strength, thetas), "frozen": 2 * own}
        least = own.min(axis=1)
        for jacobian, diagonal in parts.items():
            worst = np.max([log_determinant(c * bounds.zeta3, diagonal, bounds.zeta3) for c in _CURVATURES], axis=0)
            for form, factor in (("printed", 2.0), ("mended", 1.0)):
                claimed = rest * floor / (factor * least)
                yield {
                    "row": "proposition-6", "form": form, "reading": jacobian, "target": target, "epsilon": epsilon,
                    "multiple": multiple, "metric": "excess", "value": float(np.max(worst / claimed)) - 1,
                }  # fmt: skip


def log_determinant(c: float, diagonal: np.ndarray, zeta3: float) -> np.ndarray:
    """Return the largest log det(A + zeta3 u u') - log det A over directions u, for each row of `diagonal`."""
    angles = np.linspace(0, np.pi / 2, _DIRECTIONS)
    u = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    A = c * np.eye(2) + diagonal[:, None, :] * np.eye(2)
    more = A[:, None] + zeta3 * np.einsum("ui,uj->uij", u, u)
    return (np.linalg.slogdet(more)[1] - np.linalg.slogdet(A)[1][:, None]).max(axis=1)


def _target(epsilon: float, thetas: np.ndarray) -> Iterator[dict[str, Any]]:
    floor = noise.floor(noise.Bounds(1.0, 1.0, 1.0), epsilon, SHARE)
    for target, multiple, halved in itertools.product(("ridge", "elastic_net"), _MULTIPLES, (False, True)):
        kappa = _KAPPA if target == "elastic_net" else 0.0
        scheme = Scheme(target, floor, moor=True, kappa=kappa, halved=halved)
        strength = multiple * floor / (kappa or 1.0)
        forms = {"halved" if halved else "printed": penalty(scheme, strength, thetas)}
        if not halved:
            forms["own"] = weights(scheme, strength, thetas) * thetas**2
        wanted = strength * ((np.abs(thetas) if kappa else 0.0) + (kappa or 1.0) * thetas**2).sum(axis=1)
        for form, regularizer in forms.items():
            yield {
                "row": "target", "form": form, "target": target, "epsilon": epsilon, "multiple": multiple,
                "metric": "excess", "value": float(np.max(np.abs(regularizer.sum(axis=1) - wanted) / wanted)),
            }  # fmt: skip

    for multiple in _MULTIPLES:
        scheme, strength = Scheme("lasso", floor, moor=True), multiple * floor
        own = (weights(scheme, strength, thetas) * thetas**2).sum(axis=1)
        parts = np.stack([strength * np.abs(thetas), floor * thetas**2])
        for form, wanted in (("printed", parts.sum(axis=2).max(axis=0)), ("mended", parts.max(axis=0).sum(axis=1))):
            yield {
                "row": "limit", "form": form, "target": "lasso", "epsilon": epsilon, "multiple": multiple,
                "metric": "excess", "value": float(np.max(np.abs(own - wanted) / wanted)),
            }  # fmt: skip


def _order_18() -> Iterator[dict[str, Any]]:
    for p, (form, power) in itertools.product([10**k for k in range(1, 13)], (("printed", 1), ("mended", 2))):
        yield {
            "row": "order-18", "form": form, "p": p, "gamma": 0.1, "multiple": math.log(p), "metric": "growth",
            "value": math.log(p / 0.1) ** 2 / math.log(p) ** power,
        }  # fmt: skip


def _ridge_term(epsilon: float, failures: list[float]) -> Iterator[dict[str, Any]]:
    p, n = FEATURES, _RECORDS
    for failure, strength in itertools.product(failures, (0.01, 1.0)):
        constant = 2 * formulas.noise_square(Budget(epsilon), p, 1.0, SHARE, failure)
        stated = 16 * (p * math.log(p / failure)) ** 2 / (epsilon**2 * n**2 * strength)
        for form, modulus in (("printed", n * strength / 2), ("mended", n * strength)):
            yield {
                "row": "ridge-term", "form": form, "epsilon": epsilon, "p": p, "n": n, "gamma": failure,
                "strength": strength, "metric": "excess", "value": abs(constant / (n * modulus) / stated - 1),
            }  # fmt: skip
