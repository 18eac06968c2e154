r"""Algorithm 1 of li2021 with the same rows as `dperm.mechanisms.napp.literal`, a hundred thousand of them in a moment.

The augmented rows come in pairs a + s z and a - s z (Eq 5), a = b/(n_e l'(0)), s the deviations and z standard normal.
So the sums of a fit over the rows take one pass over z: with u = <a, theta> +- <z, s theta>,

    gradient   sum_i l'(u_i) e_i         = a sum (l'+ + l'-) + s sum (l'+ - l'-) z,
    Hessian    sum_i l''(u_i) e_i e_i^T  = a a^T sum (l''+ + l''-) + sym(a (s sum (l''+ - l''-) z)^T)
                                           + sum (l''+ + l''-) (s z)(s z)^T.

Nothing is replaced by its law: every row is drawn, and every one enters through its own l' and l''. For the squared
loss l'' = 1, and the sums are those of ordinary least squares. The Hessian is kept while it serves: at rows this small
l'' hardly varies.
"""

import functools
from collections.abc import Callable, Iterator

import numpy as np
from scipy import sparse

from dperm.compiled import compiled
from dperm.errors import SolverError
from dperm.losses import Loss
from dperm.mechanisms.napp import losses, scheme
from dperm.mechanisms.napp.literal import augmented_targets
from dperm.mechanisms.napp.noise import Variant
from dperm.solvers import pointwise

# Of half the rows at a time: what the processor's cache holds.
_BLOCK = 8192
# Newton stops when its decrement is this small for each row. A full step that shrinks it by _ACCEPT is taken as it is,
# others are halved until the objective falls; where it shrinks by _SHRINK the Hessian is kept.
_PASSES, _HALVINGS, _DECREMENT, _SUFFICIENT, _SHRINK, _ACCEPT = 200, 60, 1e-20, 1e-4, 0.01, 0.25
# Where l'' of the pairs varies by less than this share of its mean, their Hessian is the mean's.
_STEADY = 0.5
# Nodes and weights of the mean over Z, for losses whose derivatives are bounded.
_AT, _MASS = np.polynomial.hermite_e.hermegauss(80)
_MASS = _MASS / _MASS.sum()
# At n_e = infinity: weights from which on a coefficient is 0, and changes up to which theta stands still.
_HEAVY, _STILL = 1e15, 1e-14

# From a step, from 0, and which coefficients are kept in it to z, shape (n_e/2, those that are kept).
Draws = Callable[[int, np.ndarray], np.ndarray]


