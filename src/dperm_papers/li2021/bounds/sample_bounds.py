r"""Lemma 9 and Theorem 10 of li2021 with C' = 0, on Table 4's linear design, where the expected loss is exact:

    L(theta) - L(theta') = (||theta - theta0||^2 - ||theta' - theta0||^2) h^2/6,     x_ij ~ Unif(-h, h).

Lemma 9, at iteration t = 80, epsilon = 1, and with its weights w_j (R^(t) = sum_j w_j theta_j^2), theta^(t) the
minimiser of the same problem without b: with probability 1 - pi'

    Jbar(theta*) - Jbar(theta^(t)) <= 2 (J(theta*) - J(theta^(t))) + C' log(1/pi')/(2 n_e l'' V_(1)).

`violated` at C' = 0 (form `zero`), unknown where it is, for the lemma says no more than that some C' will do;
`least_constant` is the least C' that covers 1 - pi' of the data sets. Form `cited`: C' log(1/pi')/2 = 16 zeta^2
(32 + log(1/pi')), the constant of Sridharan, Shalev-Shwartz and Srebro (2008), Theorem 1 with a = 1, on which such
lemmas rest; it is for Lipschitz losses and a regularizer that does not depend on the data, and this is neither.

Theorem 10: n of Equation 21 with C' = 0, n_e l'' V_(1) = 2 Lambda0, its least, and R^(t)(theta0) by Section 4's limit;
unknown where L(theta*) > L(theta0) + rho at the fixed point theta*. Pure privacy at epsilon = 10, Gaussian noise at
epsilon = 1: smaller budgets ask for more records than can be drawn here.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms.napp import limit, noise
from dperm.mechanisms.napp.scheme import Scheme, weights
from dperm_papers.li2021.bounds import bound_fits, formulas
from dperm_papers.li2021.bounds.bound_fits import METHODS
from dperm_papers.li2021.shared import designs
from dperm_pipeline.experiments import Cell

_SHARE, _STRENGTH, _STEPS = 0.5, 1.0, 80
_METHODS = (("erm", "paper"), ("erm-moor", "paper"), ("erm", "corrected"))
_EPSILON, _ROUNDING, _TOLERANCE = 1.0, 1e-9, 1e-10
# Theorem 10: epsilon with the law of pure privacy, and the probabilities pi = pi'.
_PURE_EPSILON, _FAILURE = 10.0, 0.05
# Rows drawn at a time.
_BLOCK = 2**17
_DESIGN = "linear-500"


def rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """Give the rows of both statements."""
    yield from _lemma_9(cell)
    yield from _theorem_10(cell)


def _case(method: str, calibration: str, budget: Budget) -> tuple[Scheme, noise.Law, str]:
    design, (tilt, moor) = designs.find(_DESIGN), METHODS[method]
    bounds = noise.Bounds(design.zeta1, design.zeta2, design.zeta3)
    floor = noise.floor(bounds, budget.epsilon, _SHARE)
    law, _, _ = noise.calibrate(bounds, budget, share=_SHARE, variant=tilt, calibration=calibration, features=design.p)
    return Scheme("lasso", floor, moor=moor, halved=calibration == "corrected"), law, tilt


def expected(design: designs.Design, theta: np.ndarray) -> np.ndarray:
    """Return L(theta) - L(theta0)."""
    return ((theta - design.truth) ** 2).sum(axis=-1) * design.half_width**2 / 6


def _lemma_9(cell: Cell) -> Iterator[dict[str, Any]]:
    settings, design = cell.settings, designs.find(_DESIGN)
    X, y = designs.training(cell.seed, cell.experiment, _DESIGN, settings.repeats)
    problems, strengths = limit.problems("squared", X, y), np.array([_STRENGTH])
    zeta = design.zeta1 * design.zeta2
    for method, calibration in _METHODS:
        for delta in settings.deltas:
            scheme, law, tilt = _case(method, calibration, Budget(_EPSILON, delta))
            rng = cell.rng("lemma-9", method, calibration, delta)
            b = law.sample((len(X), design.p), rng)
            found = limit.reweighted(problems, b, scheme, strengths, variant=tilt, steps=_STEPS - 1)
            w = weights(scheme, _STRENGTH, found.theta[:, 0])
            theta, calm = quadratic(problems, w, b), quadratic(problems, w, 0 * b)
            lift = bound_fits.squares(w, theta) - bound_fits.squares(w, calm)
            empirical = (_sums(problems, theta) - _sums(problems, calm) + lift) / design.n
            over = expected(design, theta) - expected(design, calm) + lift / design.n - 2 * empirical
            m = 2 * w.min(axis=1)
            here = {
                "dataset": _DESIGN, "row": "lemma-9", "variant": method, "calibration": calibration,
                "epsilon": _EPSILON, "delta": delta, "p": design.p, "n": design.n, "strength": _STRENGTH,
            }  # fmt: skip
            for failure in settings.gammas:
                tail, at = math.log(1 / failure), {**here, "gamma": failure}
                # The lemma says that some C' does: where 0 does not, nothing is known (NaN).
                zero = {"metric": "violated", "value": np.where(over > _ROUNDING, math.nan, 0.0), "status": "unknown"}
                yield {**at, "form": "zero", **zero}
                cited = 16 * zeta**2 * (32 + tail) / m
                violated = (over - cited > _ROUNDING).astype(float)
                yield {**at, "form": "cited", "metric": "violated", "value": violated}
                needed = np.maximum(over, 0) * 2 * m / tail
                least = float(np.quantile(needed, 1 - failure, method="higher"))
                yield {**at, "metric": "least_constant", "value": least}


def _sums(problems: limit.Problems, theta: np.ndarray) -> np.ndarray:
    """Return the sums of losses, without y'y/2, for one theta a data set."""
    return 0.5 * np.einsum("rj,rjk,rk->r", theta, problems.gram, theta) - np.einsum("rj,rj->r", theta, problems.xy)


