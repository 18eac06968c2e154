r"""Many quadratics with an l1 norm and a box at once, by coordinate descent on the Gram matrix.

    theta_r = argmin_{low <= theta <= high}  P_r(theta)
    P_r(theta) = 1/2 <theta, G theta> - <c_r, theta> + ridge/2 ||theta||^2 + l1 ||theta||_1

The squared loss with tilt b_r is this problem with G = X'X and c_r = X'y - b_r (a sum over records, not a mean); a step
of prox-Newton is one with a matrix G_r for each r. In each round and for each r by itself

- g = (G + ridge I) theta - c gives the least norm of a subgradient, and with the modulus m of strong convexity

      min { ||g + v + w|| : v in l1 d||theta||_1, w in the normal cone of the box } / m  >=  ||theta - theta*||,

  the certificate; g is formed anew before a result is believed;
- one pass minimises P exactly along every coordinate in turn, and keeps g up to date;
- more passes go over the free coordinates alone (inside the box, and not 0 where l1 > 0). Where P is too badly
  conditioned for these to get on, a Newton step follows: with signs and bounds held, P is a quadratic. It is projected
  onto them, and halved until P decreases.

A theta_r is a function of its own G, c and start: the same bytes alone as in a batch.

Sources: kifer2012, Algorithm 1 (the problem). Friedman, Hastie and Tibshirani, J. Stat. Softw. 33 (2010) (coordinate
descent with covariance updates). Bertsekas, SIAM J. Control Optim. 20 (1982) (the projected step).
"""

from dataclasses import dataclass

import numpy as np

from dperm.compiled import compiled, inlined
from dperm.domain import number
from dperm.errors import DataError

