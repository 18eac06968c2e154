r"""All least-squares problems on s of p features, in a box: the scores of the exponential mechanism.

For every Z of size s, with G = X'X, c = X'y and yy = y'y (a sum over records, not a mean),

    q(Z) = min_{theta in [-bound, bound]^s}  1/2 ||y - X_Z theta||^2 = min 1/2 theta'G_ZZ theta - <c_Z, theta> + yy/2.

The order is colexicographic: {0,1}, {0,2}, {1,2}, {0,3}, ...; Z = {z_1 < ... < z_s} has index sum_i C(z_i, i) whatever
p is. The least feature changes fastest, and it comes last in the Cholesky factor, of which a step to the next subset
forms the changed rows alone. If theta = G_ZZ^{-1} c_Z lies outside the box, a primal active-set method follows:
Newton's step on the free features, cut at the box, then release of the worst bound. Where columns of X_Z depend on each
other (or nearly), pivots are raised to the rounding of their diagonal entry; in a box that costs rounding alone.

Nothing is believed that is not certified. With g = G_ZZ theta - c_Z and theta in the box, convexity gives

    0 <= q(Z; theta) - q(Z) <= max_{phi in the box} <g, theta - phi> = sum_j (g_j theta_j + bound |g_j|),

whatever the rank of G_ZZ. Rounding is bounded by Cauchy and Schwarz: with S = ||y|| + bound sum_{j in Z} ||x_j||, all
terms of q, of g'theta and of bound ||g||_1 are at most S^2, each a sum of at most 2s + 4 roundings; and if G, c and yy
are themselves computed sums over n records, their error moves q at theta in the box by gamma_n S^2/2 at most, and the
inequality above by 2 gamma_n S^2 (a computed G need not be semidefinite). Here gamma_k = k u/(1 - k u), u = 2^-53
(Higham, Accuracy and Stability, Section 3.1; any order of summation). Underflow is left out.

In every trial the gap was below (16 s + 3 (n + 2s + 4)) u S^2: with public bounds on n and S, a public tau.

Sources: kifer2012, Algorithm 4 (Exp-mech) and Lemma 33; erratum K5: scores must be exact, or their error tau paid for.
Lawson and Hanson, Solving Least Squares Problems, chapter 23 (active sets). Jaggi, ICML 2013 (the duality gap).
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dperm.compiled import compiled, inlined
from dperm.domain import LEAST, MOST, number
from dperm.errors import DataError

# So many scores are 80 MB and some seconds.
MOST_SUBSETS = 10_000_000
# Entries up to here have products, and sums of products, within the doubles.
_LARGEST_ENTRY = 1e100
_ROUNDING = 0.5 * float(np.finfo(float).eps)
# Pivots are raised to this multiple of s u times their diagonal entry, which costs at most 2 * 4 s u S^2 of gap ...
_FLOOR = 4.0
# ... so that this multiple of s u S^2 can be reached; what has a smaller gap is accepted.
_TARGET = 16.0
# Cauchy and Schwarz hold for a computed Gram matrix up to this, and up to underflow.
_CAUCHY, _TINY = 1e-6, 1e-120
# Active-set steps; at the limit the point is kept as it is, with its certificate.
_STEPS = 100


@dataclass(frozen=True)
class Scores:
    """What `search` found.

    - scores: shape (C(p, s),); q(Z) >= 0, in colexicographic order, in units of y squared; a sum over records.
    - gap: max_Z |scores - q(Z)| is at most this. It is a function of private data: a mechanism declares a public tau
      and compares.
    """

    scores: np.ndarray
    gap: float


def count(p: int, s: int) -> int:
    """Return C(p, s), the number of subsets (s: features of a subset, in [1, p])."""
    _whole("p", p, 1, math.inf, "it is the number of features")
    _whole("s", s, 1, p, f"a subset has at least one and at most all of the p={p} features")
    return math.comb(p, s)


def subset(index: int, p: int, s: int) -> tuple[int, ...]:
    """Return the rising features at a place of the colexicographic order (the inverse of `rank`)."""
    _whole("index", index, 0, count(p, s) - 1, f"there are C({p}, {s}) subsets, counted from 0")
    found, rest, above = [], int(index), p
    for i in range(s, 0, -1):
        # The largest z with C(z, i) <= rest.
        above = bisect_right(range(above), rest, key=lambda z, i=i: math.comb(z, i)) - 1
        found.append(above)
        rest -= math.comb(above, i)
    return tuple(reversed(found))


def rank(features: Sequence[int]) -> int:
    """Return the place of distinct features in the colexicographic order, which is the same for every p."""
    return sum(math.comb(z, i) for i, z in enumerate(_features(features, math.inf), start=1))


def search(G: np.ndarray, c: np.ndarray, yy: float, s: int, *, bound: float = 1.0, records: int = 0) -> Scores:
    """Score every subset of s features.

    - G: shape (p, p); X'X: symmetric positive semidefinite of any rank (semidefiniteness is not checked; see Raises),
      entries of at most 1e100. Where G[j, k] and G[k, j] differ by rounding their mean is taken.
    - s: in [1, p], with C(p, s) <= 10^7.
    - bound: in [1e-30, 1e30]: |theta_j| <= bound.
    - records: of how many records' products G, c and yy are floating-point sums: their rounding then enters `gap`,
      which speaks of the data (X, y) themselves. 0 takes G, c and yy as exact.
    - Raises ValueError: if s, bound or records is outside its range, or there are more than 10^7 subsets; before any
      work.
    - Raises DataError: if a shape does not fit, an entry is NaN, infinite or above 1e100, G is not symmetric, or no X
      and y have these G, c and yy by Cauchy and Schwarz (G[j, k]^2 <= G[j, j] G[k, k], c_j^2 <= G[j, j] yy). The
      message gives no value of the data.
    """
    subsets = count(np.size(c), s)
    if subsets > MOST_SUBSETS:
        raise ValueError(
            f"s={s} of p={np.size(c)} features make {subsets:,} subsets, more than MOST_SUBSETS={MOST_SUBSETS:,}; take "
            "a smaller s, fewer features (chosen without the data), or sample and aggregate"
        )
    _whole("records", records, 0, 2**50, "it is the number of records summed in G, or 0 for an exact G")
    G, c, yy = _checked(G, c, yy, bound)
    scale, target = _scale(G, yy, s, bound)
    scores = np.empty(subsets)
    worst = _every(G, c, yy, float(bound), target, np.empty(s), scores)
    terms = (records + 2 * s + 4) * _ROUNDING
    # 2.5 in the module's text; the rest is for norms that are themselves computed.
    return Scores(scores, float(worst) + 3.0 * terms / (1.0 - terms) * scale**2)


def coefficients(G: np.ndarray, c: np.ndarray, yy: float, features: Sequence[int], *, bound: float = 1.0) -> np.ndarray:
    """Return the minimiser for one subset, as `search` found it.

    - Returns: shape (s,); theta, in the order of `features`, with |theta_j| <= bound. Where G_ZZ is singular, one of
      the minimisers.
    """
    Z = np.array(_features(features, np.size(c)))
    G, c, yy = _checked(G, c, yy, bound)
    target, theta = _scale(G, yy, len(Z), bound)[1], np.empty(len(Z))
    _every(G[np.ix_(Z, Z)], c[Z], yy, float(bound), target, theta, np.empty(1))
    # The compiled loop has the largest feature first.
    return theta[::-1][np.searchsorted(Z, np.asarray(features))]


def _whole(name: str, value: object, low: int, high: float, remedy: str) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not low <= value <= high:
        raise ValueError(f"{name}={value!r} must be an integer in [{low}, {high}]; {remedy}")


def _features(features: Sequence[int], p: float) -> list[int]:
    """Return distinct features in rising order, or raise ValueError."""
    for z in features:
        _whole("feature", z, 0, p - 1, "features are counted from 0")
    rising = sorted({int(z) for z in features})
    if not rising or len(rising) < len(features):
        raise ValueError(f"features={list(features)} must be at least one, none twice; drop what is repeated")
    return rising


def _checked(G, c, yy, bound) -> tuple[np.ndarray, np.ndarray, float]:
    """Return G and c as contiguous doubles and yy as a float that some X and y may have, or raise ValueError."""
    number("bound", bound, LEAST, MOST, ends="[]", remedy="it is the half width of the box that holds theta")
    G, c = (np.ascontiguousarray(values, dtype=np.float64) for values in (G, c))
    if c.ndim != 1 or len(c) == 0 or G.shape != (len(c), len(c)) or np.ndim(yy) != 0:
        raise DataError(f"G, c and yy have shapes {G.shape}, {c.shape} and {np.shape(yy)}; give (p, p), (p,) and ()")
    for name, values in (("G", G), ("c", c), ("yy", np.asarray(yy, dtype=np.float64))):
        if not (values.max() <= _LARGEST_ENTRY and values.min() >= -_LARGEST_ENTRY):
            raise DataError(f"{name} holds NaN, infinity or an entry above {_LARGEST_ENTRY:g}; rescale the data first")
    if yy < 0 or (G.diagonal() < 0).any():
        raise DataError("yy or the diagonal of G is negative; give sums of squares, y'y and X'X")
    norms = np.sqrt(G.diagonal())
    longest = np.outer(norms, norms)
    if (np.abs(G - G.T) > _CAUCHY * longest + _TINY).any():
        raise DataError("G is not symmetric; give X'X")
    slack = 1 + _CAUCHY
    if (np.abs(G) > slack * longest + _TINY).any() or (np.abs(c) > slack * norms * math.sqrt(yy) + _TINY).any():
        raise DataError(
            "no X and y have these G, c and yy (Cauchy and Schwarz); give X'X, X'y and y'y of the same data"
        )
    return (G + G.T) / 2, c, float(yy)


def _scale(G: np.ndarray, yy: float, s: int, bound: float) -> tuple[float, float]:
    """Return the largest S of the module's text over all subsets, and the duality gap to aim at."""
    longest = np.sort(np.sqrt(G.diagonal()))[-s:]
    scale = math.sqrt(yy) + float(bound) * float(longest.sum())
    return scale, _TARGET * s * _ROUNDING * scale**2


