r"""Regularised risk in the feature space of any kernel, by working sets, for up to some 20,000 rows.

    w* = argmin_w P(w),   P(w) = sum_i l(<w, phi(x_i)>, y_i) + total/2 ||w||^2,   w = sum_i mu_i phi(x_i)

P is total-strongly convex. With l* the conjugate of l in u, and u = K mu,

    ||w - w*|| <= sqrt(2 gap/total),   gap = sum_i [l(u_i) + l*(-total mu_i) + total mu_i u_i],

the difference of P and of its dual, both at mu. By Fenchel and Young every term is non-negative, and 0 exactly where
-total mu_i is a derivative of l at u_i: the terms are the certificate, and say which rows to move. In each round,
for the hinge,

- the rows of the largest terms (at most SET) are the working set B, and the dual is minimised over mu_B to the end, a
  quadratic over a box (`dperm.solvers.gram`);
- u moves by K(X, X_B) (mu_B' - mu_B).

Where such sets creep, or the rounding of long sums is too much, half of a set are rows whose mu may rise, half those
whose may fall, and u is summed in parts. Where these creep too, the hinge takes Newton's method, as the other losses do
(`dperm.solvers.kernel_newton`): so narrow a parabola in the place of its kink leaves half of the target. What that does
not solve is left to the first sets, however they creep. K is formed in blocks of rows whenever it is wanted: no n x n
matrix is kept unless it is small.

u is a sum of many roundings; how much the gap may owe to them is added to it. Where R^2/total is small, that is all
there is to the gap, and strong convexity shows, without differences of large numbers,

    ||w - w*|| <= R/total sum_i |l'(u_i) + total mu_i|.

Neighbouring relation: none here. A mechanism adds 2 slack to the sensitivity of w* (erratum J9).

Sources: jain2013, equation (2); errata J7, J8, J9, J11. Joachims 1999 (working sets).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from dperm import losses
from dperm.domain import LEAST, MOST, Domain, number
from dperm.errors import DataError, SolverError
from dperm.kernels import Kernel, Rows, within
from dperm.losses import Loss
from dperm.solvers import gram, kernel_newton
from dperm.solvers.blas import one_thread

# Rows of a working set; bytes of a block of kernel values, and of a kernel matrix that is kept.
SET, BLOCK, KEPT = 1024, 2**25, 2**28
# So many rounds in a row that make J (of working sets: the gap) no smaller than before: no better gap will come.
_IDLE = 300
# So many products are added up at a time where rounding counts most.
_PART = 256
# Working sets creep where in so many rounds the best gap has fallen by less than this share of it.
_ROUNDS, _FALL = 20, 0.01
# So near to a wall of its box, which is 1 wide, a row is at it.
_AT_WALL = 16 * float(np.finfo(float).eps)
# Roundings in a row in a kernel value, beside those of its inner product.
_ROUNDINGS = 64


@dataclass(frozen=True)
class Fit:
    """What `minimise` found.

    - mu: shape (n,); w = sum_i mu_i phi(x_i).
    - gap: upper bound on P(w) - P(w*), sum scale.
    - slack: upper bound on ||w - w*||: sqrt(2 gap/total), or, where rounding hides the gap, that by the slopes.
    - rounds: working sets.
    """

    kernel: Kernel = field(repr=False)
    X: Rows = field(repr=False)
    mu: np.ndarray = field(repr=False)
    gap: float
    slack: float
    norm: float
    rounds: int

    @one_thread()
    def predict(self, Z: Rows) -> np.ndarray:
        """Return <w, phi(z)> of every row (Z (T, d); the result (T,))."""
        carriers = np.flatnonzero(self.mu)
        return _times(self.kernel, Z, self.X[carriers], self.mu[carriers])


@dataclass(frozen=True)
class _Dual:
    """theta = total sign mu, of which l* is ridge theta^2/2 - shift theta (logistic: two entropies)."""

    sign: np.ndarray
    ridge: float
    shift: np.ndarray


@dataclass(frozen=True)
class _Problem:
    """What is solved; K, where it is small enough to be kept."""

    kernel: Kernel
    X: Rows
    y: np.ndarray
    loss: Loss
    total: float
    dual: _Dual
    K: np.ndarray | None

    def times(self, mu: np.ndarray, B: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return K(X, X_B) mu."""
        return _times(self.kernel, self.X, self.X[B], mu) if self.K is None else self.K[:, B] @ mu

    def block(self, A: np.ndarray, B: np.ndarray | slice) -> np.ndarray:
        """Return K(X_A, X_B)."""
        return self.kernel(self.X[A], self.X[B]) if self.K is None else self.K[A][:, B]


