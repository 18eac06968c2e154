r"""Conic programs, and how far the objective may be above its minimum: shown by a dual point of our own.

    minimise f(x) = 1/2 x'Px + <q, x>    over    s = b - Ax,   s in {0}^k x K,

P positive semidefinite (the caller sees to it, and `Certifier` looks, up to rounding), K a product of `cones`, K* its
dual. Rows of the k equalities are A_1 and b_1, the others A_2 and b_2. If Pu + A'z = -q and z_2 is in K* (z_1 is free),
then for each feasible x

    f(x) - D = 1/2 (x - u)'P(x - u) + <z_2, s_2> >= 0,    D = -1/2 u'Pu - <b, z>:

weak duality; D is a lower bound on f, and the right side the gap. Nothing is assumed of the solver that x, u and z come
from: Clarabel, after which Newton's steps polish the point where K is its own dual (`Program.solve`). Three things
stand between what it returns and such points, and each is bounded here.

1. *Equations* M v = r, which are A_1 x = b_1 and Pu + A'z = -q, are met up to a residual. `Equations` goes to the
   nearest solution, up to rounding. An exact solution is then within |M v - r|/sigma of v, sigma the least singular
   value of M, which must have full row rank; the residual is summed in extended precision, and its rounding is added.
2. *Cones.* s_2 and z_2 of an interior-point method lie at the boundary, or beyond it by its accuracy. They are moved
   towards an inner point (`_inner`, a conic program too) by the least share after which a ball around them is in the
   cone, of the radius that step 1 and rounding leave open. So the exact solution next to v is feasible, exactly.
3. *The gap* of the exact points is at most that of the computed ones plus what their distances change (`_gap`).

Both steps are done in units of the problem's own: x = t x' gives s = t s' with s' = b/t - Ax' in the same cone, P/u and
q/(tu) the same minimiser, and f = u t^2 f' (`_units`). u and t are powers of two, so that no digit changes.

The gap bounds the distance too: 1/2 |x - x*|_P^2 <= f(x) - f(x*) at a minimiser x*.

Without inner points, of the set or of the dual problem, nothing is shown: so it is for a set given by inequalities of
which two make an equation.

Sources: Jansson, Chaykin and Keil, SIAM J. Numer. Anal. 46 (2007): rigorous bounds from approximate solutions. Boyd and
Vandenberghe, Convex Optimization, sections 5.2 and 5.9.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from dperm.solvers import cones

_EPS = float(np.finfo(float).eps)
# Of Clarabel's gap and residuals: where interior-point steps still get to, where it gets no further, of inner points.
_ACCURACY, _LAST_ACCURACY, _INNER_ACCURACY = 1e-10, 1e-14, 1e-8
# Steps of Newton's method at most; near a solution each squares the error.
_STEPS = 10
# A system of this condition number, or above, has no unique solution in doubles.
_RANK = 1e11
# Corrections of a point towards M v = r; each cuts the residual by orders of magnitude, down to rounding.
_CORRECTIONS = 3
# Shares of the inner point that are tried, the least first.
_SHARES = (0.0, *(10.0 ** (-k / 2) for k in range(32, -1, -1)))
# Entries of P and q beyond this are not tried; sizes of x between its inverse and it.
_MOST = 1e100
# An inner point is sought near the end point, but the way costs this little beside the depth that it brings.
_NEAR = 1e-4


class Equations:
    """M v = r for one M, without its rows of zeros and repeated rows: solutions, and the distance from them."""

    def __init__(self, M: np.ndarray):
        self.M, self._signs = M, np.ones(len(M))
        if M.size:
            self._signs[np.take_along_axis(M, (M != 0).argmax(axis=1)[:, None], axis=1).ravel() < 0] = -1.0
        rows, self._first, group = np.unique(
            self._signs[:, None] * M + 0.0, axis=0, return_index=True, return_inverse=True
        )
        self._group, self._some = group.ravel(), rows.any(axis=1)
        self._rows = rows[self._some]
        gram = self._rows @ self._rows.T
        # The sums of the Gram matrix, and its eigenvalues, are right up to this.
        least = linalg.eigvalsh(gram)[0] - 4 * _EPS * sum(M.shape) * np.trace(gram) if len(gram) else 1.0
        self._sigma = math.sqrt(max(least, 0.0))
        self._factor = linalg.cho_factor(gram) if self._sigma and len(gram) else None

    def nearest(self, v: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return the solution nearest to v, up to rounding; v itself where M has not full rank."""
        if self._factor is None:
            return v
        own = (self._signs * r)[self._first][self._some]
        for _ in range(_CORRECTIONS):
            v = v - self._rows.T @ linalg.cho_solve(self._factor, _difference(self._rows, v, own)[0])
        return v

    def distance(self, v: np.ndarray, r: np.ndarray) -> float:
        """Return an upper bound on the distance from v to a solution; infinite where none is shown to exist."""
        signed = self._signs * r
        own = signed[self._first]
        if not self._sigma or (own[self._group] != signed).any() or own[~self._some].any():
            return math.inf
        left, rounding = _difference(self._rows, v, own[self._some])
        return _norm(np.abs(left) + rounding) / self._sigma


