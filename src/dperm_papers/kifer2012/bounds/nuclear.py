r"""Is kifer2012's Algorithm 1 private with the nuclear norm (Section 1.1.1)? 2 x 2 trace regression, by densities.

theta is a 2 x 2 matrix, l = huber(<X, theta> - y) with ||X||_F <= 1 (zeta = lambda = 1), r = Lambda ||theta||_*,
F = R^4, Delta = m lambda/epsilon, m in `ridge_multiples`. Neighbours: add/remove, no record against one. Without a
record the minimiser is closed form, b shrunk: with -b/Delta = U diag(s) V', theta = U diag((s - Lambda/Delta)_+) V'.
(The mechanism has cvxpy solve it: the row `nuclear-prox` holds that against the closed form.) With one, its density
relative to that without is explicit.

In coordinates z = (t11 + t22, t21 - t12)/sqrt(2), w = (t11 - t22, t12 + t21)/sqrt(2) of theta the norm is
||theta||_* = sqrt(2) max(||z||, ||w||). So with r' its gradient, H its Hessian, and i(theta) one for the record,

    rank 2   b = -(Lambda r' + Delta theta + i l' X),            density nu(b) det(Lambda H + Delta I + i l'' X X'),
    rank 1   ||z|| = ||w||, r' = sqrt(2) (t z/||z||, (1 - t) w/||w||) for t in [0, 1]: the density on this manifold is
             the integral over t of nu(b) times the determinant of the matrix above, restricted to the tangent space,
    rank 0   the mass of nu on {b : b = -(Lambda S + i l'(0) X), ||S||_op <= 1}.

q/p is the ratio of the laws with and without the record. Pure privacy: |log q/p| <= epsilon at every theta. Gaussian:

    removing  E_p (1 - e^epsilon q/p)_+ <= delta,    adding  E_p (q/p - e^epsilon)_+ <= delta,

means over b drawn from a mixture of N(t X, sigma^2 I) with weights, so that the tails are met: what is certified is the
mean less three standard errors. Both calibrations of the noise; what is proved of each is `objective.calibrate`'s word,
and stands in the rows.
"""

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain
from dperm.feasible import Regularizer
from dperm.mechanisms import base, objective
from dperm.noise import Gaussian, SphericalLaplace
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Lambda in scales of the noise: outputs of every rank are then common.
_SHARE = 1.0
DOMAIN = Domain(x_norm=1.0, y_bound=None)
# The record's X and y. y = 2 is beyond the knee of the Huber loss at small theta, where its gradient is largest, and
# has the knee among the larger ones, where its curvature adds to what is spent; y = 0 makes both tails count.
_HALF = np.array([1.0, 0.0, 0.0, 1.0]) / math.sqrt(2)
RECORDS = {
    "full rank": (_HALF, 2.0),
    "rank one": (np.array([1.0, 0.0, 0.0, 0.0]), 2.0),
    "full rank, y = 0": (_HALF, 0.0),
}
# Centres of the mixture in sigmas along X; fits by cvxpy that are compared; standard errors that are allowed for.
_CENTRES, _FITS, _ERRORS = np.arange(-8.0, 8.1, 2.0), 8, 3.0
# To (z, w): an isometry of R^4.
_TURN = np.array([[1, 0, 0, 1], [0, -1, 1, 0], [1, 0, 0, -1], [0, 1, 1, 0]]) / math.sqrt(2)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(32)
_NODES, _WEIGHTS = (_NODES + 1) / 2, _WEIGHTS / 2


class Setting(NamedTuple):
    """The law of b, Delta and Lambda, and the one record."""

    noise: Gaussian | SphericalLaplace
    curvature: float
    weight: float
    x: np.ndarray
    y: float


def measure(cell: Cell, rows: Rows) -> None:
    """Measure what one record spends under the nuclear norm, for each noise, calibration and record.

    Metric `excess`, measured/claim - 1: of |log q/p| against epsilon on each stratum, or of the certified delta against
    delta; `slack` three standard errors of the latter, and of the mass at rank 0. For `nuclear-prox` the distance from
    the closed form over the certificate.
    """
    loss, settings = losses.huber(1.0), cell.settings
    epsilon, deltas = settings.epsilon, (0.0, settings.delta)
    rows = rows.at(dataset="matrices")
    for multiple, delta, calibration in itertools.product(settings.ridge_multiples, deltas, ("paper", "tight")):
        curvature = multiple * base.bounds(loss, DOMAIN)[1] / epsilon
        noise, guarantee = objective.calibrate(
            loss, DOMAIN, Budget(epsilon, delta), curvature=curvature, calibration=calibration,
            neighbours=cell.neighbours,
        )  # fmt: skip
        here = rows.at(
            n=1, calibration=calibration, delta=delta, guarantee=guarantee, variant="gaussian" if delta else "gamma",
            form="printed" if calibration == "paper" else "tight", ridge_multiple=float(multiple),
        )  # fmt: skip
        for name, (x, y) in RECORDS.items():
            rng = cell.rng("nuclear", calibration, float(multiple), float(delta), name)
            setting = Setting(noise, curvature, _SHARE * noise.scale, x, y)
            for row, excess, slack in excesses(setting, epsilon, delta, settings.draws, rng):
                here.add("excess", excess, row=row, problem=name)
                here.add("slack", slack, row=row, problem=name)
    _add_prox(cell, rows, loss)


