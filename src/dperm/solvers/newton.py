r"""Batched Newton: the minimisers of many tilted, ridged risks that share their data.

    theta_r = argmin_theta  sum_i w_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2 + <b_r, theta>        (a sum, no mean)

Objective perturbation (kifer2012, Algorithm 1) repeated R times is this problem with R random tilts b_r. All repeats
start at the untilted optimum, and their directions come from Newton's equation (`directions`):

- few features: exact Hessians, by one product of the weights of all repeats with the pairwise products of X's columns;
- more: conjugate gradients over all repeats at once, so that a step is two matrix-matrix products. They are
  preconditioned by the Hessian at the shared start (one Cholesky factor for all) and truncated as Eisenstat and Walker
  advise.

Equal records that follow each other are merged (`objective.merged`) where none has a weight: worst cases repeat a few
of them many times.

A step is taken if it decreases J (Armijo) or, where J differs by rounding alone, if it meets the approximate Wolfe
condition of Hager and Zhang. J is strongly convex and its gradient Lipschitz on each level set, so this converges from
any start, also where l'' jumps (Huber, smoothed hinge).

Sources: kifer2012, Algorithm 1. Eisenstat and Walker, SIAM J. Sci. Comput. 17 (1996). Hager and Zhang, SIAM J. Optim.
16 (2005).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dperm.domain import Domain
from dperm.losses import Loss
from dperm.solvers.blas import one_thread
from dperm.solvers.directions import Direction, suits_exact, through
from dperm.solvers.objective import Objective, Point, merged
from dperm.solvers.refined import Terms, refine_all

# Work arrays: (n, chunk) stays below CHUNK_BYTES and its part for one block of rows within the cache.
CHUNK_BYTES = 64 * 2**20
CHUNK_ENTRIES = 2**17
# The shared centre needs to be near only on the scale of the tilts that lead away from it.
CENTRE_FRACTION = 0.1
# Eisenstat and Walker's choice 2: Newton's equation is solved to this share of the squared decrease of the gradient,
# within these limits, and never more exactly than this share of the tolerance.
FORCING_SHARE, FORCING_LEAST, FORCING_MOST, FORCING_FLOOR = 0.9, 1e-4, 0.1, 0.3
SUFFICIENT_DECREASE = 1e-4
WOLFE_DELTA, WOLFE_SIGMA = 0.1, 0.5
BRACKET = (0.1, 0.5)
TRIALS = 40
# A repeat is given up after this many steps that gain neither J beyond its rounding nor this factor of the gradient.
PATIENCE, GAIN = 5, 0.9


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    - theta: shape (R, p); of all iterates the one with the smallest gradient, or a double near a refined point.
    - certificate: shape (R,); gradient_norm / ridge: an upper bound on ||theta_r - theta_r*||_2.
    - gradient_norm: shape (R,); ridge times the certificate: at least ||grad J_r(theta_r)||_2 with a bound on the
      rounding of its evaluation. Only where this misses the tolerance and `refined` serves, it bounds ridge times the
      distance from the minimiser alone, and the gradient at theta may be longer.
    - iterations: shape (R,); Newton steps taken from the shared start.
    """

    theta: np.ndarray
    certificate: np.ndarray
    gradient_norm: np.ndarray
    iterations: np.ndarray


