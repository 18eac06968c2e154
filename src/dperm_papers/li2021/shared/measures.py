r"""What li2021 measures of a path of fits: selection as an ROC curve, the error on test data; and summaries of either.

Paths are arrays theta of shape (R, L, p): R repeats at L strengths, the strongest first. A coefficient is selected if
it is not exactly 0; positive means that it is not 0 in truth (li2021, Section 5.2).
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import special

from dperm.compiled import compiled
from dperm.errors import ConfigError
from dperm.solvers.pointwise import exponential
from dperm_pipeline.rows import Rows

# Predictions are made in blocks of so many test rows and fits: 256 kB, which a core keeps near.
_ROWS, _FITS = 128, 256


def rates(theta: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the false and the true positive rate of every fit, theta of shape (..., p); `relevant` has both kinds."""
    selected = theta != 0
    return selected[..., ~relevant].mean(axis=-1), selected[..., relevant].mean(axis=-1)


def area(false: np.ndarray, true: np.ndarray) -> np.ndarray:
    """Return the area under an ROC path that is joined to (0, 0) before it and to (1, 1) after it.

    By trapezia, in the order of the path, the strongest regularizer first: a stretch on which the false positive
    rate falls counts against it. Random selection has 1/2, and so has a path without any point but (0, 0) or (1,
    1).
    """
    ends = [(0, 0)] * (false.ndim - 1) + [(1, 1)]
    x, y = (np.pad(rate, ends, constant_values=(0.0, 1.0)) for rate in (false, true))
    return 0.5 * (np.diff(x, axis=-1) * (y[..., 1:] + y[..., :-1])).sum(axis=-1)


def test_error(loss: str, X: np.ndarray, y: np.ndarray, theta: np.ndarray, *, eta_bound: float) -> np.ndarray:
    """Return the error of every fit on one test set, by the name of the loss that it was fitted with.

    Squared: log of the mean squared error of eta. Poisson: log of that of exp(min(eta, eta_bound)), for exp(eta_bound)
    is the public bound on y. Logistic: the share of rows with another label than the prediction, which is 1 iff eta > 0
    (no intercept).
    """
    if loss not in _ERRORS:
        raise ConfigError(f"loss: {loss!r} has no test error; it must be one of {', '.join(_ERRORS)}")
    flat = theta.reshape(-1, theta.shape[-1])
    # A path may be 0 at half of its strengths: one fit stands for all of them.
    some = flat.any(axis=1)
    each = _ERRORS[loss](X, y, np.vstack([flat[some], np.zeros(len(flat[0]))]), float(eta_bound))
    found = np.full(len(flat), each[-1])
    found[some] = each[:-1]
    return np.where(np.isnan(flat).any(axis=1), math.nan, found).reshape(theta.shape[:-1])


test_error.__test__ = False  # An error on test data, no test of pytest's.


def _squared(X: np.ndarray, y: np.ndarray, theta: np.ndarray, eta_bound: float) -> np.ndarray:
    """sum (y - x'theta)^2 = (theta - ls)'G(theta - ls) + its least value: no cancellation, and no row is visited."""
    G = X.T @ X
    least = np.linalg.solve(G, X.T @ y)
    off = theta - least
    return np.log((np.sum((y - X @ least) ** 2) + np.einsum("rj,rj->r", off @ G, off)) / len(y))


def _poisson(X: np.ndarray, y: np.ndarray, theta: np.ndarray, eta_bound: float) -> np.ndarray:
    return np.log(_over_rows(X, y, theta, eta_bound, _squares) / len(y))


def _logistic(X: np.ndarray, y: np.ndarray, theta: np.ndarray, eta_bound: float) -> np.ndarray:
    return _over_rows(X, y, theta, eta_bound, _wrong) / len(y)


_ERRORS = {"squared": _squared, "poisson": _poisson, "logistic": _logistic}


def _over_rows(X: np.ndarray, y: np.ndarray, theta: np.ndarray, eta_bound: float, count) -> np.ndarray:
    """Return the sum of `count` over blocks of rows, for every fit: at no time do all predictions stand in memory."""
    total = np.zeros(len(theta))
    for first in range(0, len(theta), _FITS):
        fits = slice(first, first + _FITS)
        columns = np.ascontiguousarray(theta[fits].T)
        # Written over for each block: new memory each time would take longer than the products.
        eta = np.empty((_ROWS, columns.shape[1]))
        for start in range(0, len(y), _ROWS):
            rows = slice(start, start + _ROWS)
            count(np.matmul(X[rows], columns, out=eta[: len(y) - start]), y[rows], eta_bound, total[fits])
    return total


@compiled
def _squares(eta, y, bound, total):
    """Add the squares of exp(min(eta, bound)) - y of some rows; a third of the time that NumPy's passes take."""
    work = np.empty((3, len(total)))
    inside, found = work[0], work[1]
    for i in range(len(eta)):
        for r in range(len(total)):
            inside[r] = min(eta[i, r], bound)
        exponential(inside, found, work[2])
        for r in range(len(total)):
            total[r] += (found[r] - y[i]) ** 2


@compiled
def _wrong(eta, y, bound, total):
    """Count the rows with another label than the prediction."""
    for i in range(len(eta)):
        for r in range(len(total)):
            total[r] += (eta[i, r] > 0) != (y[i] > 0)


def entry(
    gradient: np.ndarray, slope: float, *, extra_l1: np.ndarray | float = 0.0, box: tuple[float, float] | None = None
) -> np.ndarray:
    """Return the strength from which on theta = 0 is the fit: max_j (|gradient_j| - extra_j)/slope, 0 or above.

    `gradient` is that of the sum of losses and the tilt at 0. `slope` is that of the penalty at 0, over Lambda: 2
    as printed (erratum N6); `extra_l1`, b_j of VS+, is added to it. In a box (low <= 0 <= high) only gradients that
    pull inwards count: 0 need not be left to a side where there is nothing.
    """
    low, high = (-math.inf, math.inf) if box is None else box
    pull = np.maximum(np.where(high > 0, -gradient, 0.0), np.where(low < 0, gradient, 0.0))
    return np.maximum(pull - extra_l1, 0.0).max(axis=-1) / slope


def summary(name: str, values: np.ndarray) -> Mapping[str, np.ndarray]:
    """Return the mean over repeats and the half width of its 95 % interval by Student's t, at every strength.

    They are called `<name>_mean` and `<name>_half`; NaN, where a fit failed, is left out; they are NaN where no
    repeat is left, the second where one is.
    """
    known = ~np.isnan(values)
    n = known.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=0) / n
        squares = np.where(known, (values - mean) ** 2, 0.0).sum(axis=0)
        half = special.stdtrit(np.maximum(n - 1, 1), 0.975) * np.sqrt(squares / (n - 1) / n)
    return {f"{name}_mean": mean, f"{name}_half": np.where(n > 1, half, math.nan)}


def add(rows: Rows, metric: str, values: np.ndarray, **columns: Any) -> None:
    """Add a row for each repeat and strength; where there is no value, the fit failed.

    `values` have the shape (R, L), or (L,) of all repeats together; arrays among the columns go along the strengths.
    """
    values = np.atleast_2d(values).astype(float)
    rows.add(metric, values, ok=~np.isnan(values), **columns)


def add_summary(rows: Rows, metric: str, values: np.ndarray, **columns: Any) -> None:
    """Add the mean and the half width of its interval at every strength, as `summary` gives them."""
    for name, line in summary(metric, values).items():
        add(rows, name, line, **columns)
