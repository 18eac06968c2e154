r"""What a private answer costs in p dimensions, and a private model (dwork2018, Sections 2.1 and 7).

Part `dimension`: n*, the least n at which the mean excess is at most alpha at the worst mu, on the linear loss of
`dperm_papers.dwork2018.dimension.cube` (`dataset` is `cube`). Of stable ERM (Corollary 4.11, noise as printed and
tight) it is estimated in batches: excess at sizes around n*, at the mu that is worst over all batches, and where a line
through log excess over log n meets log alpha. Of objective perturbation (gamma noise: delta = 0; Gaussian noise) and
without privacy it is exact. `promised` is what is said of each: 16 (1 + eps)/(eps alpha^2) of Corollary 4.11; p/(eps
alpha^2) and sqrt p/(eps alpha^2), whose constants are left open (here 1); of averages `averages_size`.

Part `aggregation`: the excess of stable ERM on `abs` over n, and that of averaging
(`dperm_papers.dwork2018.dimension.aggregation`) at the best number r of shards; exact, at the worst mu of each.

Neighbours: replace-one. L_f = L_l = R = 1.

References
----------
dwork2018, Sections 2.1, 4.4 and 7, Corollary 4.11; erratum D10.
"""

import functools
import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import optimize

from dperm.accounting import gaussian, objective
from dperm.mechanisms.prediction import averaged, stable_erm
from dperm_papers.dwork2018.dimension import aggregation, cube
from dperm_papers.dwork2018.shared import bounds, signs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_CALIBRATIONS = ("paper", "tight")
# Sizes around n* in its units, and the values of mu, lambda to the power of a ratio, at which stable ERM is run.
_AROUND, _RATIO, _BELOW = np.array([0.85, 0.92, 1.0, 1.09, 1.18]), 1.25, 4
_ATTEMPTS = 20


def run(cell: Cell, rows: Rows) -> None:
    """Measure one part, or both."""
    measure = {"dimension": _dimension, "aggregation": _aggregation}
    for part in cell.parts(*measure):
        measure[part](cell, rows.at(delta=0.0, p=0, n=0, r=0, alpha=0.0))


def model_size(p: int, alpha: float, *, sigma: float = 0.0, gamma: float = 0.0) -> int:
    """Return n* of `cube.direction` for alpha in (0, 1): without noise, with Gaussian or with gamma b."""
    # With ||b|| near B the worst excess is near 0.3 sqrt(n + B^2)/n, and its mu near 0.79 sqrt(n + B^2)/n.
    length = math.sqrt(p) * sigma + p * gamma

    def excess(n: int) -> float:
        guess = 0.79 * math.sqrt(n + length**2) / n
        ends = (math.log(min(guess, 1) / 8), min(math.log(8 * guess), 0.0))
        fine = optimize.minimize_scalar(
            lambda u: -math.exp(u) * (1 - cube.direction(n, math.exp(u), p, sigma=sigma, gamma=gamma)),
            bounds=ends,
            method="bounded",
            options={"xatol": 1e-3},
        )
        return -float(fine.fun)

    ratio = 0.3 / alpha
    return least_size(excess, alpha, math.ceil(ratio * (ratio + math.sqrt(ratio**2 + 4 * length**2)) / 2))


def averages_size(p: int, alpha: float, epsilon: float) -> tuple[int, int]:
    """Return n that is enough for the average of r models without privacy, and r = ceil(6/(alpha epsilon)).

    Predictions lie in [-1, 1], so that one shard moves their average by 2/r at most; the noise costs at most its scale
    (Lemma 4.5, L_l = 1), and the average no more than a shard in the mean (Lemma 4.6). At this r the scale is alpha/3,
    which is the best where a shard's n* is like 1/alpha^2.
    """
    r = math.ceil(6 / (alpha * epsilon) * (1 - 1e-12))
    return r * model_size(p, alpha - averaged.scale(r, epsilon, "paper", width=2.0)), r