def minimise(
    loss: Loss,
    X: np.ndarray,
    y: np.ndarray,
    *,
    ridge: float,
    tolerance: float,
    tilt: np.ndarray | None = None,
    start: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    max_iterations: int = 10_000,
) -> Solution:
    r"""Minimise J_r(theta) = sum_i w_i l(<x_i, theta>, y_i) + ridge/2 ||theta||^2 + <b_r, theta>, r = 1..R at once.

    Each J_r is ridge-strongly convex, hence ||theta - theta_r*||_2 <= ||grad J_r(theta)||_2 / ridge for every theta:
    that is the certificate (erratum K8 says what a privacy proof may make of it). It includes the rounding of the
    gradient (`objective`), about 1e-14 (sum_i w_i ||x_i|| |l'_i| + ridge ||theta|| + ||b_r||); where many records make
    that too much, the distance is bounded in extended precision.

    A repeat that does not reach `tolerance` (too few iterations, or a tolerance below rounding) is returned as it is:
    compare its `gradient_norm` with the tolerance, or its certificate with what you need. Nothing is raised then,
    because whether a solver converged depends on private data.

    - loss: with finite curvature: squared, logistic, poisson, huber, smoothed_hinge.
    - X: shape (n, p); n may be 0.
    - y: shape (n,); targets of the kind the loss declares; not checked here.
    - ridge: in (0, inf); in units of the loss over theta squared.
    - tolerance: in (0, inf): absolute bound aimed at for `gradient_norm`, hence for ridge times the distance.
    - tilt: shape (R, p); b_r; without it R = 1 and b = 0.
    - start: shape (p,) or (R, p); where to begin; by default 0, and for several repeats the untilted optimum.
    - weights: shape (n,); w_i in [0, inf); without them 1.
    - Returns: the same bytes for the same input, however many threads or cores there are.
    - Raises ValueError: if the loss has a kink, ridge or tolerance are not finite numbers above 0, a shape does not
      fit, or an entry is not finite. The message gives no value of the data.
    - Source: kifer2012, Algorithm 1 (the problem). Nocedal and Wright, Numerical Optimization, Algorithm 7.1 (the
      method).
    """
    X, y, tilt, start = _checked(loss, X, y, ridge, tolerance, tilt, start, max_iterations)
    weights = checked_weights(weights, len(X))
    repeats, p = tilt.shape
    if len(X) == 0:
        theta = -tilt / ridge
        # One division is all that rounds.
        norm = np.linalg.norm(tilt, axis=1) * 2 * np.finfo(float).eps
        return _solution(theta, norm, np.zeros(repeats, int), ridge)

    theta, norm, iterations = np.empty((repeats, p)), np.empty(repeats), np.empty(repeats, int)
    limits = {"tolerance": tolerance, "max_iterations": max_iterations}
    full = partial(Objective, loss, X, y, ridge, single=False, counts=weights)
    with one_thread():
        X, y, counts = merged(X, y) if weights is None else (X, y, weights)
        objective = Objective(loss, X, y, ridge, single=not suits_exact(X), counts=counts)
        origin = objective.evaluate(_centre(start, p), np.zeros((p, 1)))
        direction = through(objective, origin)
        if start is None and repeats > 1:
            near = max(tolerance, CENTRE_FRACTION * float(np.median(np.linalg.norm(tilt, axis=1))))
            centre, *_ = _descend(objective, direction, origin, np.zeros((p, 1)), near, max_iterations)
            origin = objective.evaluate(centre, np.zeros((p, 1)))
            direction = through(objective, origin)
        size = chunk(len(X))
        for low in range(0, repeats, size):
            part = slice(low, low + size)
            tilts = np.ascontiguousarray(tilt[part].T)
            own = start is not None and start.ndim == 2
            first = objective.evaluate(start[part].T, tilts) if own else objective.tilted(origin, tilts)
            found = _certified(objective, full, direction, first, tilts, **limits)
            theta[part], norm[part], iterations[part] = found[0].T, found[1], found[2]
    return _solution(theta, norm, iterations, ridge)


def _solution(theta: np.ndarray, norm: np.ndarray, iterations: np.ndarray, ridge: float) -> Solution:
    return Solution(theta, norm / ridge, norm, iterations)


def _centre(start: np.ndarray | None, p: int) -> np.ndarray:
    """Return the point (p, 1) whose Hessian preconditions: 0, or the mean of the starts."""
    return np.zeros((p, 1)) if start is None else np.atleast_2d(start).mean(axis=0)[:, None]


