r"""Lasso under objective perturbation on real data (kifer2012, Algorithm 1 with r = l1): error and support.

    theta_hat = argmin_{theta in F} 1/2 sum_i (y_i - <x_i, theta>)^2 + Lambda ||theta||_1 + gamma/2 ||theta||_2^2

with the public bounds ||x||_2 <= R = 1 (rows divided by the declared bound), |y| <= Y, F = {|theta_j| <= B}. Then
||theta||_2 <= sqrt(p) B on F, a margin is at most sqrt(p) B, and

    zeta = R (R sqrt(p) B + Y),      lambda = R^2        (continued linearly beyond F; docs/privacy.md).

r is not smooth and F is not R^p: the limit theorem (Theorem 1; Lemmas 18 to 21) makes both legitimate. gamma is a
small `ridge`, for one minimiser where columns are collinear, credited against Delta (Section 2.2). Delta is Theorem
4's, with the radius of F in the place of the unknown T = ||theta_hat||_2, as the text after the theorem allows
(constants under Theta(.) are 1), and no less than Algorithm 1's 2 lambda/epsilon:

    delta = 0:  Delta = zeta p log p/(epsilon sqrt(p) B),
    delta > 0:  Delta = zeta sqrt(p log(1/delta))/(epsilon sqrt(p) B).

Lambda = share n' for each of `l1_shares`: n' is the size of the private sample by the public shares, because n is
private under add/remove (Definition 1), which is the relation here. Nothing is chosen: every share is run and drawn,
each spending the budget by itself. (The public rows give n' and nothing else.)

Measured on each repeat: `relative_error`, the mean squared error on test rows over the variance of their targets
(1 - R^2: 1 is a prediction of their mean); `support`, the number of coefficients that are not 0 (exactly: coordinate
descent sets them to 0; a constant column counts as any other); `overlap`, common over joint coefficients of this
support and that of theta_hat at the same Lambda, 1 if both are empty.
"""

