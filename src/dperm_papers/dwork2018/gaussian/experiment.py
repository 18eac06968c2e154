r"""Lemma 4.5 of dwork2018 for delta > 0: stable predictions with Gaussian noise, their privacy and their cost.

Everything is exact, or a quadrature to 1e-10. `stability` is gamma, `calibration` paper (the classical formula) or
tight (`dperm.mechanisms.prediction.stable_gaussian`); replace-one. Series:

    private     excess: delta of two answers gamma apart, at epsilon, less the delta promised; `guarantee` is the
                mechanism's
    lipschitz   excess: what the noise adds to the mean of a 1-Lipschitz loss, less s sqrt(2/pi); the largest over 33
                predictions and both labels, of the absolute loss (form absolute; at f = y alone: equality) and of the
                logistic loss
    smooth      excess: what it adds to the mean of a sigma-smooth loss, less sigma s^2/2: of sigma (a - y)^2/2 (form
                squared) and of 4 sigma times the logistic loss (form logistic); `smoothness` is sigma
    answer      size: E|noise| of one answer, over epsilon: gaussian, and laplace (Lemma 4.5 itself, delta = 0)
    answers     size: E|noise| of each of m answers under one (epsilon, delta), over `queries` = m: gaussian (m answers
                are one vector of sensitivity sqrt(m) gamma), laplace with epsilon/m each (basic), and laplace with what
                Theorem 11 of Dwork, Rothblum & Vadhan 2010 allows each (advanced)

References
----------
dwork2018, Section 4.2, Lemma 4.5; errata D3, D7.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from dperm import losses
from dperm.accounting import composition, gaussian
from dperm.domain import Budget
from dperm.mechanisms.prediction import stable_gaussian
from dperm_papers.dwork2018.gaussian.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_CALIBRATIONS = ("paper", "tight")
# Predictions at which losses are compared; the labels are -1 and 1.
_PREDICTIONS = np.linspace(-4, 4, 33)
# E over standard normal noise: panels of Gauss-Legendre nodes out to 10 standard deviations.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_EDGES = np.linspace(-10, 10, 41)
_SHARPEST = 1 / 4


def run(cell: Cell, rows: Rows) -> None:
    """Measure all series."""
    cell.parts()
    rows = rows.at(
        dataset="no-data", guarantee="proved", epsilon=0.0, delta=0.0, form="", stability=0.0, smoothness=0.0,
        queries=0,
    )  # fmt: skip
    for measure in (_private, _costs, _sizes):
        measure(cell.settings, rows)


def mean_over_noise(function: Callable[[np.ndarray], np.ndarray], scale: float) -> np.ndarray:
    """Return E f(a + Z), Z ~ N(0, scale^2), at every prediction; `function` takes predictions."""
    half = np.diff(_EDGES) / 2
    z = ((_EDGES[:-1] + half)[:, None] + half[:, None] * _NODES).ravel()
    weight = (half[:, None] * _WEIGHTS).ravel() * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    return function(_PREDICTIONS[:, None] + scale * z) @ weight


def absolute_mean(distance: np.ndarray, scale: float) -> np.ndarray:
    """Return E|d + Z|, Z ~ N(0, scale^2), in closed form: a quadrature would stumble over the kink."""
    z = distance / scale
    tail = np.array([math.erf(value / math.sqrt(2)) for value in np.ravel(z)])
    return scale * math.sqrt(2 / math.pi) * np.exp(-(z**2) / 2) + distance * tail


def _private(settings: Settings, rows: Rows) -> None:
    for epsilon, delta, rate, how in itertools.product(
        settings.epsilons, settings.deltas, settings.rates, _CALIBRATIONS
    ):
        noise, guarantee = stable_gaussian.calibrate(rate, Budget(epsilon, delta), calibration=how)
        here = rows.at(series="private", epsilon=epsilon, delta=delta, stability=rate, calibration=how)
        here.add("excess", gaussian.hockey_stick(epsilon, rate / noise.scale) - delta, guarantee=guarantee)


def _costs(settings: Settings, rows: Rows) -> None:
    for epsilon, delta, rate, how in itertools.product(
        settings.epsilons, settings.deltas, settings.rates, _CALIBRATIONS
    ):
        scale = stable_gaussian.calibrate(rate, Budget(epsilon, delta), calibration=how)[0].scale
        here = rows.at(epsilon=epsilon, delta=delta, stability=rate, calibration=how)
        limit = stable_gaussian.lipschitz_cost(scale, 1.0)
        for form, added in lipschitz_losses(scale).items():
            # In units of the bound, so that rounding is the same at every scale.
            here.add("excess", added / limit - 1, series="lipschitz", form=form)
        curved = logistic_added(scale) / _SHARPEST
        for smoothness in settings.smoothnesses:
            limit = stable_gaussian.smooth_cost(scale, smoothness)
            squared = mean_over_noise(lambda a, s=smoothness: s * (a - 1) ** 2 / 2, scale)
            added = {
                "squared": (squared - smoothness * (_PREDICTIONS - 1) ** 2 / 2).max(),
                "logistic": smoothness * curved,
            }
            for form, value in added.items():
                here.add("excess", value / limit - 1, series="smooth", form=form, smoothness=smoothness)


def lipschitz_losses(scale: float) -> dict[str, float]:
    """Return the most that noise adds to the mean of each 1-Lipschitz loss."""
    away = _PREDICTIONS - 1
    return {
        "absolute": float((absolute_mean(away, scale) - np.abs(away)).max()),
        "equality": float(absolute_mean(np.zeros(1), scale)[0]),
        "logistic": logistic_added(scale),
    }


def logistic_added(scale: float) -> float:
    """Return the most that noise adds to the mean logistic loss; the labels mirror each other."""
    loss = losses.logistic()
    plain = loss.value(_PREDICTIONS, np.ones(len(_PREDICTIONS)))
    return float((mean_over_noise(lambda a: loss.value(a, 1.0), scale) - plain).max())


def _sizes(settings: Settings, rows: Rows) -> None:
    rate = 1.0
    rows = rows.at(stability=rate)
    for epsilon in settings.epsilons:
        here = rows.at(series="answer", epsilon=epsilon)
        here.add("size", rate / epsilon, form="laplace", calibration="paper")
        for delta, how in itertools.product(settings.deltas, _CALIBRATIONS):
            noise, guarantee = stable_gaussian.calibrate(rate, Budget(epsilon, delta), calibration=how)
            size = stable_gaussian.lipschitz_cost(noise.scale, 1.0)
            here.add("size", size, form="gaussian", calibration=how, delta=delta, guarantee=guarantee)
    epsilon = settings.epsilon
    for m, delta in itertools.product(settings.counts, settings.deltas):
        here = rows.at(series="answers", epsilon=epsilon, delta=delta, queries=m)
        here.add("size", m * rate / epsilon, form="basic", calibration="paper")
        here.add("size", rate / composition.inverted(epsilon, delta, m), form="advanced", calibration="paper")
        noise, _ = stable_gaussian.calibrate(math.sqrt(m) * rate, Budget(epsilon, delta), calibration="tight")
        here.add("size", stable_gaussian.lipschitz_cost(noise.scale, 1.0), form="gaussian", calibration="tight")
