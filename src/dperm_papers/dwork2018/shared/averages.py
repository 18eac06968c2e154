r"""Lemmas 4.5 and 4.6 and Section 4.3 of dwork2018, exactly: what noise and averaging cost and promise.

`excess` is measured minus allowed, in rows by `form`. b is the scale of Laplace noise zeta, gamma a rate of stability.

    scale       E|zeta| = b against gamma/epsilon, in absolute value, and the log ratio gamma/b of densities gamma apart
                against epsilon: b = epsilon/gamma as printed, gamma/epsilon mended (erratum D3);
    lipschitz   E l(f + zeta, y) - l(f, y) against L b: |a - y|, where it is b e^{-|f - y|/b}; the logistic loss, where
                it is b^2 E l''(f + zeta) (the Laplace law's transform is 1/(1 + b^2 t^2)), by quadrature;
    equality    of |a - y| at y = f: the bound itself, in absolute value;
    smooth      sigma (a - y)^2/2, where it is sigma b^2, against sigma^2 b^2 as printed, sigma b^2 mended (D7);
    stability   the largest change of an average over all neighbouring data sets of r shards of m records against
                gamma/r, gamma that of a shard: thresholds by empirical risk (gamma = 1) and mean labels (1/m);
    fits        fits of a shard that one average takes, against r, in absolute value;
    loss        the loss of an average minus the mean loss of its shards, for each data set: thresholds on the flip law,
                and mean labels for labels uniform on [0, 1];
    bits        the largest log ratio of either bit over all counts against epsilon (Corollary 4.7);
    noise       max_v |p_b(v) - v| at r = ceil(1/(alpha epsilon)) against alpha (Section 4.3);
    union       r beta' - beta of Corollary 4.7's union bound, beta' = 2 beta alpha epsilon as printed, alpha beta
                epsilon/2 mended (D8); r = 2/(alpha epsilon), a whole number on the grid;
    learner     how likely the corollary's bit has an excess error above alpha, less beta (`broken`).
"""

import itertools
import math
from typing import Any

import numpy as np
from scipy import stats

from dperm.mechanisms.estimators.averaged import AveragedPrediction
from dperm.mechanisms.prediction import averaged
from dperm.mechanisms.prediction.learners import ThresholdLearner
from dperm_papers.dwork2018.shared import flips
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

GAMMAS, SIGMAS = (0.5, 2.0), (0.5, 1.0, 2.0)
# Predictions f at which losses are taken, for labels -1 and 1.
_PREDICTIONS = np.linspace(-4.0, 4.0, 33)
# Shards, records of a shard, and the points that they lie at.
_SMALL = ((2, 2, 4), (3, 2, 4), (2, 3, 3))
_COUNTED = (2, 5, 11)
# Of the losses of averages, in each repeat.
_SHARDS, _RECORDS = 5, 20


def check(cell: Cell, rows: Rows) -> None:
    """Measure all forms."""
    settings, rows = cell.settings, rows.at(dataset="no-data")
    _scales(rows)
    _losses(settings.epsilons, rows)
    _stability(rows)
    _fits(rows, cell.rng("fits"))
    _shard_losses(rows, settings.repeats, cell.rng("loss"))
    _bits(settings.epsilons, rows)
    _choices(settings, rows)


def _scales(rows: Rows) -> None:
    for gamma, (variant, power) in itertools.product(GAMMAS, (("printed", -1), ("mended", 1))):
        b = gamma**power
        here = rows.at(form="scale", variant=variant, stability=gamma, epsilon=1.0)
        here.add("excess", gamma / b - 1.0, series="log ratio")
        here.add("excess", abs(b - gamma), series="mean")


def logistic_cost(f: np.ndarray, b: float) -> np.ndarray:
    """Return E log(1 + e^{-(f + zeta)}) - log(1 + e^{-f}) at margins f, Laplace noise of scale b >= 0.05.

    Quadrature takes pieces of a quarter of b.
    """
    at, weight = np.polynomial.legendre.leggauss(10)
    found = []
    for margin in f:
        # l'' falls like e^{-|u|}: beyond 45 nothing is left; the density has its kink at u = f.
        width = min(0.5, b / 4)
        ends = np.unique(np.concatenate([np.arange(-45, 45 + width, width), [margin]]))
        half, middle = np.diff(ends)[:, None] / 2, (ends[1:] + ends[:-1])[:, None] / 2
        u = middle + half * at
        curvature = 0.25 / np.cosh(u / 2) ** 2
        found.append(b / 2 * float((half * weight * curvature * np.exp(-np.abs(u - margin) / b)).sum()))
    return np.array(found)


