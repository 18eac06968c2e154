r"""The exponential mechanism of a linear model on the unit ball, sampled exactly (jain2013, Section 6.2).

    P(z) proportional to exp(c |<z, u>|) on {z in R^d: ||z|| <= 1},     ||u|| = 1, c >= 0.

The ball's slice at <z, u> = t is a (d-1)-ball of radius sqrt(1 - t^2), so

    t has density proportional to e^{c |t|} (1 - t^2)^a on [-1, 1], a = (d - 1)/2,

and z = t u + sqrt(1 - t^2) v with v uniform in the unit ball orthogonal to u. The density of t is the even mixture of
two log-concave pieces, which mirror each other: a fair sign, and |t| from the piece on [0, 1].

The piece in s = 1 - |t|, which keeps its digits where c is large and |t| within 1/c of 1: e^{-fall(s)} up to a factor,

    fall(s) = c (s - s0) - a log(s (2 - s)/(s0 (2 - s0))),    s0 = (a + a^2/(q + c))/(a + q), q = sqrt(a^2 + c^2),

convex, 0 at its least point s0. Rejection from a hat of three parts: 1 in the middle, and on either side the
exponential of a tangent to the fall where it is about 1 (nothing where it stays below 1, up to s = 1). A tangent lies
below a convex function wherever it touches, so the law is exact whatever the points are; where the fall is 1 the mean
number of proposals is at most e/(e - 1) = 1.582, for every log-concave density, so for all c and d (Devroye 1986,
Section VII.2.6; Gilks & Wild 1992). d = 1: s is an exponential variable cut off at 1, by inversion.

Sources: jain2013, Section 6.2 ("a uniform mixture of two log-concave distributions") and Algorithm 3, line 5.
"""

import math

import numpy as np

from dperm.compiled import compiled
from dperm.domain import integer
from dperm.errors import DataError

# Newton's steps towards a fall of 1. Steps leave the bracket by no more than this share of what is left of it.
_STEPS, _NEAR, _SHARE = 30, 0.3, 0.1


@compiled
def _fall(s, c, a, mode):
    return c * (s - mode) - a * math.log(s * (2.0 - s) / (mode * (2.0 - mode)))


@compiled
def _slope(s, c, a):
    return c - a * (1.0 / s - 1.0 / (2.0 - s))


@compiled
def _tangents(c, a, mode):
    """Return where the left tangent meets 0 and its slope (downwards), and the same of the right one."""
    curvature = a * (1.0 / (mode * mode) + 1.0 / ((2.0 - mode) * (2.0 - mode)))
    step = math.sqrt(2.0 / curvature)
    point = max(mode - step, 0.3 * mode)
    for _ in range(_STEPS):
        fall = _fall(point, c, a, mode)
        if abs(fall - 1.0) < _NEAR:
            break
        moved = point - (fall - 1.0) / _slope(point, c, a)
        point = min(max(moved, _SHARE * point), mode - _SHARE * (mode - point))
    down = -_slope(point, c, a)
    left = max(0.0, point + _fall(point, c, a, mode) / down)
    if mode >= 1.0 or _fall(1.0, c, a, mode) <= 1.0:
        return left, down, 1.0, 0.0
    point = min(mode + step, 0.5 * (mode + 1.0))
    for _ in range(_STEPS):
        fall = _fall(point, c, a, mode)
        if abs(fall - 1.0) < _NEAR:
            break
        moved = point - (fall - 1.0) / _slope(point, c, a)
        point = min(1.0, max(moved, mode + _SHARE * (point - mode)))
    up = _slope(point, c, a)
    return left, down, max(mode, point - _fall(point, c, a, mode) / up), up


@compiled
def piece(c, a, rng):
    """Return s of one draw, and how many proposals it took."""
    if a == 0.0:
        uniform = rng.random()
        return (-math.log1p(uniform * math.expm1(-c)) / c if c > 0.0 else uniform), 1
    q = math.sqrt(a * a + c * c)
    mode = min(1.0, (a + a * a / (q + c)) / (a + q))
    left, down, right, up = _tangents(c, a, mode)
    middle = right - left
    beyond = -math.expm1(-up * (1.0 - right)) / up if up > 0.0 else 0.0
    before = -math.expm1(-down * left) / down
    proposals = 0
    while True:
        proposals += 1
        x = rng.random() * (middle + beyond + before)
        if x < middle:
            s, tangent = left + x, 0.0
        elif x < middle + beyond:
            tangent = -math.log1p(-(x - middle) * up)
            s = right + tangent / up
        else:
            tangent = -math.log1p(-(x - middle - beyond) * down)
            s = left - tangent / down
        if 0.0 < s <= 1.0 and -math.log1p(-rng.random()) >= _fall(s, c, a, mode) - tangent:
            return s, proposals


@compiled
def _all(c, a, rng, s, proposals):
    for i in range(c.shape[0]):
        s[i], proposals[i] = piece(c[i], a, rng)


def heights(c: np.ndarray, d: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw s = 1 - |t|, one for each c (s: shape (n,); in (0, 1], in [0, 1) for d = 1)."""
    c = np.ascontiguousarray(c, dtype=np.float64)
    integer("d", d, 1, "it is the dimension of the ball", error=DataError)
    if not ((c >= 0) & (c < math.inf)).all():
        raise DataError("c holds a number that is negative or not finite; it is the exponent's factor")
    s, proposals = np.empty(len(c)), np.empty(len(c), np.int64)
    _all(c, 0.5 * (d - 1), rng, s, proposals)
    return s, proposals


def sample(direction: np.ndarray, c: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw z with density proportional to exp(c |<z, u>|) on the unit ball, one for each unit row u of direction."""
    n, d = direction.shape
    s, proposals = heights(c, d, rng)
    t = np.where(rng.random(n) < 0.5, -1.0, 1.0) * (1 - s)
    z = t[:, None] * direction
    if d > 1:
        across = rng.standard_normal((n, d))
        across -= np.einsum("ij,ij->i", across, direction)[:, None] * direction
        length = np.sqrt(s * (2 - s)) * rng.random(n) ** (1 / (d - 1))
        z += (length / np.linalg.norm(across, axis=1))[:, None] * across
    return z, proposals
