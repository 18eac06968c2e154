r"""Many quadratics with an l1 norm and a box, within an l2 ball: a multiplier for the ball, `gram` for the rest.

    theta_r = argmin  1/2 theta'G theta - <c_r, theta> + l1 ||theta||_1,   low <= theta <= high, ||theta||_2 <= radius,

with 0 in the box, so that the set is not empty. Where the minimiser without the ball is outside, there is a mu > 0 for
which

    theta(mu) = argmin_{box}  1/2 theta'(G + mu I) theta - <c_r, theta> + l1 ||theta||_1

is on the sphere, and the minimiser. ||theta(mu)|| falls in mu, and is at most ||c||/(modulus + mu), which brackets the
root. On the face of theta(mu), where signs, zeros and bounds are held, the problem is a quadratic over a ball, which
`ball` solves exactly, multiplier included: that point is the answer once the face is the right one, and its multiplier
the next mu before (the bracket's middle where it lies outside). There are finitely many faces.
"""

from dataclasses import dataclass

import numpy as np

from dperm.solvers import ball, gram
from dperm.solvers.blas import one_thread

# Of a bracket that is halved every time: it ends between neighbouring doubles before.
_STEPS = 200


@dataclass(frozen=True)
class Solution:
    """What `minimise` found: theta (R, p) within box and ball (up to a few ulps); iterations: multipliers tried."""

    theta: np.ndarray
    subgradient_norm: np.ndarray
    iterations: np.ndarray


def minimise(
    G: np.ndarray,
    c: np.ndarray,
    *,
    radius: float,
    modulus: float,
    tolerance: float,
    l1: float = 0.0,
    low: float = -np.inf,
    high: float = np.inf,
    start: np.ndarray | None = None,
) -> Solution:
    """Minimise the quadratics of the module's text, one after the other.

    - G: shape (p, p) or (R, p, p); symmetric; least eigenvalue >= modulus, which the caller vouches for.
    - tolerance: above 0; bound aimed at for the least norm of a subgradient.
    - l1, low, high: l1 >= 0, low <= 0 <= high; one for all coordinates.
    - Returns: a problem that did not reach the tolerance is returned as it is.
    """
    theta = np.zeros(c.shape) if start is None else np.array(start, dtype=np.float64)
    norm, iterations = np.empty(len(c)), np.empty(len(c), int)
    given = {"modulus": modulus, "l1": l1, "low": low, "high": high}
    with one_thread():
        for r in range(len(c)):
            own = G if G.ndim == 2 else G[r]
            theta[r], norm[r], iterations[r] = _one(own, c[r], radius, tolerance, theta[r], **given)
    return Solution(theta, norm, iterations)


def subgradient_norm(
    theta: np.ndarray, gradient: np.ndarray, radius: float, l1: float, low: float, high: float
) -> np.ndarray:
    """Return a bound on the least norm of a subgradient of f + l1 ||.||_1 plus the normal cones of ball and box.

    - Returns: shape (R,); 0 at a minimiser; infinite outside the set. The ball's part t theta has the t >= 0 that is
      best for the coordinates that are neither 0 nor at a bound; 0 where that is no worse.
    """
    free = (theta != 0) & (theta > low) & (theta < high)
    inner = np.where(free, theta, 0.0)
    with np.errstate(all="ignore"):
        t = -np.einsum("rj,rj->r", inner, gradient + l1 * np.sign(theta)) / np.einsum("rj,rj->r", inner, inner)
        norms = np.linalg.norm(theta, axis=1)
    on_sphere = norms >= radius * (1 - ball.SPHERE_SLACK)
    t = np.where(on_sphere & np.isfinite(t), np.maximum(t, 0.0), 0.0)
    pushed = gram.subgradient_norm(theta, gradient + t[:, None] * theta, l1, low, high)
    least = np.minimum(pushed, gram.subgradient_norm(theta, gradient, l1, low, high))
    return np.where(norms <= radius * (1 + ball.SPHERE_SLACK), least, np.inf)


def _one(G, c, radius, tolerance, theta, modulus, l1, low, high):
    """Return theta, its residual and the number of multipliers tried."""
    box = {"l1": l1, "low": low, "high": high}
    least, most, mu = 0.0, float(np.linalg.norm(c)) / radius, 0.0
    best, residual = theta, np.inf
    for step in range(1, _STEPS + 1):
        # What overflowed is begun anew.
        found = gram.minimise(
            G, c[None], ridge=mu, modulus=modulus, tolerance=tolerance, start=np.nan_to_num(theta), **box
        )
        theta = found.theta[0]
        inside = np.linalg.norm(theta) <= radius
        if inside and mu == 0:
            return theta, found.subgradient_norm[0], step
        point, root = _on_face(G, c, theta, radius, **box)
        here = float(subgradient_norm(point[None], (G @ point - c)[None], radius, **box)[0])
        if here < residual:
            best, residual = point, here
        least, most = (least, mu) if inside else (mu, most)
        mu = root if least < root < most else 0.5 * (least + most)
        if residual <= tolerance or not least < mu < most:
            break
    return best, residual, step


def _on_face(G, c, theta, radius, l1, low, high):
    """Return the minimiser over the ball with the signs, zeros and bounds of theta held, and its multiplier."""
    free = (theta > low) & (theta < high) & ((theta != 0) | (l1 == 0))
    held = np.where(free, 0.0, theta)
    room = radius**2 - held @ held
    if not free.any() or room <= 0:
        return theta, np.nan
    slope = (c - l1 * np.sign(theta) - G @ held)[free]
    found = ball.minimise(G[np.ix_(free, free)], slope[None], radius=float(np.sqrt(room)))
    held[free] = found.theta[0]
    return held, float(found.multiplier[0])