def _losses(epsilons: list[float], rows: Rows) -> None:
    for gamma, epsilon in itertools.product(GAMMAS, epsilons):
        b, here = gamma / epsilon, rows.at(stability=gamma, epsilon=epsilon)
        apart = np.abs(_PREDICTIONS[:, None] - [-1.0, 1.0]).ravel()
        here.add("excess", (b * np.exp(-apart / b)).max() - b, form="lipschitz", loss="absolute")
        here.add("excess", logistic_cost(_PREDICTIONS, b).max() - b, form="lipschitz", loss="logistic")
        here.add("excess", abs((b * np.exp(-apart[apart == 0] / b)).max() - b), form="equality", loss="absolute")
        for sigma, (variant, power) in itertools.product(SIGMAS, (("printed", 2), ("mended", 1))):
            value = sigma * b**2 - sigma**power * b**2
            here.add("excess", value, form="smooth", loss="squared", variant=variant, sigma=sigma)


def _stability(rows: Rows) -> None:
    for r, m, points in _SMALL:
        x, y, pairs = small_shards(m, points)
        queries = (np.arange(points + 1) + 0.5) / (points + 1)
        said = {"erm": (flips.erm(x, y)[:, None] <= queries).astype(float), "mean": y.mean(axis=1)[:, None]}
        for learner, table in said.items():
            gamma = float(np.abs(table[pairs[:, 0]] - table[pairs[:, 1]]).max())
            here = rows.at(form="stability", dataset="flip", learner=learner, r=r, m=m, stability=gamma)
            here.add("excess", largest_change(table, pairs, r) - gamma / r)