def chunk(n: int) -> int:
    """Return how many repeats are worked on at once: a function of n alone, never of the machine."""
    return max(1, min(CHUNK_BYTES // (8 * n), CHUNK_ENTRIES // min(n, 256)))


def _checked(loss, X, y, ridge, tolerance, tilt, start, max_iterations):
    """Return X, y, tilt and start as arrays of doubles that fit each other, or raise ValueError."""
    # A kink makes the curvature infinite on every domain; Poisson's is finite on a bounded one.
    if not np.isfinite(loss.suprema(Domain(x_norm=1.0, y_bound=1.0, theta_norm=1.0))[1]):
        raise ValueError(
            f"loss={loss.name!r} has a kink and no curvature for Newton's method: take smoothed_hinge or huber"
        )
    for name, value in (("ridge", ridge), ("tolerance", tolerance)):
        if not 0 < value < np.inf:
            raise ValueError(f"{name}={value} must be a finite number above 0")
    if max_iterations < 1:
        raise ValueError(f"max_iterations={max_iterations} must be at least 1")
    X, y = np.ascontiguousarray(X, dtype=float), np.asarray(y, dtype=float)
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"X has shape {X.shape} and y {y.shape}: they must be (n, p) and (n,)")
    p = X.shape[1]
    start = None if start is None else np.asarray(start, dtype=float)
    if tilt is None:
        tilt = np.zeros((len(start) if start is not None and start.ndim == 2 else 1, p))
    tilt = np.asarray(tilt, dtype=float)
    if tilt.ndim != 2 or tilt.shape[1] != p:
        raise ValueError(f"tilt has shape {tilt.shape}: it must be (repeats, {p}), one row per repeat")
    if start is not None and start.shape not in ((p,), tilt.shape):
        raise ValueError(f"start has shape {start.shape}: it must be ({p},) or {tilt.shape}")
    for name, array in (("X", X), ("y", y), ("tilt", tilt), ("start", start)):
        if array is not None and not np.isfinite(array).all():
            raise ValueError(f"{name} holds values that are not finite: remove or impute them first")
    return X, y, tilt, start


def checked_weights(weights: np.ndarray | None, n: int) -> np.ndarray | None:
    """Return weights as n finite doubles of 0 or above, or raise ValueError."""
    if weights is None:
        return None
    weights = np.ascontiguousarray(weights, dtype=float)
    if weights.shape != (n,) or not (np.isfinite(weights).all() and weights.min(initial=0.0) >= 0):
        raise ValueError(f"weights of shape {weights.shape} must be {n} finite numbers of 0 or above")
    return weights


def _certified(
    objective: Objective,
    full: Callable[[], Objective],
    direction: Direction,
    point: Point,
    tilt: np.ndarray,
    *,
    tolerance,
    max_iterations,
):
    """Return what `_descend` does, with upper bounds on the gradients' norms.

    The bound that costs nothing will do but for many records or a small tolerance; then the sums are done anew, at last
    in extended precision. Where the true gradient is above the tolerance though the one in doubles is not, the descent
    goes on to a target that leaves room for the difference. `full` gives J with every record on its own.
    """
    theta, norm, iterations = _descend(objective, direction, point, tilt, tolerance, max_iterations)
    # The norm is a sum of p squares, rounded itself.
    bound = norm * (1 + (len(theta) + 4) * np.finfo(float).eps) + objective.rounding(theta, tilt)
    if bound.max(initial=0.0) <= tolerance:
        return theta, bound, iterations
    for kind in (np.float64, np.longdouble):
        # In doubles for all, so that a norm reported is near; beyond that only where it decides.
        wide = np.flatnonzero((bound > tolerance) & ((norm <= tolerance) | (kind is np.float64)))
        if len(wide):
            bound[wide] = np.minimum(bound[wide], _careful_norm(objective, theta[:, wide], tilt[:, wide], kind))
    left = np.flatnonzero((bound > tolerance) & (norm <= tolerance))
    room = 2 * tolerance - float(np.max(bound[left], initial=0.0))
    if len(left) and room > 0:
        again = objective.evaluate(theta[:, left], tilt[:, left])
        further, _, more = _descend(objective, direction, again, tilt[:, left], 0.5 * room, max_iterations)
        better = _careful_norm(objective, further, tilt[:, left], np.longdouble)
        gained = better < bound[left]
        theta[:, left[gained]], bound[left[gained]] = further[:, gained], better[gained]
        iterations[left] += more
    # What rounding alone keeps from the tolerance: no double has a smaller gradient, but one may be near enough.
    stuck = np.flatnonzero((bound > tolerance) & (norm <= np.maximum(tolerance, objective.rounding(theta, tilt))))
    if len(stuck):
        refine_all(full(), theta, tilt, bound, stuck, Terms(), tolerance)
    return theta, bound, iterations


def _careful_norm(objective: Objective, theta: np.ndarray, tilt: np.ndarray, kind: type) -> np.ndarray:
    """Return an upper bound on the norm of the gradient; infinite where it overflows."""
    gradient, error = objective.carefully(theta, tilt, kind)
    found = np.linalg.norm(gradient, axis=0) + error
    return np.where(np.isnan(found), np.inf, found)


def _descend(
    objective: Objective,
    direction: Direction,
    point: Point,
    tilt: np.ndarray,
    tolerance: float,
    max_iterations: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta (p, k), gradient norms (k,) and iterations (k,) of the columns, each stopped once it is done."""
    k = len(point.value)
    best, norm, iterations = point.theta.copy(), np.full(k, np.inf), np.zeros(k, int)
    if not np.isfinite(point.value).all():
        raise ValueError("the objective overflows at the start: take a start nearer to 0, or none")
    active, fruitless = np.arange(k), np.zeros(k, int)
    former, most = np.full(k, np.inf), np.full(k, FORCING_MOST)
    for step in range(max_iterations + 1):
        # J decreases at every step, its gradient need not: what counts is the smallest gradient seen.
        fruitless = np.where(point.norm < GAIN * norm[active], 0, fruitless)
        better = point.norm < norm[active]
        best[:, active[better]], norm[active[better]] = point.theta[:, better], point.norm[better]
        iterations[active] = step
        left = np.flatnonzero((norm[active] > tolerance) & (fruitless < PATIENCE))
        if step == max_iterations or not len(left):
            break
        if len(left) < len(active):
            point, tilt, active = point.take(left), tilt[:, left], active[left]
            fruitless, former, most = fruitless[left], former[left], most[left]
        forcing = np.minimum(FORCING_SHARE * (point.norm / former) ** 2, most)
        target = np.maximum(np.maximum(forcing, FORCING_LEAST) * point.norm, FORCING_FLOOR * tolerance)
        following, length = _line_search(objective, point, tilt, direction(point, target))
        # A step cut short tells of jumps in l'', between whose sides half-solved directions can go to and fro forever.
        most = np.where(length < 1, np.maximum(0.1 * most, FORCING_LEAST), most)
        # At the rounding of J steps may go on for ever without getting anywhere.
        fruitless = np.where(point.value - following.value > point.slack, 0, fruitless + 1)
        former, point = point.norm, following
    return best, norm, iterations


def _line_search(objective: Objective, point: Point, tilt: np.ndarray, towards: np.ndarray) -> tuple[Point, np.ndarray]:
    """Return for each column an acceptable point along `towards` and its step length; else the point itself.

    The full step is taken if it is acceptable at all. If not, the step is sought between one too short (`low`) and one
    too long (`high`): where l'' jumps, a step that merely decreases J would stop short of the jump again and again.
    """
    slope = np.einsum("ij,ij->j", point.gradient, towards)
    low, high, length = np.zeros(len(slope)), np.full(len(slope), np.inf), np.ones(len(slope))
    slope_low, slope_high = slope.copy(), np.full(len(slope), np.inf)
    accepted, pending = None, np.arange(len(slope))
    for _ in range(TRIALS):
        steps, before = length[pending], slope[pending]
        trial = objective.evaluate(point.theta[:, pending] + steps * towards[:, pending], tilt[:, pending])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            after = np.einsum("ij,ij->j", trial.gradient, towards[:, pending])
            rise = trial.value - point.value[pending]
            armijo = rise <= SUFFICIENT_DECREASE * steps * before
            wolfe = (rise <= point.slack[pending]) & (after <= (2 * WOLFE_DELTA - 1) * before)
            lower = (armijo | wolfe) & np.isfinite(trial.norm)
            done = lower & ((after >= WOLFE_SIGMA * before) | np.isinf(high[pending]))
            if accepted is None:
                accepted = trial
                if done.all():
                    return accepted, length
                accepted.put(pending[~lower], point, pending[~lower])
            else:
                accepted.put(pending[lower], trial, np.flatnonzero(lower))
            low[pending[lower]], slope_low[pending[lower]] = steps[lower], after[lower]
            high[pending[~lower]], slope_high[pending[~lower]] = steps[~lower], after[~lower]
            pending = pending[~done]
            if not len(pending):
                break
            # The zero of the secant of the slope, kept within a tenth and a half of the bracket.
            share = slope_low[pending] / (slope_low[pending] - slope_high[pending])
            share = np.where(np.isfinite(share), np.clip(share, *BRACKET), BRACKET[0])
            length[pending] = low[pending] + share * (high[pending] - low[pending])
    return accepted, length
