"""The cones of Clarabel: whether a ball is in one, a point inside, and the map of a dual cone onto its cone.

Layout of a factor: `nonneg` v >= 0; `soc` v_0 >= |v_1..|; `psd` the columns of the upper triangle, those off the
diagonal times sqrt(2), which is an isometry; `exp` y exp(x/y) <= z for y > 0; `power` prod x_i^a_i >= |w| with
sum_i a_i = 1, w the last. The first three are their own duals. (u, v, w) is in the dual of `exp` if (u - v, -u, w) is
in `exp`, and (x, w) in that of `power` if (x_i/a_i, w) is in `power`.

Sources: Boyd and Vandenberghe, Convex Optimization, section 2.6. Clarabel's documentation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

_EPS = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Cone:
    """One factor of a product of cones; exponents: of `power`."""

    kind: str
    rows: slice
    exponents: tuple[float, ...] = ()


def product(dims: Any) -> list[Cone]:
    """Return the factors that follow the equalities in cvxpy's data for Clarabel.

    - dims: cvxpy's ConeDims; `nonneg` and `exp` are counts, `soc` and `psd` sizes, `p3d` exponents and `pnd` lists of
      them.
    """
    sizes = [("nonneg", dims.nonneg, ())] if dims.nonneg else []
    sizes += [("soc", size, ()) for size in dims.soc]
    sizes += [("psd", order * (order + 1) // 2, ()) for order in dims.psd]
    sizes += [("exp", 3, ())] * dims.exp
    sizes += [("power", 3, (float(first), 1 - float(first))) for first in dims.p3d]
    sizes += [("power", len(all_) + 1, tuple(map(float, all_))) for all_ in getattr(dims, "pnd", ())]
    found, at = [], 0
    for kind, size, exponents in sizes:
        found.append(Cone(kind, slice(at, at + int(size)), exponents))
        at += int(size)
    return found


def stated(zeros: int, factors: Sequence[Cone]) -> list[Any]:
    """Return Clarabel's own words for equalities and factors (zeros: number of equalities, which come first)."""
    import clarabel

    found = [clarabel.ZeroConeT(zeros)] if zeros else []
    for one in factors:
        size = one.rows.stop - one.rows.start
        if one.kind == "nonneg":
            found.append(clarabel.NonnegativeConeT(size))
        elif one.kind == "soc":
            found.append(clarabel.SecondOrderConeT(size))
        elif one.kind == "psd":
            found.append(clarabel.PSDTriangleConeT(_order(size)))
        elif one.kind == "exp":
            found.append(clarabel.ExponentialConeT())
        else:
            found.append(clarabel.GenPowerConeT(list(one.exponents), 1))
    return found


