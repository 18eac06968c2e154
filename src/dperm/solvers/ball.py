r"""Many quadratics over an l2 ball at once, by the secular equation.

    theta_r = argmin_{||theta||_2 <= radius}  1/2 theta'G theta - <c_r, theta> + ridge/2 ||theta||_2^2

With G + ridge I = V diag(w) V' and d = V'c the minimiser is theta(mu) = V diag(1/(w + mu)) d, with the least multiplier
mu >= 0 that puts it into the ball. On the sphere mu solves the secular equation

    1/||theta(mu)|| = 1/radius,

whose left side is concave and increases with mu (Reinsch 1971; More and Sorensen 1983). Newton's method therefore
increases to the root from any mu below it, such as max_j (|d_j|/radius - w_j)_+, in a few steps; a bracket guards
against rounding. All r step together, and one eigendecomposition (`decompose`) serves every c, ridge and radius.

Where w_j = 0 and d_j = 0, both up to rounding, the minimiser is not unique: coordinate j of the least-norm one is 0. It
is returned if it lies in the ball.

Sources: kifer2012, Algorithm 1 (with F a ball). More and Sorensen, SIAM J. Sci. Stat. Comput. 4 (1983).
"""

import math
from dataclasses import dataclass

import numpy as np

from dperm.compiled import compiled
from dperm.domain import number
from dperm.errors import DataError
from dperm.solvers.blas import one_thread

_EPS = float(np.finfo(float).eps)
# Numbers within these have squares, and sums of squares, within the doubles.
_LEAST, _LARGEST = 1e-100, 1e100
# Newton takes about six steps; the bracket ends it where rounding does not let it settle.
STEPS = 100
# Eigenvalues and coordinates of c below this multiple of p times their rounding count as 0.
_ROUNDING = 4 * _EPS
# A theta this near to the sphere counts as on it: projecting onto it rounds.
SPHERE_SLACK = 16 * _EPS


@dataclass(frozen=True)
class Spectrum:
    """A positive semidefinite G = V diag(w) V', one or R of them; values: w >= 0, ascending; vectors: V."""

    G: np.ndarray
    values: np.ndarray
    vectors: np.ndarray


@dataclass(frozen=True)
class Solution:
    """What `minimise` found.

    - theta: shape (R, p); ||theta||_2 <= radius.
    - multiplier: shape (R,); mu, at least 0; 0 inside the ball.
    - certificate: shape (R,); subgradient_norm / (ridge + modulus), an upper bound on ||theta_r - theta_r*||_2;
      infinite if that sum is 0.
    - subgradient_norm: shape (R,); least norm of gradient plus the normal cone of the ball, evaluated at the theta
      returned.
    """

    theta: np.ndarray
    multiplier: np.ndarray
    certificate: np.ndarray
    subgradient_norm: np.ndarray


def decompose(G: np.ndarray) -> Spectrum:
    """Return the eigendecomposition that `minimise` otherwise makes itself, to be used again.

    - G: shape (p, p) or (R, p, p); symmetric and positive semidefinite (not checked: the lower triangle counts, and
      negative eigenvalues become 0); entries of at most 1e100 in size.
    - Raises DataError: if the shape does not fit, or an entry is NaN, infinite or above 1e100. The message gives no
      value of the data.
    """
    G = np.asarray(G, dtype=np.float64)
    if G.ndim not in (2, 3) or G.shape[-1] != G.shape[-2] or G.shape[-1] == 0:
        raise DataError(f"G has shape {G.shape}; give (p, p) or (R, p, p) with p >= 1")
    _refuse_large("G", G)
    with one_thread():
        w, V = np.linalg.eigh(G)
    return Spectrum(G, np.maximum(w, 0.0), V)


