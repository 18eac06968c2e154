r"""Kernels K(x, v) = <phi(x), phi(v)> with a declared bound ||phi(x)|| = sqrt(K(x, x)) <= R.

    linear       <x, v>                          R = r                     L_phi = 1
    polynomial   (<x, v> + c)^k                  R = (r^2 + c)^(k/2)       L_phi = sqrt(f'(r^2) + r^2 f''(r^2))
    gaussian     exp(-||x - v||^2 / (2 b^2))     R = 1                     L_phi = 1 / b

for ||x|| <= r, with f(s) = (s + c)^k. L_phi is the least number with ||phi(x) - phi(v)|| <= L_phi ||x - v||: where K is
f(<x, v>), the Jacobian J of phi has J'J = f'(||x||^2) I + f''(||x||^2) x x'.

A polynomial kernel has an explicit map too (`monomials`).

Nothing here depends on a neighbouring relation: R enters a sensitivity in `dperm.mechanisms.kernel`.

References
----------
jain2013, Sections 2 and 6.2 (R and L_phi), Section 7 (the cubic kernel).
"""

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.spatial.distance import cdist

from dperm.compiled import compiled
from dperm.domain import LEAST, MOST, NORM_SLACK, number
from dperm.errors import DomainViolation
from dperm.kernels.explicit import monomials, power

__all__ = ["Kernel", "allowed", "custom", "gaussian", "gram", "linear", "monomials", "polynomial", "within"]

Rows = np.ndarray | sparse.csr_array | sparse.csr_matrix
Function = Callable[[Rows, Rows], np.ndarray]

# A Gram matrix, or an explicit map, takes at most so many bytes unless the caller allows more.
MEMORY = 2**30
# Dense rows of this size are made of a sparse second argument, for a product several times faster.
_DENSE_ENTRIES = 2**22
# Rows at a time, where the diagonal of a kernel is known by the kernel alone.
_BLOCK = 32
# Above every column of a sparse row.
_LAST = np.iinfo(np.int64).max
# A Gram matrix counts as positive semi-definite down to -T times this share of its largest diagonal entry.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Kernel:
    """A kernel and what is known about its feature map.

    Parameters
    ----------
    name : str
    function : callable
        Maps rows (n, d) and (m, d), dense or CSR, to K of shape (n, m).
    R : float
        Declared bound on sqrt(K(x, x)), public.
    lipschitz : float, optional
        L_phi on the declared domain; None where it is not known.
    squares : callable, optional
        Maps rows to K(x, x); by default it is taken from `function`.
    definite : bool
        Whether it is proved that `function` is a kernel, symmetric and positive semi-definite; else it is the word of
        who gives it, and what rests on it is `claimed`.
    """

    name: str
    function: Function
    R: float
    lipschitz: float | None = None
    squares: Callable[[Rows], np.ndarray] | None = None
    definite: bool = False

    def __call__(self, X: Rows, V: Rows) -> np.ndarray:
        """Return K(X, V).

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d)
        V : ndarray or CSR, shape (m, d)

        Returns
        -------
        ndarray, shape (n, m)
            float64.
        """
        return np.asarray(self.function(X, V), dtype=np.float64)

    def diagonal(self, X: Rows) -> np.ndarray:
        """Return K(x, x) of every row.

        Parameters
        ----------
        X : ndarray or CSR, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)
        """
        if self.squares is not None:
            return self.squares(X)
        blocks = [X[low : low + _BLOCK] for low in range(0, X.shape[0], _BLOCK)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self(block, block)) for block in blocks)])


def linear(x_norm: float = 1.0) -> Kernel:
    """Return <x, v>.

    Parameters
    ----------
    x_norm : float
        Public bound on ||x||; R is the same.

    Raises
    ------
    DomainViolation
        If the bound is outside [1e-30, 1e30].
    """
    r = _size("x_norm", x_norm)
    return Kernel("linear", _inner, r, 1.0, _squares, definite=True)