def small_shards(m: int, points: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return x and y of all samples of m records at so many points, and the pairs of them that differ in one record."""
    kinds = np.array(list(itertools.product(np.arange(1, points + 1) / (points + 1), (0.0, 1.0))))
    codes = np.array(list(itertools.product(range(len(kinds)), repeat=m)))
    apart = (codes[:, None, :] != codes[None, :, :]).sum(axis=2)
    return kinds[codes, 0], kinds[codes, 1], np.argwhere(apart == 1)


def largest_change(table: np.ndarray, pairs: np.ndarray, r: int) -> float:
    """Return the largest change of an average of r shards over all data sets, their neighbours and queries.

    `table` says what a shard of each sample says of each query, `pairs` which samples are neighbours.
    """
    total = np.zeros((*[len(table)] * r, table.shape[1]))
    for k in range(r):
        shape = [1] * r + [table.shape[1]]
        shape[k] = len(table)
        total += table.reshape(shape) / r
    largest = 0.0
    for k in range(r):
        slices = np.moveaxis(total, k, 0)
        largest = max(largest, *(float(np.abs(slices[i] - slices[j]).max()) for i, j in pairs if i < j))
    return largest


class _Counted(ThresholdLearner):
    """A learner that counts the fits of all its clones."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        return super().fit(X, y)


def _fits(rows: Rows, rng: np.random.Generator) -> None:
    X = rng.random((20 * max(_COUNTED), 1))
    y = (X[:, 0] >= 0.5) ^ (rng.random(len(X)) < flips.FLIP)
    for r in _COUNTED:
        _Counted.fits = 0
        given = {"epsilon": 10.0, "delta": 0.0, "queries": 10, "classes": (False, True), "random_state": rng}
        AveragedPrediction(base=_Counted(), shards=r, **given).fit(X, y).predict(X[:10])
        rows.add("excess", abs(_Counted.fits - r), form="fits", dataset="flip", r=r, learner="erm")


def _shard_losses(rows: Rows, repeats: int, rng: np.random.Generator) -> None:
    rows = rows.at(form="loss", r=_SHARDS, m=_RECORDS)
    drawn = flips.thresholds(_RECORDS, (repeats, _SHARDS), rng)
    votes, means = np.arange(_SHARDS + 1) / _SHARDS, rng.random((repeats, _SHARDS, _RECORDS)).mean(axis=2)
    ordered = np.sort(drawn, axis=1)
    for loss, power in (("absolute", 1), ("squared", 2)):
        # On the flip law: lengths of the pieces on which the votes are constant, left and right of 1/2.
        cost = {y: np.abs(votes - y) ** power for y in (0, 1)}
        wrong = [flips.FLIP * cost[1 - y] + (1 - flips.FLIP) * cost[y] for y in (0, 1)]
        average = sum(
            np.diff(np.clip(ordered, low, low + 0.5), axis=1, prepend=low, append=low + 0.5) @ wrong[y]
            for y, low in ((0, 0.0), (1, 0.5))
        )
        # A threshold predicts 0 or 1: all powers of its loss are its error.
        shards = flips.error(drawn).mean(axis=1)
        rows.add("excess", average - shards, dataset="flip", loss=loss, learner="erm")
        own = _uniform_label_loss(means.mean(axis=1), power) - _uniform_label_loss(means, power).mean(axis=1)
        rows.add("excess", own, dataset="uniform-label", loss=loss, learner="mean")


def _uniform_label_loss(a: np.ndarray, power: int) -> np.ndarray:
    """Return E |a - y|^power for y uniform on [0, 1]."""
    return (a ** (power + 1) + (1 - a) ** (power + 1)) / (power + 1)


def _bits(epsilons: list[float], rows: Rows) -> None:
    for calibration, r, epsilon in itertools.product(("paper", "tight"), (1, 2, 5, 20, 100, 1000), epsilons):
        b = averaged.scale(r, epsilon, calibration, bits=True)
        one = averaged.expected_clip(np.arange(r + 1) / r, b)
        ratios = max(np.abs(np.diff(np.log(bit))).max() for bit in (one, 1 - one))
        here = rows.at(form="bits", calibration=calibration, guarantee="proved", r=r, epsilon=epsilon)
        here.add("excess", ratios - epsilon)


def _choices(settings: Any, rows: Rows) -> None:
    beta, grid = settings.gammas[0], np.linspace(0, 1, 2001)
    for alpha, epsilon in itertools.product(settings.alphas, settings.epsilons):
        here = rows.at(alpha=alpha, epsilon=epsilon, beta=beta)
        r = averaged.shards_needed(alpha, epsilon, "paper")
        for calibration in ("paper", "tight"):
            b = averaged.scale(r, epsilon, calibration, bits=True)
            for points, v in (("counts", np.arange(r + 1) / r), ("grid", grid)):
                cost = float(np.abs(averaged.expected_clip(v, b) - v).max())
                here.add("excess", cost - alpha, form="noise", calibration=calibration, series=points, r=r)
        r = 2 / (alpha * epsilon)
        for variant in ("printed", "mended"):
            beta_shard = failure(alpha, beta, epsilon, variant)
            shards = math.ceil(r * (1 - 1e-12))
            here.add("excess", r * beta_shard - beta, form="union", variant=variant, r=shards)
            excess = broken(alpha, beta_shard, epsilon, shards) - beta
            here.add("excess", excess, form="learner", variant=variant, r=shards)


def broken(alpha: float, beta_shard: float, epsilon: float, r: int) -> float:
    """Return how likely Corollary 4.7's bit from r shards errs by more than alpha beyond the best, of one learner.

    All labels are 0. A shard says 1 everywhere with probability beta', else on a set of mass alpha/2 that all share:
    that is an excess error of at most alpha/2 with probability 1 - beta', all that the corollary asks of m(alpha/2,
    beta'). (With enough records a learner finds such a set on any law, as nearly as one likes.) If k shards say 1
    everywhere, the bit is wrong with probability p_b(k/r) off the set and p_b(1) on it, b = 1/(r epsilon); it is
    decided by k, which is binomial.
    """
    wrong = averaged.expected_clip(np.arange(r + 1) / r, averaged.scale(r, epsilon, "paper"))
    excess = (1 - alpha / 2) * wrong + alpha / 2 * wrong[-1]
    return float(stats.binom.pmf(np.flatnonzero(excess > alpha), r, beta_shard).sum())


def failure(alpha: float, beta: float, epsilon: float, variant: str) -> float:
    """Return beta', with which Corollary 4.7 lets a shard fail: printed, or mended (erratum D8)."""
    return (2 if variant == "printed" else 0.5) * alpha * beta * epsilon