import math

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.errors import CorruptFile, SolverError
from dperm.feasible import Region, Regularizer
from dperm.mechanisms import base, objective
from dperm.solvers import composite
from dperm_papers.kifer2012.lasso.settings import Settings
from dperm_papers.kifer2012.shared import real_data
from dperm_pipeline import tables
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Of the non-private fit: least norm of a subgradient, in units of the sum of losses.
_TOLERANCE = 1e-8


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the non-private lasso at every Lambda; `coefficient` has a row for each of them (column `feature`).

    DataError if a part of the split has too few rows.
    """
    (X, y), public, test = _parts(cell)
    for share, regularizer in _regularizers(cell.settings, public).items():
        found = composite.minimise_quadratic(
            X.T @ X, X.T @ y, ridge=0.0, tolerance=_TOLERANCE, tilt=np.zeros((1, X.shape[1])),
            regularizer=regularizer, region=_region(cell.settings),
        )  # fmt: skip
        converged = found.gradient_norm <= _TOLERANCE
        here = rows.at(epsilon=np.inf, delta=0.0, l1_share=share, feature=0)
        here.add("relative_error", _relative_error(test, found.theta), converged)
        here.add("support", _size(found.theta), converged)
        here.add("coefficient", found.theta, converged[:, None], feature=np.arange(X.shape[1]))


def run(cell: Cell, rows: Rows) -> None:
    """Measure one calibration on one data set: every delta, epsilon, Lambda and repeat.

    DataError if a part of the split has too few rows; of the baseline CorruptFile if it lacks a lasso, SolverError
    if it did not converge.
    """
    (X, y), public, test = _parts(cell)
    settings, region, p = cell.settings, _region(cell.settings), X.shape[1]
    G, c, domain = X.T @ X, X.T @ y, Domain(x_norm=1.0, y_bound=cell.data.bounds.y_bound)
    zeta, lam = base.bounds(losses.squared(), base.searched(domain, region, p))
    supports = _supports(cell.files["baseline"], settings.l1_shares, p)
    for delta in settings.deltas:
        for epsilon in settings.epsilons:
            curvature = max(_theorem_4(zeta, p, region.theta_norm(p), epsilon, delta), 2 * lam / epsilon)
            for share, regularizer in _regularizers(settings, public).items():
                names = (cell.mechanism, cell.calibration, cell.neighbours, epsilon, delta, share, "noise")
                released = objective.release_gram(
                    G, c, domain=domain, region=region, regularizer=regularizer, budget=Budget(epsilon, delta),
                    neighbours=cell.neighbours, calibration=cell.calibration, curvature=curvature,
                    rng=cell.rng(cell.point["dataset"], *names), repeats=settings.repeats,
                )  # fmt: skip
                here = rows.at(
                    variant="gaussian" if delta else "gamma", guarantee=released.guarantee, epsilon=epsilon,
                    delta=delta, l1_share=share, feature=0,
                )  # fmt: skip
                here.add("relative_error", _relative_error(test, released.theta), released.converged)
                here.add("support", _size(released.theta), released.converged)
                here.add("overlap", overlap(released.theta != 0, supports[share]), released.converged)
                # Also where the solver missed its target: by how much.
                here.add("certificate", released.certificate)


def _parts(cell: Cell) -> tuple[real_data.Records, real_data.Records, real_data.Records]:
    """Return private, public and test rows."""
    return real_data.three_parts(
        cell.data, public_share=cell.settings.public_share, test_share=cell.settings.test_share,
        rng=cell.rng(cell.point["dataset"], "split"),
    )  # fmt: skip


def _region(settings: Settings) -> Region:
    return Region(low=-settings.box, high=settings.box)


def _regularizers(settings: Settings, public: real_data.Records) -> dict[float, Regularizer]:
    """Return r for each share of n'."""
    size = real_data.private_size(public, settings.public_share)
    return {share: Regularizer(l1=share * size, l2=settings.ridge) for share in settings.l1_shares}


def _theorem_4(zeta: float, p: int, radius: float, epsilon: float, delta: float) -> float:
    noise = p * math.log(p) if delta == 0 else math.sqrt(p * math.log(1 / delta))
    return zeta * noise / (epsilon * radius)


def _relative_error(test: real_data.Records, theta: np.ndarray) -> np.ndarray:
    """Return 1 - R^2 on the test rows, shape (repeats,)."""
    X, y = test
    return ((y[:, None] - X @ theta.T) ** 2).mean(axis=0) / np.var(y)


def _size(theta: np.ndarray) -> np.ndarray:
    return (theta != 0).sum(axis=1).astype(float)


def overlap(found: np.ndarray, support: np.ndarray) -> np.ndarray:
    """Return common over joint members of each row's support and a given one."""
    common, joint = (found & support).sum(axis=1), (found | support).sum(axis=1)
    return np.where(joint == 0, 1.0, common / np.maximum(joint, 1))


def _supports(path: str, shares: list[float], p: int) -> dict[float, np.ndarray]:
    """Return which coefficients of the non-private lasso are not 0, at each share."""
    if tables.given_up(path):
        raise SolverError(f"{path}: the non-private lasso did not converge")
    rows = tables.read(path, filters=[("metric", "==", "coefficient")])
    lost = (rows["status"] != "ok").any()
    rows = rows[rows["status"] == "ok"].sort_values("feature")
    supports = {share: rows.loc[rows["l1_share"] == share, "value"].to_numpy() != 0 for share in shares}
    missing = [share for share, support in supports.items() if len(support) != p]
    if missing and lost:
        raise SolverError(f"{path}: the non-private lasso did not converge at l1_shares={missing}")
    if missing:
        raise CorruptFile(f"{path} lacks the coefficients of the non-private lasso at l1_shares={missing}", made=path)
    return supports
