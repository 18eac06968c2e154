r"""A linear loss on the unit ball in p dimensions, where all that a learner needs of n records is their sum.

Records: y = +-1 evenly, x = y z, the entries of z independent, +-1/sqrt p of mean mu/sqrt p. So x lies in
{+-1/sqrt p}^p, E[y x] = mu u with u = (1, .., 1)/sqrt p, and for ||w|| <= 1 |<w, x>| <= 1, hence

    l(w) = |y - <w, x>| = 1 - <w, z>,      excess = mu (1 - <w, u>).

S = sum z_i has independent entries T_j/sqrt p, T_j = 2 B_j - n, B_j binomial(n, (1 + mu)/2).

Models (`direction`). Without privacy w = S/||S||. Objective perturbation minimises sum l + <b, w> over the ball: for a
linear loss a function of the sum S - b alone, w = (S - b)/||S - b||, so whatever makes that sum private is enough,
without any curvature. Its sensitivity is 2 (replace-one, ||z|| = 1): gamma noise (density exp(-||b||/s), s =
2/epsilon) or Gaussian (sigma = 2/a, delta = H_epsilon(a)). With V = sqrt p (S - b) and 1/||V|| = 2/sqrt pi times the
integral of e^{-t^2 ||V||^2} over t > 0,

    E <w, u> = 2 sqrt(p/pi) int_0^inf E[V_1 e^{-t^2 V_1^2}] (E e^{-t^2 V_1^2})^{p - 1} dt,

one binomial sum with Gaussian noise in closed form; gamma noise is Gaussian noise of variance W ~ Gamma((p + 1)/2,
2 s^2), over which a further sum is taken. The integrands are smooth and even, so the trapezoidal sums are exact to
rounding.

Stable ERM (`stable_excess`) minimises mean l + lambda ||w||^2: w = phi S, phi = min(1/(2 lambda n), 1/||S||). An answer
has Laplace noise of scale b, which costs b e^{-|y - <w, x>|/b}; over a fresh record that is

    b e^{-1/b} prod_j (cosh c_j + mu sinh c_j),    c_j = w_j/(b sqrt p).

S alone is drawn, through how many of its entries have each value.

References
----------
dwork2018, Section 2.1 (Convex regression) and Corollary 4.11; the l2 mechanism: Chaudhuri, Monteleoni & Sarwate 2011.
"""

import math

import numpy as np
from scipy import special, stats

# Half the width of a binomial sum in standard deviations, and its terms in one of them (all integers if that is less).
_REACH, _DENSITY = 9.0, 10
# Trapezoidal sums: over t = 2 sinh(h k)/||V||, and over log W.
_STEP, _STEPS, _MIXED = 0.1, 60, 80
_TAIL = 1e-15


def direction(n: int, mu: float, p: int, *, sigma: float = 0.0, gamma: float = 0.0) -> float:
    """Return E <w, u> of w = (S - b)/||S - b||, mu in [0, 1], p >= 2.

    b is Gaussian of standard deviation `sigma` an entry, or gamma noise of scale s = `gamma`; not both.
    """
    values, weights = binomial(n, mu)
    variances, shares = mixture(p, gamma) if gamma else (np.array([sigma**2]), np.ones(1))
    return float(
        sum(share * _direction(values, weights, p, p * var) for var, share in zip(variances, shares, strict=True))
    )


def stable_excess(
    n: int, mu: float, p: int, *, curvature: float, scale: float, repeats: int, rng: np.random.Generator
) -> np.ndarray:
    """Return, for `repeats` independent S, the excess of stable ERM given S, noise and fresh record integrated.

    `curvature` is lambda, `scale` is b, both above 0; mu is in [0, 1].
    """
    values, counts = entries(n, mu, p, repeats, rng)
    length = np.sqrt((counts * values**2).sum(axis=1) / p)
    phi = np.minimum(1 / (2 * curvature * n), 1 / np.maximum(length, _TAIL))
    along = phi * (counts * values).sum(axis=1) / p
    c = (phi / (scale * p))[:, None] * values
    # log(cosh c + mu sinh c), without overflow.
    grown = np.abs(c) + np.log((1 + mu * np.sign(c)) / 2 + (1 - mu * np.sign(c)) / 2 * np.exp(-2 * np.abs(c)))
    return mu * (1 - along) + scale * np.exp((counts * grown).sum(axis=1) - 1 / scale)


def entries(n: int, mu: float, p: int, repeats: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw T: values and how often each occurs, both broadcast to (repeats, cells)."""
    q, around = (1 + mu) / 2, math.ceil(_REACH * math.sqrt(n) / 2)
    if p <= 2 * around or mu == 1:
        return 2.0 * rng.binomial(n, q, (repeats, p)) - n, np.ones((1, p))
    centre = round(n * q)
    cells = np.arange(max(centre - around, 0), min(centre + around, n) + 1)
    mass = stats.binom.pmf(cells, n, q)
    return (2.0 * cells - n)[None, :], rng.multinomial(p, mass / mass.sum(), repeats)


def binomial(n: int, mu: float) -> tuple[np.ndarray, np.ndarray]:
    """Values of T and their weights; where many share a standard deviation, equally spaced ones stand for all."""
    q = (1 + mu) / 2
    deviation = math.sqrt(n * q * (1 - q))
    stride = max(int(deviation / _DENSITY), 1)
    centre, around = round(n * q), math.ceil((_REACH * deviation + 20) / stride)
    k = centre + stride * np.arange(-around, around + 1)
    k = k[(k >= 0) & (k <= n)]
    mass = stats.binom.pmf(k, n, q)
    return 2.0 * k - n, mass / mass.sum()


def mixture(p: int, gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """Variances of the Gaussians that gamma noise is a mixture of, and their shares."""
    shape = (p + 1) / 2
    low, high = special.gammaincinv(shape, _TAIL), special.gammainccinv(shape, _TAIL)
    logs = np.linspace(math.log(low), math.log(high), _MIXED)
    density = np.exp(shape * logs - np.exp(logs) - (shape * logs - np.exp(logs)).max())
    return 2 * gamma**2 * np.exp(logs), density / density.sum()


def _direction(values: np.ndarray, weights: np.ndarray, p: int, variance: float) -> float:
    """E <w, u> with Gaussian noise of this variance in every entry of V."""
    length = math.sqrt(p * (weights @ values**2 + variance))
    y = _STEP * np.arange(_STEPS + 1)
    t, rise = 2 * np.sinh(y) / length, 2 * np.cosh(y) / length
    broad = 1 + 2 * t**2 * variance
    kernel = np.exp(-((t**2 / broad)[:, None]) * values**2)
    plain = kernel @ weights / np.sqrt(broad)
    first = kernel @ (weights * values) / broad**1.5
    # The integrand is even: half of its value at 0.
    terms = first * plain ** (p - 1) * rise
    return 2 * math.sqrt(p / math.pi) * _STEP * float(terms.sum() - terms[0] / 2)
