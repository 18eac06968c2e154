r"""The lasso without a support to start from: what is private and known fails, says kifer2012 (Sections 1 and 1.1.2).

Algorithm 1 on all p features, with F = {||theta||_1 <= s} (the constrained lasso) and all of (epsilon, delta). Entries
of X are +-1 and |y| <= s, so that |<x, theta>| <= s, zeta = 2 s sqrt(p), lambda = p and Delta = 2 p/epsilon. zeta rests
on ||x||_inf ||theta||_1, which is smaller than ||x||_2 ||theta||_2: the noise is the least that Algorithm 1 can have.

    theta = argmin_{||theta||_1 <= s}  J(theta) = 1/2 ||y - X theta||^2 + Delta/2 ||theta||^2 + <b, theta>.

J is Delta-strongly convex and, with ||X||_2^2 near (sqrt(n) + sqrt(p))^2, well conditioned: projected gradient steps
with momentum gain a digit in a few. Certificate (Jaggi, ICML 2013), with g the gradient at theta:

    J(theta) - J* <= <g, theta> + s ||g||_inf,        ||theta - theta*||^2 <= 2 (J(theta) - J*)/Delta.

The techniques before kifer2012, both with pure privacy, are `earlier`: objective perturbation with gamma noise, and
output perturbation: the minimiser without b over F, which one record moves by zeta/Delta, and noise of density
proportional to exp(-epsilon Delta ||z||/zeta); the sum's nearest point of F is released.

Neighbours: add/remove (Definition 1).
"""

import math

import numpy as np

from dperm import losses
from dperm.domain import Budget, Domain, changed_gradients
from dperm.mechanisms import objective, output
from dperm.noise import Gaussian, SphericalLaplace
from dperm_papers.kifer2012.shared import designs
from dperm_papers.kifer2012.shared.case_study import Spending

# The distance from the minimiser that is asked for, in units of the radius.
TOLERANCE = 1e-6
STEPS = 500
# ||X||_2^2 of random signs over (sqrt(n) + sqrt(p))^2 is below this; if it were not, the certificate would say so.
_SPECTRUM = 1.1


def ratio(n: int, p: int, size: int, spending: Spending, rng: np.random.Generator) -> tuple[float, bool]:
    """Return L(theta)/L(0) of one release on fresh data of `rad` (drawn first), and whether it is certified."""
    X, y, _ = designs.rademacher(n, p, size, rng)
    curvature = 2 * p / spending.epsilon
    tilt = _law(p, size, curvature, Budget(spending.epsilon, spending.delta), spending).sample((p,), rng)
    theta, distance = minimise(X, X.T @ y - tilt, curvature=curvature, radius=float(size))
    return _share(X, y, theta), distance <= TOLERANCE * size


def earlier(
    technique: str, n: int, p: int, size: int, multiple: float, spending: Spending, rng: np.random.Generator
) -> tuple[float, bool]:
    """Return what `ratio` does of "objective" or "output" at delta = 0, where Delta is `multiple` times 2 p/epsilon."""
    X, y, _ = designs.rademacher(n, p, size, rng)
    curvature, budget = multiple * 2 * p / spending.epsilon, Budget(spending.epsilon)
    if technique == "objective":
        tilt = _law(p, size, curvature, budget, spending).sample((p,), rng)
        theta, distance = minimise(X, X.T @ y - tilt, curvature=curvature, radius=float(size))
        return _share(X, y, theta), distance <= TOLERANCE * size
    sensitivity = changed_gradients(spending.neighbours) * 2 * size * math.sqrt(p) / curvature
    law, _ = output.calibrate(sensitivity, budget, calibration="paper")
    theta, distance = minimise(X, X.T @ y, curvature=curvature, radius=float(size))
    return _share(X, y, project(theta + law.sample((p,), rng), float(size))), distance <= TOLERANCE * size


def _law(p: int, size: int, curvature: float, budget: Budget, spending: Spending) -> Gaussian | SphericalLaplace:
    """Return the law of Algorithm 1's b."""
    # ||theta||_2 = s/sqrt(p) would give the same |<x, theta>| <= s, which is all that zeta knows of F.
    domain = Domain(x_norm=math.sqrt(p), y_bound=float(size), theta_norm=size / math.sqrt(p))
    law, _ = objective.calibrate(
        losses.squared(), domain, budget, curvature=curvature, calibration=spending.calibration,
        neighbours=spending.neighbours,
    )  # fmt: skip
    return law


def _share(X: np.ndarray, y: np.ndarray, theta: np.ndarray) -> float:
    residual = y - X @ theta
    return float(residual @ residual / (y @ y))


def minimise(X: np.ndarray, c: np.ndarray, *, curvature: float, radius: float) -> tuple[np.ndarray, float]:
    """Minimise 1/2 ||X theta||^2 - <c, theta> + curvature/2 ||theta||^2 over an l1 ball, with a certificate.

    That bounds the l2 distance to the exact minimiser. ||X||_2^2 must be at most 1.1 (sqrt(n) + sqrt(p))^2, as that of
    independent signs.
    """
    n, p = X.shape
    largest = curvature + _SPECTRUM * (math.sqrt(n) + math.sqrt(p)) ** 2
    root = math.sqrt(curvature / largest)
    momentum = (1 - root) / (1 + root)
    theta = ahead = np.zeros(p)
    for step in range(STEPS):
        last, theta = theta, project(ahead - _gradient(X, c, curvature, ahead) / largest, radius)
        ahead = theta + momentum * (theta - last)
        # The certificate costs as much as a step.
        if step % 5 == 4 and (distance := _distance(X, c, curvature, radius, theta)) <= TOLERANCE * radius:
            return theta, distance
    return theta, _distance(X, c, curvature, radius, theta)


def project(theta: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest point of the l1 ball (Duchi, Shalev-Shwartz, Singer and Chandra, ICML 2008)."""
    size = np.abs(theta)
    if size.sum() <= radius:
        return theta
    falling = np.sort(size)[::-1]
    thresholds = (np.cumsum(falling) - radius) / np.arange(1, len(theta) + 1)
    threshold = thresholds[np.flatnonzero(falling > thresholds)[-1]]
    return np.sign(theta) * np.maximum(size - threshold, 0.0)


def _gradient(X: np.ndarray, c: np.ndarray, curvature: float, theta: np.ndarray) -> np.ndarray:
    return X.T @ (X @ theta) - c + curvature * theta


def _distance(X: np.ndarray, c: np.ndarray, curvature: float, radius: float, theta: np.ndarray) -> float:
    g = _gradient(X, c, curvature, theta)
    return math.sqrt(2 * max(g @ theta + radius * np.abs(g).max(), 0.0) / curvature)
