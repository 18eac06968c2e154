r"""Theorem 29 of kifer2012: the risk on new records, exactly, on a coin that is nearly fair (erratum K9).

Huber loss of knee 1/2, so R = 1, L = zeta = 1/2, lambda = 1; b is Gaussian with delta > 0 and F = R. Two populations:

    coin     x = 1, y = 1 with probability q = 1/2 + 1/(2 sqrt(m)), else -1; m = n records;
    copies   p such coins, one on each axis: x = e_j with probability 1/p, m = n/p records on each.

The population's risk of a copy, Jbar(t) = q l(t, 1) + (1 - q) l(t, -1), falls by 1/(2 sqrt(m)) a unit over [-1/2, 1/2],
and its minimiser is tbar = 1 - (1 - q)/(2 q): which end of the stretch the records prefer is a matter of luck. On
`copies` ||theta_bar|| = sqrt(p) tbar, everything is separable, and the risk is that of one copy. Points with m < 4 are
left out: a coin with q above 3/4 is not nearly fair.

The rows choose Delta (constants under Theta(.) are 1):

    printed   R L sqrt(p log(1/delta))/(epsilon ||theta_bar||): Theorem 29;
    mended    R L (sqrt(n) + sqrt(p log(1/delta))/epsilon)/||theta_bar||: K9.

Metrics, E over the records and b:

    excess_risk    E Jbar(theta_priv) - Jbar(theta_bar); on `copies` also without privacy, variant none,
    bound          Theorem 29's right-hand side, and for mended R L ||theta_bar||/sqrt(n) more,
    private_ratio  of the excess risks with and without privacy (`copies`).

Given k ones, theta_priv is where k l'(t, 1) + (m - k) l'(t, -1) + Delta t = -b: piecewise linear in b. Jbar is
piecewise quadratic in theta, so the mean over b is a sum of Gaussian moments between kinks, and what is left is a sum
over the binomial k. Nothing is drawn. Without privacy the minimiser is 1 - (m - k)/(2 k) if k > m/2 and its mirror
image if k < m/2; a tie gives 0, the least of all minimisers.

Neighbours: add/remove (Definition 1).
"""

import math

import numpy as np
from scipy import special, stats

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError
from dperm.mechanisms import objective
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

KNEE, X_NORM = 0.5, 1.0
# Standard deviations of the binomial that are summed over: beyond lies less than 1e-22.
_REACH = 10.0
# The least m of a copy.
_RECORDS = 4
# Kinks of both records' derivatives, ascending.
_KINKS = np.array([-1 - KNEE, -1 + KNEE, 1 - KNEE, 1 + KNEE])


def run(cell: Cell, rows: Rows) -> None:
    """Measure both populations: the metrics above, exactly."""
    settings = cell.settings
    if cell.point["design"] != "coins":
        raise ConfigError(f"design={cell.point['design']!r}: the risk on new records is exact on 'coins' alone")
    points = [("coin", int(n), 1) for n in settings.sizes]
    copies = [(int(n), int(p)) for n in settings.copied_sizes for p in settings.features]
    points += [("copies", n, p) for n, p in copies if n >= _RECORDS * p]
    for design, n, p in points:
        for row in ("printed", "mended"):
            here = rows.at(dataset=design, p=p, n=n, row=row, epsilon=settings.epsilon, delta=settings.delta)
            _add_risks(cell, here, design, n, p, row)


def _add_risks(cell: Cell, rows: Rows, design: str, n: int, p: int, row: str) -> None:
    epsilon, delta = cell.settings.epsilon, cell.settings.delta
    if n % p:
        raise ConfigError(f"copied_sizes: n={n} is no multiple of p={p}; take powers of two")
    loss, m = losses.huber(KNEE), n // p
    q = _bias(m)
    norm = math.sqrt(p) * _best(q)
    steep = math.sqrt(p * math.log(1 / delta)) / epsilon
    zeta = X_NORM * KNEE
    curvature = zeta * (steep + (math.sqrt(n) if row == "mended" else 0.0)) / norm
    law, guarantee = objective.calibrate(
        loss, Domain(x_norm=X_NORM), Budget(epsilon, delta), curvature=curvature, calibration=cell.calibration,
        neighbours=cell.neighbours,
    )  # fmt: skip
    private = mean_excess(m, q, curvature=curvature, scale=law.scale)
    here = rows.at(variant="gaussian", guarantee=guarantee)
    here.add("excess_risk", private)
    here.add("bound", zeta * norm * (steep / n + (row == "mended") / math.sqrt(n)))
    if design == "copies":
        plain = mean_excess_without_privacy(m, q)
        here.add("excess_risk", plain, variant="none", guarantee="none")
        here.add("private_ratio", private / plain)


