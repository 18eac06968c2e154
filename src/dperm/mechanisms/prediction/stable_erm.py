r"""Stable empirical risk minimisation: the minimiser of a strongly convex risk answers with Laplace noise.

Records (x, y), ||x||_2 <= L_f, a loss l convex in its first argument with |l'| <= L_l, f(w, x) = <w, x>, L = L_f L_l:

    4.10    w_S = argmin_{||w|| <= R}  1/n sum_i l(<w, x_i>, y_i) + lambda/2 ||w||^2,  each term lambda-strongly convex;
    4.11    w_S = argmin_{||w|| <= R}  1/n sum_i l(<w, x_i>, y_i) + lambda ||w||^2,     with
            lambda = 2L/(R sqrt(n eps/(1 + eps))).

An answer to z is <w_S, z> + Laplace(rate/epsilon). With m the modulus of strong convexity of the mean (lambda in 4.10,
2 lambda in 4.11) and k the number of records' gradients in which neighbours differ (2 replace-one, 1 add/remove with
lambda n fixed beforehand), strong monotonicity gives ||w_S - w_S'|| <= k L/(m n): the regularizer is the same in both
risks, so its slope counts in no L. Calibrations of the rate:

    tight    k L_f L/(m n):   2 L_f L/(lambda n) in 4.10 (erratum D9),  L_f L/(lambda n) in 4.11 (D10), replace-one;
             times what neighbours' gradients differ by at one w, in units of k L (`changes.change`);
    paper    4 L_f L/(lambda n), as Theorem 4.9 prints it and 4.11 uses it: valid, twice and four times as much.

Solver error (J9): the solver certifies ||w - w_S|| <= slack, a public target, so what it returns for neighbours
predicts at most 2 slack L_f further apart. `tight` adds that (`proved`); `paper` has room for it in its noise
(`proved`) but in 4.10 under replace-one with a tolerance above 1/2 (`proved_exact`).

A loss with a kink (hinge, absolute) is minimised over all of R^p: Theorem 4.9 needs the ball for its comparator only,
and such a loss has the same L_l everywhere.

Sources: dwork2018, Theorem 4.9, Corollaries 4.10 and 4.11; errata D9, D10, J9; docs/privacy.md, section 12.
"""

import math
from typing import Literal

import numpy as np
from scipy import sparse as scipy_sparse

from dperm.domain import (
    LEAST,
    MOST,
    Budget,
    Calibration,
    Domain,
    Guarantee,
    Neighbours,
    changed_gradients,
    number,
    one_of,
)
from dperm.errors import DataError, DomainViolation, SolverError
from dperm.feasible import Region
from dperm.losses import Loss
from dperm.mechanisms.base import target
from dperm.mechanisms.prediction.changes import change
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.solvers import composite, kinked, sparse

CALIBRATIONS = ("paper", "tight")

Corollary = Literal["4.10", "4.11"]
# Theorem 4.9's constant.
_PRINTED = 4
# Losses whose curvature has no bound: for these the dual is solved.
_KINKED = ("hinge", "absolute")
# The largest R^2/total for which the solvers are tested to meet their target whatever the records are (docs/privacy.md,
# section 1), of losses with a kink and of smooth ones.
_HEAVIEST_KINKED, _HEAVIEST = 1e2, 1e12
# Passes of coordinate descent for losses with a kink, before Newton's method takes over.
_PASSES = 1_000