def polynomial(x_norm: float = 1.0, degree: int = 3, offset: float = 1.0) -> Kernel:
    """Return (<x, v> + offset)^degree; the defaults are jain2013's kernel, R^2 = 8.

    Parameters
    ----------
    x_norm : float
        Public bound on ||x||.
    degree : int
        At least 1.
    offset : float
        At least 0.

    Raises
    ------
    DomainViolation
        If a value is outside its range.
    """
    r, (degree, offset) = _size("x_norm", x_norm), power(degree, offset)
    top = r**2 + offset
    # f' + r^2 f'' at r^2.
    bend = degree * top ** (degree - 1) + (degree * (degree - 1) * top ** (degree - 2) * r**2 if degree > 1 else 0.0)
    return Kernel(
        f"polynomial, degree {degree}",
        functools.partial(_power, degree=degree, offset=offset),
        top ** (degree / 2),
        math.sqrt(bend),
        functools.partial(_power_squares, degree=degree, offset=offset),
        definite=True,
    )


def gaussian(bandwidth: float = 1.0) -> Kernel:
    """Return exp(-||x - v||^2 / (2 bandwidth^2)).

    Parameters
    ----------
    bandwidth : float
        In the units of x.

    Raises
    ------
    DomainViolation
        If the bandwidth is outside [1e-30, 1e30].
    """
    b = _size("bandwidth", bandwidth)
    return Kernel("gaussian", functools.partial(_bell, bandwidth=b), 1.0, 1 / b, _ones, definite=True)


def custom(function: Function, R: float, *, name: str = "custom", lipschitz: float | None = None) -> Kernel:
    """Return a user's kernel.

    Parameters
    ----------
    function : callable
        Maps rows (n, d) and (m, d), as the user gives them, to K of shape (n, m); symmetric, positive semi-definite.
    R : float
        Bound on sqrt(K(x, x)) that the user declares; `within` refuses rows above it.
    name : str
    lipschitz : float, optional
        L_phi, if known.

    Raises
    ------
    DomainViolation
        If R or lipschitz is outside [1e-30, 1e30].
    """
    known = None if lipschitz is None else _size("lipschitz", lipschitz)
    return Kernel(name, function, _size("R", R), known)


def within(kernel: Kernel, X: Rows) -> Rows:
    """Return X, every row of which has sqrt(K(x, x)) <= R.

    Up to a relative 1e-9 (`domain.NORM_SLACK`), as everywhere: a bound is held to the rounding of those who scaled rows
    to it, and a sensitivity is covered up to that share.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d)

    Returns
    -------
    ndarray or CSR
        `X` itself.

    Raises
    ------
    DomainViolation
        If K(x, x) of a row is above R^2, negative, or no number. The message gives no value of the data.
    """
    squares = kernel.diagonal(X)
    if not (np.isfinite(squares) & (squares >= 0)).all():
        raise DomainViolation(
            f"the {kernel.name} kernel has a K(x, x) that is negative, NaN or infinite; mend such rows"
        )
    if not _inside(kernel, squares).all():
        raise DomainViolation(
            f"there are rows with sqrt(K(x, x)) above R={kernel.R:g} of the {kernel.name} kernel; declare the larger "
            "public bound (x_norm or R), or scale the rows to it"
        )
    return X