@one_thread()
def minimise(
    kernel: Kernel,
    X: Rows,
    y: np.ndarray,
    loss: str | Loss,
    *,
    total: float,
    slack: float,
    max_rounds: int = 10_000,
) -> Fit:
    """Solve the problem of the module's text; the same bytes for the same data.

    - X: shape (n, d); rows with sqrt(K(x, x)) <= kernel.R.
    - y: shape (n,); in {-1, +1} for hinge, smoothed_hinge and logistic; finite for huber and squared.
    - loss: one of these five.
    - total: n lambda, 1/C of LibSVM; in [1e-30, 1e30].
    - slack: public bound on ||w - w*|| to certify, above 0.
    - Raises DataError: if shapes do not fit. The message gives no value of the data.
    - Raises SolverError: if the slack is not certified in time (or is below rounding). Whether it is depends on private
      data.
    - Source: jain2013, equation (2); errata J8, J9.
    """
    total = number("total", total, LEAST, MOST, ends="[]", remedy="it is n lambda, LibSVM's 1/C")
    number("slack", slack, 0, math.inf, remedy="a public share, such as 1/20, of 2 L R/total")
    number("max_rounds", max_rounds, 1, math.inf, ends="[)")
    loss = losses.make(loss) if isinstance(loss, str) else loss
    y = np.ascontiguousarray(_near(kernel, _fitting(loss, X, y), loss, total))
    dual, n, target = _dual(loss, y), len(y), slack**2 * total / 2
    within(kernel, X)
    if not n:
        return Fit(kernel, X, np.zeros(0), 0.0, 0.0, 0.0, 0)
    known = kernel(X, X) if 8 * n**2 <= KEPT else None
    problem = _Problem(kernel, X, y, loss, total, dual, known)
    # Sets may creep for ever: where equal rows have both labels, each set may hold one of them alone. And of so many
    # records the rounding of long sums counts. Where nothing else helps, they may creep as long as they get on.
    short, mu = _PART + n / _PART, np.zeros(n)
    hinge = [(_by_sets, n, False), (_by_pairs, short, False), (_rounded, short, False), (_by_sets, n, True)]
    for steps, sums, patient in hinge if loss.name == "hinge" else [(_by_newton, n, False)]:
        fit, mu = _certified(problem, steps(problem, target, mu), sums, slack, target, max_rounds, patient)
        if fit is not None:
            return fit
    raise SolverError(
        f"slack={slack:g} was not certified within max_rounds={max_rounds} or is below rounding; ask for a larger "
        "slack, or a larger total"
    )


def _certified(problem, steps, sums, slack, target, max_rounds, patient) -> tuple[Fit | None, np.ndarray]:
    """Follow steps until one has its certificate; return also the last mu.

    - steps: of mu, of u = K mu, and of what falls, None for the gap.
    - sums: so many roundings of sums in a row are in u.
    - patient: whether they may creep.
    """
    kernel, X, n, total = problem.kernel, problem.X, len(problem.y), problem.total
    # u is a sum of products of kernel values, each of as many as a row has entries.
    unit = (sums + _width(X) + _ROUNDINGS) * np.finfo(float).eps * kernel.R**2
    error, mu, best, idle, before = 0.0, np.zeros(n), np.inf, 0, np.inf
    for rounds, (new, u, value) in zip(range(max_rounds + 1), steps, strict=False):
        error += unit * float(np.abs(new - mu).sum())
        if value is None:
            # Sets carry mu and u along: each round's additions to them round once more.
            error += np.finfo(float).eps * kernel.R**2 * float(np.abs(new).sum())
        mu = new.copy()
        terms, sizes = _terms(problem, mu, u)
        slopes = _slopes(problem, mu, u, error)
        owed = 8 * np.finfo(float).eps * float(sizes.sum() + n * terms.sum()) + error * slopes
        gap = float(terms.sum()) + owed
        if gap <= target:
            return Fit(kernel, X, mu, gap, math.sqrt(2 * gap / total), math.sqrt(max(mu @ u, 0.0)), rounds), mu
        # Newton's steps may let the gap rise and fall for hundreds of rounds, while J falls at each.
        by_gap, value = value is None, gap if value is None else value
        best, idle = (value, 0) if value < best else (best, idle + 1)
        creeps = False
        if by_gap and not patient and rounds % _ROUNDS == 0:
            creeps, before = rounds > 0 and best > (1 - _FALL) * before, best
        if gap <= 2 * owed or idle >= _IDLE or creeps:
            reached = kernel.R * slopes / total
            if reached <= slack:
                return Fit(kernel, X, mu, gap, reached, math.sqrt(max(mu @ u, 0.0)), rounds), mu
            break
    return None, mu


