r"""Neighbouring data sets at which a mechanism spends the most, found by reasoning (`search` tries random ones).

What a pair can show. With B_D(theta) the noise that makes theta the output for D, and H_D the Hessian there, objective
perturbation's log-likelihood ratio is

    log nu(B_D(theta)) - log nu(B_D'(theta)) + log det H_D(theta) - log det H_D'(theta)       (docs/privacy.md, Lemma 1)

and the other records enter in two ways only: by where they put theta when the noise is b, and by making H_D large,
which hides the determinant's part. A worst case needs three things at one theta that is likely enough to be sampled:
the differing record's force |l'| ||x|| at its bound zeta, its curvature l'' ||x||^2 at its bound lambda with nothing
else curved, and a noise that points along the force. Adding or removing a record can show zeta, replacing one 2 zeta:
two opposing forces.

Every builder of `PAIRS` takes `neighbours`, `budget` and `calibration` and returns a `Case`. Where the best
place depends on the noise's scale, it is the one of `calibration`; any calibration may be attacked with any case. Under
add/remove the neighbour has the extra record, under replace-one both data sets have as many. Users may attack with any
pair of their own: `sampling.lower_bound` takes any two data sets.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from dperm import losses
from dperm.audit import line as exact_line
from dperm.audit import linear_targets
from dperm.audit.linear_targets import LinearData, repeated, with_record
from dperm.domain import Budget, Calibration, Domain, Neighbours, one_of
from dperm.losses import Loss
from dperm.mechanisms import objective
from dperm.solvers.blas import one_thread

UNIT = Domain(x_norm=1.0)
# A target so far that Huber's force is at its bound, without curvature, wherever theta may be.
FAR = 1e6
# Events of less probability are for exact audits; a sample of usual size cannot certify them.
SAMPLED_DELTA = 1e-2


@dataclass(frozen=True)
class Case:
    """A pair of neighbouring data sets (X, y), in `words` for the ledger, and the problem on which they are neighbours.

    `curvature` is Delta, of the sum of losses; None for mechanisms without one. Under add/remove `neighbour` has
    one record more.
    """

    words: str
    loss: Loss
    domain: Domain
    curvature: float | None
    data: LinearData
    neighbour: LinearData


def saturating(
    *, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight", records: int = 50
) -> Case:
    r"""Return logistic data in the plane that move b by nearly zeta (add/remove) or nearly 2 zeta (replace-one).

    Others: copies of (0.4, 0) or (0.3, 0) with label 1. Together they push theta_1 up to T of about 3 to 5, where they
    are nearly satisfied, hence nearly without curvature; short rows reach further than long ones, which are satisfied
    sooner.

    Add/remove: the extra record is x = (-1, 0) with label 1. Its margin is -T: it is misclassified, its force
    1/(1 + e^{-T}) nearly 1 = zeta, for all likely noise, so that b shifts by nearly zeta along the first axis.

    Replace-one: x = (-c, s), label 1, becomes (c, s), label -1 (c = 1/2, s^2 = 3/4). Both have the margin -cT for their
    label and so nearly full force: gradients (c, -s) and (c, s), a shift of b by nearly 2 s zeta along the second axis,
    on which nothing else acts. The logistic loss cannot do this on a line: with l' of one sign, two records that oppose
    each other are not both misclassified (there the gradient moves by zeta(1 + small)). Hence the plane.

    Curvature: lambda (2/epsilon + n^0.4). More of it makes log(1 + lambda/Delta), which this pair does not show, a
    smaller part of the claim; but it holds theta back. By quadrature this is near the best for n of 10 to 200 and
    epsilon of 1/2 to 3: with the noise of `separate`, delta = 0 and 10^6 draws a side, add/remove at epsilon = 1 can
    certify 0.68 with n = 10 and 0.82 with n = 200, replace-one 0.55 and 0.70.

    - records: of `data`, 2 or above.
    """
    one_of("neighbours", neighbours, Neighbours)
    if records < 2:
        raise ValueError(f"records={records} must be 2 or above: others have to push")
    loss = losses.logistic()
    curvature = loss.curvature_bound(UNIT) * (2 / budget.epsilon + records**0.4)
    if neighbours == "add_remove":
        common = repeated((0.4, 0.0), 1.0, records)
        data, neighbour = common, with_record(common, (-1.0, 0.0), 1.0)
        words = f"saturating: {records} records push a misclassified one, which is added, to full force"
    else:
        c, s = 0.5, math.sqrt(0.75)
        common = repeated((0.3, 0.0), 1.0, records - 1)
        data, neighbour = with_record(common, (-c, s), 1.0), with_record(common, (c, s), -1.0)
        words = f"saturating: {records - 1} records push a misclassified one to full force, as its replacement"
    return Case(words, loss, UNIT, curvature, data, neighbour)


def pulled(*, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight") -> Case:
    r"""Return logistic data on a line that spend all of what Theorem 4 of docs/privacy.md allows, for exact audits.

    The record is x = 1 with label 1. Others, copies of (-h) with label 1, pull theta below 0, where it is
    misclassified, with a force c that hardly varies: with h small their slope is 1/2 and c = n h/2, while their
    curvature c h/2 is a hundredth of Delta. So nothing hides the record's determinant, and b stays on its far side.

    Gamma noise, Delta = 2 lambda/epsilon: c = zeta + 5 Delta, and down to theta = -5 the log-likelihood ratio is
    s zeta/scale + log(1 + s (1 - s) R^2/Delta) with every slope s from 1/2 to 0.993 in turn, also the worst of them.
    Gaussian noise, Delta = 4 lambda/epsilon, at which the determinant is free: c is 10 Delta beyond seven standard
    deviations of b, so that s is nearly 1 whatever b is, and b moves by zeta. (There their curvature is half of Delta:
    it hides nothing, and so few are enough.)

    Replace-one: the record takes the place of one of zeros. On a line two logistic records cannot pull in opposite
    directions with slopes near 1 (`saturating`), so no more than half of a claim shows.

    - calibration: whose noise decides how far the others pull.
    """
    loss = losses.logistic()
    pure = budget.delta == 0
    curvature = (2 if pure else 4) * loss.curvature_bound(UNIT) / budget.epsilon
    fixed = {"curvature": curvature, "calibration": calibration, "neighbours": neighbours}
    law, _ = objective.calibrate(loss, UNIT, budget, **fixed)
    pull = 1 + 5 * curvature if pure else 7 * law.scale + 10 * curvature
    h = min(1.0, (0.02 if pure else 1.0) * curvature / pull)
    common = repeated((-h,), 1.0, math.ceil(2 * pull / h))
    data = common if neighbours == "add_remove" else with_record(common, (0.0,), 1.0)
    words = f"pulled: {len(common[0])} short records pull a misclassified one, which is added, to every slope"
    if neighbours == "replace":
        words = f"pulled: {len(common[0])} short records pull a misclassified one, which replaces zeros, to every slope"
    return Case(words, loss, UNIT, curvature, data, with_record(common, (1.0,), 1.0))


def knee(*, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight") -> Case:
    r"""Return Huber data in the plane with full force and full curvature at one theta, placed for sampling.

    One record x = (1, 0) and no others (linear ones only shift theta, curved ones hide the determinant). Huber's knee,
    at u = y + 1, is the one place with l' = 1 = zeta and l'' = 1 = lambda. Replace-one turns its target into one far
    away, l' = -1 and no curvature: with the noise pointing along, the ratio at the knee is

        2 zeta/s + log(1 + lambda/Delta) for gamma noise of scale s (zeta/s + ... under add/remove),

    which is all that Theorem 3 of docs/privacy.md allows. The printed constants, read as replace-one, so spend
    epsilon + log(1 + epsilon/2) (erratum K3), and Delta = 2 lambda/epsilon, the least they allow, shows it best.

    Place. Gamma noise: the knee lies where b = (s/2, 0). At b = 0 the noise has the most mass, further out it points
    along more surely; by experiment this is the best compromise at 10^6 draws: with tight constants at epsilon = 1,
    either relation, 0.89 can be certified; with the printed ones read as replace-one 1.28. Gaussian noise: one axis
    carries all, so the pair is that of `line`, at delta = 10^-2 or above (smaller deltas need `line` itself).

    - calibration: whose noise decides on the place.
    """
    if budget.delta == 0:
        y, curvature = _gamma_knee(neighbours, budget, calibration, out=0.5)
    else:
        y, curvature = _gaussian_knee(neighbours, budget, calibration, max(budget.delta, SAMPLED_DELTA))
    return _knee_case(neighbours, y, curvature, features=2)


def line(*, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight") -> Case:
    r"""Return the Huber pair of `knee` on a line, placed for exact audits (`dperm.audit.line`).

    Gamma noise: the knee lies where b = 0, that is y = -(1 + 1/Delta). The bound that intervals just inside the
    parabola prove tends to k zeta/s + log(1 + lambda/Delta), k = 1 or 2.

    Gaussian noise: the best place depends on delta (the event's probability is of its order), and is found by a scan of
    the exact audit over y; also over larger curvatures, with small log-determinants, where under add/remove the worst
    event may be both tails at once: the factor 2 of the removing direction. The smaller delta, the clearer the printed
    constants fail as replace-one: at (1, 10^-6) the pair spends 1.021, at (3, 10^-9) 3.216.

    - calibration: whose noise decides on the place.
    """
    if budget.delta == 0:
        y, curvature = _gamma_knee(neighbours, budget, calibration, out=0.0)
    else:
        y, curvature = _gaussian_knee(neighbours, budget, calibration, budget.delta)
    return _knee_case(neighbours, y, curvature, features=1)


def linear(
    *, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight", records: int = 10, features: int = 1
) -> Case:
    r"""Return Huber data without curvature, whose minimiser moves by all of zeta/Delta (2 zeta/Delta replace-one).

    Lemma 2 of docs/privacy.md bounds the move by ||change of the gradient||/Delta; what holds it back is the others'
    curvature. Targets far away leave none: every record is a constant force of length zeta along the first axis. The
    others come in opposing pairs; the one that differs is added, or turned around. Delta is the default, 2 lambda over
    epsilon (the sensitivity, and with it the noise, scale with 1/Delta, so it does not matter).

    One feature is the worst: there spherical noise is Laplace's, and the half line on which the ratio is e^epsilon has
    all of the mass 1/2. With more features the noise must point along to show as much.

    - records: 1 or above; the others in pairs, so an even number of them is at rest.
    - features: 1 or above.
    """
    one_of("neighbours", neighbours, Neighbours)
    if records < 1 or features < 1:
        raise ValueError(f"records={records} and features={features} must be 1 or above")
    others = records if neighbours == "add_remove" else records - 1
    axis = np.eye(features)[0]
    common = np.tile(axis, (others, 1)), FAR * (-1.0) ** np.arange(others)
    loss = losses.huber(1.0)
    extra = with_record(common, axis, FAR)
    data = common if neighbours == "add_remove" else with_record(common, axis, -FAR)
    words = f"linear: {others} others without curvature, the minimiser moves by all of the sensitivity"
    return Case(words, loss, UNIT, 2 * loss.curvature_bound(UNIT) / budget.epsilon, data, extra)


def first_example(
    *, neighbours: Neighbours, budget: Budget, calibration: Calibration = "tight", records: int = 25
) -> Case:
    r"""Return data whose first example is turned around, for averaged projected SGD (dwork2018, Theorem 4.12; D2).

    One pass over n examples from w_0 = 0 with step eta = R/(L sqrt(n)) in the ball of radius R returns the mean of w_0
    to w_{n-1}. The first example moves w_1 by eta L one way or the other, and every later iterate carries that move: no
    other example counts in as many. The others have x = 0 and pull nowhere, and eta L <= R, so nothing is projected
    away. The mean moves by

        2 eta L (n - 1)/n = 2 R/sqrt(n) (1 - 1/n),

    and a prediction's loss by L times that: 2 R L/sqrt(n), twice what is printed. The example that is turned around is
    a Huber record with a far target: gradient of length L = 1 everywhere in the ball (R = 1). Replace-one only: the
    step is set by n, which add/remove keeps private.

    - records: 2 or above.
    - Returns: with `domain.theta_norm` the ball's radius and no curvature.
    - Raises ValueError: under add/remove.
    """
    one_of("neighbours", neighbours, Neighbours)
    if neighbours != "replace":
        raise ValueError(
            "neighbours='add_remove': one-pass SGD sets its step by n, which is public under 'replace' only"
        )
    if records < 2:
        raise ValueError(f"records={records} must be 2 or above: the first example needs iterates that carry it")
    X = np.zeros((records, 1))
    X[0] = 1.0
    toward, away = np.zeros(records), np.zeros(records)
    toward[0], away[0] = FAR, -FAR
    words = f"first example: turned around, it counts in all later iterates of {records}"
    return Case(words, losses.huber(1.0), Domain(x_norm=1.0, theta_norm=1.0), None, (X, toward), (X.copy(), away))


PAIRS: dict[str, Callable[..., Case]] = {
    "saturating": saturating,
    "pulled": pulled,
    "knee": knee,
    "line": line,
    "linear": linear,
    "first_example": first_example,
}


def _gamma_knee(neighbours: Neighbours, budget: Budget, calibration: Calibration, *, out: float) -> tuple[float, float]:
    """Return (y, Delta) that put the knee where b = out scale."""
    loss = losses.huber(1.0)
    curvature = 2 * loss.curvature_bound(UNIT) / budget.epsilon
    law, _ = objective.calibrate(
        loss, UNIT, budget, curvature=curvature, calibration=calibration, neighbours=neighbours
    )
    # b = -(l' + Delta u) with l' = 1 at u = y + 1.
    return -1 - (1 + out * law.scale) / curvature, curvature


@functools.lru_cache
@one_thread()
def _gaussian_knee(
    neighbours: Neighbours, budget: Budget, calibration: Calibration, delta: float
) -> tuple[float, float]:
    """Return the (y, Delta) of the largest exact bound at delta, by a scan that is then refined."""
    loss = losses.huber(1.0)
    lam = loss.curvature_bound(UNIT)
    least = 2 * lam / budget.epsilon
    # With log-determinants of half, a fifth and a two-hundredth of epsilon; the last leaves nearly all to the noise.
    curvatures = [max(least, lam / math.expm1(share * budget.epsilon)) for share in (0.5, 0.2, 0.005)]
    curvatures = [least, *curvatures]
    found = []
    for curvature in dict.fromkeys(curvatures):
        problem = {"loss": loss, "domain": UNIT, "budget": budget, "neighbours": neighbours}
        target = linear_targets.target("objective", **problem, calibration=calibration, curvature=curvature)

        # One side of every pair is the same.
        kept: dict = {}

        def bound(z, target=target, curvature=curvature, kept=kept):
            case = _knee_case(neighbours, -1 - z * target.law.scale / curvature, curvature, features=1)
            return exact_line.lower_bound(target, case.data, case.neighbour, delta=delta, kept=kept).epsilon

        # z from the middle of the noise out to where its tail is delta.
        deepest = float(-special.ndtri(delta)) + 6
        places = np.linspace(-1.0, max(deepest, 1.0), 21)
        values = [bound(z) for z in places]
        middle, step = places[int(np.argmax(values))], places[1] - places[0]
        finer = middle + step * np.linspace(-0.6, 0.6, 7)
        values = [bound(z) for z in finer]
        best = int(np.argmax(values))
        found.append((values[best], -1 - finer[best] * target.law.scale / curvature, curvature))
    return max(found)[1:]


def _knee_case(neighbours: Neighbours, y: float, curvature: float, *, features: int) -> Case:
    one_of("neighbours", neighbours, Neighbours)
    axis = np.eye(features)[:1]
    record = axis, np.array([y])
    where = "in the plane" if features == 2 else "on a line"
    if neighbours == "add_remove":
        words = f"knee {where}: one Huber record added, full force and full curvature at theta = {y + 1:.4g}"
        return Case(words, losses.huber(1.0), UNIT, curvature, (np.zeros((0, features)), np.zeros(0)), record)
    words = f"knee {where}: a Huber record with full force and full curvature at theta = {y + 1:.4g}, turned around"
    return Case(words, losses.huber(1.0), UNIT, curvature, record, (axis.copy(), np.array([FAR])))
