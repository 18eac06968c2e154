r"""Coordinate descent on a quadratic with a convex separable penalty in a box; and the exact duality gap.

    F(theta) = f(theta) + sum_j P_j(theta_j),    P_j(u) = v_j |u| + int_0^|u| max{a_j + c_j t, d_j t} dt on [low, high],

infinite outside the box. v_j, a_j, c_j, d_j >= 0 make P_j convex: the reversed Huber function ("berHu") for c = v = 0,
lasso for c = d = 0, the elastic net for d = 0, ridge for a = d = 0.

Gap. For s = -grad f(theta), f convex, every theta' obeys f(theta') >= f(theta) - <s, theta' - theta>, hence

    F(theta') >= f(theta) + <s, theta> + sum_j (P_j(theta'_j) - s_j theta'_j) >= f(theta) + <s, theta> - sum_j P_j*(s_j)

with the conjugate P_j*(s) = sup_u s u - P_j(u), and so

    F(theta) - min F <= sum_j {P_j(theta_j) + P_j*(s_j) - s_j theta_j}:

Fenchel's gap, 0 at the minimiser; each term is at least 0, and 0 where s_j is a subgradient of P_j. It costs O(p).
Where P_j grows but linearly, P_j* is infinite beyond its slope. Then the level set helps: with f >= bottom + <tilt, .>
and m_j = v_j + a_j - |tilt_j| >= 0 for all j, F(theta') <= F(theta) needs |theta'_j| <= (F(theta) - bottom)/m_j, so the
box may be cut there, without losing a minimiser, before the gap is taken.

Curved gap. Where P_j grows but linearly, this gap cannot get below the rounding of s_j times the length of the box.
If f(theta + d) >= f(theta) - <s, d> + mu/2 ||d||^2 for all ||d|| <= rho, then with h < mu

    G = sum_j sup_u {P_j(theta_j) - P_j(u) + s_j (u - theta_j) - h/2 (u - theta_j)^2}

bounds F(theta) - min F too, as soon as rho^2 >= 2 G/(mu - h): for then F(theta + d) - F(theta) >= (mu - h)/2 rho^2 - G
is not negative where ||d|| = rho, so that by convexity a minimiser is within rho, and there F is at least F(theta) - G.
An error delta in s adds at most <delta, d> - k/2 ||d||^2 <= ||delta||^2/(2 k) if h + k stands in for h in the premise.

Sources: Friedman, Hastie and Tibshirani, J. Stat. Softw. 33 (2010). Rockafellar, Convex Analysis, Theorem 23.5 (the
terms).
"""

import numpy as np

from dperm.compiled import compiled, inlined

# Passes over all coordinates between two looks at the gap; a Newton step on the smooth face follows each look.
_PASSES = 4
_HALVINGS = 30
# Further rounds of passes at most that `settle` asks for, and the share of the largest coordinate that is no move.
_ROUNDS, _REST = 20, 1e-13
# A face's matrix gets this share of its largest diagonal entry, in case it is singular.
_SHIFT = 1e-13
# Units in the last place that a few sums and products may cost.
_UNITS = 8 * 2.0**-52


@compiled
def argmin(h, q, v, a, c, d, low, high):
    """Return the minimiser over [low, high] of h u^2/2 - q u + P(u); infinite (or a bound) if there is none."""
    excess, u = abs(q) - v, 0.0
    if excess > a:
        # Its slope at u > 0 is the larger of two increasing functions: its zero is the smaller of theirs.
        first = (excess - a) / (h + c) if h + c > 0 else np.inf
        second = excess / (h + d) if h + d > 0 else np.inf
        u = min(first, second)
        u = u if q > 0 else -u
    return min(max(u, low), high)


@compiled
def penalty(u, v, a, c, d):
    """Return P(u) inside the box."""
    u = abs(u)
    if d > c and a < (d - c) * u:  # beyond the knee
        knee = a / (d - c)
        return v * u + a * knee + 0.5 * (c * knee * knee + d * (u * u - knee * knee))
    return v * u + a * u + 0.5 * c * u * u


