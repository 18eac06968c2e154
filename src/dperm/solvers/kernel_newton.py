r"""Newton's method for smooth losses in the feature space of a kernel, as `dperm.solvers.kernel` wants it.

Newton's method on total mu + l'(K mu) = 0 has steps that solve (I + S K S/total) v = -S K r/total, r the left side and
S^2 = l'', by conjugate gradients, more exactly once a step is no descent: in u the two terms of a step cancel to within
total/R^2. Where that does not help, w itself takes the steps. K is preconditioned by its first pivots of Cholesky's
factors: what these leave of K is small beside total, or nearly so.

No privacy here: no neighbouring relation is assumed.

Sources: Cutajar, Osborne, Cunningham and Filippone, ICML 2016 (preconditioned kernel systems).
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from dperm.domain import Domain

# Newton's systems: pivots of the preconditioner, down to a share of R^2; steps, and the share of the right side left:
# at first, and at least. Halvings of a step in mu, and the shortest in w: R^2/total may be 1e90.
PIVOTS, _SMALL, CG_STEPS, _CG_SHARE, _CG_LEAST, _HALVINGS, _SHORTEST = 512, 1e-14, 200, 1e-3, 1e-15, 30, 2.0**-300
# Of the slope at the start of a step, what may be left at its end; and how often the way is halved for it.
_LEFT, _BISECTIONS = 0.1, 1000
# Steps in mu that may be cut short before those in w are tried.
_CUTS = 10


def steps(problem: Any) -> Iterator[tuple[np.ndarray, np.ndarray, float]]:
    """Yield mu, u = K mu and the falling J, of a smooth loss, after every step: in w where steps in mu end."""
    factors = _pivots(problem)
    # Where LL' is all of K there is no need to creep.
    complete = factors.shape[1] < PIVOTS or len(problem.y) <= PIVOTS
    yield from _by_values(problem, factors, complete)
    yield from _by_features(problem, factors)


def _by_features(problem, L):
    """Newton's method on w = L'mu, without conjugate gradients: K may be any number of times `total`, but is LL'."""
    loss, y, total = problem.loss, problem.y, problem.total
    w, weight = np.zeros(L.shape[1]), math.sqrt(total) * np.eye(L.shape[1])

    def value(w):
        return loss.value(L @ w, y).sum() + total / 2 * (w @ w)

    while True:
        u = L @ w
        slope, before = loss.derivative(u, y), value(w)
        yield -slope / total, problem.times(-slope / total), before
        # Of the roots of the Hessian, since its own condition may be beyond the doubles.
        root = np.linalg.qr(np.vstack([np.sqrt(loss.second(u, y))[:, None] * L, weight]), mode="r")
        half = linalg.solve_triangular(root, total * w + L.T @ slope, trans="T", check_finite=False)
        step = -linalg.solve_triangular(root, half, check_finite=False)
        length = exact_length(loss, y, u, L @ step, total * (w @ step), total * (step @ step))
        while value(w + length * step) >= before and length > _SHORTEST:
            length /= 2
        w = w + length * step


def _along(loss, y, u, moved, pull, bend):
    """Return the derivative of J along a step, as a function of how much of the step is taken.

    - u, moved: shape (n,); <w, x_i>, and how a whole step moves it.
    - pull, bend: first and second derivative of total ||w||^2/2 along the step, at its start.
    """
    return lambda length: loss.derivative(u + length * moved, y) @ moved + pull + length * bend


def _length(slope):
    """Return how much of a step to take: all of it, or so much that J, of this slope, nearly stops falling along it.

    Where l'' jumps, steps that merely lower J may go to and fro between the sides of a jump for ever.
    """
    enough = _LEFT * abs(slope(0.0))
    low, high, length = 0.0, 1.0, 1.0
    for _ in range(_BISECTIONS):
        here = slope(length)
        if here <= enough and (here >= -enough or length == 1.0):
            break
        low, high = (length, high) if here < 0 else (low, length)
        length = 0.5 * (low + high)
    return length


# The margins at which l'' jumps, for losses that are quadratic between them, by the suprema of l' and l''.
_JUMPS = {
    "huber": lambda y, steepest, bend: (y - steepest, y + steepest),
    "smoothed_hinge": lambda y, steepest, bend: (y * (1 - 1 / (2 * bend)), y * (1 + 1 / (2 * bend))),
}