def quadratic(problems: limit.Problems, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return argmin sum l + <b, theta> + sum_j w_j theta_j^2; exactly 0 where the weight is infinite."""
    free = np.isfinite(w)
    scaled = 1 / np.sqrt(1 + 2 * np.where(free, w, 0.0)) * free
    # In theta = scaled u the matrix has no entry above that of the Gram matrix plus 1.
    diagonal = np.where(free, 2 * np.where(free, w, 0.0) * scaled**2, 1.0)
    A = problems.gram * scaled[:, :, None] * scaled[:, None, :] + diagonal[:, :, None] * np.eye(w.shape[1])
    return scaled * np.linalg.solve(A, (scaled * (problems.xy - b))[..., None])[..., 0]


def _theorem_10(cell: Cell) -> Iterator[dict[str, Any]]:
    settings, design = cell.settings, designs.find(_DESIGN)
    zeta, strengths, count = design.zeta1 * design.zeta2, np.array([_STRENGTH]), settings.sample_sets
    points = []
    for method, calibration in _METHODS:
        for delta in settings.deltas:
            budget = Budget(_EPSILON if delta else _PURE_EPSILON, delta)
            scheme, law, tilt = _case(method, calibration, budget)
            size = np.abs(design.truth)
            parts = [_STRENGTH * size, scheme.floor * size**2]
            penalty = float((np.maximum(*parts) if scheme.moor else np.add(*parts)).sum())
            for rho in settings.excesses:
                n = formulas.enough_records(budget, design.p, zeta, _SHARE, _FAILURE, 2 * scheme.floor, penalty, rho)
                points.append((method, calibration, budget, scheme, law, tilt, rho, n))
    moments = draw_moments(cell, design, sorted({point[-1] for point in points}), count)
    for method, calibration, budget, scheme, law, tilt, rho, n in points:
        rng = cell.rng("theorem-10", method, calibration, budget.epsilon, budget.delta, rho)
        b = law.sample((count, design.p), rng)
        # p records with the same X'X and X'y: the minimiser knows no others.
        factors = np.linalg.cholesky(moments[n][0])
        y = np.linalg.solve(factors, moments[n][1][..., None])[..., 0]
        held = limit.problems("squared", factors.transpose(0, 2, 1), y)
        fits = limit.path(held, b, scheme, strengths, variant=tilt, tolerance=_TOLERANCE)
        excess = expected(design, fits.theta[:, 0])
        here = {
            "dataset": _DESIGN, "row": "theorem-10", "variant": method, "calibration": calibration,
            "epsilon": budget.epsilon, "delta": budget.delta, "p": design.p, "n": n, "strength": _STRENGTH, "rho": rho,
            "gamma": 2 * _FAILURE,
        }  # fmt: skip
        # Nothing is known either where another C' would ask for more records.
        within = fits.converged[:, 0] & (excess <= rho)
        open_ = np.where(fits.converged[:, 0], "unknown", "failed")
        zero = {"metric": "violated", "value": np.where(within, 0.0, math.nan), "status": open_}
        yield {**here, "form": "zero", **zero}
        yield {**here, "metric": "expected_excess", "value": excess}


def draw_moments(
    cell: Cell, design: designs.Design, sizes: list[int], count: int
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """Return X'X and X'y of `count` data sets at each n, in rising order; the smaller sets are heads of the larger."""
    found = {n: (np.empty((count, design.p, design.p)), np.empty((count, design.p))) for n in sizes}
    for k in range(count):
        rng = cell.rng("theorem-10 data", k)
        gram, xy, done = np.zeros((design.p, design.p)), np.zeros(design.p), 0
        for n in sizes:
            while done < n:
                X, y = designs.draw(design, min(_BLOCK, n - done), rng)
                gram, xy, done = gram + X.T @ X, xy + X.T @ y, done + len(y)
            found[n][0][k], found[n][1][k] = gram, xy
    return found
