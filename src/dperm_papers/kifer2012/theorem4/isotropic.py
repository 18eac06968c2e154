r"""Algorithm 1 of kifer2012 on an isotropic design over a ball, exactly: the mean excess risk without a sample.

With the squared loss, X'X = c I, X'y = c theta_hat and F = {||theta||_2 <= rho}, T = ||theta_hat||_2 <= rho, the tilted
risk is a multiple of the squared distance from

    v = (c theta_hat - b)/(c + Delta),       so that theta_priv is the projection of v onto F.

b has a direction that is uniform on the sphere and independent of its length B = ||b||. With phi the angle between b
and theta_hat, of density proportional to sin^{p-2} phi on [0, pi],

    r^2 = ||v||^2 = ((c T)^2 - 2 c T B cos phi + B^2)/(c + Delta)^2,
    a = <v, theta_hat> = (c T^2 - T B cos phi)/(c + Delta),

    E ||theta_priv - theta_hat||^2 = ((Delta T)^2 + E B^2)/(c + Delta)^2 - E[(r - rho)(r + rho - 2 a/r); r > rho],

where the last term is what the projection gains. It is a double integral of a smooth function over

    r > rho   <=>   cos phi < ((c T)^2 + B^2 - rho^2 (c + Delta)^2)/(2 c T B),

which no B below rho (c + Delta) - c T reaches. Gauss-Legendre panels of one standard deviation of B and of phi leave an
error near rounding. The excess of the sum of losses is c/2 times this mean. B is Gamma(p, scale) (gamma noise) or scale
times chi_p (Gaussian noise). No neighbouring relation is meant here: the noise is the caller's.
"""

import itertools
import math

import numpy as np
from scipy import special

from dperm.noise import Gaussian, SphericalLaplace

Noise = Gaussian | SphericalLaplace
# Beyond the quantiles of this tail B is left out; beyond _REACH standard deviations, so is phi (1e-19 of its mass).
_TAIL, _REACH = 1e-19, 9.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def second_moment(noise: Noise, p: int) -> float:
    """Return E B^2 = p scale^2 (Gaussian), p (p + 1) scale^2 (gamma)."""
    return p * noise.scale**2 * (1 if isinstance(noise, Gaussian) else p + 1)


def length_quantile(noise: Noise, p: int, share: float | np.ndarray, *, upper: bool = False) -> float | np.ndarray:
    """Return t with P(||b|| <= t) = share; with `upper` P(||b|| > t) = share, which keeps its digits where small."""
    inverse = special.gammainccinv if upper else special.gammaincinv
    if isinstance(noise, Gaussian):
        return noise.scale * np.sqrt(2 * inverse(p / 2, share))
    return noise.scale * inverse(p, share)


def mean_distance(
    noise: Noise, p: int, *, eigenvalue: float, curvature: float, length: float, radius: float
) -> tuple[float, float]:
    """Return E ||theta_priv - theta_hat||_2^2, and how much of it the projection onto F has taken off, for p >= 2.

    By the formula in this module's docstring: X'X = c I, Delta = `curvature`, T = ||theta_hat||_2 = `length` <=
    rho, the radius of F, noise of scale above 0 (kifer2012, Algorithm 1).
    """
    stiff = eigenvalue + curvature
    centre, bias = eigenvalue * length / stiff, curvature * length / stiff
    mean = bias**2 + second_moment(noise, p) / stiff**2
    gain = _projected(noise, p, stiff, centre, length, radius)
    return mean - gain, gain


def _projected(noise: Noise, p: int, stiff: float, centre: float, length: float, radius: float) -> float:
    """Integrate what the projection takes off: (r - rho)(r + rho - 2 a/r) where r > rho."""
    least = max(stiff * (radius - centre), float(length_quantile(noise, p, _TAIL)))
    most = float(length_quantile(noise, p, _TAIL, upper=True))
    if least >= most:
        return 0.0
    # From here on every direction leaves F.
    everywhere = stiff * (radius + centre)
    edges = [least, *([everywhere] if least < everywhere < most else []), most]
    B, weight = _panels(edges, noise.scale * math.sqrt(0.5 if isinstance(noise, Gaussian) else p))
    weight = weight * np.exp(_log_density(noise, p, B))
    away = (B / stiff)[:, None]
    far = min(math.pi / 2, _REACH / math.sqrt(p - 1))
    cosine = np.clip((centre**2 + away**2 - radius**2) / (2 * centre * away), -1.0, 1.0)
    start = np.clip(np.arccos(cosine), math.pi / 2 - far, math.pi / 2 + far)
    # Even panels from each start to the end, of at most one standard deviation of phi.
    share, heft = _panels([0.0, 1.0], 1 / math.ceil(2 * _REACH))
    width = math.pi / 2 + far - start
    phi = start + width * share
    r = np.sqrt(np.maximum(centre**2 - 2 * centre * away * np.cos(phi) + away**2, radius**2))
    a = length * (centre - away * np.cos(phi))
    taken = (r - radius) * (r + radius - 2 * a / r)
    log_sphere = special.gammaln(p / 2) - special.gammaln((p - 1) / 2) - 0.5 * math.log(math.pi)
    # At the ends, where phi is 0 or pi only for tiny p, sin is 0 and its power too.
    direction = np.exp(log_sphere + special.xlogy(p - 2, np.maximum(np.sin(phi), 0.0)))
    return float(weight @ (width * taken * direction @ heft[:, None])[:, 0])


def _log_density(noise: Noise, p: int, B: np.ndarray) -> np.ndarray:
    """Return the log density of B."""
    z = B / noise.scale
    if isinstance(noise, Gaussian):
        base = (p / 2 - 1) * math.log(2) + special.gammaln(p / 2) + math.log(noise.scale)
        return special.xlogy(p - 1, z) - 0.5 * z**2 - base
    return special.xlogy(p - 1, z) - z - special.gammaln(p) - math.log(noise.scale)


def _panels(edges: list[float], width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of Gauss-Legendre on panels of at most this width between the edges."""
    nodes, weights = [], []
    for low, high in itertools.pairwise(edges):
        cuts = np.linspace(low, high, max(1, math.ceil((high - low) / width)) + 1)
        half = np.diff(cuts)[:, None] / 2
        nodes.append((cuts[:-1, None] + half * (1 + _NODES)).ravel())
        weights.append((half * _WEIGHTS).ravel())
    return np.concatenate(nodes), np.concatenate(weights)
