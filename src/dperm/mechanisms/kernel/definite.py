r"""A function that is no kernel, since it is not positive semidefinite, is refused as soon as queries show it.

All that is promised rests on a feature map: K(z, v) = <phi(z), phi(v)>. Then no conditional variance is negative: with
L L' = K(Z, Z) + kappa R^2 I and c = L^{-1} K(Z, z),

    left = K(z, z) - ||c||^2 >= 0,

and as computed it is at least -kappa R^2, since `constants.nugget` covers the rounding of K and L. (If K(Z + z, Z + z)
is off by E, ||E|| <= kappa R^2, and a = (K(Z, Z) + kappa R^2 I)^{-1} K(Z, z), then left is at least
kappa R^2 ||a||^2 - ||E|| (1 + ||a||^2) >= -||E||.) A query with less is a proof that there is no phi.

The converse fails. Points that nobody asks about are not looked at; so the training rows never are, for a refusal would
tell of them. Nor is it seen how two queries relate that depend on the same earlier ones. A function that passes may
still be no kernel: that it is one remains the user's promise.
"""

import numpy as np
from scipy import linalg, sparse

from dperm.errors import DomainViolation
from dperm.kernels import Kernel
from dperm.mechanisms.kernel.constants import nugget
from dperm.mechanisms.queries import stacked
from dperm.solvers.blas import one_thread

# Queries that are kept; a further one costs the square of their number.
MOST = 128


def check(left: np.ndarray, allowed: float, kernel: Kernel) -> None:
    """Refuse a kernel of which a query has K(z, z) - ||c||^2, given those before, below -kappa R^2."""
    least = float(np.min(left, initial=0.0))
    if least < -allowed:
        raise DomainViolation(
            f"the {kernel.name} kernel is not positive semidefinite on these queries: given others, one has the "
            f"variance {least:.3g}; it has no feature map, so no sensitivity holds; take another kernel (or compute "
            "this one in float64)"
        )


class Watch:
    """Holds every query against those before it, of which it keeps up to `MOST` that do not follow from each other."""

    def __init__(self, kernel: Kernel):
        self._kernel, self._points, self._L = kernel, None, np.zeros((0, 0))

    def see(self, Z: np.ndarray | sparse.csr_array) -> None:
        """Look at some queries, one after another (Z (q, d))."""
        with one_thread():
            for i, own in enumerate(self._kernel.diagonal(Z)):
                self._see(Z[[i]], float(own))

    def _see(self, row, own):
        m = len(self._L)
        allowed = nugget(m + 1) * self._kernel.R**2
        c = linalg.solve_triangular(self._L, self._kernel(self._points, row)[:, 0], lower=True) if m else np.zeros(0)
        left = own - c @ c
        check(left, allowed, self._kernel)
        if m == MOST or left <= allowed:
            return
        grown = np.zeros((m + 1, m + 1))
        grown[:m, :m], grown[m, :m], grown[m, m] = self._L, c, np.sqrt(left + allowed)
        self._points = stacked(self._points, row)
        self._L = grown
