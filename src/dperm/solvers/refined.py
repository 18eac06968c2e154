r"""Points that are nearer to the minimiser than sums in double precision can tell: for many records that agree.

    J(theta) = sum_i w_i l(<x_i, theta>, y_i) + m/2 ||theta||^2 + <b, theta> + sum_j (l1_j |theta_j| + P(|theta_j|)),

    low <= theta <= high,    ||theta||_2 <= radius,    P convex and rising (none, but for NAPP-ERM's penalties).

Where n records bend J, the gradient at the double nearest to the minimiser is about 2^-53 n ||x||^2 l'' ||theta||, and
no double has a smaller one. What a mechanism needs is the *distance*, and that is small all the same. So the point is
kept as a + d, a in doubles and d the small rest, and Newton's method goes on with gradients in extended precision;
Theta, the minimiser, is then within

    ||a - Theta|| <= ||d|| + (least norm of a subgradient at a + d, with its rounding)/m.

The rounding, with v the unit of `numpy.longdouble` (2^-64 on x86; where it is a plain double little is gained, and the
bound says so): the products x_ij a_j are exact in two numbers each (Dekker), and a compensated sum (Ogita, Rump and
Oishi 2005) of these k = 2 p + 2 terms is off by v |margin| + (2 k v)^2 ||x|| ||a||, to which x'd adds
2 (p + 2) v ||x|| ||d||. Losses of a residual (`Loss.unit` = 0) take y into that sum, so that nothing cancels after it.
The rest is as in `objective`. A point on the sphere is brought to it in extended precision, and what is left of the
way is bounded by `ball.between`.

P' is evaluated to 20 v P'. A bridge |u|^(2 - gamma) has no kink at 0, but a slope so steep that its minimiser may lie
within the least double of 0. So a coordinate at 0 stands for all of |u| <= s, s = 1e-200: P' takes every value up to
P'(s) there, which the other coordinates notice by s times the loss's curvature alone, and is added.

Sources: Ogita, Rump and Oishi, SIAM J. Sci. Comput. 26 (2005), Algorithm 4.4 (Sum2) and Theorem 5.5 (its error).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dperm.errors import DataError
from dperm.solvers import ball, gram
from dperm.solvers.compensated import two_sum
from dperm.solvers.objective import BLOCK_ROWS, Objective, steepest

_LONG = np.finfo(np.longdouble)
_UNIT = float(_LONG.eps) / 2
_MORE = 1.01
_EPS = float(np.finfo(float).eps)
# Blocks of rows whose margins are formed at once.
_BLOCKS = 256
# Newton's steps, and the halvings of one that does not make the bound smaller.
_STEPS, _HALVINGS = 30, 30
# Coordinates of a point on the sphere round by half an ulp each: so many nearer to 0 none leaves the ball.
_INWARDS = (0, 1, 2, 4)
# What a coordinate at 0 stands for, where there is a penalty.
_NEAR = 1e-200
# Beyond it a curvature holds a coordinate as fast as any.
_STEEPEST = 1e300


@dataclass(frozen=True)
class Penalty:
    """P' and P'' as functions of u > 0, in the type of u: P' rises from 0 or above, P'(u)/u falls."""

    slope: Callable[[np.ndarray], np.ndarray]
    curvature: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Terms:
    """What J has beside the smooth part, l1, low and high for each coordinate or for all; no penalty P with a ball."""

    l1: float | np.ndarray = 0.0
    low: float | np.ndarray = -math.inf
    high: float | np.ndarray = math.inf
    radius: float = math.inf
    penalty: Penalty | None = None

    def __post_init__(self):
        if self.penalty is not None and self.radius < math.inf:
            raise ValueError(f"radius={self.radius:g}: a penalty goes with no ball")

    def bent(self, theta: np.ndarray) -> np.ndarray:
        """Return l1 + P'(|theta|); at 0 the largest slope that a coordinate there stands for."""
        if self.penalty is None:
            return self.l1 + np.zeros_like(theta)
        return self.l1 + self.penalty.slope(np.where(theta == 0, _NEAR, np.abs(theta)))

    def kinked(self, theta: np.ndarray) -> np.ndarray:
        """Return whether the slope jumps at 0."""
        return self.bent(np.zeros_like(theta)) > 0

    def curvature(self, theta: np.ndarray) -> np.ndarray:
        """Return P''(|theta|), in doubles; 0 at 0, where a coordinate is held."""
        if self.penalty is None:
            return np.zeros(len(theta))
        known = self.penalty.curvature(np.where(theta == 0, 1.0, np.abs(theta)))
        return np.where(theta == 0, 0.0, np.minimum(known, _STEEPEST)).astype(float)