@compiled
def _every(G, c, yy, bound, target, theta, scores):
    """Fill scores in colexicographic order; return the largest duality gap. theta ends as the last subset's."""
    p, s = len(c), len(theta)
    z = np.arange(s - 1, -1, -1)  # the largest feature first
    A, L = np.zeros((s, s)), np.zeros((s, s))
    b, w, inverse, g = np.zeros(s), np.zeros(s), np.zeros(s), np.zeros(s)
    worst, first = 0.0, 0
    for index in range(len(scores)):
        for t in range(first, s):
            b[t] = c[z[t]]
            for u in range(t + 1):
                A[t, u] = A[u, t] = G[z[t], z[u]]
            w[t] = _pivot_row(A, b, L, inverse, w, t, s)
        inside = True
        for t in range(s - 1, -1, -1):
            value = w[t]
            for u in range(t + 1, s):
                value -= L[u, t] * theta[u]
            theta[t] = value * inverse[t]
            inside &= abs(theta[t]) <= bound
        gap = duality_gap(A, b, bound, theta, g) if inside else np.inf
        if gap > target:
            gap = _active_set(A, b, bound, target, theta, g)
        worst = max(worst, gap)
        score = yy
        for t in range(s):
            score += (g[t] - b[t]) * theta[t]
        scores[index] = max(0.5 * score, 0.0)
        # Next: the least feature that has room below its successor moves up, those below it start again.
        first = s - 1
        while first > 0 and z[first] + 1 == z[first - 1]:
            first -= 1
        z[first] += 1
        for t in range(first + 1, s):
            z[t] = s - 1 - t
        if z[0] == p:
            break
    return worst