def excesses(
    setting: Setting, epsilon: float, delta: float, draws: int, rng: np.random.Generator
) -> Iterator[tuple[str, float, float]]:
    """Give the row, excess and slack (as in `measure`) of what one setting spends beyond (epsilon, delta)."""
    b, log_weight = tilts(setting, draws, rng)
    theta = shrunk(b, setting)
    log_ratio, rank, error = log_ratios(theta, b, log_weight, setting)
    if delta == 0:
        line = np.linspace(-6, 6, 481)[:, None] * setting.x
        line = line[np.linalg.svd(line.reshape(-1, 2, 2), compute_uv=False)[:, 1] > 1e-9]
        if len(line):
            log_ratio = np.concatenate([log_ratio, full_rank(line, setting)])
            rank = np.concatenate([rank, np.full(len(line), 2)])
        for r in (0, 1, 2):
            here = np.abs(log_ratio[rank == r])
            if len(here):
                yield f"nuclear-rank-{r}", float(here.max()) / epsilon - 1, error / epsilon if r == 0 else 0.0
        return
    weight, ratio = np.exp(log_weight), np.exp(log_ratio)
    for row, loss in (
        ("nuclear-removing", np.maximum(1 - math.exp(epsilon) * ratio, 0.0)),
        ("nuclear-adding", np.maximum(ratio - math.exp(epsilon), 0.0)),
    ):
        sample = weight * loss
        mean, half = float(sample.mean()), _ERRORS * float(sample.std(ddof=1)) / math.sqrt(draws)
        yield row, mean / delta - 1, half / delta