def _fitting(loss, X, y):
    """Return the targets, or refuse those that do not fit the loss or the rows."""
    if loss.name not in _DUALS:
        raise ValueError(f"the {loss.name} loss has no kernel solver; take one of {', '.join(sorted(_DUALS))}")
    if np.shape(y) != (X.shape[0],):
        raise DataError(f"y has shape {np.shape(y)}; give one target for each of the {X.shape[0]} rows")
    return loss.targets_of(y, Domain(x_norm=1.0))


def _near(kernel, y, loss, total):
    """Return Huber's targets no further out than makes a difference to w*; the sums keep their digits.

    |u| <= n L R^2/total at w*: beyond that and the knee, the slope at w* is the knee, wherever the target is.
    """
    if loss.name != "huber":
        return y
    knee = loss.suprema(Domain(1.0))[0]
    far = knee + 2 * len(y) * knee * kernel.R**2 / total
    return np.clip(y, -far, far)


def _width(X):
    return int(np.diff(sparse.csr_array(X).indptr).max()) if sparse.issparse(X) else X.shape[1]


def _times(kernel, X, V, mu):
    """Return K(X, V) mu, formed in blocks of rows."""
    out, rows = np.zeros(X.shape[0]), max(BLOCK // (8 * max(len(mu), 1)), 1)
    for low in range(0, X.shape[0] if len(mu) else 0, rows):
        out[low : low + rows] = kernel(X[low : low + rows], V) @ mu
    return out


# The sign of theta is the label where there is one; width is read off the loss's suprema (1/(2 width) bends it).
_DUALS: dict[str, Callable[[np.ndarray, float], _Dual]] = {
    "hinge": lambda y, bend: _Dual(y, 0.0, np.ones(len(y))),
    "smoothed_hinge": lambda y, bend: _Dual(y, 1 / bend, np.full(len(y), 1 + 1 / (2 * bend))),
    "logistic": lambda y, bend: _Dual(y, math.nan, y),
    "huber": lambda y, bend: _Dual(np.ones(len(y)), 1.0, y),
    "squared": lambda y, bend: _Dual(np.ones(len(y)), 1.0, y),
}


def _dual(loss, y):
    return _DUALS[loss.name](y, loss.suprema(Domain(1.0))[1])


def _terms(problem, mu, u):
    """Return l(u) + l*(-total mu) + total mu u >= 0 of every row, and the sizes of what is added up."""
    loss, dual, y, total = problem.loss, problem.dual, problem.y, problem.total
    theta = dual.sign * total * mu
    if loss.targets == "real":
        return _quadratic_terms(u, y, -theta, loss.suprema(Domain(1.0))[0])
    if loss.name == "logistic":
        parts = [_entropy(theta), _entropy(1 - theta)]
    else:
        parts = [0.5 * dual.ridge * theta**2, -dual.shift * theta]
    parts += [loss.value(u, y), theta * dual.sign * u]
    return np.maximum(sum(parts), 0.0), sum(np.abs(part) for part in parts)


def _quadratic_terms(u, y, slope, knee):
    """Return the terms of Huber (squared: an infinite knee), of which the parts cancel where y is far out.

    With r = u - y and s = -total mu in [-knee, knee] they are (r - s)^2/2 for |r| <= knee, else (knee -+ s) times
    (|r| - (knee +- s)/2), upper signs for r > 0.
    """
    r, s = u - y, np.clip(slope, -knee, knee)
    far = np.abs(r) > knee
    s = np.where(far, s * np.sign(r), s)
    with np.errstate(invalid="ignore"):  # an infinite knee has no far side
        terms = np.where(far, (knee - s) * (np.abs(r) - (knee + s) / 2), (r - s) ** 2 / 2)
        left = np.where(far, knee - s, np.abs(r - s))
    return terms, terms + left * (np.abs(u) + np.abs(y))


def _entropy(p):
    return np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0)