# Entries up to here have products, and sums of products, within the doubles.
_LARGEST_ENTRY = 1e100
# The free coordinates' own subgradient falls to this share of the whole one, at most to this share of the tolerance.
_FACE_SHARE, _FACE_FLOOR = 0.03, 0.3
# So many passes over the free coordinates, and as many more as a Newton step costs, before one is taken.
_FACE_PASSES = 4
# Share of the largest diagonal entry that is added where a Newton step's matrix may be singular; and its halvings.
_SHIFT, _HALVINGS = 1e-12, 40
# The gradient is formed anew after so many rounds, and before any result is believed.
_ROUNDS = 8
# A subgradient below this multiple of the rounding of its own terms tells nothing: descent stops.
_ROUNDING = 2 * float(np.finfo(float).eps)


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    - theta: shape (R, p); within the box, bounds met exactly.
    - certificate: shape (R,); subgradient_norm / (ridge + modulus): an upper bound on ||theta_r - theta_r*||_2;
      infinite if that sum is 0.
    - subgradient_norm: shape (R,); least norm s of a subgradient of P_r plus the box's normal cone, evaluated anew at
      the theta returned; P_r(theta_r) - P_r(theta_r*) <= s^2 / (2 (ridge + modulus)).
    - iterations: shape (R,); passes over all or over the free coordinates, and Newton steps.
    """

    theta: np.ndarray
    certificate: np.ndarray
    subgradient_norm: np.ndarray
    iterations: np.ndarray


def minimise(
    G: np.ndarray,
    c: np.ndarray,
    *,
    tolerance: float,
    ridge: float = 0.0,
    modulus: float = 0.0,
    l1: float | np.ndarray = 0.0,
    low: float | np.ndarray = -np.inf,
    high: float | np.ndarray = np.inf,
    start: np.ndarray | None = None,
    max_iterations: int = 10_000,
) -> Solution:
    """Minimise P_r over the box for r = 1..R; P_r as in the module's text.

    - G: shape (p, p) or (R, p, p); symmetric and positive semidefinite (not checked), of any rank; entries of at most
      1e100 in size.
    - tolerance: in [0, inf): absolute bound aimed at for the least norm of a subgradient. 0 asks for all that rounding
      allows.
    - modulus: in [0, 1e100]: a lower bound on the least eigenvalue of G, which the caller vouches for. Only the
      certificate looks at it.
    - start: shape (p,) or (R, p); where to begin, moved into the box; by default 0.
    - Returns: a problem that did not reach the tolerance (too few iterations, a tolerance below rounding, or no
      minimiser at all) is returned as it is: compare its `subgradient_norm`. Whether it converged depends on private
      data.
    - Raises DataError: if a shape of G, c or start does not fit, or an entry is NaN, infinite or above 1e100. The
      message gives no value of the data.
    """
    number("tolerance", tolerance, 0, np.inf, ends="[)", remedy="it bounds the norm of a subgradient")
    ridge = number("ridge", ridge, 0, _LARGEST_ENTRY, ends="[]", remedy="it is the weight of ||theta||^2/2")
    modulus = number("modulus", modulus, 0, _LARGEST_ENTRY, ends="[]", remedy="0 declares nothing")
    number("max_iterations", max_iterations, 1, np.inf, ends="[)")
    G, c, start = _checked(G, c, start)
    repeats, p = c.shape
    l1, low, high = _coordinates(l1, low, high, p)
    theta = np.clip(np.zeros(c.shape) + (0.0 if start is None else start), low, high)
    norm, iterations = np.empty(repeats), np.empty(repeats, np.int64)
    _all_repeats(G, c, ridge, l1, low, high, float(tolerance), int(max_iterations), theta, norm, iterations)
    norm[np.isnan(norm)] = np.inf  # overflow, where there is no minimiser
    strong = ridge + modulus
    with np.errstate(over="ignore"):
        certificate = norm / strong if strong > 0 else np.full(repeats, np.inf)
    return Solution(theta, certificate, norm, iterations)


def subgradient_norm(
    theta: np.ndarray,
    gradient: np.ndarray,
    l1: float | np.ndarray = 0.0,
    low: float | np.ndarray = -np.inf,
    high: float | np.ndarray = np.inf,
) -> np.ndarray:
    """Return the least norm of a subgradient of f + l1 ||.||_1 plus the normal cone of the box, f smooth.

    - low, high: shape (p,); low <= high. A coordinate is at a bound if it equals it.
    - Returns: shape (R,); 0 at a minimiser, and there alone; infinite where theta is outside the box or a gradient not
      finite.
    """
    theta, gradient = (np.ascontiguousarray(values, dtype=np.float64) for values in (theta, gradient))
    if theta.ndim != 2 or theta.shape != gradient.shape:
        raise ValueError(f"theta and gradient have shapes {theta.shape} and {gradient.shape}; give (R, p) for both")
    l1, low, high = _coordinates(l1, low, high, theta.shape[1])
    norm = np.empty(len(theta))
    _norms(theta, gradient, l1, low, high, norm)
    return np.where(np.isfinite(gradient).all(axis=1), norm, np.inf)


def _checked(G, c, start):
    """Return G of shape (1 or R, p, p), c and start as contiguous doubles that fit each other, or raise DataError."""
    G, c = (np.ascontiguousarray(values, dtype=np.float64) for values in (G, c))
    start = None if start is None else np.asarray(start, dtype=np.float64)
    if c.ndim != 2 or c.shape[1] == 0:
        raise DataError(f"c has shape {c.shape}; give (R, p) with p >= 1, one row for each problem")
    repeats, p = c.shape
    if G.shape not in ((p, p), (repeats, p, p)):
        raise DataError(f"G has shape {G.shape}; give ({p}, {p}) or ({repeats}, {p}, {p}) to fit c")
    if start is not None and start.shape not in ((p,), (repeats, p)):
        raise DataError(f"start has shape {start.shape}; give ({p},) or ({repeats}, {p}) to fit c")
    for name, values in (("G", G), ("c", c), ("start", start)):
        if values is None or not values.size:
            continue
        if not (values.max() <= _LARGEST_ENTRY and values.min() >= -_LARGEST_ENTRY):
            raise DataError(f"{name} holds NaN, infinity or an entry above {_LARGEST_ENTRY:g}; rescale the data first")
    return G.reshape(-1, p, p), c, start


def _coordinates(l1, low, high, p):
    """Return l1, low and high with an entry for every coordinate, or raise ValueError."""
    arrays = []
    for name, values in (("l1", l1), ("low", low), ("high", high)):
        values = np.asarray(values, dtype=np.float64)
        if values.shape not in ((), (p,)):
            raise ValueError(f"{name} has shape {values.shape}; give a number or ({p},), one for each coordinate")
        # A copy: what is broadcast may not be written to, which is another type to Numba.
        arrays.append(np.array(np.broadcast_to(values, p)))
    l1, low, high = arrays
    wrong = np.flatnonzero(~((l1 >= 0) & (l1 <= _LARGEST_ENTRY)))
    if len(wrong):
        raise ValueError(f"l1={l1[wrong[0]]:g} must be in [0, {_LARGEST_ENTRY:g}]; it is the weight of ||theta||_1")
    wrong = np.flatnonzero(~((low <= high) & (low < np.inf) & (high > -np.inf)))
    if len(wrong):
        j = wrong[0]
        raise ValueError(f"low={low[j]:g} and high={high[j]:g} leave no number between them: move one")
    return l1, low, high


@compiled
def _all_repeats(G, c, ridge, l1, low, high, tolerance, most, theta, norm, iterations):
    for r in range(len(c)):
        own = G[r if len(G) > 1 else 0]
        norm[r], iterations[r] = _one(own, c[r], ridge, l1, low, high, tolerance, most, theta[r])


@compiled
def _norms(theta, gradient, l1, low, high, norm):
    everything = np.arange(theta.shape[1])
    for r in range(len(theta)):
        norm[r] = _norm(everything, theta[r], gradient[r], l1, low, high)


@inlined
def _one(G, c, ridge, l1, low, high, tolerance, most, theta):
    """Descend from theta, in place; return the least norm of a subgradient and the passes done."""
    p, passes, rounds, noise = len(c), 0, 0, 0.0
    g, curvature, inverse, everything = np.empty(p), np.empty(p), np.empty(p), np.arange(p)
    for j in range(p):
        curvature[j] = G[j, j] + ridge
        inverse[j] = 1 / curvature[j] if curvature[j] > 0 else np.inf
    while True:
        norm = _norm(everything, theta, g, l1, low, high) if rounds % _ROUNDS else 0.0
        fresh = not (norm > max(tolerance, noise) and passes < most)
        if fresh:
            _gradient(G, c, ridge, theta, g)
            norm = _norm(everything, theta, g, l1, low, high)
            if norm > tolerance:
                noise = _noise(G, c, ridge, l1, theta)
            if norm <= max(tolerance, noise) or passes >= most or not np.isfinite(norm):
                return norm, passes
        moved = _pass(everything, G, ridge, curvature, inverse, l1, low, high, theta, g)
        passes, rounds = passes + 1, rounds + 1
        if fresh and not moved:  # a fixed point of the arithmetic
            return norm, passes
        free = _free(theta, l1, low, high)
        target, slow = max(_FACE_SHARE * norm, _FACE_FLOOR * tolerance), True
        for _ in range(_FACE_PASSES + len(free) * len(free) // (3 * p)):
            if passes >= most or _norm(free, theta, g, l1, low, high) <= target:
                slow = False
                break
            _pass(free, G, ridge, curvature, inverse, l1, low, high, theta, g)
            passes += 1
        if slow:
            _newton_step(_free(theta, l1, low, high), G, ridge, l1, low, high, theta, g)
            _gradient(G, c, ridge, theta, g)
            passes += 1


@compiled
def _gradient(G, c, ridge, theta, g):
    """Write the gradient to g, formed anew."""
    for j in range(len(c)):
        g[j] = ridge * theta[j] - c[j]
    for k in range(len(c)):
        if theta[k] != 0:
            row, weight = G[k], theta[k]
            for j in range(len(c)):
                g[j] += weight * row[j]


@inlined
def _noise(G, c, ridge, l1, theta):
    """Return how large a subgradient's norm may be by the rounding of its own terms."""
    size, total = np.empty(len(c)), 0.0
    for j in range(len(c)):
        size[j] = abs(c[j]) + l1[j] + ridge * abs(theta[j])
    for k in range(len(c)):
        if theta[k] != 0:
            row, weight = G[k], abs(theta[k])
            for j in range(len(c)):
                size[j] += weight * abs(row[j])
    for j in range(len(c)):
        total += size[j] * size[j]
    return _ROUNDING * np.sqrt(total)


