r"""How risk and bounds of li2021 grow in n, p and epsilon: Lemma 7 and the orders of Theorem 8.

Squared loss on rows with x_ij ~ Unif(-h, h), eight coefficients of 1, ..., 0.2 and the truncated normal error of Table
4: over n at p = 16, over epsilon at the least n and over p at the middle n, h = 1/sqrt(p), so that ||x|| <= 1 always;
Lambda = 1, zeta = 2.9, r = 1/2. On one data set at a time, and over draws of b (Theorem 8 bounds the mean over b).

    risk, bound    at every point: the mean excess risk J(theta*) - J(theta_hat), Lemma 7's bound (R^(t) by Section 4's
                   limit), and Theorem 8's at pi = 0.1 (form `lemma` as its proof, `product` as printed),
    excess_slope   along `axis` (n, p, 1/epsilon) on one data set: the slope of log risk (form `risk`), or of the log of
                   Theorem 8's bound, over log axis, less the slope of the order that Equations 18 and 19 print,
                   p^2 log(p)/(n epsilon^2) or p (1/epsilon + log(1/delta)/epsilon^2)/n, fitted at the same points:
                   above 0 where it grows faster than printed.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms.napp import noise
from dperm.mechanisms.napp.scheme import Scheme, modulus
from dperm_papers.li2021.bounds import bound_fits, formulas
from dperm_papers.li2021.bounds.bound_fits import METHODS, Sample
from dperm_papers.li2021.shared import designs
from dperm_pipeline.experiments import Cell

_SHARE, _STRENGTH, _FAILURE, _EPSILON, _FEATURES = 0.5, 1.0, 0.1, 1.0, 16
_METHODS = (("erm", "paper"), ("erm-moor", "paper"), ("erm", "corrected"))


def rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """Give the rows of all axes."""
    settings = cell.settings
    sizes = [int(n) for n in settings.sizes]
    first, middle = sizes[0], sizes[len(sizes) // 2]
    axes = {
        "n": [(n, _FEATURES, _EPSILON) for n in sizes],
        "p": [(middle, int(p), _EPSILON) for p in settings.features],
        "epsilon": [(first, _FEATURES, float(epsilon)) for epsilon in settings.rate_epsilons],
    }
    for axis, points in axes.items():
        for (method, calibration), delta in itertools.product(_METHODS, settings.deltas):
            found = [_point(cell, method, calibration, Budget(epsilon, delta), n, p) for n, p, epsilon in points]
            where = {
                "dataset": "linear-500", "variant": method, "calibration": calibration, "delta": delta, "axis": axis,
                "strength": _STRENGTH,
            }  # fmt: skip
            for (n, p, epsilon), values in zip(points, found, strict=True):
                here = {**where, "n": n, "p": p, "epsilon": epsilon}
                for metric in ("risk", "bound"):
                    yield {**here, "row": "lemma-7", "metric": metric, "value": values[metric]}
                for form in ("lemma", "product"):
                    value = {"row": "theorem-8", "form": form, "gamma": _FAILURE, "value": values[form]}
                    yield {**here, **value, "metric": "bound"}
            orders = [formulas.printed_order(Budget(epsilon, delta), p, n) for n, p, epsilon in points]
            along = np.log([{"n": n, "p": p, "epsilon": 1 / epsilon}[axis] for n, p, epsilon in points])
            for form in ("risk", "lemma", "product"):
                values = np.log([value[form] for value in found])
                slopes = slope(along, values) - slope(along, np.log(orders))
                yield {
                    **where, "row": "theorem-8", "form": form, "gamma": _FAILURE, "metric": "excess_slope",
                    "value": slopes,
                }  # fmt: skip


def slope(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the slopes by least squares of y, of shape (points,) or (points, sets)."""
    x = x - x.mean()
    return x @ y / (x @ x)


def _point(cell, method: str, calibration: str, budget: Budget, n: int, p: int) -> dict[str, np.ndarray]:
    """Return mean risk, mean bound of Lemma 7 and Theorem 8's bounds on each data set, shape (data sets,)."""
    settings = cell.settings
    design = designs.find("linear-500")
    width = 1 / math.sqrt(p)
    truth = np.pad(design.truth[:8], (0, p - 8))
    design = replace(design, n=n, half_width=width, truth=truth)
    bounds = noise.Bounds(design.zeta1, design.zeta2, design.zeta3)
    floor, (tilt, moor) = noise.floor(bounds, budget.epsilon, _SHARE), METHODS[method]
    law, _, _ = noise.calibrate(bounds, budget, share=_SHARE, variant=tilt, calibration=calibration, features=p)
    scheme = Scheme("lasso", floor, moor=moor, halved=calibration == "corrected")
    strengths, square = np.array([_STRENGTH]), formulas.noise_square(budget, p, bounds.zeta12, _SHARE, _FAILURE)
    found: dict[str, list[float]] = {name: [] for name in ("risk", "bound", "lemma", "product")}
    for k in range(settings.data_sets):
        X, y = designs.draw(design, n, cell.rng("rates", n, p, k))
        sample = Sample.of("squared", X[None], y[None])
        rng = cell.rng("rates noise", n, p, k, method, calibration, budget.epsilon, budget.delta)
        b = law.sample((settings.draws, p), rng)
        hat = bound_fits.lasso(sample, strengths, 1)
        fits = bound_fits.fixed_points(sample, b, scheme, strengths, tilt)
        risk = (sample.target(fits.theta, strengths, 1) - sample.target(hat, strengths, 1))[:, 0] / n
        m, gap = _limits(scheme, calibration, fits.theta[:, 0], hat[0, 0])
        found["risk"].append(float(risk.mean() if fits.converged.all() else math.nan))
        found["bound"].append(float(formulas.lemma((b**2).sum(axis=1), m, gap, n).mean()))
        found["lemma"].append(float(formulas.lemma(square, m, gap, n).mean()))
        found["product"].append(float(formulas.product(square, m, gap, n).mean()))
    return {name: np.array(values) for name, values in found.items()}


def _limits(scheme: Scheme, calibration: str, theta: np.ndarray, hat: np.ndarray) -> tuple[np.ndarray, float]:
    """Return n_e l'' V_(1) for every draw, and G with Section 4's limit of R^(t), as `risk_bounds` has them."""
    floors = scheme.floor * hat**2
    if calibration == "corrected":
        return np.full(len(theta), 2 * scheme.floor), float(floors.sum())
    gap = np.maximum(floors - _STRENGTH * np.abs(hat), 0) if scheme.moor else floors
    return modulus(scheme, _STRENGTH, theta), float(gap.sum())