@compiled
def penalties(theta, v, a, c, d):
    """Return sum_j P_j(theta_j)."""
    total = 0.0
    for j in range(len(theta)):
        total += penalty(theta[j], v[j], a[j], c[j], d[j])
    return total


@compiled
def gap(theta, g, v, a, c, d, low, high):
    """Return Fenchel's gap at theta, an upper bound on F(theta) - min F, for the gradient g of f at theta."""
    total = 0.0
    for j in range(len(theta)):
        u = argmin(0.0, -g[j], v[j], a[j], c[j], d[j], low[j], high[j])
        if u == theta[j]:
            continue
        if not abs(u) < np.inf:
            return np.inf
        term = penalty(theta[j], v[j], a[j], c[j], d[j]) - penalty(u, v[j], a[j], c[j], d[j]) + g[j] * (theta[j] - u)
        total += max(term, 0.0)
    return total


@compiled
def curved_gap(theta, g, v, a, c, d, low, high, h):
    """Return the G of the text at theta for the gradient g of f, its sums' rounding added."""
    total = 0.0
    for j in range(len(theta)):
        u = argmin(h, h * theta[j] - g[j], v[j], a[j], c[j], d[j], low[j], high[j])
        if u == theta[j]:
            continue
        here, there = penalty(theta[j], v[j], a[j], c[j], d[j]), penalty(u, v[j], a[j], c[j], d[j])
        step = u - theta[j]
        total += max(here - there - g[j] * step - 0.5 * h * step * step, 0.0)
        total += _UNITS * (here + there + abs(g[j] * step))
    return total


@compiled
def level_box(above, tilt, v, a, low, high, least, most):
    """Write the box, cut at the level set where the text above allows it; `above` is F(theta) - bottom."""
    sunk = False
    for j in range(len(low)):
        least[j], most[j] = low[j], high[j]
        sunk = sunk or v[j] + a[j] < abs(tilt[j])
    if not sunk:
        for j in range(len(low)):
            margin = v[j] + a[j] - abs(tilt[j])
            if margin > 0:
                least[j], most[j] = max(low[j], -above / margin), min(high[j], above / margin)


@compiled
def descend(H, v, a, c, d, low, high, aim, most, settle, theta, g):
    """Minimise the quadratic with Hessian H and gradient g at theta, plus the P_j; theta and g in place.

    Returns the passes done once the gap is at most `aim`, or after `most` passes. `settle`: not before theta is the
    minimum to rounding, unless some rounds do not get there. A gap of `aim` leaves the root of it open, and how much
    of that is left where a step crosses a bend of P depends on last digits.
    """
    p, passes, rounds = len(theta), 0, 0
    smooth = True
    for j in range(p):
        smooth = smooth and v[j] + a[j] == 0
    while smooth or passes < most:
        if smooth:  # one step does it, unless the box interferes
            passes = 1
        else:
            moved = False
            for _ in range(_PASSES):
                passes += 1
                moved = False
                for j in range(p):
                    old = theta[j]
                    new = argmin(H[j, j], H[j, j] * old - g[j], v[j], a[j], c[j], d[j], low[j], high[j])
                    step = new - old
                    if step != 0 and abs(new) < np.inf:
                        theta[j] = new
                        moved = True
                        for k in range(p):
                            g[k] += step * H[j, k]
                if not moved:
                    break
            if not moved:
                break
        # Before the look at the gap: else a minimum would be known to no more than `aim`, its last digits by luck.
        rest = _face_step(H, v, a, c, d, low, high, theta, g)
        if gap(theta, g, v, a, c, d, low, high) <= aim:
            rounds += not smooth
            if not settle or rounds > _ROUNDS or (rest and _held(H, v, a, c, d, low, high, theta, g)):
                break
        smooth = False
    return passes