def _bias(m: int) -> float:
    """Return q, the probability of y = 1."""
    return 0.5 + 0.5 / math.sqrt(m)


def _best(q: float) -> float:
    """Return tbar, the population's minimiser."""
    return 1 - (1 - q) / (2 * q)


def mean_excess(m: int, q: float, *, curvature: float, scale: float) -> float:
    """Return E Jbar(theta_priv) - Jbar(tbar) of one coin with q = P(y = 1) > 1/2 (Theorem 29; this module's docstring).

    `curvature` is Delta, `scale` the standard deviation of b.
    """
    ones, weights = _binomial(m, q)
    return float(weights @ _given(ones, m, q, curvature, scale))


def mean_excess_without_privacy(m: int, q: float) -> float:
    """Return E Jbar(theta_hat) - Jbar(tbar) of one coin, theta_hat the minimiser of the empirical risk."""
    ones, weights = _binomial(m, q)
    most, least = np.maximum(ones, m - ones), np.minimum(ones, m - ones)
    theta = np.sign(2 * ones - m) * (1 - least / (2 * most))
    return float(weights @ (_population(theta, q) - _population(np.array(_best(q)), q)))


def _binomial(m: int, q: float) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers of ones and their probabilities."""
    spread = _REACH * math.sqrt(m * q * (1 - q))
    ones = np.arange(max(0, math.floor(m * q - spread)), min(m, math.ceil(m * q + spread)) + 1)
    weights = stats.binom.pmf(ones, m, q)
    return ones, weights / weights.sum()


def _population(theta: np.ndarray, q: float) -> np.ndarray:
    loss = losses.huber(KNEE)
    return q * loss.value(theta, 1.0) + (1 - q) * loss.value(theta, -1.0)


def _given(ones: np.ndarray, m: int, q: float, curvature: float, scale: float) -> np.ndarray:
    """Return the mean excess over b for each number of ones: on each piece a quadratic in z = b/scale."""
    loss = losses.huber(KNEE)
    k, kinks = ones[:, None].astype(float), _KINKS
    slope = k * loss.derivative(kinks, 1.0) + (m - k) * loss.derivative(kinks, -1.0) + curvature * kinks
    at = -slope / scale  # the z that puts theta onto a kink: falling
    edge = np.full((len(ones), 1), math.inf)
    high, low = np.hstack([edge, at]), np.hstack([at, -edge])
    # Each of the five pieces hangs on the kink at its left, the first on that at its right.
    hung = np.array([0, 0, 1, 2, 3])
    kink, anchor = kinks[hung], at[:, hung]
    first, last = np.array([0, 0, 0, 1, 0.0]), np.array([0, 1, 0, 0, 0.0])  # where a record's l'' is 1
    step = -scale / (k * first + (m - k) * last + curvature)
    height = _population(kink, q) - _population(np.array(_best(q)), q)
    tilt = q * loss.derivative(kink, 1.0) + (1 - q) * loss.derivative(kink, -1.0)
    bend = q * first + (1 - q) * last
    mass = special.ndtr(high) - special.ndtr(low)
    # Moments of z: between the edges, then about the anchor.
    density_low, density_high = _density(low), _density(high)
    mean = density_low - density_high
    square = mass + _times(low, density_low) - _times(high, density_high)
    about = mean - anchor * mass
    about_square = square - 2 * anchor * mean + anchor**2 * mass
    return (height * mass + tilt * step * about + 0.5 * bend * step**2 * about_square).sum(axis=1)


def _density(z: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)


def _times(z: np.ndarray, density: np.ndarray) -> np.ndarray:
    """Return z density, 0 at infinity."""
    return np.where(np.isfinite(z), z, 0.0) * density