def allowed(kernel: Kernel, X: Rows) -> np.ndarray:
    """Return which rows `within` would not refuse.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray or CSR, shape (n, d)

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    with np.errstate(all="ignore"):
        return _inside(kernel, kernel.diagonal(X))


def _inside(kernel, squares):
    return (squares >= 0) & (squares <= (kernel.R * (1 + NORM_SLACK)) ** 2)


def gram(kernel: Kernel, Z: Rows, *, memory: float = MEMORY) -> np.ndarray:
    """Return K(Z, Z), checked.

    Parameters
    ----------
    kernel : Kernel
    Z : ndarray or CSR, shape (T, d)
        Public points.
    memory : float
        Bytes allowed for the matrix, its eigenvectors and one matrix of work space.

    Returns
    -------
    ndarray, shape (T, T)
        Symmetric to the last bit.

    Raises
    ------
    DomainViolation
        If T needs more memory than allowed, a row is above R, or the matrix is not symmetric and positive
        semi-definite: no feature map has such products, so no sensitivity holds.
    """
    T = Z.shape[0]
    need = 24 * T**2
    if need > memory:
        raise DomainViolation(
            f"T={T} public points need {need / 1e6:,.0f} MB (24 bytes for each pair), and memory={memory:.4g} allows "
            f"{memory / 1e6:,.0f} MB; take at most T={math.isqrt(int(memory // 24))} points, or allow more memory"
        )
    K = kernel(within(kernel, Z), Z)
    largest = float(np.diagonal(K).max(initial=0.0))
    slack = max(T, 1) * _ROUNDING * largest
    if not (K.shape == (T, T) and np.isfinite(K).all() and np.abs(K - K.T).max(initial=0.0) <= slack + 1e-9 * largest):
        raise DomainViolation(f"the {kernel.name} kernel is not finite and symmetric on Z; a kernel is, by definition")
    K = (K + K.T) / 2
    shifted = K.copy()
    shifted.flat[:: T + 1] += max(slack, LEAST)
    try:
        linalg.cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        raise DomainViolation(
            f"the {kernel.name} kernel is not positive semi-definite on Z: it has no feature map, so no sensitivity "
            "holds; take another kernel"
        ) from None
    return K


def _inner(X, V):
    """Return <x, v> of all pairs, dense."""
    if sparse.issparse(X) and sparse.issparse(V):
        small = V.shape[0] * V.shape[1] <= _DENSE_ENTRIES
        return X @ V.toarray().T if small else (X @ V.T).toarray()
    if sparse.issparse(V):
        return (V @ np.asarray(X, dtype=np.float64).T).T
    return X @ np.asarray(V, dtype=np.float64).T


# The kernels are partial applications of these, not closures: a fitted model that holds one can be pickled.
def _power(X, V, *, degree, offset):
    base = _inner(X, V) + offset
    out = base
    # NumPy's own power is several times slower.
    for bit in f"{degree:b}"[1:]:
        out = out * out
        if bit == "1":
            out *= base
    return out


def _power_squares(X, *, degree, offset):
    return (_squares(X) + offset) ** degree


def _bell(X, V, *, bandwidth):
    return np.exp(_apart(X, V) / (-2 * bandwidth**2))


def _apart(X, V):
    """Return ||x - v||^2 of all pairs, from differences.

    ||x||^2 - 2 <x, v> + ||v||^2 loses, far from the origin, all digits and with them positive semi-definiteness.
    """
    if not (sparse.issparse(X) or sparse.issparse(V)):
        return cdist(np.asarray(X, dtype=np.float64), np.asarray(V, dtype=np.float64), "sqeuclidean")
    X, V = (sparse.csr_array(rows, dtype=np.float64, copy=True) for rows in (X, V))
    for rows in (X, V):
        rows.sum_duplicates()
    return _merged(X.indptr, X.indices, X.data, V.indptr, V.indices, V.data)


@compiled
def _merged(ends, columns, values, other_ends, other_columns, other_values):
    """Return ||x - v||^2 of CSR rows with sorted columns."""
    n, m = len(ends) - 1, len(other_ends) - 1
    out = np.empty((n, m))
    for i in range(n):
        for k in range(m):
            a, b, total = ends[i], other_ends[k], 0.0
            while a < ends[i + 1] or b < other_ends[k + 1]:
                left = columns[a] if a < ends[i + 1] else _LAST
                right = other_columns[b] if b < other_ends[k + 1] else _LAST
                d = 0.0
                if left <= right:
                    d += values[a]
                    a += 1
                if right <= left:
                    d -= other_values[b]
                    b += 1
                total += d * d
            out[i, k] = total
    return out


def _ones(X):
    return np.ones(X.shape[0])


def _squares(X):
    """Return ||x||^2 of every row."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    X = np.asarray(X, dtype=np.float64)
    return np.einsum("ij,ij->i", X, X)


def _size(name, value):
    return number(name, value, LEAST, MOST, ends="[]", error=DomainViolation, remedy="it is a public bound")