@dataclass(frozen=True)
class _Point:
    """a + d, the smooth gradient and l'' of each record there, and the bound of the module's text times m."""

    a: np.ndarray
    d: np.ndarray
    gradient: np.ndarray
    weights: np.ndarray
    multiplier: float
    bound: float


def refine(objective: Objective, theta: np.ndarray, tilt: np.ndarray, terms: Terms, tolerance: float):
    """Return a double near theta, and an upper bound on m times its distance from the minimiser.

    - theta: shape (p,); in the set, and so near to the minimiser that rounding hides the rest.
    - tolerance: above 0; where the bound may stop falling.
    - Returns: the best point found, be it above the tolerance or not; infinite where nothing is known.
    """
    with np.errstate(all="ignore"):
        here = _evaluate(objective, theta, np.zeros(len(theta), np.longdouble), tilt, terms)
        for _ in range(_STEPS):
            if here.bound <= tolerance:
                break
            following = _step(objective, here, tilt, terms)
            if not following.bound < here.bound:
                break
            here = following
    return here.a, here.bound


def refine_all(
    objective: Objective,
    theta: np.ndarray,
    tilt: np.ndarray,
    bound: np.ndarray,
    columns: np.ndarray,
    terms: Terms,
    tolerance: float,
) -> None:
    """Refine these columns of theta (p, k) in place, with their bounds (k,), where a double can be near enough."""
    sizes = np.sqrt(np.einsum("ij,ij->j", theta, theta))
    for column in columns:
        if 0.5 * _EPS * objective.ridge * sizes[column] < tolerance:
            found, its = refine(objective, theta[:, column], tilt[:, column], terms, tolerance)
            if its < bound[column]:
                theta[:, column], bound[column] = found, its


def _step(objective: Objective, here: _Point, tilt: np.ndarray, terms: Terms) -> _Point:
    """Return a point with a smaller bound on the way to Newton's, or the point itself."""
    try:
        step = _newton(objective, here, terms)
    except (np.linalg.LinAlgError, DataError):
        # Singular to rounding, or beyond the doubles.
        return here
    if not np.isfinite(step).all():
        return here
    for halving in range(_HALVINGS):
        a, d = _moved(here, step * 0.5**halving, terms)
        trial = _evaluate(objective, a, d, tilt, terms)
        if trial.bound < here.bound:
            return trial
    return here


def _newton(objective: Objective, here: _Point, terms: Terms) -> np.ndarray:
    """Return the step to the minimiser of the second-order model; of the ball, its tangent stands for the sphere."""
    p, theta = len(here.a), here.a + here.d
    H = objective.curvature(here.weights)
    H[np.diag_indices(p)] += here.multiplier + terms.curvature(theta)
    slope = here.gradient + here.multiplier * theta
    step = _model(H, slope, here, terms)
    point = theta + step
    beyond = float(np.sqrt(point @ point) - terms.radius)
    if math.isinf(terms.radius) or (beyond <= 0 and here.multiplier == 0):
        return step
    # A larger multiplier moves the free coordinates back by H^-1 theta.
    free = _free(point, terms)
    back = np.zeros(p)
    back[free] = np.linalg.solve(H[np.ix_(free, free)], point[free].astype(float))
    return step - back * (beyond * terms.radius / float(point.astype(float) @ back))


def _model(H: np.ndarray, slope: np.ndarray, here: _Point, terms: Terms) -> np.ndarray:
    """Return the step to the minimiser of 1/2 s'Hs + <slope, s> (with P's curvature in H), l1 and P over the box."""
    theta = here.a + here.d
    kinked = terms.kinked(theta)
    if not kinked.any() and np.isinf(terms.low).all() and np.isinf(terms.high).all():
        return np.linalg.solve(H, -slope.astype(float))
    low, high = ((wall - here.a - here.d).astype(float) for wall in (terms.low, terms.high))
    # A step keeps the sign of a coordinate; at 0 either sign is open.
    bent, near = terms.bent(theta), theta.astype(float)
    low = np.where(kinked & (theta > 0), np.maximum(low, -near), low)
    high = np.where(kinked & (theta < 0), np.minimum(high, -near), high)
    pushed = (slope + bent * np.sign(theta)).astype(float)
    l1 = np.where(theta == 0, bent, 0.0).astype(float)
    away = np.zeros(len(theta))
    if terms.penalty is not None:
        # At 0 the model does not know how fast a penalty's slope grows: these coordinates go by themselves.
        away = np.clip(_away(np.diag(H), slope, bent, terms), low, high)
        low, high = np.where(theta == 0, 0.0, low), np.where(theta == 0, 0.0, high)
    # A penalty's curvature may be any number of times the loss's.
    unit = np.ones(len(theta)) if terms.penalty is None else 1 / np.sqrt(np.diag(H))
    walls = {"low": np.minimum(low, 0.0) / unit, "high": np.maximum(high, 0.0) / unit}
    step = gram.minimise(H * unit * unit[:, None], -(pushed * unit)[None], tolerance=0.0, l1=l1 * unit, **walls)
    return np.where((theta == 0) & (away != 0), away, unit * step.theta[0])