def least_size(excess: Callable[[int], float], alpha: float, start: int) -> int:
    """Return the least n, guessed as `start`, at which an excess that falls like 1/n or its root is at most alpha."""
    known = functools.cache(excess)
    low, high, reach = start, start, 1.02
    while known(high) > alpha:
        low, high, reach = high, math.ceil(high * reach) + 1, reach**2
    reach = 1.02
    while low > 1 and known(low) <= alpha:
        high, low, reach = low, max(math.floor(low / reach) - 1, 1), reach**2
    if known(low) <= alpha:
        return low
    while high - low > 1:
        # Regula falsi in logarithms, one off the point, so that both ends come near.
        share = math.log(known(low) / alpha) / math.log(known(low) / known(high))
        middle = round(low * (high / low) ** share)
        for n in (middle, middle - 1, middle + 1, (low + high) // 2):
            if low < n < high:
                low, high = (low, n) if known(n) <= alpha else (n, high)
    return high


def stable_sizes(
    p: int, epsilon: float, alpha: float, calibration: str, *, batches: int, draws: int, rng: np.random.Generator
) -> np.ndarray:
    """Return n* of stable ERM by each batch, from `draws` data sets at each n and mu; epsilon of one answer."""

    def worst(n: int) -> np.ndarray:
        curvature = stable_erm.regulariser(1.0, 1.0, 1.0, n, epsilon)
        scale = stable_erm.rate(1.0, 1.0, curvature * n, calibration=calibration) / epsilon
        most = max(math.floor(-math.log(curvature) / math.log(_RATIO)), -_BELOW)
        mus = [min(curvature * _RATIO**k, 1.0) for k in range(-_BELOW, most + 1)]
        fixed = {"curvature": curvature, "scale": scale, "rng": rng}
        drawn = np.array([cube.stable_excess(n, mu, p, repeats=batches * draws, **fixed) for mu in mus])
        # With mu = 1 all records are u: no data to draw.
        certain = cube.stable_excess(n, 1.0, p, repeats=1, **fixed)[0]
        means = drawn.reshape(len(mus), batches, draws).mean(axis=2)
        means = np.vstack([means, np.full(batches, certain)])
        return means[means.mean(axis=1).argmax()]

    centre = bounds.records411(1.0, 1.0, 1.0, alpha, epsilon) / 16
    for _ in range(_ATTEMPTS):
        sizes = np.unique(np.ceil(centre * _AROUND).astype(int))
        logs = np.log([worst(int(n)) for n in sizes])
        pooled = _meets(np.log(sizes), logs.mean(axis=1, keepdims=True), alpha)[0]
        if sizes[0] <= pooled <= sizes[-1]:
            return _meets(np.log(sizes), logs, alpha)
        centre = pooled
    raise ArithmeticError(f"n* of stable ERM at p={p}, epsilon={epsilon:g}, alpha={alpha:g} was not found; more draws")


def _meets(log_sizes: np.ndarray, logs: np.ndarray, alpha: float) -> np.ndarray:
    """Where least-squares lines through columns of log excess meet log alpha."""
    slope, level = np.polyfit(log_sizes, logs, 1)
    return np.exp((math.log(alpha) - level) / slope)


def _dimension(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for p, alpha in itertools.product(settings.features, settings.alphas):
        here = rows.at(dataset="cube", p=p, alpha=alpha)
        here.add("n_star", model_size(p, alpha), mechanism="nonprivate", calibration="", epsilon=math.inf)
        for epsilon in settings.epsilons:
            erm = here.at(epsilon=epsilon, mechanism="stable_erm", guarantee="proved_exact")
            for calibration in _CALIBRATIONS:
                rng = cell.rng("cube", p, alpha, epsilon, calibration)
                drawn = {"batches": settings.repeats, "draws": settings.data_sets, "rng": rng}
                sizes = stable_sizes(p, epsilon, alpha, calibration, **drawn)
                erm.add("n_star", sizes, calibration=calibration)
                erm.add("promised", bounds.records411(1.0, 1.0, 1.0, alpha, epsilon), calibration=calibration)
            n, r = averages_size(p, alpha, epsilon)
            here.add("promised", n, mechanism="averaged", calibration="paper", epsilon=epsilon, r=r, guarantee="proved")
            gamma = objective.gamma_scale(1.0, epsilon=epsilon, log_det=0.0, neighbours="replace")
            sigma = 2 / gaussian.gaussian_ratio(epsilon, settings.delta)
            for delta, noise, growth in (
                (0.0, {"gamma": gamma}, p), (settings.delta, {"sigma": sigma}, math.sqrt(p)),
            ):  # fmt: skip
                model = here.at(epsilon=epsilon, delta=delta, mechanism="objective", calibration="tight")
                model.add("n_star", model_size(p, alpha, **noise), guarantee="proved")
                model.add("promised", growth / (epsilon * alpha**2), guarantee="proved")


def _aggregation(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for epsilon, n in itertools.product(settings.epsilons, settings.sizes):
        here = rows.at(dataset="abs", epsilon=epsilon, n=n, guarantee="proved")
        curvature = stable_erm.regulariser(1.0, 1.0, 1.0, n, epsilon)
        for calibration in _CALIBRATIONS:
            scale = stable_erm.rate(1.0, 1.0, curvature * n, calibration=calibration) / epsilon
            excess = signs.worst("abs", n, curvature, scale)[0]
            here.add("excess", excess, mechanism="stable_erm", calibration=calibration)
        excess, r = aggregation.best(n, epsilon)
        here.add("excess", excess, mechanism="averaged", calibration="paper", r=r)