def minimise(
    G: np.ndarray | Spectrum,
    c: np.ndarray,
    *,
    radius: float,
    ridge: float = 0.0,
    modulus: float = 0.0,
) -> Solution:
    """Minimise 1/2 theta'G theta - <c_r, theta> + ridge/2 ||theta||^2 over the ball for r = 1..R.

    - G: shape (p, p) or (R, p, p), or Spectrum; symmetric and positive semidefinite, of any rank; as in `decompose`.
    - radius: in [1e-100, 1e100], or infinite for no ball.
    - modulus: in [0, 1e100]: a lower bound on the least eigenvalue of G that the caller vouches for. Only the
      certificate looks at it.
    - Returns: a row agrees with the same problem solved alone to rounding. Where there is no minimiser (radius
      infinite, a slope without curvature) the `subgradient_norm` tells.
    """
    if radius != math.inf:
        radius = number("radius", radius, _LEAST, _LARGEST, ends="[]", remedy="it is the radius of the ball, or inf")
    ridge = number("ridge", ridge, 0, _LARGEST, ends="[]", remedy="it is the weight of ||theta||^2/2")
    modulus = number("modulus", modulus, 0, _LARGEST, ends="[]", remedy="0 declares nothing")
    c = np.asarray(c, dtype=np.float64)
    if c.ndim != 2:
        raise DataError(f"c has shape {c.shape}; give (R, p), one row for each problem")
    _refuse_large("c", c)
    spectrum = G if isinstance(G, Spectrum) else decompose(G)
    G, V, (repeats, p) = spectrum.G, spectrum.vectors, c.shape
    if G.shape not in ((p, p), (repeats, p, p)):
        raise DataError(f"G has shape {G.shape}; give ({p}, {p}) or ({repeats}, {p}, {p}) to fit c")
    w = np.broadcast_to(spectrum.values + ridge, c.shape)
    with one_thread(), np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d = _times(c, V)
        steps, mu = _steps(w, d, radius)
        theta = _times(steps, np.swapaxes(V, -1, -2))
        norms = np.linalg.norm(theta, axis=1)
        # Rounding may leave the sphere by an ulp, either way; a few ulps below it none leaves the ball.
        onto = (mu > 0) | (norms > radius)
        theta *= np.where(onto, radius / norms * (1 - 4 * _EPS), 1.0)[:, None]
        norm = subgradient_norm(theta, _times(theta, G) + ridge * theta - c, radius)
        strong = ridge + modulus
        certificate = norm / strong if strong > 0 else np.full(repeats, np.inf)
    return Solution(theta, mu, certificate, norm)


def subgradient_norm(theta: np.ndarray, gradient: np.ndarray, radius: float) -> np.ndarray:
    """Return the least norm of gradient + normal cone of the ball: min over t >= 0 of ||gradient + t theta||.

    Inside the ball the cone is {0}, and the norm that of the gradient.

    - theta, gradient: shape (R, p); the gradient may hold values that are not finite.
    - Returns: shape (R,); 0 at a minimiser over the ball, and there alone; infinite outside the ball or where a value
      is not finite.

    A theta within 16 ulps of the sphere counts as on it. The certificate is then that of the minimiser over the ball
    through theta; how far the two are from each other, `between` says.
    """
    theta, gradient = (np.asarray(values, dtype=np.float64) for values in (theta, gradient))
    if theta.ndim != 2 or theta.shape != gradient.shape:
        raise ValueError(f"theta and gradient have shapes {theta.shape} and {gradient.shape}; give (R, p) for both")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        norms = np.linalg.norm(theta, axis=1)
        normal = theta / norms[:, None]
        outward = np.minimum(np.einsum("rj,rj->r", normal, gradient), 0.0)
        on_sphere = norms >= radius * (1 - SPHERE_SLACK)
        least = np.where(on_sphere[:, None], gradient - outward[:, None] * normal, gradient)
        found = np.linalg.norm(least, axis=1)
        return np.where((norms <= radius * (1 + SPHERE_SLACK)) & np.isfinite(found), found, np.inf)


def between(radius: float, short: np.ndarray, free: np.ndarray, stiff: float, modulus: float) -> np.ndarray:
    r"""Bound the distance between the minimisers over two balls whose radii differ by `short`, times the modulus.

    On the sphere theta(R) solves grad J + mu theta = 0 along the coordinates that are free: not held by a wall or by a
    kink. With A the Hessian plus mu I on these, d theta/dR = R A^-1 theta/(theta'A^-1 theta), whose norm is at most
    R/||theta|| (sqrt(kappa) + 1/sqrt(kappa))/2 by Kantorovich's inequality, and kappa(A) <= stiff/modulus.

    - radius: of the larger ball.
    - free: shape (R,); norms of the free coordinates, above 0.
    - stiff: the largest eigenvalue that the Hessian can have.
    - modulus: above 0; the least.
    """
    root = math.sqrt(max(stiff, modulus) / modulus)
    return modulus * short * (radius / free) * 0.5 * (root + 1 / root)