@compiled
def _pivot_row(A, b, L, inverse, w, t, size):
    """Form row t of the Cholesky factor L and inverse[t] = 1/L[t, t]; return entry t of L^{-1} b; of `size` rows."""
    pivot, value = A[t, t], b[t]
    for u in range(t):
        entry = A[t, u]
        for v in range(u):
            entry -= L[t, v] * L[u, v]
        entry *= inverse[u]
        L[t, u] = entry
        pivot -= entry * entry
        value -= entry * w[u]
    pivot = max(pivot, _FLOOR * size * _ROUNDING * A[t, t])
    # A column of zeros: nothing depends on its coefficient, which is then 0.
    inverse[t] = 1.0 / math.sqrt(pivot) if pivot > 0.0 else 0.0
    return value * inverse[t]


@compiled
def duality_gap(A, b, bound, theta, g):
    """Return the duality gap of theta; g becomes the gradient A theta - b."""
    s, gap = len(b), 0.0
    for t in range(s):
        slope = -b[t]
        for u in range(s):
            slope += A[t, u] * theta[u]
        g[t] = slope
        gap += slope * theta[t] + bound * abs(slope)
    return gap


@inlined
def _active_set(A, b, bound, target, theta, g):
    """Minimise over the box from the nearest point to theta; return the gap of the point left in theta and g."""
    s = len(b)
    free, step, rhs = np.zeros(s, np.int64), np.zeros(s), np.zeros(s)
    F, L, inverse, w = np.zeros((s, s)), np.zeros((s, s)), np.zeros(s), np.zeros(s)
    held = np.zeros(s, np.bool_)
    for t in range(s):
        held[t] = abs(theta[t]) >= bound
        theta[t] = 0.0 if math.isnan(theta[t]) else min(max(theta[t], -bound), bound)  # NaN: overflow above
    for _ in range(_STEPS):
        gap = duality_gap(A, b, bound, theta, g)
        if gap <= target:
            return gap
        # Newton's step on the free features.
        size = 0
        for t in range(s):
            if not held[t]:
                free[size] = t
                size += 1
        for i in range(size):
            rhs[i] = -g[free[i]]
            for k in range(i + 1):
                F[i, k] = F[k, i] = A[free[i], free[k]]
        for i in range(size):
            w[i] = _pivot_row(F, rhs, L, inverse, w, i, size)
        for i in range(size - 1, -1, -1):
            value = w[i]
            for k in range(i + 1, size):
                value -= L[k, i] * step[k]
            step[i] = value * inverse[i]
        length, blocked, side = 1.0, -1, 0.0
        for i in range(size):
            wall = bound if step[i] > 0 else -bound
            if abs(step[i]) * length > abs(wall - theta[free[i]]):
                length, blocked, side = (wall - theta[free[i]]) / step[i], free[i], wall
        for i in range(size):
            t = free[i]
            theta[t] = min(max(theta[t] + length * step[i], -bound), bound)
        if blocked >= 0:
            theta[blocked] = side
            held[blocked] = True
            continue
        # The face's minimiser: let go of the bound from which the slope leads inside most steeply.
        duality_gap(A, b, bound, theta, g)
        steepest, release = 0.0, -1
        for t in range(s):
            if held[t] and g[t] * theta[t] > steepest:
                steepest, release = g[t] * theta[t], t
        if release >= 0:
            held[release] = False
    return duality_gap(A, b, bound, theta, g)
