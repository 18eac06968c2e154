r"""The sd of one prediction under every calibration of jain2013, in closed form and measured (figure jain2013-noise).

One public setting, that of Section 7: the cubic kernel on rows of length 1 (R^2 = 8), L = 1, n lambda = `middle_total`,
C a priori for 500,000 records. Series `noise`, metric `sd`, the largest sd of <w^, phi(z)> that the formula allows:

    tddl             sqrt(2) nu; tight and rkhs_gaussian, explicit_output: sigma R; variant `bare`: no privacy
    rkhs_gaussian    variant `fresh`: noise of its own for each of T answers, composed: sqrt(T) sigma R
    pinp             of an answer that is paid for (an update); the others come from w_t
    cms11            w* + b in the 29,260 monomials of 54 columns, pure epsilon: E <b, phi>^2 = scale^2 (d + 1) R^2

and `sd_measured`, the root mean square of drawn predictions less the exact ones, by the mechanisms themselves, at two
sets of points (column `dataset`): `orthogonal`, K(Z, Z) = 8 I, where least squares without the ball gives back the
noisy answers, and `sphere-10`, unit vectors of R^10 (286 monomials), where for T > 286 it averages. `no-data` marks the
formulas. `vacuous`: PINP's B < 1 or sigma >= C R/2; `radius` is C. Neighbours: replace-one.

References
----------
jain2013, Section 6.1 ("b_t typically has to scale as O(sqrt(T))"), Algorithms 1 and 2; errata J6, J12.
"""

import functools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dperm import kernels
from dperm.domain import Budget, Domain
from dperm.losses import logistic
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import constants, explicit, pinp, rkhs, tddl
from dperm.mechanisms.kernel.constants import Setting
from dperm_papers.jain2013.shared import sphere
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

CALIBRATIONS = ("paper", "corrected", "tight")
# Covertype's columns, the printed number of records, and the slack (over Delta_w) that corrected and tight cover.
_COLUMNS, _RECORDS, _SLACK = 54, 500_000, 1 / 20
# Largest T whose eigenvectors are worth their time, and values that a measured sd rests on at least.
_MEASURED, _VALUES = 1000, 4000
# Answers so many sigma off 0 make every query an update.
_FAR = 1e3


def setting(total: float) -> Setting:
    """Return the public constants at n lambda."""
    R = kernels.polynomial().R
    exact = Setting(1.0, R, total)
    radius = constants.a_priori_radius(1.0, 1.0, R, total, _RECORDS)
    return Setting(1.0, R, total, radius, slack=_SLACK * exact.shift)


class _Points(NamedTuple):
    """Z with what is drawn from: K(Z, Z), its eigenvectors, and Phi with Phi Phi' = K(Z, Z), a feature map on Z."""

    spectrum: tddl.Spectrum
    features: np.ndarray


def monomials() -> int:
    """Return d_phi of the cubic kernel on Covertype's columns: monomials of degree 3 in one variable more."""
    return math.comb(_COLUMNS + 3, 3)


def measure(cell: Cell, rows: Rows) -> None:
    """Add the rows of the series `noise`: all T at `query_epsilons`, all epsilons at T = `public_points`."""
    settings = cell.settings
    grid = [(T, e) for T in settings.queries for e in settings.query_epsilons]
    grid += [(settings.public_points, e) for e in settings.epsilons]
    chosen = setting(float(settings.middle_total))
    for T, epsilon in sorted(set(grid)):
        budget = Budget(epsilon, settings.delta)
        paid = [
            pinp.constants(chosen, budget, queries=T, beta=settings.gammas[0], calibration=how) for how in CALIBRATIONS
        ]
        here = rows.at(series="noise", total=chosen.total, queries=T, epsilon=epsilon, radius=chosen.radius)
        for columns, value in _formulas(chosen, budget, T, paid):
            here.add("sd", value, **columns)
        points = _points(cell.seed, T) if T <= _MEASURED else {}
        rng = cell.rng("noise", T, epsilon)
        for columns, errors in _measured(chosen, budget, T, paid, points, rng):
            here.add("sd_measured", math.sqrt(np.mean(np.square(errors))), **columns)


def _of(mechanism: str, calibration: str, guarantee: str, variant: str = "", **more: Any) -> dict[str, Any]:
    return {"mechanism": mechanism, "variant": variant, "calibration": calibration, "guarantee": guarantee, **more}