@inlined
def _held(H, v, a, c, d, low, high, theta, g):
    """Return whether each coordinate at 0 or at a bound stays there."""
    for j in range(len(theta)):
        u, h = theta[j], H[j, j]
        edge = u == 0 or u == low[j] or u == high[j]
        if edge and argmin(h, h * u - g[j], v[j], a[j], c[j], d[j], low[j], high[j]) != u:
            return False
    return True


@inlined
def _face_step(H, v, a, c, d, low, high, theta, g):
    """Step to the minimum over the coordinates where P is smooth, with its pieces held, if F decreases; in place.

    Returns whether it is that minimum, with no coordinate on another piece, or no step worth the name leads to it.
    """
    p = len(theta)
    free, slope, f = np.empty(p, np.int64), np.empty(p), np.int64(0)
    A = np.empty((p, p))
    for j in range(p):
        u = abs(theta[j])
        if low[j] < theta[j] < high[j] and (u > 0 or v[j] + a[j] == 0):
            sign = 1.0 if theta[j] > 0 else -1.0
            beyond = d[j] * u > a[j] + c[j] * u
            slope[f] = g[j] + sign * (v[j] + (d[j] * u if beyond else a[j] + c[j] * u))
            for b in range(f):
                A[f, b] = H[j, free[b]]
            A[f, f] = H[j, j] + (d[j] if beyond else c[j])
            free[f] = j
            f += 1
    if f == 0 or not _solve(A, slope, f):
        return f == 0
    there, step = theta.copy(), np.zeros(p)
    length, before, rest = 1.0, penalties(theta, v, a, c, d), False
    for _ in range(_HALVINGS):
        held, farthest, largest = length == 1.0, 0.0, 0.0
        for b in range(f):
            j = free[b]
            least, most = low[j], high[j]
            if v[j] + a[j] > 0:  # the sign is held
                least, most = (max(least, 0.0), most) if theta[j] > 0 else (least, min(most, 0.0))
            aim = theta[j] - length * slope[b]
            there[j] = min(max(aim, least), most)
            step[j] = there[j] - theta[j]
            farthest = max(farthest, abs(step[j]))
            u, w = abs(theta[j]), abs(there[j])
            held = held and there[j] == aim and (d[j] * u > a[j] + c[j] * u) == (d[j] * w > a[j] + c[j] * w)
        if length == 1.0:
            for j in range(p):
                largest = max(largest, abs(theta[j]))
            rest = held or farthest <= _REST * largest
        # The minimum of the pieces is that of F on the face; its value says so only up to rounding, so is not asked.
        fell = held
        if not held:
            change = penalties(there, v, a, c, d) - before
            for b in range(f):
                j = free[b]
                product = 0.0
                for k in range(p):
                    product += H[j, k] * step[k]
                change += step[j] * (g[j] + 0.5 * product)
            fell = change <= 0
        if fell:
            for b in range(f):
                j = free[b]
                theta[j] = there[j]
                for k in range(p):
                    g[k] += step[j] * H[j, k]
            return rest
        length *= 0.5
    return rest


@inlined
def _solve(A, x, f):
    """Write A^-1 x to x[:f] by Cholesky's factors of A's lower triangle; return whether A is positive definite."""
    largest = 0.0
    for i in range(f):
        largest = max(largest, A[i, i])
    for i in range(f):
        A[i, i] += _SHIFT * largest if largest < 1e100 else 0.0
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            if i > j:
                A[i, j] = total * A[j, j]
            elif total > 0:
                A[i, i] = 1 / np.sqrt(total)  # the inverse of the factor's diagonal
            else:
                return False
    for i in range(f):
        total = x[i]
        for k in range(i):
            total -= A[i, k] * x[k]
        x[i] = total * A[i, i]
    for i in range(f - 1, -1, -1):
        total = x[i]
        for k in range(i + 1, f):
            total -= A[k, i] * x[k]
        x[i] = total * A[i, i]
    return True
