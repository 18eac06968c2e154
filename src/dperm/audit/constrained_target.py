r"""Objective perturbation with a regularizer or within a set as a target: outputs with atoms (kifer2012, 1.1.1).

On a line the law is exact. With J the perturbed sum's data part, J'(t+) its right derivative and F the symmetric law of
b, the minimiser over [low, high] is at most t < high iff J'(t+) + b >= 0, so

    P(theta <= t) = F(J'(t+)) for low <= t < high,     J'(t+) = sum_i l'(x_i t, y_i) x_i + Delta t + l1 sign(t+).

Delta stands for all of the ridge that there is, max(Delta, l2) (Section 2.2: what r has of it is not added again).
It has atoms at 0 (a lasso's kink: J' jumps there by 2 l1) and at the ends of the set. The domain, zeta and lambda are
those of the set (squared loss, continued linearly beyond it).

Neighbouring relation: the one that is asked for.
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.audit import linear_targets
from dperm.audit.linear_targets import LinearData
from dperm.audit.pairs import Case
from dperm.audit.target import Target
from dperm.domain import Budget, Calibration, Neighbours
from dperm.feasible import Region, Regularizer
from dperm.laws import tails
from dperm.laws.tails import lower_tail
from dperm.mechanisms import base, objective


@dataclass(frozen=True)
class ConstrainedCase(Case):
    """A pair of neighbours and the problem with its regularizer and set.

    The domain's `theta_norm` is ignored for that of the set; the rest is as of `Case`.
    """

    regularizer: Regularizer = objective.NOTHING
    region: Region = objective.EVERYWHERE


def target(case: ConstrainedCase, *, budget: Budget, neighbours: Neighbours, calibration: Calibration) -> Target:
    """Return objective perturbation with the case's regularizer and set as a target, for any number of features.

    `cdf`, `sf` and `atoms` serve one feature. `log_density` knows nothing of atoms: it chooses events, and
    certifies none.
    """
    features = case.data[0].shape[1]
    domain = base.searched(case.domain, case.region, features)
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    ridge = max(case.curvature, case.regularizer.l2)
    law, _ = objective.calibrate(case.loss, domain, **fixed, curvature=ridge)
    low, high = max(case.region.low, -case.region.radius), min(case.region.high, case.region.radius)
    l1 = case.regularizer.l1
    # Keyed by the arrays, which are kept: worst cases repeat a few records a thousand times.
    known: dict[int, tuple] = {}

    def records(data):
        if id(data[0]) not in known:
            known[id(data[0])] = data[0], _runs(*linear_targets.checked(data, case.loss, domain))
        return known[id(data[0])][1]

    def standard(points, data):
        """Return J'(t+)/scale."""
        x, y, counts = records(data)
        forces = x * counts * case.loss.derivative(x * points, y)
        return (forces.sum(axis=0) + ridge * points + l1 * np.where(points >= 0, 1.0, -1.0)) / law.scale

    def cdf(points, data):
        inside = lower_tail(law, standard(points, data))
        return np.where(points < low, 0.0, np.where(points >= high, 1.0, inside))

    def sf(points, data):
        inside = lower_tail(law, -standard(points, data))
        return np.where(points < low, 1.0, np.where(points >= high, 0.0, inside))

    def log_density(outputs, data):
        outputs = np.reshape(outputs, (-1, features))
        x, y, counts = records(data)
        forces = (case.loss.derivative(x @ outputs.T, y) * counts).T @ x
        return linear_targets.log_noise_density(law, forces + ridge * outputs + l1 * np.sign(outputs))

    def draw(data, repeats, rng):
        beside = {"regularizer": case.regularizer, "region": case.region, "curvature": case.curvature}
        release = objective.release(*data, case.loss, domain=case.domain, **fixed, **beside, rng=rng, repeats=repeats)
        return release.theta

    atoms = tuple(point for point, there in ((0.0, l1 > 0), (low, low > -math.inf), (high, high < math.inf)) if there)
    return Target(draw=draw, log_density=log_density, law=law, cdf=cdf, sf=sf, atoms=atoms)


def pieces(made: Target, data: LinearData) -> np.ndarray:
    """Return the probabilities of an output below the first atom, at it, between it and the next, and so on."""
    ends = np.sort(np.concatenate([np.nextafter(made.atoms, -np.inf), made.atoms]))
    lower = np.concatenate([[0.0], made.cdf(ends, data), [1.0]])
    upper = np.concatenate([[1.0], made.sf(ends, data), [0.0]])
    return tails.differences(lower, upper)


def _runs(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return records, y and their numbers as columns, equal neighbours in the list as one: quicker than sorting."""
    starts = np.flatnonzero(np.append(True, (np.diff(X, axis=0) != 0).any(axis=1) | (np.diff(y) != 0))[: len(X)])
    counts = np.diff(np.append(starts, len(X)))
    return X[starts], y[starts, None], counts[:, None].astype(float)