@dataclass(frozen=True)
class Program:
    """The part of a conic program that is the same for all P and q; equalities: k; factors: of K."""

    A: np.ndarray
    b: np.ndarray
    equalities: int
    factors: list[cones.Cone]

    def solve(self, P: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
        """Return a point, its multipliers, and what Clarabel says of them; polished where K is its own dual."""
        if not _moderate(P, q):
            return np.full(len(q), np.nan), np.full(len(self.b), np.nan), "NumericalError"
        unit, size = _units(P, q, self.factors)
        P, q, b = P / unit, q / (unit * size), self.b / size
        smooth = cones.smooth(self.factors)
        accuracy = _ACCURACY if smooth else _LAST_ACCURACY
        x, z, status = _clarabel(P, q, self.A, b, self.equalities, self.factors, accuracy)
        if smooth and np.isfinite(x).all() and np.isfinite(z).all():
            x, z = self._polished(P, q, b, x, z)
        return x * size, z * (unit * size), status

    def _polished(self, P, q, b, x, z):
        """Return (x, z) after Newton's steps on Px + A'z = -q, A_1 x = b_1, s_2 = projection of s_2 - z_2 on K."""
        A, k, n = self.A, self.equalities, len(q)
        rounding = _EPS * (_norm(P) * _norm(x) + _norm(A) * (_norm(x) + _norm(z)) + _norm(q) + _norm(b))
        best, least, unique, system = (x, z), math.inf, True, None
        for _ in range(_STEPS):
            s = b - A @ x
            nearest, derivative = cones.projection(s[k:] - z[k:], self.factors)
            left = np.concatenate([P @ x + A.T @ z + q, s[:k], s[k:] - nearest])
            size = _norm(left)
            if size < 0.5 * least:
                best, least = (x, z), size
                low = np.vstack([-A[:k], (derivative - np.eye(len(derivative))) @ A[k:]])
                own = np.zeros((len(b), len(b)))
                own[k:, k:] = derivative
                system = np.block([[P, A.T], [low, own]]), left
            elif system is None or not unique:
                break
            if least <= rounding:
                break
            # Where multipliers are not unique the shortest step of all is taken, from the best point so far.
            unique = unique and size == least and np.linalg.cond(system[0], 1) < _RANK
            step = (
                np.linalg.solve(*system) if unique else linalg.lstsq(*system, cond=1 / _RANK, lapack_driver="gelsy")[0]
            )
            x, z = best[0] - step[:n], best[1] - step[n:]
        return best


class Certifier:
    """Gaps for one program and one P; nothing is shown where an eigenvalue of P is below 0 by more than rounding."""

    def __init__(self, program: Program, P: np.ndarray):
        k, n = program.equalities, len(P)
        self._program, self._P, self._known = program, P, _moderate(P)
        if not self._known:
            return
        self._scaled = P / _units(P, np.zeros(n), program.factors)[0]
        self._known = linalg.eigvalsh(self._scaled)[0] >= -4 * n * _EPS * _norm(self._scaled)
        self._primal, self._dual = Equations(program.A[:k]), Equations(np.hstack([self._scaled, program.A.T]))
        # s_2 = b_2 - A_2 x, and z_2 mapped onto K, as d - C v.
        onto = cones.from_dual(program.factors)
        self._multipliers = np.hstack([np.zeros((len(onto), n + k)), -onto]), np.zeros(len(onto))

    def certify(self, q: np.ndarray, x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a point by x that is feasible up to rounding, and a bound on f there less min f (infinite if none)."""
        if not (self._known and _moderate(q, x, z)):
            return x, math.inf
        unit, size = _units(self._P, q, self._program.factors)
        x, gap = self._certified(self._program.b / size, q / (unit * size), x / size, z / (unit * size))
        # The factor is exact; the product may fall among the numbers that are not, by less than one step.
        return x * size, math.inf if math.isnan(gap) else math.nextafter(gap * (unit * size**2), math.inf)

    def _certified(self, b, q, x, z) -> tuple[np.ndarray, float]:
        program, n, k = self._program, len(q), self._program.equalities
        A, b, equal = program.A[k:], b[k:], b[:k]

        def slack(x, off):
            s, rounding = _difference(A, x, b)
            return -s, _norm(A) * off + _norm(rounding)

        x, off = self._moved(self._primal, equal, x, (A, b), slack, dual=False)
        v, away = self._moved(
            self._dual, -q, np.concatenate([x, z]), self._multipliers, lambda v, off: (v[n + k :], off), dual=True
        )
        if not math.isfinite(off + away):
            return x, math.inf
        return x, self._gap(q, x, x - v[:n], slack(x, off), (v[n + k :], away), off)

    def _moved(self, equations, r, end, cone, part, *, dual) -> tuple[np.ndarray, float]:
        """Return a point whose nearest solution is in the cone, and the distance of that one; infinite without one."""
        factors, inner = self._program.factors, None
        end = equations.nearest(end, r)
        for share in _SHARES:
            if share and inner is None:
                inner = _inner(equations, r, end, *cone, factors)
                if inner is None:
                    return end, math.inf
            v = end + share * (inner - end) if share else end
            distance = equations.distance(v, r)
            if cones.inside(*part(v, distance), factors, dual=dual):
                return v, distance
        return end, math.inf

    def _gap(self, q, x, moved, slack, multipliers, off: float) -> float:
        """Return the bound on the gap for x, x - u, s_2, z_2, each of the last two with how far the exact one is.

        off is how far x itself is from the exact point. That point's gap bounds its distance from the minimiser; of x
        the distance is more by off, and f by |Px + q| off + 1/2 |P| off^2 at most.
        """
        (s, s_off), (z, z_off), P = slack, multipliers, self._scaled
        steep, rounding = _norm(P), 4 * len(q) * _EPS
        square = float(moved @ P @ moved) + rounding * steep * float(moved @ moved)
        product = float(s @ z) + 4 * len(s) * _EPS * float(np.abs(s) @ np.abs(z))
        product += _norm(z) * s_off + _norm(s) * z_off + s_off * z_off
        root = math.sqrt(0.5 * max(square, 0.0)) + math.sqrt(0.5 * steep) * (off + z_off)
        distance = (math.sqrt(root**2 + max(product, 0.0)) + math.sqrt(0.5 * steep) * off) ** 2
        slope = _norm(P @ x + q) + rounding * (steep * _norm(x) + _norm(q))
        # The square of the sum holds 1/2 |P| off^2.
        return distance + slope * off


def _inner(equations, r, end, C, d, factors) -> np.ndarray | None:
    """Return a solution v of the equations near `end` for which d - C v is deep in the cone, or None.

    It minimises NEAR |v - end|^2/2 - depth with d - C v - depth * middle in the cone, in units of the largest entry.
    """
    if not factors:
        return end
    M, n = equations.M, len(end)
    size = max(float(np.abs(end).max(initial=0.0)), float(np.abs(d).max(initial=0.0))) or 1.0
    A = np.block(
        [
            [M, np.zeros((len(M), 1))],
            [np.zeros((1, n)), np.ones((1, 1))],
            [C, cones.middle(factors)[:, None]],
        ]
    )
    b = np.concatenate([r, [size], d]) / size
    moved = [cones.Cone(one.kind, slice(one.rows.start + 1, one.rows.stop + 1), one.exponents) for one in factors]
    P = np.diag([*np.full(n, _NEAR), 0.0])
    q = np.append(-_NEAR * end / size, -1.0)
    found, *_ = _clarabel(P, q, A, b, len(M), [cones.Cone("nonneg", slice(0, 1)), *moved], _INNER_ACCURACY)
    v = size * found[:n]
    return equations.nearest(v, r) if np.isfinite(v).all() else None


def _moderate(*arrays: np.ndarray) -> bool:
    """Return whether all entries are finite and no larger than what is tried."""
    return all(bool((np.abs(one) <= _MOST).all()) for one in arrays)


def _units(P: np.ndarray, q: np.ndarray, factors: list[cones.Cone]) -> tuple[float, float]:
    """Return the powers of two in whose units P is about one, and the minimiser without A and b; 1 for zero.

    Exponentials and powers are of size one in units of their own: there the second is 1.
    """
    unit = _power(float(np.abs(P).max(initial=0.0)))
    if not cones.smooth(factors):
        return unit, 1.0
    values, Q = linalg.eigh(P / unit)
    kept = values > len(P) * _EPS
    size = _norm(Q[:, kept].T @ (q / unit) / values[kept])
    return unit, _power(size)


def _power(size: float) -> float:
    return 2.0 ** round(math.log2(min(max(size, 1 / _MOST), _MOST))) if size else 1.0


def _clarabel(P, q, A, b, equalities, factors, accuracy) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the point, its multipliers (both NaN where Clarabel gave up by a panic of Rust) and the status."""
    import clarabel

    settings = clarabel.DefaultSettings()
    settings.verbose, settings.max_threads = False, 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    upper, columns = sparse.csc_matrix(np.triu(P)), sparse.csc_matrix(A)
    try:
        found = clarabel.DefaultSolver(upper, q, columns, b, cones.stated(equalities, factors), settings).solve()
    except BaseException as error:  # a panic is no Exception, and its class cannot be imported
        if type(error).__name__ != "PanicException":
            raise
        return np.full(len(q), np.nan), np.full(len(b), np.nan), "NumericalError"
    return np.asarray(found.x), np.asarray(found.z), str(found.status)


def _difference(M: np.ndarray, v: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return M v - r, and a bound on the rounding of each entry."""
    kind = np.longdouble
    found = (M.astype(kind) @ v.astype(kind) - r).astype(float)
    eps = 2 * (len(v) + 2) * float(np.finfo(kind).eps)
    return found, eps * (np.abs(M) @ np.abs(v) + np.abs(r)) + _EPS * np.abs(found)


def _norm(array: np.ndarray) -> float:
    """Return the Euclidean norm of all entries: for a matrix, a bound on its spectral norm."""
    return float(np.linalg.norm(array))