_TDDL = (*((how, False) for how in CALIBRATIONS), ("paper", True))


def _formulas(
    chosen: Setting, budget: Budget, T: int, paid: list[pinp.Constants]
) -> Iterator[tuple[dict[str, Any], float]]:
    """Give the columns and the sd of each method."""
    R, sigma = chosen.feature_norm, constants.sigma(chosen, budget)
    for how, bare in _TDDL:
        scale, guarantee = tddl.scale(chosen, budget, T, how, bare=bare)
        yield _of("tddl", how, guarantee, "bare" if bare else ""), scale * (R if how == "tight" else math.sqrt(2))
    yield _of("rkhs_gaussian", "tight", "proved"), sigma * R
    yield _of("rkhs_gaussian", "tight", "proved", "fresh"), math.sqrt(T) * sigma * R
    yield _of("explicit_output", "tight", "proved"), sigma * R
    for made in paid:
        value = made.answering * (1.0 if made.calibration == "tight" else math.sqrt(2))
        yield _of("pinp", made.calibration, made.guarantee, vacuous=int(made.vacuous)), value
    made = _spherical(chosen, budget)
    value = R * made.noise.scale * math.sqrt(monomials() + 1)
    yield _of("cms11", "paper", made.guarantee, delta=0.0, d=monomials()), value


def _spherical(chosen: Setting, budget: Budget):
    """Output perturbation of CMS11 in feature space."""
    domain = Domain(x_norm=chosen.feature_norm)
    return cms11.calibrate(
        logistic(), domain, Budget(budget.epsilon, 0.0), perturbation="output", curvature=chosen.total
    )


def _measured(
    chosen: Setting,
    budget: Budget,
    T: int,
    paid: list[pinp.Constants],
    points: Mapping[str, _Points],
    rng: np.random.Generator,
) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """Give the columns and drawn errors of each method."""
    repeats = max(10, -(-_VALUES // T))
    spherical = _spherical(chosen, budget)
    drawn = chosen.feature_norm * spherical.noise.marginal((_VALUES, 1), monomials(), rng)
    yield _of("cms11", "paper", spherical.guarantee, dataset="orthogonal", delta=0.0, d=monomials()), drawn
    for made in paid:
        columns = _of("pinp", made.calibration, made.guarantee, dataset="orthogonal", vacuous=int(made.vacuous))
        yield columns, _paid(made, chosen, T, rng)
    unbounded = Setting(chosen.lipschitz, chosen.feature_norm, chosen.total, slack=chosen.slack)
    asked, exact = [(budget, how, bare) for how, bare in _TDDL], np.zeros(T)
    for name, (at, features) in points.items():
        found = tddl.releases(at, exact, unbounded, asked, rng=rng, repeats=repeats)
        for (_, how, bare), one in zip(asked, found, strict=True):
            yield _of("tddl", how, one.guarantee, "bare" if bare else "", dataset=name), one.at(at.K)
        path = rkhs.release(at, exact, unbounded, budget, rng=rng, repeats=repeats)
        yield _of("rkhs_gaussian", "tight", path.guarantee, dataset=name), path.answers
        whole = explicit.predictions(exact, features, unbounded, budget, rng=rng, repeats=repeats)
        yield _of("explicit_output", "tight", whole.guarantee, dataset=name), whole.answers


@functools.lru_cache(maxsize=1)
def _points(seed: int, T: int) -> dict[str, _Points]:
    """Return both sets of points; one after another, for several epsilons look at each."""
    kernel = kernels.polynomial()
    grams = {"orthogonal": kernel.R**2 * np.eye(T), sphere.DATASET: kernels.gram(kernel, sphere.queries(seed, T))}
    found = {}
    for name, K in grams.items():
        at = tddl.spectrum(K)
        positive = at.values > 0
        found[name] = _Points(at, at.vectors[:, positive] * np.sqrt(at.values[positive]))
    return found


def _paid(made: pinp.Constants, chosen: Setting, T: int, rng: np.random.Generator) -> np.ndarray:
    """Return the errors of answers that were updates: answers far from 0, at orthogonal points."""
    most = min(T, made.updates, 100)
    answers = _FAR * made.threshold * np.where(np.arange(most) % 2, -1.0, 1.0)
    features = chosen.feature_norm * np.eye(most)
    run = pinp.run(made, chosen, features, answers, rng=rng, repeats=-(-_VALUES // most))
    return (run.predictions - answers)[run.updated]