def _slopes(problem, mu, u, error):
    """Return a bound on the sum of |l'(u_i) + total mu_i|, should every u be off by `error`.

    The terms of the gap are convex in u, and these are their slopes: largest at an end of the interval.
    """
    pulls, held = [problem.loss.derivative(u + side * error, problem.y) for side in (-1, 1)], problem.total * mu
    most = np.maximum(*(np.abs(pull + held) for pull in pulls))
    rounded = (len(mu) + 8) * np.finfo(float).eps * np.maximum(*map(np.abs, pulls))
    return float((most + rounded).sum())


def _by_newton(problem, *_):
    return kernel_newton.steps(problem)


def _rounded(problem, target, _):
    """Yield mu and u = K mu, by Newton's method, of the hinge with so narrow a parabola in the place of its kink.

    Its mu is of the hinge's box, and its terms are at most width/8 more: over all rows half of the target.
    """
    loss = losses.smoothed_hinge(max(4 * target / len(problem.y), LEAST))
    for mu, _, value in kernel_newton.steps(replace(problem, loss=loss, dual=_dual(loss, problem.y))):
        yield mu, _in_parts(problem, mu), value


def _in_parts(problem, mu):
    """Return K mu as a sum of short sums."""
    parts = [slice(low, low + _PART) for low in range(0, len(mu), _PART)]
    return sum(problem.times(mu[part], part) for part in parts)


def _by_pairs(problem, target, start):
    """Yield as `_by_sets`, half of each set of rows whose mu may rise, and half of those whose may fall; short sums."""

    def chosen(mu, u):
        theta, up = problem.dual.sign * problem.total * mu, problem.dual.sign > 0
        # A row at its wall may come out of total (1/total) a little below 1, and has nowhere to go.
        below, above, halves = theta < 1 - _AT_WALL, theta > _AT_WALL, []
        for side, free in ((1, np.where(up, below, above)), (-1, np.where(up, above, below))):
            gain = np.where(free, side * (problem.y - u), -np.inf)
            halves.append(np.argpartition(-gain, SET // 2)[: SET // 2])
        return np.unique(halves)

    return _by_sets(problem, target, start, chosen)


def _by_sets(problem, target, start, chosen=None):
    """Yield mu and u = K mu, of the hinge, after every working set.

    - chosen: a function of mu and u, in the place of the largest terms; u is then made anew, by short sums. Without
      it they set out from 0, where u is known.
    """
    dual, total, n = problem.dual, problem.total, len(problem.y)
    mu, u = start.copy() if chosen else np.zeros(n), np.zeros(n)
    while True:
        u = _in_parts(problem, mu) if chosen else u
        yield mu, u, None
        if n <= SET:
            B = np.arange(n)
        elif chosen:
            B = chosen(mu, u)
        else:
            B = np.sort(np.argpartition(-_terms(problem, mu, u)[0], SET - 1)[:SET])
        own, sign = problem.block(B, B), dual.sign[B]
        found = gram.minimise(
            (sign[:, None] * sign) * own / total,
            (dual.shift[B] - sign * (u[B] - own @ mu[B]))[None],
            # A row's part of the gap is at most its subgradient times the width of the box, 1.
            tolerance=0.1 * target / len(B),
            low=0.0,
            high=1.0,
            start=(sign * total * mu[B])[None],
        )
        step = sign * found.theta[0] / total - mu[B]
        mu[B] += step
        u += problem.times(step, B)
