r"""How far a point is from the minimiser, and Newton's last steps towards it.

The problem is  sum_i l(<x_i, theta>, y_i) + <tilt, theta> + sum_j (P(theta_j) + a_j |theta_j|)  over a box. Where it is
m-strongly convex, the least norm of a subgradient (walls of the box included) over m bounds the distance ||theta -
theta*||: the certificate that a statement `proved_exact` carries (erratum K8). A duality gap bounds only the square of
that distance, and ends at its rounding; so a point that `limit` found is improved by Newton steps in the coordinates
that lie neither in a kink nor at a wall. Most points need none: all repeats of a release are looked at together, in
products of matrices, and those that miss their target go on, each by itself.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from dperm.losses import Loss
from dperm.mechanisms.napp.scheme import Scheme, convexity, curvature, quadratic, slope
from dperm.solvers import compensated
from dperm.solvers.blas import one_thread
from dperm.solvers.objective import Objective
from dperm.solvers.refined import Penalty, Terms, refine

_STEPS, _HALVINGS = 100, 20
# What a step leaves of the norm at most if its Hessian is to serve again.
_PACE = 0.01
# Rows whose gradients are added up before they join the sum: few enough to stay in the cache.
_ROWS = 2**12
# Entries of the margins of as many repeats as are looked at together.
ENTRIES = 2**15
# Roundings beside those of the two sums: of l', of the slope, of the norm.
_OPERATIONS = 16
# A coordinate this small may be an exact 0 that reweighting approaches for ever.
_NEARLY_ZERO = 1e-3
# Where a bridge's slope is a u^(1 - gamma) and no floor is seen.
_NEAR = 1e-20


@dataclass(frozen=True)
class Composite:
    """The problems of all repeats of a release; those of one repeat are arrays of one axis less.

    - tilt: shape (R, p).
    - added: a, 0 or above, the weights of |theta_j| beside the scheme's penalty; shape (R, p), or one number for all.
    """

    loss: Loss
    X: np.ndarray
    y: np.ndarray
    tilt: np.ndarray
    added: float | np.ndarray
    scheme: Scheme
    strength: float
    box: tuple[np.ndarray, np.ndarray]

    def of(self, repeats: int | np.ndarray | slice) -> "Composite":
        """Return the problems of these repeats; of a single one, if it is given as a number."""
        added = self.added[repeats] if np.ndim(self.added) else self.added
        return replace(self, tilt=self.tilt[repeats], added=added)

    def residual(self, theta: np.ndarray) -> np.ndarray:
        """Return the subgradients of least norm (theta (R, p); the result (R, p))."""
        gradient = self.loss.derivative(theta @ self.X.T, self.y) @ self.X + self.tilt
        return self._least(theta, gradient, self._bent(theta))

    def _bent(self, theta: np.ndarray) -> np.ndarray:
        return slope(self.scheme, self.strength, theta) + self.added

    def _least(self, theta: np.ndarray, gradient: np.ndarray, bent: np.ndarray) -> np.ndarray:
        """Return the subgradient of least norm where the smooth part has this gradient, the rest these slopes."""
        # The penalty's subdifferential is a point beside 0, and at 0 all of [-P'(0), P'(0)]; a wall adds a half-line.
        least = gradient + np.where(theta > 0, bent, -bent)
        most = gradient + np.where(theta < 0, -bent, bent)
        least = np.where(theta <= self.box[0], -np.inf, least)
        most = np.where(theta >= self.box[1], np.inf, most)
        return np.where(least > 0, least, np.where(most < 0, most, 0.0))

    def known(self, theta: np.ndarray, bend: float, aim: float = 0.0) -> np.ndarray:
        """Return upper bounds on the norms of `residual`, with their own rounding.

        - bend: bound on l'': it carries the rounding of <x, theta> on to l'.
        - aim: what the bounds are to be below: where l' in doubles proves that, it is not evaluated in extended
          precision, which takes several times as long.
        - Returns: shape (R,); above 0, of first order in the unit of rounding.
        """
        # What overflows is not known, and says so.
        with np.errstate(over="ignore", invalid="ignore"):
            found = self._bounds(theta, bend, np.float64, aim)
            missed = np.flatnonzero(~(found <= aim))
            if len(missed):
                found[missed] = self.of(missed)._bounds(theta[missed], bend, np.longdouble, math.inf)
        return found

    def _bounds(self, theta: np.ndarray, bend: float, kind: type, most: float) -> np.ndarray:
        """Return the same with l' in doubles or in extended precision; infinity where rounding alone is above `most`.

        Both add up over records by `compensated`: what those sums round is nothing beside the rounding of an l' in
        doubles. An error e_i of record i's l' moves the gradient by |e_i| ||x_i|| at most.
        """
        (n, p), bent = self.X.shape, self._bent(theta)
        own = _norms(np.abs(self.tilt) + bent)
        unit, size = max(float(np.finfo(kind).eps), compensated.UNIT), _norms(theta)
        gradient, sizes, error = self.tilt.astype(np.longdouble), np.zeros(len(theta)), np.zeros(len(theta))
        for low in range(0, n, _ROWS):
            X, y = self.X[low : low + _ROWS], self.y[low : low + _ROWS, None]
            lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
            margins = X @ theta.T if kind is np.float64 else compensated.margins(X, theta.T)
            slopes = self.loss.derivative(margins, y.astype(kind))
            steep = lengths @ np.abs(slopes).astype(float)
            sizes += steep
            # Of l' itself, and of the margin, whose error l'' carries on.
            error += unit * _OPERATIONS * (steep + lengths @ np.abs(y))
            error += unit * (_OPERATIONS + p) * bend * size * (lengths @ lengths)
            if not (error <= most).any():
                return np.full(len(theta), np.inf)
            gradient += compensated.gradient(X, slopes).T
        norm = _norms(self._least(theta, gradient, bent).astype(float))
        norm[~np.isfinite(gradient).all(axis=-1)] = np.inf
        # A block's compensated sum is off by a unit of its sizes at most (2 (_ROWS + 2)^2 2^-106 and one rounding to
        # extended precision), and the sum of the blocks by one for each of them.
        error += (2 + n / _ROWS) * compensated.UNIT * (sizes + own)
        # The scheme's slope is a few operations in doubles; so are the norm and the conversion.
        return norm + error + _OPERATIONS * np.finfo(float).eps * (norm * p + own)


def certified(problem: Composite, theta: np.ndarray, aim: float, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points at least as good, and upper bounds on the least norms of their subgradients, `aim` if possible.

    - theta: shape (R, p); what `limit` found.
    - bend: as of `Composite.known`.
    """
    theta, known = theta.copy(), np.full(len(theta), math.inf)
    # So many repeats at once that their margins stay in the cache.
    size = max(1, ENTRIES // max(len(problem.X), 1))
    with one_thread():
        for low in range(0, len(theta), size):
            part = slice(low, low + size)
            theta[part], known[part] = _certified(problem.of(part), theta[part], aim, bend)
    return theta, known


def _certified(problem: Composite, theta: np.ndarray, aim: float, bend: float) -> tuple[np.ndarray, np.ndarray]:
    known, left = np.full(len(theta), math.inf), np.arange(len(theta))
    # No norm is known better than its own rounding, not even one that comes out as 0: half the aim leaves room.
    for goal in (aim, 0.5 * aim):
        if len(left):
            theta[left], _ = polished(problem.of(left), theta[left], goal)
            known[left] = problem.of(left).known(theta[left], bend, aim)
            left = left[~(known[left] <= aim)]
    for repeat in left:
        near, bound = refined(problem.of(repeat), theta[repeat], aim)
        if bound < known[repeat]:
            theta[repeat], known[repeat] = near, bound
    return theta, known


def polished(problem: Composite, theta: np.ndarray, target: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points at least as good, and the least norms of subgradients there, which may stay above the target.

    - theta: shape (R, p).
    """
    with one_thread():
        theta, residual = _without_stragglers(problem, theta)
        norm = _norms(residual)
        for repeat in np.flatnonzero(norm > target):
            theta[repeat], norm[repeat] = _descended(
                problem.of(repeat), theta[repeat], residual[repeat], float(norm[repeat]), target
            )
    return theta, norm


def _descended(problem, theta, residual, norm: float, target: float) -> tuple[np.ndarray, float]:
    """Return what Newton's steps of one repeat reach; a Hessian serves again while steps with it go far."""
    kept = None
    for _ in range(_STEPS):
        if norm <= target:
            break
        fresh = kept is None
        step, kept = _newton(problem, theta, residual, kept)
        for halving in range(_HALVINGS if fresh else 1):
            trial = _moved(problem, theta, 0.5**halving * step)
            residual_there = problem.residual(trial)
            if (reached := float(np.linalg.norm(residual_there))) < norm:
                break
        else:
            if fresh:
                break
            kept = None
            continue
        kept = kept if reached <= _PACE * norm else None
        theta, residual, norm = trial, residual_there, reached
    return theta, norm


def refined(problem: Composite, theta: np.ndarray, target: float) -> tuple[np.ndarray, float]:
    """Return a point that is nearer than sums in doubles can tell, and the modulus times a bound on its distance.

    The problem is that of one repeat, theta its point, shape (p,).
    For many records: no double has a gradient as small as the target then, but one may be near enough.

    - target: where the bound may stop falling; infinite where P is not strongly convex.
    """
    scheme, strength = problem.scheme, problem.strength
    form = quadratic(scheme, strength)
    if form is None:
        linear, modulus = 0.0, float(convexity(scheme, strength))
        if modulus <= 0:
            return theta, math.inf
        # The modulus is the objective's ridge, and the rest of P is convex still.
        penalty = Penalty(
            lambda u: slope(scheme, strength, u) - modulus * u,
            lambda u: np.maximum(curvature(scheme, strength, u) - modulus, 0.0),
        )
    else:
        linear, modulus, penalty = form[0], 2 * form[1], None
    low, high = problem.box
    with one_thread():
        objective = Objective(problem.loss, problem.X, problem.y, modulus, single=False)
        return refine(objective, theta, problem.tilt, Terms(linear + problem.added, low, high, penalty=penalty), target)


def _norms(vectors: np.ndarray) -> np.ndarray:
    return np.linalg.norm(vectors, axis=-1)


def _without_stragglers(problem, theta) -> tuple[np.ndarray, np.ndarray]:
    """Put at 0 what is nearly there, where that lowers the residual (theta (R, p))."""
    residual = problem.residual(theta)
    bare = np.where(np.abs(theta) < _NEARLY_ZERO, 0.0, theta)
    bare = np.clip(bare, *problem.box)
    if np.array_equal(bare, theta):
        return theta, residual
    # Those that belong elsewhere have a residual at 0, and stay where they were.
    residual_bare = problem.residual(bare)
    trial = np.where(residual_bare == 0, bare, theta)
    if np.array_equal(trial, theta):
        return theta, residual
    there = residual_bare if np.array_equal(trial, bare) else problem.residual(trial)
    better = (_norms(there) < _norms(residual))[:, None]
    return np.where(better, trial, theta), np.where(better, there, residual)


def _newton(problem, theta, residual, kept) -> tuple[np.ndarray, tuple]:
    """Return Newton's step in the coordinates that have a residual; the others lie in a kink or at a wall.

    - kept: None, or which coordinates an earlier step was of and its Hessian, which serves if they are the same.
    - Returns: the step, and what may be kept of it.
    """
    step, free = np.zeros_like(theta), residual != 0
    if kept is not None and np.array_equal(free, kept[0]):
        step[free] = np.linalg.solve(kept[1], -residual[free])
        return step, kept
    second = problem.loss.second(problem.X @ theta, problem.y)
    own = curvature(problem.scheme, problem.strength, theta)
    steep = free & np.isinf(own)
    if steep.any():
        # A bridge at 0: off it as far as its own slope a u^(1 - gamma) and the loss's curvature allow.
        size, columns = np.abs(residual[steep]), problem.X[:, steep]
        alone = size / (second @ columns**2 + 2 * problem.scheme.floor)
        bend = 1 - problem.scheme.gamma
        height = slope(problem.scheme, problem.strength, _NEAR) / _NEAR**bend
        with np.errstate(over="ignore"):
            power = (size / height) ** (1 / bend)
        step[steep] = -np.sign(residual[steep]) * np.minimum(alone, power)
    free &= ~steep
    # By rows: an index would leave columns apart in memory, and the product takes six times as long.
    X = problem.X if free.all() else problem.X.compress(free, axis=1)
    # Losses are convex: a sum of squares, of which BLAS computes one half.
    rooted = np.sqrt(second)[:, None] * X
    hessian = rooted.T @ rooted + np.diag(own[free])
    step[free] = np.linalg.solve(hessian, -residual[free])
    return step, (free, hessian)


def _moved(problem, theta, step) -> np.ndarray:
    """Return theta + step within the box, where no coordinate leaps over a kink at 0 or over a bridge's steep side."""
    moved = theta + step
    crossed = moved * theta < 0
    kinked = slope(problem.scheme, problem.strength, np.zeros_like(theta)) + problem.added > 0
    moved = np.where(crossed & kinked, 0.0, moved)
    if problem.scheme.gamma not in (0, 1):
        moved = np.where(crossed & ~kinked, theta / 10, moved)
    return np.clip(moved, *problem.box)