def tilts(setting: Setting, draws: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return b, shape (draws, 4), and log nu(b)/proposal(b)."""
    noise = setting.noise
    if isinstance(noise, SphericalLaplace):
        # For the supremum every theta counts: from the law and from one twice as wide.
        b = noise.sample((draws, 4), rng)
        b[::2] *= 2.0
        # Density of the norm under either, by p log(2): the mixture of both.
        r = np.linalg.norm(b, axis=1) / noise.scale
        return b, -np.logaddexp(math.log(0.5), math.log(0.5) - 4 * math.log(2.0) + r / 2)
    centres = noise.scale * _CENTRES
    b = noise.sample((draws, 4), rng) + centres[np.arange(draws) % len(centres), None] * setting.x
    # log N(b; t X)/N(b; 0) for each t, with ||X|| = 1.
    log_ratio = (np.outer(b @ setting.x, centres) - centres**2 / 2) / noise.scale**2
    most = log_ratio.max(axis=1)
    return b, -(most + np.log(np.exp(log_ratio - most[:, None]).mean(axis=1)))


def shrunk(b: np.ndarray, setting: Setting) -> np.ndarray:
    """Return the minimisers without a record, shape (R, 4)."""
    u, s, v = np.linalg.svd((-b / setting.curvature).reshape(-1, 2, 2))
    s = np.maximum(s - setting.weight / setting.curvature, 0.0)
    return ((u * s[:, None, :]) @ v).reshape(-1, 4)


def log_ratios(
    theta: np.ndarray, b: np.ndarray, log_weight: np.ndarray, setting: Setting
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return log q/p at each theta = `shrunk` of b, its rank, and three standard errors of log q/p at rank 0.

    `log_weight` is that of each b, for means under its law.
    """
    s = np.linalg.svd((-b / setting.curvature).reshape(-1, 2, 2), compute_uv=False)
    rank = (s > setting.weight / setting.curvature).sum(axis=1)
    found, error = np.empty(len(theta)), 0.0
    found[rank == 2] = full_rank(theta[rank == 2], setting)
    found[rank == 1] = _rank_one(theta[rank == 1], setting)
    zero = rank == 0
    if zero.any():
        # Mass against mass: q's is nu's, moved by l'(0) X.
        slope, _ = _record(np.zeros((1, 4)), setting)
        weight = np.exp(log_weight[zero])
        ratio = np.exp(_log_density(b[zero] - slope, setting) - _log_density(b[zero], setting))
        mean = (weight * ratio).sum() / weight.sum()
        error = _ERRORS * math.sqrt((weight**2 * (ratio - mean) ** 2).sum()) / weight.sum() / mean
        found[zero] = math.log(mean)
    return found, rank, error


def _record(theta: np.ndarray, setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Return l' X, shape (R, 4), and l'' of the one record."""
    loss, u = losses.huber(1.0), theta @ setting.x
    return loss.derivative(u, setting.y)[:, None] * setting.x, loss.second(u, np.full(len(u), setting.y))


def _log_density(b: np.ndarray, setting: Setting) -> np.ndarray:
    """Return log nu(b), up to a constant."""
    length = np.linalg.norm(b, axis=-1) / setting.noise.scale
    return -0.5 * length**2 if isinstance(setting.noise, Gaussian) else -length


def _parts(theta: np.ndarray):
    """Return for z and w each: norm (R,), unit vector and projection beside it, in R^4 of (z, w)."""
    turned = theta @ _TURN.T
    for k in (0, 2):
        norm = np.linalg.norm(turned[:, k : k + 2], axis=1)
        unit, beside = np.zeros((len(theta), 4)), np.zeros((len(theta), 4))
        # The shorter part may be 0: it has no direction, and plays no part.
        unit[:, k : k + 2] = turned[:, k : k + 2] / np.maximum(norm, np.finfo(float).tiny)[:, None]
        beside[:, k], beside[:, k + 1] = -unit[:, k + 1], unit[:, k]
        yield norm, unit, beside


def full_rank(theta: np.ndarray, setting: Setting) -> np.ndarray:
    """Return log q/p at matrices of rank 2."""
    if not len(theta):
        return np.empty(0)
    (size, unit, beside), (other, unit_w, beside_w) = _parts(theta)
    # The longer of z and w makes the norm: curvature sqrt(2)/||z|| beside z, none along it.
    first = (size > other)[:, None]
    unit, beside = np.where(first, unit, unit_w), np.where(first, beside, beside_w)
    slope, second = _record(theta, setting)
    b = -(setting.weight * math.sqrt(2) * unit @ _TURN + setting.curvature * theta)
    bend = math.sqrt(2) * setting.weight / np.maximum(size, other)
    matrix = setting.curvature * np.eye(4) + bend[:, None, None] * beside[:, :, None] * beside[:, None, :]
    x = _TURN @ setting.x
    inside = np.einsum("j,rj->r", x, np.linalg.solve(matrix, np.broadcast_to(x, theta.shape)[..., None])[..., 0])
    return _log_density(b - slope, setting) - _log_density(b, setting) + np.log1p(second * inside)


def _rank_one(theta: np.ndarray, setting: Setting) -> np.ndarray:
    """Return log q/p at matrices of rank 1: the laws' densities on that manifold."""
    if not len(theta):
        return np.empty(0)
    (size, z, beside_z), (_, w, beside_w) = _parts(theta)
    slope, second = _record(theta, setting)
    x = _TURN @ setting.x
    # Tangent to ||z|| = ||w||: along both, and beside each.
    tangent = np.stack([(z + w) / math.sqrt(2), beside_z, beside_w], axis=2)
    along = np.einsum("j,rjk->rk", x, tangent)
    logs = []
    for with_record in (False, True):
        terms = []
        for t, share in zip(_NODES, _WEIGHTS, strict=True):
            b = -(setting.weight * math.sqrt(2) * (t * z + (1 - t) * w) @ _TURN + setting.curvature * theta)
            bend = math.sqrt(2) * setting.weight / size
            diagonal = setting.curvature + np.stack([np.zeros_like(size), t * bend, (1 - t) * bend], axis=1)
            log_det = np.log(diagonal).sum(axis=1)
            if with_record:
                b = b - slope
                log_det += np.log1p(second * (along**2 / diagonal).sum(axis=1))
            terms.append(math.log(share) + _log_density(b, setting) + log_det)
        logs.append(np.logaddexp.reduce(terms, axis=0))
    return logs[1] - logs[0]


def _add_prox(cell: Cell, rows: Rows, loss: losses.Loss) -> None:
    """Release a few times by the mechanism, by cvxpy, and compare with the closed form for the same b."""
    import cvxpy as cp

    budget = Budget(cell.settings.epsilon, cell.settings.delta)
    curvature = objective.default_curvature(loss, DOMAIN, budget.epsilon)
    fixed = {"curvature": curvature, "calibration": cell.calibration, "neighbours": cell.neighbours}
    noise, _ = objective.calibrate(loss, DOMAIN, budget, **fixed)
    weight = _SHARE * noise.scale

    def nuclear_norm(z):
        return weight * cp.normNuc(cp.reshape(z, (2, 2), order="C"))

    released = objective.release(
        np.empty((0, 4)), np.empty(0), loss, domain=DOMAIN, budget=budget, rng=cell.rng("nuclear", "cvxpy"),
        repeats=_FITS, regularizer=Regularizer(expression=nuclear_norm), **fixed,
    )  # fmt: skip
    b = noise.sample((_FITS, 4), cell.rng("nuclear", "cvxpy"))
    exact = shrunk(b, Setting(noise, curvature, weight, np.zeros(4), 0.0))
    away = np.linalg.norm(released.theta - exact, axis=1)
    here = rows.at(row="nuclear-prox", delta=budget.delta, variant="gaussian", guarantee=released.guarantee)
    here.add("excess", away / released.certificate - 1)