def fresh(rng: np.random.Generator, rows: int) -> Draws:
    """Return draws that are new in each step, as a run of Algorithm 1 has them."""
    store: dict[int, np.ndarray] = {}

    def draw(_: int, kept: np.ndarray) -> np.ndarray:
        count = int(kept.sum())
        # Written over in each step: new memory each time would take longer.
        if count not in store:
            store[count] = np.empty((rows // 2, count))
        return rng.standard_normal(out=store[count])

    return draw


def shared(rng: np.random.Generator, rows: int, steps: int, features: int) -> Draws:
    """Return draws that runs have in common: new in each step, the same in all of the runs, as methods are compared."""
    z = rng.standard_normal((steps, rows // 2, features))
    return lambda step, kept: z[step] if kept.all() else z[step][:, kept]


def iterates(
    loss: str,
    X: np.ndarray | sparse.csr_array,
    y: np.ndarray,
    noise: np.ndarray,
    rule: scheme.Scheme,
    strength: float,
    *,
    variant: Variant,
    rows: int,
    steps: int,
    draws: Draws,
) -> Iterator[np.ndarray]:
    """Give theta^(1), ..., theta^(T) of Algorithm 1, as `literal.literal` does if `draws` are `fresh`.

    `strength`, `rows`, `steps` are Lambda, n_e (even) and T. X may be sparse, its columns sorted, but for the squared
    loss: records that are mostly 0 take a third of the time. SolverError if a fit does not converge.
    """
    targets, force, curvature = augmented_targets(loss, rows)
    model, theta, older = losses.make(loss), None, None
    for step in range(steps):
        tilt = noise if theta is None or variant == "erm" else noise * np.sign(theta)
        each = np.broadcast_to(scheme.weights(rule, strength, theta), noise.shape)
        finite = np.isfinite(each)
        records = X if finite.all() else X[:, finite]
        spread = np.sqrt(2 * each[finite] / (rows * curvature))
        z = draws(step, finite)
        shift = tilt[finite] / (rows * force)
        if loss == "squared":
            fitted = _least_squares(records, y, shift, spread, z, rows, float(targets[0]))
        else:
            sums = _Sums(model, records, y, shift, spread, z, targets)
            starts = [np.zeros(len(spread))] if theta is None else [theta[finite]]
            # Where signs of b flip in every iteration, the fit before the last is the nearer one.
            starts += [] if older is None or variant == "erm" else [older[finite]]
            # Few rows are long, and exp of theirs overflows where theta is not small: no step ends there.
            with np.errstate(over="ignore", invalid="ignore"):
                start = min(starts, key=sums.value)
                fitted = _newton(sums, start if np.isfinite(sums.value(start)) else np.zeros_like(start))
        theta, older = np.zeros_like(noise), theta
        theta[finite] = fitted
        yield theta


def _least_squares(X, y, shift, spread, z, rows: int, target: float) -> np.ndarray:
    """Solve the normal equations of the data and the pairs."""
    gram = X.T @ X + rows * np.outer(shift, shift) + 2 * (z.T @ z) * np.outer(spread, spread)
    scale = 1 / np.sqrt(np.diag(gram))
    return scale * np.linalg.solve(gram * np.outer(scale, scale), scale * (X.T @ y + rows * target * shift))


class _Records:
    """An objective that `_newton` takes: here the sum of losses over the records, to which others add."""

    def __init__(self, model: Loss, X: np.ndarray | sparse.csr_array, y: np.ndarray):
        self.model, self.X, self.y, self.rows = model, X, y, len(y)

    def value(self, theta: np.ndarray) -> float:
        with np.errstate(over="ignore"):
            return self.model.value(self.X @ theta, self.y).sum()

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return self.X.T @ self.model.derivative(self.X @ theta, self.y)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        second = self.model.second(self.X @ theta, self.y)
        if sparse.issparse(self.X):
            return _gram(self.X.indptr, self.X.indices, self.X.data, second, len(theta))
        return self.X.T @ (second[:, None] * self.X)


@compiled
def _gram(indptr, indices, data, weights, columns):
    """Return X^T diag(weights) X of sparse rows with sorted columns."""
    found = np.zeros((columns, columns))
    for i in range(len(weights)):
        for a in range(indptr[i], indptr[i + 1]):
            scaled = weights[i] * data[a]
            for b in range(indptr[i], a + 1):
                found[indices[a], indices[b]] += scaled * data[b]
    for j in range(columns):
        for k in range(j):
            found[k, j] = found[j, k]
    return found


@functools.lru_cache(maxsize=4)
def _space(numbers: int) -> np.ndarray:
    """Return memory to write over: to be given new pages each time would take as long as the arithmetic."""
    return np.empty(numbers)


class _Sums(_Records):
    """The sum over the records and over the pairs of augmented rows; l, l' and l'' at a theta are found together."""

    def __init__(self, model: Loss, X, y, shift, spread, z, targets):
        super().__init__(model, X, y)
        self.shift, self.spread, self.z = shift, spread, z
        halves = targets.reshape(2, len(z))
        parts = [slice(first, first + _BLOCK) for first in range(0, len(z), _BLOCK)]
        self.blocks = [(z[part], halves[:, part].ravel()) for part in parts]
        self.rows += len(targets)
        self.at, self.found, self.grams = None, None, {}

    def value(self, theta: np.ndarray) -> float:
        return super().value(theta) + self._evaluated(theta)[0]

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        _, even, odd, _ = self._evaluated(theta)
        return super().gradient(theta) + even * self.shift + odd * self.spread

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        even, odd, gram = 0.0, np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        scaled = _space(len(self.blocks[0][0]) * len(theta)).reshape(-1, len(theta))
        for k, ((z, _), (upper, lower)) in enumerate(zip(self.blocks, self._evaluated(theta)[3], strict=True)):
            both = upper + lower
            even += both.sum()
            odd += (upper - lower) @ z
            if np.ptp(both) > _STEADY * both.mean():
                gram += z.T @ np.multiply(both[:, None], z, out=scaled[: len(z)])
                continue
            # Near enough for a direction: the gradient is exact.
            if k not in self.grams:
                self.grams[k] = z.T @ z
            gram += both.mean() * self.grams[k]
        cross = np.outer(self.shift, odd * self.spread)
        pairs = even * np.outer(self.shift, self.shift) + cross + cross.T
        return super().hessian(theta) + pairs + gram * np.outer(self.spread, self.spread)

    def _evaluated(self, theta: np.ndarray) -> tuple[float, float, np.ndarray, list[np.ndarray]]:
        """Return over the augmented rows sum l, sum l', sum (l'+ - l'-) z, and blocks of l''+ and l''-."""
        if self.at is not None and np.array_equal(self.at, theta):
            return self.found
        code, middle, slopes = pointwise.LOSSES[self.model.name], self.shift @ theta, self.spread * theta
        value, even, odd, seconds = 0.0, 0.0, np.zeros(len(theta)), []
        for z, y in self.blocks:
            u = z @ slopes
            space = _space(6 * len(y)).reshape(6, -1)
            eta, slope, work = space[0], space[1], space[2:]
            np.add(middle, u, out=eta[: len(u)])
            np.subtract(middle, u, out=eta[len(u) :])
            second = np.empty((2, len(z)))
            value += pointwise.evaluate(code, np.inf, eta, y, slope, second.ravel(), work)
            even += slope.sum()
            odd += (slope[: len(u)] - slope[len(u) :]) @ z
            seconds.append(second)
        self.at, self.found = theta, (value, even, odd, seconds)
        return self.found


def _newton(sums: _Sums, theta: np.ndarray) -> np.ndarray:
    """Minimise from a start, with one Hessian as long as each step shrinks the decrement well."""
    gradient, direction = sums.gradient(theta), None
    for _ in range(_PASSES):
        if direction is None:
            solve = _solver(sums.hessian(theta))
            direction = -solve(gradient)
        decrement = -float(gradient @ direction)
        if decrement <= _DECREMENT * sums.rows:
            return theta + direction
        there = theta + direction
        following = sums.gradient(there)
        onward = -solve(following)
        left = -float(following @ onward) / decrement
        if not left <= _ACCEPT:
            there = _halved(sums, theta, direction, decrement)
            following = sums.gradient(there)
        theta, gradient, direction = there, following, onward if left <= _SHRINK else None
    raise SolverError(
        f"the unpenalised fit of {sums.rows} rows did not converge in {_PASSES} steps; raise rows (n_e) or the floor"
    )


def _halved(sums: _Sums, theta: np.ndarray, direction: np.ndarray, decrement: float) -> np.ndarray:
    """Return theta after the first of 1, 1/2, 1/4, ... that decreases the objective enough."""
    value = sums.value(theta)
    for length in 0.5 ** np.arange(_HALVINGS):
        there = theta + length * direction
        if sums.value(there) <= value - _SUFFICIENT * length * decrement:
            return there
    return theta + direction  # rounding hides the decrease; full steps are good there


def _solver(matrix: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return v -> matrix^-1 v, in columns scaled to one curvature: those of small coefficients are huge."""
    scale = 1 / np.sqrt(np.diag(matrix))
    inverse = scale[:, None] * np.linalg.inv(matrix * np.outer(scale, scale)) * scale
    return lambda vector: inverse @ vector


def mean(
    loss: str,
    X: np.ndarray,
    y: np.ndarray,
    noise: np.ndarray,
    rule: scheme.Scheme,
    strength: float,
    *,
    rows: int,
    steps: int,
) -> np.ndarray:
    """Return theta^(T) of Algorithm 1 with the mean over z in place of the rows that are drawn (variant `erm`).

    The mean of what n_e rows add is n_e E l(<a, theta> + sqrt(v) Z), v = sum_j s_j^2 theta_j^2, Z standard normal:
    by Gauss and Hermite, for Poisson in closed form. Its difference from <b, theta> + sum_j w_j theta_j^2 is what a
    finite n_e changes systematically (erratum N8): l''/(2 n_e l'^2) <b, theta>^2 for the squared loss, and higher terms
    for the others. Drawing adds the rest. SolverError if a fit does not converge.
    """
    targets, force, curvature = augmented_targets(loss, rows)
    model, theta = losses.make(loss), None
    for _ in range(steps):
        each = np.broadcast_to(scheme.weights(rule, strength, theta), noise.shape)
        finite = np.isfinite(each)
        start = np.zeros(finite.sum()) if theta is None else theta[finite]
        variances = 2 * each[finite] / (rows * curvature)
        sums = _Mean(model, X[:, finite], y, noise[finite] / (rows * force), variances, rows, float(targets[0]))
        theta = np.zeros_like(noise)
        theta[finite] = _newton(sums, start)
    return theta


class _Mean(_Records):
    """sum l + n_e E l(<a, theta> + sqrt(v) Z); dE/dv = E l''/2 and so on."""

    def __init__(self, model: Loss, X, y, shift, variances, count, target):
        super().__init__(model, X, y)
        self.shift, self.variances, self.count, self.target = shift, variances, count, target
        self.rows += count

    def value(self, theta: np.ndarray) -> float:
        return float(super().value(theta) + self.count * self._means(theta)[0])

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        _, first, second, _, _ = self._means(theta)
        return super().gradient(theta) + self.count * (first * self.shift + second * self.variances * theta)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        _, _, second, third, fourth = self._means(theta)
        pull = self.variances * theta
        cross = np.outer(self.shift, pull)
        found = second * (np.outer(self.shift, self.shift) + np.diag(self.variances)) + third * (cross + cross.T)
        return super().hessian(theta) + self.count * (found + fourth * np.outer(pull, pull))

    def _means(self, theta: np.ndarray) -> tuple[float, ...]:
        """Return E l and the means of its first four derivatives."""
        middle, v = self.shift @ theta, self.variances @ theta**2
        if self.model.name == "poisson":  # e_y = 0: the mean of e^eta, however wide eta is
            with np.errstate(over="ignore"):
                return (np.exp(middle + v / 2),) * 5
        u = middle + np.sqrt(v) * _AT
        value, first, second = (f(u, self.target) for f in (self.model.value, self.model.derivative, self.model.second))
        found = _MASS @ value, _MASS @ first, _MASS @ second
        if v == 0:
            return *found, 0.0, 0.0
        # The identity of Stein: third and fourth derivatives by E l'' Z/sqrt(v) and E l'' (Z^2 - 1)/v.
        return *found, (_MASS * second) @ _AT / np.sqrt(v), (_MASS * second) @ (_AT**2 - 1) / v


def at_infinity(
    loss: str,
    X: np.ndarray,
    y: np.ndarray,
    noise: np.ndarray,
    rule: scheme.Scheme,
    strength: float,
    *,
    steps: int,
) -> np.ndarray:
    """Return theta^(T) at n_e = infinity, each step solved by its gradient (variant `erm`).

    `limit.reweighted` does the same by the objective, which knows theta to the root of its rounding only: enough for
    a run of 15 steps, but over thousands it stands still too soon. Of at most T `steps`, what stands still to the last
    digits is not repeated. SolverError if a fit does not converge.
    """
    model, theta = losses.make(loss), None
    for _ in range(steps):
        before = theta
        each = np.broadcast_to(scheme.weights(rule, strength, theta), noise.shape)
        # Beyond this a coefficient is 0 to all digits of the others.
        light = each < _HEAVY
        start = np.zeros(light.sum()) if theta is None else theta[light]
        theta = np.zeros_like(noise)
        theta[light] = _newton(_Tilted(model, X[:, light], y, noise[light], each[light]), start)
        if before is not None and np.abs(theta - before).max() <= _STILL * np.abs(theta).max():
            break
    return theta


class _Tilted(_Records):
    """sum l + <b, theta> + sum_j w_j theta_j^2."""

    def __init__(self, model: Loss, X, y, tilt, weights):
        super().__init__(model, X, y)
        self.tilt, self.weights = tilt, weights

    def value(self, theta: np.ndarray) -> float:
        return float(super().value(theta) + self.tilt @ theta + self.weights @ theta**2)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        return super().gradient(theta) + self.tilt + 2 * self.weights * theta

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        return super().hessian(theta) + 2 * np.diag(self.weights)


def ridge(X: np.ndarray, y: np.ndarray, tilt: np.ndarray, weights: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return argmin ||y - X theta||^2/2 + <tilt, theta> + sum_j w_j theta_j^2, 0 where a coefficient is not free."""
    theta = np.zeros(len(tilt))
    own = X[:, free]
    theta[free] = np.linalg.solve(own.T @ own + 2 * np.diag(weights[free]), own.T @ y - tilt[free])
    return theta