def middle(factors: Sequence[Cone]) -> np.ndarray:
    """Return a point well inside each factor, of about length 1."""
    found = np.zeros(factors[-1].rows.stop if factors else 0)
    for one in factors:
        part = found[one.rows]
        if one.kind == "soc":
            part[0] = 1.0
        elif one.kind == "psd":
            places = np.arange(1, _order(len(part)) + 1)
            part[places * (places + 1) // 2 - 1] = 1.0
        elif one.kind == "exp":
            part[:] = (-1.0, 1.0, 1.0)
        else:
            part[: len(part) - (one.kind == "power")] = 1.0
    return found


def from_dual(factors: Sequence[Cone]) -> np.ndarray:
    """Return the matrix that maps the dual cone onto the cone (ndarray, square)."""
    found = np.eye(factors[-1].rows.stop if factors else 0)
    for one in factors:
        if one.kind == "exp":
            found[one.rows, one.rows] = [[1, -1, 0], [-1, 0, 0], [0, 0, 1]]
        elif one.kind == "power":
            found[one.rows, one.rows] = np.diag([*(1 / np.asarray(one.exponents)), 1.0])
    return found


def smooth(factors: Sequence[Cone]) -> bool:
    """Return whether `projection` serves all factors: whether all are their own duals."""
    return all(one.kind in _PROJECTIONS for one in factors)


def projection(v: np.ndarray, factors: Sequence[Cone]) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest point of a product of self-dual factors, and a derivative there (one of them at a kink)."""
    nearest, derivative = np.zeros_like(v), np.zeros((len(v), len(v)))
    for one in factors:
        nearest[one.rows], derivative[one.rows, one.rows] = _PROJECTIONS[one.kind](v[one.rows])
    return nearest, derivative


def _onto_nonneg(v):
    return np.maximum(v, 0.0), np.diag((v > 0).astype(float))


def _onto_soc(v):
    length = np.linalg.norm(v[1:])
    if length <= v[0]:
        return v, np.eye(len(v))
    if length <= -v[0]:
        return np.zeros_like(v), np.zeros((len(v), len(v)))
    u, share = v[1:] / length, v[0] / length
    derivative = np.empty((len(v), len(v)))
    derivative[0, 0], derivative[0, 1:], derivative[1:, 0] = 1.0, u, u
    derivative[1:, 1:] = (1 + share) * np.eye(len(u)) - share * np.outer(u, u)
    return 0.5 * (v[0] + length) * np.concatenate([[1.0], u]), 0.5 * derivative


def _onto_psd(v):
    values, Q = linalg.eigh(_matrix(v))
    high, low = np.maximum(values, 0.0), np.maximum(-values, 0.0)
    # Between eigenvalues a > 0 >= b the derivative is a/(a - b).
    total = high[:, None] + high + low[:, None] + low
    weights = np.divide(high[:, None] + high, total, out=np.ones_like(total), where=total > 0)
    basis = np.array([_matrix(row) for row in np.eye(len(v))])
    moved = np.matmul(Q, np.matmul(weights * np.matmul(Q.T, np.matmul(basis, Q)), Q.T))
    return _triangle((Q * high) @ Q.T), np.array([_triangle(one) for one in moved])


_PROJECTIONS = {"nonneg": _onto_nonneg, "soc": _onto_soc, "psd": _onto_psd}


def _matrix(v: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix of a triangle."""
    order = _order(len(v))
    columns, rows = np.tril_indices(order)
    S = np.zeros((order, order))
    S[columns, rows] = S[rows, columns] = np.where(rows == columns, v, v / np.sqrt(2))
    return S


def _triangle(S: np.ndarray) -> np.ndarray:
    """Return the triangle of a symmetric matrix."""
    columns, rows = np.tril_indices(len(S))
    return np.where(rows == columns, 1.0, np.sqrt(2)) * S[columns, rows]


def inside(v: np.ndarray, radius: float, factors: Sequence[Cone], *, dual: bool = False) -> bool:
    """Return whether the ball around v is certain to be in the product, or its dual; False where rounding hides it."""
    return bool(np.isfinite(radius)) and all(_INSIDE[one.kind](v[one.rows], radius, one, dual) for one in factors)


def _order(size: int) -> int:
    """Return the order of a matrix whose triangle has so many entries."""
    return int((np.sqrt(8 * size + 1) - 1) / 2)


def _nonneg(v, radius, _one, _dual):
    return bool((v >= radius).all())


def _soc(v, radius, _one, _dual):
    # The distance from the boundary is (v_0 - |v_1|)/sqrt(2).
    return bool(v[0] >= np.linalg.norm(v[1:]) * (1 + 2 * len(v) * _EPS) + 1.5 * radius)


def _psd(v, radius, _one, _dual):
    return bool(linalg.eigvalsh(_matrix(v))[0] >= radius + 8 * _order(len(v)) * _EPS * np.linalg.norm(v))


def _exp(v, radius, _one, dual):
    # y exp(x/y) increases in x and is convex in y. The dual's map lengthens a ball by at most sqrt(3).
    x, y, z = (v[0] - v[1], -v[0], v[2]) if dual else v
    wide = 2 * radius + 4 * _EPS * (abs(v[0]) + abs(v[1]))
    return all(at > 0 and _perspective(x + wide, at) <= z - wide for at in (y - wide, y + wide))


def _perspective(x, y):
    """Return a bound from above on y exp(x/y)."""
    with np.errstate(over="ignore"):
        return y * np.exp(x / y) * (1 + 8 * _EPS * (1 + abs(x / y)))


def _power(v, radius, one, dual):
    low, alphas = v[:-1] - radius, np.asarray(one.exponents)
    if not (low > 0).all():
        return False
    logs = np.log(low / alphas if dual else low)
    return bool(np.exp(alphas @ logs) * (1 - 16 * len(v) * _EPS * (1 + np.abs(logs).max())) >= abs(v[-1]) + radius)


_INSIDE = {"nonneg": _nonneg, "soc": _soc, "psd": _psd, "exp": _exp, "power": _power}
