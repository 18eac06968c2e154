r"""A loss of rank-one Hessian that is no GLM loss: l(theta) = zeta ||theta|| over F = {theta_1 >= 1} in the plane.

Theorem 2 of kifer2012 asks for a Hessian of rank one at most, on F. This loss has it: ||grad l|| = zeta, and the
Hessian is zeta/||theta|| times the projection across theta, at most lambda = zeta on F. But its gradient turns with
theta, and the proof's step "Gamma is independent of b" (erratum K1) has nothing to stand on.

The law of theta given m such records, b ~ N(0, sigma^2 I), r = ||theta||, Phi and phi the standard normal's:

    inside F      density (2 pi sigma^2)^{-1} exp(-(Delta r + m zeta)^2/(2 sigma^2)) Delta (Delta + m zeta/r): theta
                  depends on b through the radius alone, so an arc of the angle 2 arccos(1/r) counts at once;
    theta = (1, s)  density of s on the boundary line, by -b_2 = h(s) = s (Delta + m zeta/sqrt(1 + s^2)) and
                  -b_1 <= Delta + m zeta/sqrt(1 + s^2):
                  phi(h/sigma) h'(s)/sigma Phi((Delta + m zeta/sqrt(1 + s^2))/sigma).

Neighbours: m and m + 1 records (add/remove).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

# Panels of a line and Gauss-Legendre nodes of a panel.
_PANELS, _NODES = 200, 12
# Beyond so many sigma nothing is left.
_DEPTH = 12.0


@dataclass(frozen=True)
class HalfPlane:
    """The laws of theta for m records and their divergences; `curvature` is Delta, `sigma` the noise's sd."""

    zeta: float
    curvature: float
    sigma: float

    def inside(self, root: np.ndarray, m: int) -> np.ndarray:
        """Return the density of sqrt(r - 1), of the part inside F."""
        r = 1 + root**2
        tilt = self.curvature * r + m * self.zeta
        density = np.exp(-0.5 * (tilt / self.sigma) ** 2) * self.curvature * (self.curvature + m * self.zeta / r)
        # r dr = r 2 root d root smooths the arc's root at r = 1 away.
        return density / (2 * math.pi * self.sigma**2) * 2 * np.arccos(1 / r) * r * 2 * root

    def boundary(self, s: np.ndarray, m: int) -> np.ndarray:
        """Return the density of s >= 0 on the boundary, both halves together."""
        pull = self.curvature + m * self.zeta / np.sqrt(1 + s**2)
        steep = self.curvature + m * self.zeta * (1 + s**2) ** -1.5
        normal = np.exp(-0.5 * (s * pull / self.sigma) ** 2) / (self.sigma * math.sqrt(2 * math.pi))
        return 2 * normal * steep * special.ndtr(pull / self.sigma)

    def mass(self, m: int) -> tuple[float, float]:
        """Return the probabilities of the inside and of the boundary."""
        parts = (self._above(density, m, None, 0.0) for density in (self.inside, self.boundary))
        return tuple(parts)

    def delta(self, epsilon: float, m: int, other: int) -> float:
        """Return sup_S P_m(S) - e^epsilon P_other(S)."""
        return sum(self._above(density, m, other, epsilon) for density in (self.inside, self.boundary))

    def epsilon(self, delta: float, m: int, other: int) -> float:
        """Return the least epsilon >= 0 at which `delta` is enough."""
        if self.delta(0.0, m, other) <= delta:
            return 0.0
        high = 1.0
        while self.delta(high, m, other) > delta:
            high *= 2
        return float(optimize.brentq(lambda epsilon: self.delta(epsilon, m, other) - delta, 0.0, high, xtol=1e-12))

    def _above(self, density, m: int, other: int | None, epsilon: float) -> float:
        """Integrate (f_m - e^epsilon f_other)_+ over one part; all of f_m without another."""

        def rest(x):
            return density(x, m) - (0.0 if other is None else math.exp(epsilon) * density(x, other))

        reach = _DEPTH * self.sigma / self.curvature
        high = math.sqrt(reach) if density == self.inside else reach
        edges = np.linspace(0.0, high, _PANELS + 1)
        values = rest(edges)
        roots = [
            optimize.brentq(rest, edges[k], edges[k + 1], xtol=1e-15)
            for k in np.flatnonzero(values[:-1] * values[1:] < 0)
        ]
        edges = np.sort(np.concatenate([edges, roots]))
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        half = 0.5 * np.diff(edges)[:, None]
        panels = (half * weights * rest(edges[:-1, None] + half * (1 + nodes))).sum(axis=1)
        return math.fsum(np.maximum(panels, 0.0))