@compiled
def _norm(which, theta, g, l1, low, high):
    """Return the least norm of a subgradient, of these coordinates alone; infinite outside the box."""
    total = 0.0
    for j in which:
        if not low[j] <= theta[j] <= high[j]:
            return np.inf
        # The subgradients of coordinate j are the interval [below, above].
        below = g[j] + (l1[j] if theta[j] > 0 else -l1[j])
        above = g[j] + (-l1[j] if theta[j] < 0 else l1[j])
        if theta[j] > low[j] and not below <= 0:
            total += below * below
        elif theta[j] < high[j] and not above >= 0:
            total += above * above
    return np.sqrt(total)


@compiled
def _pass(which, G, ridge, curvature, inverse, l1, low, high, theta, g):
    """Minimise along each of these coordinates in turn, in place; return whether any moved."""
    moved = False
    for j in which:
        old, new, weight = theta[j], 0.0, l1[j]
        u = curvature[j] * old - g[j]
        # Without curvature (inverse = inf) the minimiser is a bound, or there is none, or l1 alone decides.
        if u > weight:
            new = (u - weight) * inverse[j]
        elif u < -weight:
            new = (u + weight) * inverse[j]
        elif weight == 0 and curvature[j] == 0:
            new = old
        new = low[j] if new < low[j] else high[j] if new > high[j] else new
        step = new - old
        if step != 0 and abs(new) < np.inf:
            row = G[j]
            for k in range(len(g)):
                g[k] += step * row[k]
            g[j] += ridge * step
            theta[j] = new
            moved = True
    return moved


