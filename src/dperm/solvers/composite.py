r"""Minimisers of many tilted risks with a regularizer and a feasible set: the front door of the solvers.

    theta_r = argmin_{theta in F}  sum_i w_i l(<x_i, theta>, y_i) + r(theta) + ridge/2 ||theta||^2 + <b_r, theta>

r(theta) = l1 ||theta||_1 + l2/2 ||theta||^2 + expression(theta); m = ridge + l2 is the modulus of strong convexity.

- r smooth, F = R^p: batched Newton (`newton`), and for sparse X coordinate descent on the dual (`sparse`).
- l1, box, orthant: coordinate descent on a Gram matrix (`gram`). A ball: the secular equation (`ball`). These within a
  ball: both (`faces`). Anything else: cvxpy (`general`).
- The squared loss is such a quadratic itself. Other GLM losses are minimised by prox-Newton: each step minimises the
  second-order model of the loss, plus r, over F, and a line search keeps what decreases J.

The certificate bounds ||theta_r - theta_r*||_2, with the rounding of the gradient (`objective`). Fast solvers: the
least norm of a subgradient of J_r plus the normal cone of F, over m. cvxpy: with f the smooth part and g its gradient
at theta,

    J* >= f(theta) + min_{z in F} { <g, z - theta> + m/2 ||z - theta||^2 + r(z) },

whose dual value bounds it from below (`conic`: at a dual point of our own, with all rounding); hence
||theta - theta*||^2 <= 2 (J(theta) - bound)/m.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from dperm import losses
from dperm.feasible import Region, Regularizer
from dperm.losses import Loss
from dperm.solvers import ball, faces, general, gram, moments, newton, sparse
from dperm.solvers.blas import one_thread
from dperm.solvers.objective import Objective
from dperm.solvers.refined import Terms, refine_all
from dperm.solvers.risk import Risk

# Of the decrease that the model promises, what a step has to keep; and how often it is halved before it is given up.
SUFFICIENT_DECREASE, HALVINGS = 1e-4, 40
# A repeat is given up after this many steps that gain neither J beyond its rounding nor this factor of the residual.
PATIENCE, GAIN = 5, 0.9
# The inner problem is solved this much more exactly than the outer one.
INNER_SHARE = 0.1
# Hessians of this many repeats at once stay below this many bytes.
CHUNK_BYTES = 64 * 2**20
_ROUNDING = 64 * float(np.finfo(float).eps)
# A step this far uphill, in units of the sums in J, may be one that rounding hides: a thousand terms err that much.
_UPHILL = 1024 * float(np.finfo(float).eps)


def kind(regularizer: Regularizer, region: Region) -> str:
    """Return which solver serves a regularizer and a set."""
    if regularizer.expression is not None or region.constraints is not None:
        return "general"
    pieces = regularizer.l1 > 0 or region.boxed
    if math.isfinite(region.radius):
        return "faces" if pieces else "ball"
    return "gram" if pieces else "smooth"


def minimise(
    loss: Loss,
    X: np.ndarray,
    y: np.ndarray,
    *,
    ridge: float,
    tolerance: float,
    regularizer: Regularizer | None = None,
    region: Region | None = None,
    tilt: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    max_iterations: int = 10_000,
) -> newton.Solution:
    """Minimise J_r(theta) over F for r = 1..R; J_r as in the module's text, a sum over records.

    - loss: with finite curvature on F.
    - X: shape (n, p); n may be 0. Sparse: for smooth r, F = R^p and the losses of `sparse`.
    - ridge: in [0, inf), with ridge + regularizer.l2 > 0.
    - tolerance: in (0, inf): bound aimed at for m times the distance, by the least norm of a subgradient.
    - tilt: shape (R, p); b_r; without it R = 1 and b = 0.
    - weights: shape (n,); w_i in [0, inf), of a dense X; without them 1.
    - Returns: of `newton`; `gradient_norm` is m times the certificate. Nothing is raised where a repeat does not reach
      the tolerance.
    """
    regularizer, region = regularizer or Regularizer(), region or Region()
    modulus = ridge + regularizer.l2
    if not (ridge >= 0 and modulus > 0):
        raise ValueError(f"ridge={ridge:g} and l2={regularizer.l2:g} must not be negative, and their sum above 0")
    # Smooth problems have solvers of their own.
    if issparse(X):
        if kind(regularizer, region) != "smooth":
            raise ValueError("sparse X goes with no regularizer but l2, and with no feasible set: pass a dense X")
        if weights is not None:
            raise ValueError("weights go with no sparse X, whose dual has none: pass a dense X")
        return sparse.tilted(loss, X, y, ridge=modulus, tolerance=tolerance, tilt=tilt)
    if kind(regularizer, region) == "smooth":
        fixed = {"tolerance": tolerance, "weights": weights, "max_iterations": max_iterations}
        return newton.minimise(loss, X, y, ridge=modulus, tilt=tilt, **fixed)
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    tilt = np.zeros((1, X.shape[1])) if tilt is None else np.asarray(tilt, dtype=np.float64)
    if tilt.ndim != 2 or tilt.shape[1] != X.shape[1] or y.shape != (len(X),):
        raise ValueError(f"X, y and tilt have shapes {X.shape}, {y.shape}, {tilt.shape}; need (n, p), (n,), (R, p)")
    weights, inner = newton.checked_weights(weights, len(X)), _INNER[kind(regularizer, region)](regularizer, region)
    objective = Objective(loss, X, y, modulus, single=False, counts=weights)
    max_iterations = min(max_iterations, inner.most)

    def solve(tilt, tolerance):
        if loss.name == "squared" or len(X) == 0:
            H, c = X.T @ objective.heavy + modulus * np.eye(X.shape[1]), objective.heavy.T @ y - tilt
            return inner.quadratic(H, c, modulus, tolerance, None)
        # Repeats in parts, so that their Hessians fit into memory.
        step = max(1, CHUNK_BYTES // (8 * (X.shape[1] ** 2 + len(X))))
        parts = [
            _prox_newton(Risk(loss, X, y, modulus, tilt[low : low + step], weights), inner, tolerance, max_iterations)
            for low in range(0, len(tilt), step)
        ]
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    with one_thread():
        return _solution(*_certified(solve, objective, inner, tilt, tolerance), modulus)


def _certified(solve: Callable, objective: Objective, inner: "_Inner", tilt: np.ndarray, tolerance: float):
    """Return theta, upper bounds on the residuals and the steps of `solve(tilt, tolerance)`.

    A gradient that is off by an error moves the minimiser by its norm over m: that is added to the residual, and so is
    what a theta a few ulps within the sphere leaves open (`ball.between`). As in `newton`, the sums are done anew where
    the bound that costs nothing does not do, and the repeats that rounding alone keeps from the tolerance are solved to
    a smaller one.
    """
    theta, residual, steps = solve(tilt, tolerance)
    stiff, modulus = objective.stiffness(inner.region.radius), objective.ridge

    def careful(theta, tilt, kind):
        gradient, error = objective.carefully(theta.T, tilt.T, kind)
        found = inner.residual(theta, gradient.T, objective.ridge) + error + inner.off_sphere(theta, stiff, modulus)
        return np.where(np.isnan(found), np.inf, found)

    bound = residual + np.nan_to_num(objective.rounding(theta.T, tilt.T, blocks=False), nan=np.inf)
    bound += inner.off_sphere(theta, stiff, modulus)
    for kind in (np.float64, np.longdouble):
        left = np.flatnonzero((bound > tolerance) & (residual <= tolerance))
        if len(left):
            bound[left] = np.minimum(bound[left], careful(theta[left], tilt[left], kind))
    left = np.flatnonzero((bound > tolerance) & (residual <= tolerance))
    room = 2 * tolerance - float(np.max(bound[left], initial=0.0))
    if len(left) and room > 0:
        further, _, more = solve(tilt[left], 0.5 * room)
        better = careful(further, tilt[left], np.longdouble)
        gained = better < bound[left]
        theta[left[gained]], bound[left[gained]] = further[gained], better[gained]
        steps[left] += more
    if inner.terms is not None:
        # What rounding alone keeps from the tolerance: no double has a smaller subgradient, but one may be near enough.
        known = np.maximum(tolerance, objective.rounding(theta.T, tilt.T, blocks=False))
        stuck = np.flatnonzero((bound > tolerance) & (residual <= known))
        refine_all(objective, theta.T, tilt.T, bound, stuck, inner.terms, tolerance)
    return theta, bound, steps


def minimise_quadratic(
    G: np.ndarray,
    c: np.ndarray,
    *,
    ridge: float,
    tolerance: float,
    tilt: np.ndarray,
    regularizer: Regularizer,
    region: Region,
    records: tuple[np.ndarray, np.ndarray] | None = None,
) -> newton.Solution:
    """Minimise 1/2 theta'G theta - <c, theta> + r(theta) + ridge/2 ||theta||^2 + <b_r, theta> over F for r = 1..R.

    - G: shape (p, p); X'X: what the squared loss knows of the records besides c. Symmetric positive semidefinite.
    - records: X and y, whose moments by `moments.exact` are G and c: the certificate then speaks of these, and where a
      Gram matrix in doubles does not let a repeat reach the tolerance, their gradient in extended precision may.
      Without them G and c count as exact.
    """
    modulus = ridge + regularizer.l2
    H = G + modulus * np.eye(len(G))
    which = kind(regularizer, region)
    with one_thread():
        # Without r and F a ball without an end is the same problem.
        inner = (_Ball if which == "smooth" else _INNER[which])(regularizer, region)
        theta, residual, iterations = inner.quadratic(H, c - tilt, modulus, tolerance, None)
        # Of G, c and tilt as they are given.
        sizes = np.linalg.norm(H) * np.linalg.norm(theta, axis=1) + np.linalg.norm(c) + np.linalg.norm(tilt, axis=1)
        residual = residual + 2 * (len(G) + 4) * float(np.finfo(float).eps) * sizes
        residual += inner.off_sphere(theta, float(np.linalg.norm(H)), modulus)
        if records is not None:
            residual += moments.gradient_off(*records, theta)
            stuck = np.flatnonzero(residual > tolerance)
            if len(stuck) and inner.terms is not None:
                objective = Objective(losses.squared(), *records, modulus, single=False)
                refine_all(objective, theta.T, tilt.T, residual, stuck, inner.terms, tolerance)
    return _solution(theta, residual, iterations, modulus)


def _solution(theta, residual, iterations, modulus) -> newton.Solution:
    return newton.Solution(theta, residual / modulus, residual, iterations)


def _prox_newton(risk: Risk, inner: "_Inner", tolerance: float, max_iterations: int):
    """Return theta (R, p), the residual m * certificate (R,), and the number of steps (R,)."""
    repeats, p = risk.tilt.shape
    theta = inner.start(repeats, p)
    best, least, steps = theta.copy(), np.full(repeats, np.inf), np.zeros(repeats, int)
    active, fruitless = np.arange(repeats), np.zeros(repeats, int)
    for step in range(max_iterations + 1):
        here = risk.take(active)
        gradient = here.gradient(theta)
        residual = inner.residual(theta, gradient, risk.modulus)
        fruitless = np.where(residual < GAIN * least[active], 0, fruitless)
        better = residual < least[active]
        best[active[better]], least[active[better]], steps[active] = theta[better], residual[better], step
        left = np.flatnonzero((residual > tolerance) & (fruitless < PATIENCE))
        if step == max_iterations or not len(left):
            break
        active, fruitless = active[left], fruitless[left]
        theta, gradient, here = theta[left], gradient[left], here.take(left)
        H = here.hessians(theta)
        c = np.matmul(H, theta[..., None])[..., 0] - gradient
        target, *_ = inner.quadratic(H, c, risk.modulus, INNER_SHARE * tolerance, theta)
        following, moved, fell = _line_search(here, inner, theta, target, gradient)
        # Where no step decreases J any more, rounding has the last word.
        active, theta, fruitless = active[moved], following[moved], np.where(fell, 0, fruitless + 1)[moved]
        if not len(active):
            break
    return best, least, steps


def _line_search(risk: Risk, inner: "_Inner", theta, target, gradient):
    """Return the points that a halved step towards `target` leads to, which moved, and where J fell beyond rounding."""
    towards = target - theta
    value, size = risk.value(theta)
    former = inner.penalty(theta)
    promised = np.einsum("rj,rj->r", gradient, towards) + inner.penalty(target) - former
    following, length, fell = theta.copy(), np.ones(len(theta)), np.zeros(len(theta), bool)
    pending = np.flatnonzero(np.isfinite(promised) & (np.abs(towards).max(axis=1) > 0))
    for _ in range(HALVINGS):
        if not len(pending):
            break
        # The full step is the target itself: F is met exactly, zeros stay zeros.
        trial = (
            target[pending] if length[pending[0]] == 1 else theta[pending] + length[pending, None] * towards[pending]
        )
        after, _ = risk.take(pending).value(trial)
        rise = after + inner.penalty(trial) - value[pending] - former[pending]
        limit = SUFFICIENT_DECREASE * length[pending] * promised[pending] + _UPHILL * size[pending]
        accepted = rise <= limit
        following[pending[accepted]] = trial[accepted]
        fell[pending] = rise < -_ROUNDING * size[pending]
        pending = pending[~accepted]
        length[pending] /= 2
    moved = np.any(following != theta, axis=1)
    return following, moved, fell


class _Inner:
    """What a solver of quadratics offers to prox-Newton; r and F are fixed. `most`: of its steps."""

    most = 1000

    def __init__(self, regularizer: Regularizer, region: Region):
        self.regularizer, self.region = regularizer, region

    @property
    def terms(self) -> Terms | None:
        """What `refined` needs to know, if it can."""
        return Terms(self.regularizer.l1, self.region.low, self.region.high, self.region.radius)

    def start(self, repeats: int, p: int) -> np.ndarray:
        """Return a feasible point for each repeat."""
        return np.clip(np.zeros((repeats, p)), self.region.low, self.region.high)

    def penalty(self, theta: np.ndarray) -> np.ndarray:
        """Return r without its l2 part, which the modulus holds; shape (R,)."""
        return self.regularizer.l1 * np.abs(theta).sum(axis=1)

    def off_sphere(self, theta: np.ndarray, stiff: float, modulus: float) -> np.ndarray:
        """Return what a residual leaves out where theta counts as on the sphere and is a few ulps from it; (R,)."""
        radius = self.region.radius
        if math.isinf(radius):
            return np.zeros(len(theta))
        held = (theta <= self.region.low) | (theta >= self.region.high)
        free = np.linalg.norm(np.where(held, 0.0, theta), axis=1)
        # Without a free coordinate the sphere has no part in the residual.
        near = (np.linalg.norm(theta, axis=1) >= radius * (1 - ball.SPHERE_SLACK)) & (free > 0)
        off = ball.between(radius, radius * ball.SPHERE_SLACK, np.where(near, free, 1.0), stiff, modulus)
        return np.where(near, off, 0.0)


class _Gram(_Inner):
    def quadratic(self, H, c, modulus, tolerance, start):
        found = gram.minimise(
            H, c, ridge=0.0, modulus=modulus, l1=self.regularizer.l1, low=self.region.low, high=self.region.high,
            tolerance=tolerance, start=start,
        )  # fmt: skip
        return found.theta, found.subgradient_norm, found.iterations

    def residual(self, theta, gradient, modulus):
        return gram.subgradient_norm(theta, gradient, self.regularizer.l1, self.region.low, self.region.high)


class _Ball(_Inner):
    def quadratic(self, H, c, modulus, tolerance, start):
        found = ball.minimise(H, c, radius=self.region.radius, modulus=modulus)
        return found.theta, found.subgradient_norm, np.ones(len(c), int)

    def residual(self, theta, gradient, modulus):
        return ball.subgradient_norm(theta, gradient, self.region.radius)


class _Faces(_Inner):
    def quadratic(self, H, c, modulus, tolerance, start):
        region = self.region
        found = faces.minimise(
            H, c, radius=region.radius, modulus=modulus, tolerance=tolerance, l1=self.regularizer.l1, low=region.low,
            high=region.high, start=start,
        )  # fmt: skip
        return found.theta, found.subgradient_norm, found.iterations

    def residual(self, theta, gradient, modulus):
        region = self.region
        return faces.subgradient_norm(theta, gradient, region.radius, self.regularizer.l1, region.low, region.high)


class _General(_Inner):
    # Each is a conic program, and none comes nearer than its accuracy.
    most = 100
    terms = None

    def start(self, repeats, p):
        nearest = general.minimise(np.eye(p), np.zeros((1, p)), self.regularizer, self.region)
        return np.repeat(nearest.theta, repeats, axis=0)

    def penalty(self, theta):
        return general.value(self.regularizer, theta)

    def quadratic(self, H, c, modulus, tolerance, start):
        found = general.minimise(H, c, self.regularizer, self.region)
        return found.theta, np.sqrt(2 * modulus * found.gap), np.ones(len(c), int)

    def residual(self, theta, gradient, modulus):
        """Return m times the bound on the distance, by the lower bound on J* in the module's text."""
        p = theta.shape[1]
        found = general.minimise(modulus * np.eye(p), modulus * theta - gradient, self.regularizer, self.region)
        moved = found.theta - theta
        linear = np.einsum("rj,rj->r", gradient, moved)
        square = 0.5 * modulus * np.einsum("rj,rj->r", moved, moved)
        here, there = self.penalty(theta), self.penalty(found.theta)
        lower = linear + square + there - found.gap
        # The difference is as exact as the numbers in it.
        rounding = _ROUNDING * (np.abs(gradient * moved).sum(axis=1) + square + np.abs(here) + np.abs(there))
        gap = np.maximum(here - lower, 0.0) + rounding
        return np.where(np.isfinite(gap), np.sqrt(2 * modulus * gap), np.inf)


_INNER = {"gram": _Gram, "ball": _Ball, "faces": _Faces, "general": _General}