def exact_length(loss, y, u, moved, pull, bend):
    """Return the step to the minimiser along a line, as `_length`, where the slope is linear between jumps of l''."""
    slope = _along(loss, y, u, moved, pull, bend)
    if loss.name not in _JUMPS:
        return _length(slope)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        jumps = np.concatenate([(at - u) / moved for at in _JUMPS[loss.name](y, *loss.suprema(Domain(1.0)))])
    ends = np.concatenate([[0.0], np.unique(jumps[(jumps > 0) & (jumps < 1)]), [1.0]])
    # The slope rises: the first end at which it is not below 0.
    low, high = 0, len(ends) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if slope(ends[middle]) >= 0 else (middle, high)
    before, after = slope(ends[low]), slope(ends[high])
    if after <= 0:
        return 1.0
    return float(ends[low] + (ends[high] - ends[low]) * min(max(-before / (after - before), 0.0), 1.0))


def _by_values(problem, factors, complete):
    """Newton's method on mu, until rounding or what conjugate gradients leave makes its steps no descent."""
    loss, y, total, n = problem.loss, problem.y, problem.total, len(problem.y)
    mu, u, share, cut = np.zeros(n), np.zeros(n), _CG_SHARE, 0
    halvings = _HALVINGS // 3 if complete else _HALVINGS

    def value(mu, u):
        return loss.value(u, y).sum() + total / 2 * (mu @ u)

    while True:
        # Where the loss has its own say on mu, mu = -l'(u)/total is of the box, and as near.
        feasible = -loss.derivative(u, y) / total
        yield feasible, problem.times(feasible), value(mu, u)
        residual = total * mu + loss.derivative(u, y)
        root = np.sqrt(loss.second(u, y))
        try:
            with np.errstate(all="ignore"):  # what is no number is no descent
                v = _gradients(problem, root, -root * problem.times(residual) / total, factors, share)
        except linalg.LinAlgError:
            return
        step = -(residual + root * v) / total
        moved, before = problem.times(step), value(mu, u)
        length = _length(_along(loss, y, u, moved, total * (mu @ moved), total * (step @ moved)))
        if length < 1:
            # A jump of l'', or a step that is not exact enough.
            share, cut = max(share / 1000, _CG_LEAST), cut + 1
            if cut > _CUTS and complete:
                return
        for _ in range(halvings):
            if value(mu + length * step, u + length * moved) < before:
                break
            length /= 2
        else:
            if share <= _CG_LEAST:
                return
            share /= 1000
            continue
        mu, u = mu + length * step, u + length * moved


def _pivots(problem):
    """Return L of shape (n, r) with K nearly LL', by the pivots of Cholesky's factors that leave least of the trace."""
    n = len(problem.y)
    left, L = problem.kernel.diagonal(problem.X), np.zeros((n, min(n, PIVOTS)))
    for k in range(L.shape[1]):
        pivot = int(left.argmax())
        if left[pivot] <= _SMALL * problem.kernel.R**2:
            return L[:, :k]
        column = problem.block(np.array([pivot]), slice(None))[0] - L[:, :k] @ L[pivot, :k]
        L[:, k] = column / math.sqrt(left[pivot])
        left = np.maximum(left - L[:, k] ** 2, 0.0)
        left[pivot] = 0.0
    return L


def _gradients(problem, root, b, factors, share):
    """Return v with (I + S K S/total) v = b, but for a share of b, by preconditioned conjugate gradients."""
    F = root[:, None] * factors / math.sqrt(problem.total)
    inner = linalg.cho_factor(np.eye(F.shape[1]) + F.T @ F, check_finite=False)

    def precondition(x):
        return x - F @ linalg.cho_solve(inner, F.T @ x, check_finite=False)

    v, r = np.zeros(len(b)), b.copy()
    z = precondition(r)
    p, rz, enough = z.copy(), r @ z, share * np.linalg.norm(b)
    for _ in range(CG_STEPS):
        if np.linalg.norm(r) <= enough:
            break
        Ap = p + root * problem.times(root * p) / problem.total
        length = rz / (p @ Ap)
        v, r = v + length * p, r - length * Ap
        z = precondition(r)
        rz, old = r @ z, rz
        p = z + (rz / old) * p
    return v