def _away(diagonal: np.ndarray, slope: np.ndarray, bent: np.ndarray, terms: Terms) -> np.ndarray:
    """Return steps of coordinates at 0: as far as P' or the loss's own curvature allow, both taken as powers of u."""
    near = np.full(len(slope), np.longdouble(_NEAR))
    height, room = terms.penalty.slope(near), np.abs(slope) - terms.l1
    power = near * terms.penalty.curvature(near) / height
    far = np.where(height > 0, near * (room / height) ** (1 / power), np.inf)
    alone = (np.abs(slope) - bent) / diagonal
    length = np.where(alone > 0, np.fmin(alone, far), 0)
    return (-np.sign(slope) * length).astype(float)


def _moved(here: _Point, step: np.ndarray, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
    """Return a and d of the point after a step: in the box, and of no other sign where there is a kink at 0."""
    rest = here.d + step
    point = here.a + rest
    a = _inside(point, terms)
    d = (here.a.astype(np.longdouble) - a) + rest
    for wall, beyond in ((terms.low, np.less), (terms.high, np.greater)):
        outside = beyond(a, wall) | (a == wall) & beyond(d, 0)
        a, d = np.where(outside, wall, a), np.where(outside, 0, d)
    before = np.sign(here.a + here.d)
    crossed = terms.kinked(point) & (before != 0) & (np.sign(a) != before)
    return np.where(crossed, 0.0, a), np.where(crossed, 0, d)


def _inside(point: np.ndarray, terms: Terms) -> np.ndarray:
    """Return a double near a point, within the ball if the point is: the free coordinates give way, if need be."""
    free = np.where(_free(point, terms), point, 0)
    square = float(free @ free)
    for ulps in _INWARDS:
        share = ulps * _EPS * terms.radius**2 / square if ulps else 0.0
        a = (point - free * min(share, 1.0)).astype(float)
        if np.linalg.norm(a) <= terms.radius or square == 0:
            break
    return a


def _evaluate(objective: Objective, a: np.ndarray, d: np.ndarray, tilt: np.ndarray, terms: Terms) -> _Point:
    """Return what is known of the point a + d."""
    loss, n, p = objective.loss, len(objective.X), len(a)
    size, rest = float(np.linalg.norm(a)), float(np.sqrt(d @ d))
    # Of a margin, by the length of its row; y is at most the margin and ||x|| ||a||.
    off_by_row = (2 * (2 * p + 2) * _UNIT) ** 2 * size + 2 * (p + 2) * _UNIT * rest
    length, short, free = _sphere(a + d, terms)
    # How far the minimisers over the ball, and over the one through a + d, can be from each other, by any curvature.
    apart = 0.0
    if free > 0:
        stiff = objective.stiffness(terms.radius)
        apart = float(ball.between(terms.radius, short, free, stiff, objective.ridge)) / objective.ridge
    # Counts or weights of records; the product of a slope with one is rounded too.
    sums, weights, counts = [], np.empty(n), objective.counts
    slopes = shifted = evaluated = bent = 0.0
    for low in range(0, n, BLOCK_ROWS * _BLOCKS):
        rows = slice(low, low + BLOCK_ROWS * _BLOCKS)
        x, y, lengths = objective.X[rows], objective.y[rows, 0], objective.lengths[rows]
        heavy = lengths if counts is None else lengths * counts[rows]
        none = np.zeros(len(x))
        offset, target = (y, none) if loss.unit == 0 else (none, y)
        margin = margins(x, a, d, offset)
        slope = loss.derivative(margin, target.astype(np.longdouble))
        off = _UNIT * np.abs(margin).astype(float) + lengths * off_by_row
        weights[rows] = loss.second(margin, target) if counts is None else counts[rows] * loss.second(margin, target)
        # The places where l'' jumps are rounded as well, for losses that have a scale of their own.
        width = 2 * off + 4 * _UNIT * loss.unit
        bend = steepest(loss, margin, target, width)
        slopes += float(heavy @ np.abs(slope))
        shifted += float(heavy @ (bend * off))
        bent += float((lengths * heavy) @ steepest(loss, margin, target, width + 2 * lengths * apart))
        # Of a residual the slope is exact, up to itself.
        evaluated += float(heavy @ (np.abs(slope) + bend * loss.unit * (1 + np.abs(margin))))
        slope = slope if counts is None else slope * counts[rows]
        for first in range(0, len(x), BLOCK_ROWS):
            part = slice(first, first + BLOCK_ROWS)
            sums.append(x[part].astype(np.longdouble).T @ slope[part])
    gradient = objective.ridge * a.astype(np.longdouble) + objective.ridge * d + tilt + _pairwise(sums, p)
    additions = BLOCK_ROWS + 2 * max(n, 2).bit_length() + 4 + (counts is not None)
    own = slopes + objective.ridge * (size + rest) + float(np.linalg.norm(tilt))
    error = _MORE * (_UNIT * (additions * own + 16 * evaluated) + shifted)
    near = 0.0
    if terms.penalty is not None:
        bent = float(np.linalg.norm(terms.bent(a + d).astype(float)))
        error += 20 * _UNIT * (bent + objective.ridge * (size + rest))
        near = math.sqrt(p) * _NEAR
        error += objective.stiffness(size + rest + near) * near
    if np.linalg.norm(a) > terms.radius or length > terms.radius * (1 + ball.SPHERE_SLACK):
        return _Point(a, d, gradient, weights, 0.0, math.inf)
    multiplier = _multiplier(a + d, gradient, terms) if free > 0 else 0.0
    left = _least(a + d, gradient, multiplier, terms)
    if multiplier > 0:
        left += float(ball.between(terms.radius, short, free, bent + objective.ridge, objective.ridge))
    # The norm itself is a sum in extended precision, rounded once to a double.
    bound = error + (1 + 4 * _EPS) * (left + objective.ridge * (rest + near))
    return _Point(a, d, gradient, weights, multiplier, bound if bound >= 0 else math.inf)


def _sphere(theta: np.ndarray, terms: Terms) -> tuple[float, float, float]:
    """Return the length of a point, how far it is from the sphere, and the length of its free coordinates.

    The last is 0 for a point that does not count as on the sphere.
    """
    length = np.sqrt(theta @ theta)
    # With the rounding of the sum of squares.
    short = abs(float(terms.radius - length)) + (len(theta) + 4) * _UNIT * float(length)
    if length < terms.radius * (1 - ball.SPHERE_SLACK):
        return float(length), short, 0.0
    free = np.where(_free(theta, terms), theta, 0)
    return float(length), short, float(np.sqrt(free @ free))


def _multiplier(theta: np.ndarray, gradient: np.ndarray, terms: Terms) -> float:
    """Return the multiplier of the ball that is best for the free coordinates."""
    free = np.where(_free(theta, terms), theta, 0)
    return max(0.0, float(-free @ (gradient + terms.bent(theta) * np.sign(theta)) / (free @ free)))


def _least(theta: np.ndarray, gradient: np.ndarray, multiplier: float, terms: Terms) -> float:
    """Return the least norm of a subgradient."""
    pushed = gradient + multiplier * theta
    # The subgradients of a coordinate are the interval [below, above].
    bent = terms.bent(theta)
    below = pushed + np.where(theta > 0, bent, -bent)
    above = pushed + np.where(theta < 0, -bent, bent)
    least = np.where((theta > terms.low) & (below > 0), below, 0)
    least = np.where((theta < terms.high) & (above < 0), above, least)
    return float(np.sqrt(least @ least))


def _free(theta: np.ndarray, terms: Terms) -> np.ndarray:
    """Return the coordinates along which J is smooth and theta may move both ways."""
    return (theta > terms.low) & (theta < terms.high) & ((theta != 0) | ~terms.kinked(theta))


def margins(x: np.ndarray, a: np.ndarray, d: np.ndarray, offset: np.ndarray) -> np.ndarray:
    """Return <x_i, a> - offset_i + <x_i, d> by a compensated sum, shape (rows,)."""
    x, a = x.astype(np.longdouble), a.astype(np.longdouble)
    total, lost = -offset.astype(np.longdouble), np.zeros(len(x), np.longdouble)
    low, high = _split(a)
    for j in range(x.shape[1]):
        product = x[:, j] * a[j]
        below, above = _split(x[:, j])
        # Dekker: the product's own rounding error, exactly.
        error = ((above * high[j] - product) + above * low[j] + below * high[j]) + below * low[j]
        total, cut = two_sum(total, product)
        lost += cut + error + x[:, j] * d[j]
    return total + lost


def _split(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return halves (low, high) of numbers, which sum to them and whose products are exact (Veltkamp)."""
    large = values * np.longdouble(2 ** ((_LONG.nmant + 2) // 2) + 1)
    high = large - (large - values)
    return values - high, high


def _pairwise(parts: list[np.ndarray], p: int) -> np.ndarray:
    """Return the sum of vectors, none of which goes through more than log2 of them many additions."""
    while len(parts) > 1:
        parts = [sum(parts[k : k + 2]) for k in range(0, len(parts), 2)]
    return parts[0] if parts else np.zeros(p, np.longdouble)