def regulariser(lipschitz: float, x_norm: float, radius: float, n: int, epsilon: float) -> float:
    """Return lambda of Corollary 4.11 for L_l, L_f, R and n, which is public (replace-one)."""
    epsilon = Budget(epsilon).epsilon
    number("n", n, 1, MOST, ends="[]", error=DomainViolation, remedy="there must be a record")
    for name, value in (("lipschitz", lipschitz), ("x_norm", x_norm), ("radius", radius)):
        number(name, value, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it is a public bound")
    return 2 * float(x_norm) * float(lipschitz) / (float(radius) * math.sqrt(n * epsilon / (1 + epsilon)))


def rate(
    lipschitz: float,
    x_norm: float,
    total: float,
    *,
    calibration: Calibration,
    corollary: Corollary = "4.11",
    neighbours: Neighbours = "replace",
) -> float:
    """Return how far one record moves the exact minimiser's answer, if all that is known of the loss is L_l.

    total: lambda n, under add/remove fixed before.
    """
    _check(calibration, corollary)
    slope = float(x_norm) ** 2 * float(lipschitz)
    if calibration == "paper":
        changed_gradients(neighbours)
        return _PRINTED * slope / total
    return changed_gradients(neighbours) * slope / (_convexity(corollary) * total)


def guarantee(calibration: Calibration, tolerance: float, corollary: Corollary, neighbours: Neighbours) -> Guarantee:
    """Return `proved` where the noise covers the exact minimisers and twice the slack, else `proved_exact`."""
    fixed = {"corollary": corollary, "neighbours": neighbours}
    # Both are multiples of L_f^2 L_l/total, so that their ratio is that of any bounds.
    covered = rate(1.0, 1.0, 1.0, calibration="tight", **fixed) * (1 + 2 * target(tolerance))
    printed = rate(1.0, 1.0, 1.0, calibration="paper", **fixed)
    return "proved" if calibration == "tight" or covered <= printed else "proved_exact"


def minimise(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    total: float,
    radius: float,
    corollary: Corollary = "4.11",
    slack: float,
) -> tuple[np.ndarray, float]:
    """Return w within `slack` of w_S, and its certificate.

    - y: shape (n,); in {-1, 1} for a loss of labels.
    - radius: R; a loss with a kink is minimised over all of R^p.
    - certificate: ||w - w_S|| is at most this, and this at most `slack`.
    """
    ridge = _convexity(corollary) * total
    if loss.name == "absolute" and len(X):
        # At the minimiser ridge w = -sum_i l'_i x_i with |l'_i| <= 1, so |<x, w>| <= n max ||x_i||^2/ridge. A target
        # beyond that has the same slope wherever it is, and far out its rounding would hide the slack.
        furthest = 2 * len(X) * np.square(X).sum(axis=1).max() / ridge
        y = np.clip(y, -furthest, furthest)
    if loss.name in _KINKED:
        w, certificate = by_passes(X, y, loss, ridge, slack)
        if not certificate <= slack:
            w, certificate = kinked.minimise(X, *_pieces(loss, y), total=ridge, slack=slack)
    else:
        solved = composite.minimise(loss, X, y, ridge=ridge, tolerance=ridge * slack, region=Region(radius=radius))
        w, certificate = solved.theta[0], float(solved.certificate[0])
    if not certificate <= slack:
        raise SolverError(
            f"the solver did not certify ||w - w_S|| <= {slack:.3g}, its public target; raise `tolerance` or the "
            "regularisation `total`"
        )
    return w, certificate


def by_passes(X, y, loss: Loss, ridge: float, slack: float) -> tuple[np.ndarray, float]:
    """Return w by coordinate descent on the dual, and a certificate that counts rounding, which its own does not."""
    found = sparse.minimise(scipy_sparse.csr_matrix(X), y, loss, total=ridge, slack=slack, max_passes=_PASSES)
    w, certificate = found.dense(), float(found.slack)
    if certificate <= slack:
        certificate = kinked.distance(X, *_pieces(loss, y), total=ridge, w=w, alpha=found.dual, slack=slack)
    return w, certificate


def _pieces(loss: Loss, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return t, low and high of l(u) = max over a in [low, high] of a (u - t)."""
    if loss.name == "absolute":
        return y, -np.ones(len(y)), np.ones(len(y))
    return y, np.minimum(-y, 0.0), np.maximum(-y, 0.0)


def prepare(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    *,
    domain: Domain,
    epsilon: float,
    calibration: Calibration,
    neighbours: Neighbours = "replace",
    corollary: Corollary = "4.11",
    total: float | None = None,
    tolerance: float = 0.01,
) -> NoisyLinear:
    """Return the predictor whose every answer is epsilon-differentially private.

    - domain: with x_norm = L_f and theta_norm = R, finite.
    - total: lambda n, public; by default n times the lambda of Corollary 4.11 (`regulariser`), which takes a public n.
    - Raises SolverError: if the slack is not certified; nothing is released.
    """
    _check(calibration, corollary)
    if not len(X) and neighbours == "replace":
        raise DataError("there are no records, and their number is public under 'replace'; bring at least one")
    lipschitz = slope(loss, domain)
    total = declared_total(total, lipschitz, domain, len(X), epsilon, neighbours, corollary)
    check_reach(loss, domain, total)
    y = loss.targets_of(y, domain)
    fixed = {"corollary": corollary, "neighbours": neighbours}
    exact = rate(lipschitz, domain.x_norm, total, calibration="tight", **fixed)
    if calibration == "tight":
        exact *= change(loss, domain, neighbours) / changed_gradients(neighbours)
    slack = target(tolerance) * exact / domain.x_norm
    w, certificate = minimise(X, y, loss, total=total, radius=domain.theta_norm, corollary=corollary, slack=slack)
    word = guarantee(calibration, tolerance, **fixed)
    if calibration == "tight":
        return NoisyLinear(w, exact + 2 * slack * domain.x_norm, epsilon, word, certificate)
    printed = rate(lipschitz, domain.x_norm, total, calibration="paper", **fixed)
    return NoisyLinear(w, printed, epsilon, word, certificate)


def release(
    X: np.ndarray,
    y: np.ndarray,
    loss: Loss,
    Z: np.ndarray,
    *,
    domain: Domain,
    epsilon: float,
    calibration: Calibration,
    neighbours: Neighbours = "replace",
    corollary: Corollary = "4.11",
    total: float | None = None,
    tolerance: float = 0.01,
    rng: np.random.Generator,
    repeats: int = 1,
) -> np.ndarray:
    """Answer rows ||z|| <= x_norm, which is not checked, `repeats` times with fresh noise, each at epsilon."""
    predictor = prepare(
        X, y, loss, domain=domain, epsilon=epsilon, calibration=calibration, neighbours=neighbours, corollary=corollary,
        total=total, tolerance=tolerance,
    )  # fmt: skip
    return predictor.release(Z, rng=rng, repeats=repeats)


def slope(loss: Loss, domain: Domain) -> float:
    """Return L_l: sup |l'| over the predictions of the ball ||w|| <= R (domain: with theta_norm = R)."""
    if not math.isfinite(domain.theta_norm):
        raise DomainViolation("radius=inf: stable learning searches a ball; declare its public radius R (1, 5, 25)")
    lipschitz = loss.suprema(domain)[0]
    if not math.isfinite(lipschitz):
        raise DomainViolation(
            f"loss={loss.name!r} has no bounded slope on this domain: declare y_bound, or take 'logistic', "
            "'smoothed_hinge' (two labels) or 'huber' (real targets)"
        )
    return float(lipschitz)


def declared_total(
    total: float | None,
    lipschitz: float,
    domain: Domain,
    n: int,
    epsilon: float,
    neighbours: Neighbours,
    corollary: Corollary,
) -> float:
    """Return lambda n: the one declared, or Corollary 4.11's of a public n; 4.10 has no theory for it."""
    if total is not None:
        remedy = "it is lambda n, the weight beside the sum of losses; leave it out for Corollary 4.11's"
        return number("total", total, LEAST, MOST, ends="[]", error=DomainViolation, remedy=remedy)
    if corollary == "4.10":
        raise DomainViolation("total=None: Corollary 4.10 sets no lambda; declare lambda n, or take corollary='4.11'")
    if neighbours == "add_remove":
        raise DomainViolation(
            "total=None takes Corollary 4.11's lambda, which depends on the number of records, and that is private "
            "under neighbours='add_remove'; declare a public total = lambda n, or take 'replace'"
        )
    return n * regulariser(lipschitz, domain.x_norm, domain.theta_norm, n, epsilon)


def check_reach(loss: Loss, domain: Domain, total: float) -> None:
    """Refuse public constants (x_norm^2/total) with which the solver may miss its target for some records."""
    reach = domain.x_norm**2 / total
    heaviest = _HEAVIEST_KINKED if loss.name in _KINKED else _HEAVIEST
    if reach > heaviest:
        raise DomainViolation(
            f"total={total:g} with rows up to {domain.x_norm:g}: their square over total is {reach:g}, above "
            f"{heaviest:g}, beyond which the solver may miss its target for some records of the {loss.name} loss; "
            "declare a larger total or a smaller radius, or scale rows down and declare a smaller x_norm"
        )


def _convexity(corollary: Corollary) -> int:
    """Modulus of strong convexity of the regularizer, in units of lambda."""
    return {"4.10": 1, "4.11": 2}[corollary]


def _check(calibration: str, corollary: str) -> None:
    if calibration not in ("paper", "tight"):
        raise ValueError(f"calibration={calibration!r}: stable risk minimisation offers 'paper' and 'tight'")
    one_of("corollary", corollary, Corollary)