@compiled
def _free(theta, l1, low, high):
    """Return the coordinates along which P is smooth and theta may move both ways."""
    found, f = np.empty(len(theta), np.int64), 0
    for j in range(len(theta)):
        if low[j] < theta[j] < high[j] and (theta[j] != 0 or l1[j] == 0):
            found[f] = j
            f += 1
    return found[:f]


@inlined
def _newton_step(free, G, ridge, l1, low, high, theta, g):
    """Step towards the minimum over the free coordinates with their signs held, if P decreases; in place."""
    f = len(free)
    A, slope = np.empty((f, f)), np.empty(f)
    for a in range(f):
        j = free[a]
        for b in range(f):
            A[a, b] = G[j, free[b]]
        A[a, a] += ridge
        slope[a] = g[j] + l1[j] * np.sign(theta[j])
    towards = _solve(A, slope)
    for a in range(f):
        if not abs(towards[a]) < np.inf:
            return
    length, there, step = 1.0, np.empty(f), np.empty(f)
    for _ in range(_HALVINGS):
        for a in range(f):
            j = free[a]
            # With l1 > 0 the sign is held: 0 is a bound too.
            least = max(low[j], 0.0) if l1[j] > 0 and theta[j] > 0 else low[j]
            greatest = min(high[j], 0.0) if l1[j] > 0 and theta[j] < 0 else high[j]
            there[a] = min(max(theta[j] - length * towards[a], least), greatest)
            step[a] = there[a] - theta[j]
        change = 0.0
        for a in range(f):
            change += slope[a] * step[a]
        for a in range(f):
            product = 0.0
            for b in range(f):
                product += A[a, b] * step[b]
            change += 0.5 * step[a] * product
        if change < 0:
            for a in range(f):
                theta[free[a]] = there[a]
            return
        length /= 2


@inlined
def _solve(A, slope):
    """Return (A + shift)^-1 slope by Cholesky's factors, NaN if A is not positive semidefinite."""
    f, largest = len(slope), 0.0
    for a in range(f):
        largest = max(largest, A[a, a])
    L, x = A.copy(), slope.copy()
    for a in range(f):
        L[a, a] += _SHIFT * largest
    # Row a holds column a of the factor: both loops run along rows, in vector registers.
    for a in range(f):
        if not L[a, a] > 0:
            x[:] = np.nan
            return x
        root = np.sqrt(L[a, a])
        for b in range(a, f):
            L[a, b] /= root
        for b in range(a + 1, f):
            share = L[a, b]
            for k in range(b, f):
                L[b, k] -= share * L[a, k]
    for a in range(f):
        x[a] /= L[a, a]
        for b in range(a + 1, f):
            x[b] -= x[a] * L[a, b]
    for a in range(f - 1, -1, -1):
        for b in range(a + 1, f):
            x[a] -= L[a, b] * x[b]
        x[a] /= L[a, a]
    return x