def diagonal(w: np.ndarray, d: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimisers d/(w + mu) (0 where w is 0) and the least mu for G = diag(w), in O(p) a Newton step."""
    curved = w > 0
    theta, mu = np.zeros(d.shape), np.zeros(len(d))
    theta[:, curved], mu[:] = _secular(w[curved], np.ascontiguousarray(d[:, curved]), float(radius), STEPS, 4 * _EPS)
    return theta, mu


@compiled
def _secular(w, d, radius, steps, rounding):
    theta, mu = np.empty(d.shape), np.zeros(len(d))
    for r in range(len(d)):
        for step in range(steps):
            # ||theta||^2 and half of minus its derivative.
            squares = fall = 0.0
            for j in range(len(w)):
                shifted = w[j] + mu[r]
                theta[r, j] = d[r, j] / shifted
                square = theta[r, j] * theta[r, j]
                squares += square
                fall += square / shifted
            norm = np.sqrt(squares)
            following = mu[r] + squares / fall * (norm / radius - 1) if norm > radius * (1 + rounding) else mu[r]
            if step == 0 and following > mu[r]:
                # A lower bound of the root that may be nearer than one step from 0.
                for j in range(len(w)):
                    following = max(following, abs(d[r, j]) / radius - w[j])
            if following <= mu[r]:
                break
            mu[r] = following
    return theta, mu


def _refuse_large(name: str, values: np.ndarray) -> None:
    if values.size and not (values.max() <= _LARGEST and values.min() >= -_LARGEST):
        raise DataError(f"{name} holds NaN, infinity or an entry above {_LARGEST:g}; rescale the data first")


def _times(rows: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Return r'A for each row r, with its own A if there are as many."""
    return rows @ A if A.ndim == 2 else (rows[:, None, :] @ A)[:, 0, :]


def _steps(w: np.ndarray, d: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return V'theta and mu for each row."""
    p = w.shape[1]
    flat = w <= p * _ROUNDING * w.max(axis=1, keepdims=True)
    steps = d / w
    # An error of eps ||G|| in G turns V so that d_j is off by eps max(w) ||theta||, besides the rounding of c itself.
    curved = np.linalg.norm(np.where(flat, 0.0, steps), axis=1, keepdims=True)
    noise = np.linalg.norm(d, axis=1, keepdims=True) + w.max(axis=1, keepdims=True) * np.minimum(curved, radius)
    steps = np.where(flat & (np.abs(d) <= p * _ROUNDING * noise), 0.0, steps)
    mu = np.zeros(len(d))
    outside = np.linalg.norm(steps, axis=1) > radius
    mu[outside] = _multipliers(w[outside], d[outside], radius)
    shifted = np.where(d[outside] == 0, 0.0, d[outside] / (w[outside] + mu[outside, None]))
    steps[outside] = shifted
    # Without a ball, a slope without any curvature has no minimiser: stay.
    return np.where(np.isinf(steps), 0.0, steps), mu


def _multipliers(w: np.ndarray, d: np.ndarray, radius: float) -> np.ndarray:
    """Return the root mu > 0 of the secular equation for each row; ||theta(0)|| > radius in all of them."""
    size = np.linalg.norm(d, axis=1)
    # ||theta(mu)|| is at least each |d_j|/(w_j + mu) and ||d||/(max w + mu), and at most ||d||/(min w + mu).
    low = np.maximum((np.abs(d) / radius - w).max(axis=1, initial=0.0), size / radius - w.max(axis=1, initial=0.0))
    high = np.maximum(size / radius - w.min(axis=1, initial=np.inf), low) * (1 + 4 * _EPS)
    mu = low
    for _ in range(STEPS):
        shifted = w + mu[:, None]
        ratio = np.where(d == 0, 0.0, d / shifted)
        squares = ratio * ratio
        norm = np.sqrt(squares.sum(axis=1))
        newton = mu + norm * norm / (squares / shifted).sum(axis=1, where=d != 0) * (norm / radius - 1)
        above = norm > radius
        low, high = np.where(above, mu, low), np.where(above, high, mu)
        following = np.where((newton >= low) & (newton <= high), newton, 0.5 * (low + high))
        done = (np.abs(norm - radius) <= 4 * _EPS * radius) | (following == mu)
        if done.all():
            break
        mu = np.where(done, mu, following)
    return mu
