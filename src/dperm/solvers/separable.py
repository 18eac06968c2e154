r"""Generalised linear losses with a convex separable penalty in a box, by prox-Newton steps; paths, signs, reweighting.

    F(theta) = sum_i l(eta_i, y_i) + <tilt, theta> + sum_j P_j(theta_j),    eta = X theta,      P_j as in `berhu`.

A step minimises the quadratic model of the sum at theta plus the P_j (`berhu.descend`), and goes the full way, or back
by halves until F decreases (Armijo), up to the rounding of its parts, which may cancel. The Hessian of an earlier point
serves as long as it cuts the gap enough at each step. Descent stops when Fenchel's gap (`berhu`; of F, not of its
model) is at most tolerance |F|, on a path not before the first step: so a fit's zeros are its own. For the squared loss
without bound on eta the model is F. Where rounding stops a descent before that, the curved gap has the last word.

A fit goes on from what the fit before it left: theta, the loss there, a Hessian. Losses are those of `pointwise`.
Data with few entries not 0 (one-hot columns) are kept by rows of those alone.

Sources: Lee, Sun and Saunders, SIAM J. Optim. 24 (2014) (prox-Newton). li2021, Proposition 1, Table 2 and section 3.5.
"""

import numpy as np

from dperm.compiled import compiled, inlined
from dperm.solvers import berhu, pointwise

# The squared loss without a bound on eta, of which X'X, X'y and y'y tell everything.
GRAM = -1
# What `fits` solves.
TILTED, SLOPED, SIGNED, REWEIGHTED = 0, 1, 2, 3
_penalties, _gap, _level_box, _descend = berhu.penalties, berhu.gap, berhu.level_box, berhu.descend
_evaluate, _berhu_curved = pointwise.evaluate, berhu.curved_gap

# A step that does not cut the gap to this share asks for a fresh Hessian.
_PACE = 0.1
# Share of its gap to which a model is solved, but for no less than this share of the tolerance.
_MODEL_SHARE, _MODEL_FLOOR = 0.01, 0.1
_ARMIJO, _HALVINGS, _ROUNDING = 1e-4, 50, 1e-13
_PASSES = 10_000
# Ridge of the model, as a share of the columns' squares, where l'' may vanish.
_SHIFT = 1e-10
# How far eta may move in the ball in which curvature is sought: shorter ones serve losses with kinks in l'.
_RADII = (0.5, 1e-3, 1e-6)
# Units in the last place that a few sums and products may cost.
_UNITS = 8 * 2.0**-52
# A weight above this holds its coordinate at 0.
_INFINITE = 1e100
# The start and the steps of reweighting are solved to this relative gap.
EXACT = 1e-11
# The sign changes of so many last steps are counted: the paper's coordinates that fluctuate around 0.
LAST = 10


@inlined
def _records(k, data, XT):
    """Return what a fit needs of data set k, the mean of the columns' squares with it; XT is written."""
    X, y, G, xy, yy, bottom, starts, columns, entries = data
    for i in range(X.shape[1]):
        for j in range(X.shape[2]):
            XT[j, i] = X[k, i, j]
    squares = 0.0
    for j in range(len(XT)):
        squares += np.dot(XT[j], XT[j]) / len(XT)
    return X[k], XT, y[k], G[k], xy[k], yy[k], bottom[k], starts, columns, entries, squares


@compiled
def _copy(values, to):
    for i in range(len(to)):
        to[i] = values[i]


@inlined
def _state(n, p):
    """Return what fits leave to the next: Hessian, (Hessian, point) known?, loss, eta, l', l'' and work space."""
    return np.empty((p, p)), np.zeros(2, np.bool_), np.zeros(1), np.empty((3, n)), np.empty((8, n))


@compiled
def _forward(records, theta, eta):
    """Write X theta."""
    X, starts, columns, entries = records[0], records[7], records[8], records[9]
    if len(columns) == 0:
        np.dot(X, theta, eta)
        return
    for i in range(len(eta)):
        total = 0.0
        for k in range(starts[i], starts[i + 1]):
            total += entries[k] * theta[columns[k]]
        eta[i] = total


@inlined
def _backward(records, slope):
    """Return X' slope."""
    X, XT, starts, columns, entries = records[0], records[1], records[7], records[8], records[9]
    if len(columns) == 0:
        return np.dot(XT, slope)
    total = np.zeros(X.shape[1])
    for i in range(len(slope)):
        for k in range(starts[i], starts[i + 1]):
            total[columns[k]] += entries[k] * slope[i]
    return total


@compiled
def _hessian(records, second, H):
    """Write X' diag(second) X plus a shift that keeps models bounded."""
    X, XT, starts, columns, entries = records[0], records[1], records[7], records[8], records[9]
    p = len(H)
    if len(columns) == 0:
        weighted = np.empty(XT.shape)
        for j in range(p):
            for i in range(len(second)):
                weighted[j, i] = XT[j, i] * second[i]
        np.dot(weighted, X, H)
    else:
        for j in range(p):
            for k in range(p):
                H[j, k] = 0.0
        for i in range(len(second)):
            for k in range(starts[i], starts[i + 1]):
                weight, row = second[i] * entries[k], columns[k]
                for m in range(starts[i], k + 1):
                    H[row, columns[m]] += weight * entries[m]
        for j in range(p):
            for k in range(j):
                H[k, j] = H[j, k]
    for j in range(p):
        H[j, j] += _SHIFT * records[10]


@inlined
def _relative(gap, value):
    return gap / abs(value) if value != 0 else (0.0 if gap == 0 else np.inf)


@inlined
def _fit(code, bound, records, tilt, v, a, c, d, low, high, tolerance, few, sharp, most, theta, state):
    """Minimise F from theta, in place, by at least `few` steps; return the relative gap and the steps.

    `sharp`: by one step more than the tolerance asks for, to the minimum of its model.
    """
    if code == GRAM:
        return _fit_gram(records, tilt, v, a, c, d, low, high, tolerance, few, sharp, most, theta)
    y, bottom = records[2], records[6]
    H, known, kept, work = state[0], state[1], state[2], state[4]
    eta, slope, second = state[3][0], state[3][1], state[3][2]
    move, eta_there, slope_there, second_there = work[0], work[1], work[2], work[3]
    if not known[1]:
        _forward(records, theta, eta)
        kept[0] = _evaluate(code, bound, eta, y, slope, second, work[4:])
        known[1] = True
    linear, outer = np.dot(tilt, theta), _penalties(theta, v, a, c, d)
    below = abs(bottom) if abs(bottom) < np.inf else 0.0
    least, greatest = low.copy(), high.copy()
    before, rise, steps, fresh, last = np.inf, 0.0, 0, False, False
    while True:
        value = kept[0] + linear + outer
        # Of the parts, not of F, which may cancel: then luck would say whether a step lowers F.
        rounding = _ROUNDING * (abs(kept[0]) + below + abs(linear) + outer)
        g = _backward(records, slope)
        for j in range(len(g)):
            g[j] += tilt[j]
        _level_box(value - bottom, tilt, v, a, low, high, least, greatest)
        gap = _gap(theta, g, v, a, c, d, least, greatest)
        met = gap == 0 or (gap <= tolerance * abs(value) and steps >= few)
        if steps >= most or last or (met and not sharp) or (gap == 0 and not theta.any()):
            break
        # One more step: else theta would be known to the root of the tolerance, its last digits by luck.
        last = met
        stuck = steps > 0 and rise >= -rounding and gap >= before
        if stuck and fresh:  # rounding allows no more
            break
        fresh = stuck or last or not (known[0] and gap <= _PACE * before)
        if fresh:
            _hessian(records, second, H)
            known[0] = True
        before = gap
        there, model = theta.copy(), g.copy()
        aim = max(_MODEL_SHARE * gap, _MODEL_FLOOR * tolerance * abs(value))
        _descend(H, v, a, c, d, least, greatest, aim, np.int64(_PASSES), last, there, model)
        step = np.empty(len(theta))
        for j in range(len(theta)):
            step[j] = there[j] - theta[j]
        _forward(records, step, move)
        fall = np.dot(g, step) + _penalties(there, v, a, c, d) - outer
        length, taken = 1.0, False
        for _ in range(_HALVINGS):
            for j in range(len(theta)):
                there[j] = theta[j] + length * step[j]
            for i in range(len(eta)):
                eta_there[i] = eta[i] + length * move[i]
            loss = _evaluate(code, bound, eta_there, y, slope_there, second_there, work[4:])
            linear, outer = np.dot(tilt, there), _penalties(there, v, a, c, d)
            rise = loss + linear + outer - value
            if rise <= _ARMIJO * length * fall + rounding:
                taken = True
                break
            length *= 0.5
        if not taken:
            break
        _copy(there, theta)
        _copy(eta_there, eta)
        _copy(slope_there, slope)
        _copy(second_there, second)
        kept[0] = loss
        steps += 1
    if gap > tolerance * abs(value):
        gap = min(gap, _curved(code, bound, records, g, tilt, v, a, c, d, low, high, theta, state))
    return _relative(gap, value), steps


@inlined
def _curved(code, bound, records, g, tilt, v, a, c, d, low, high, theta, state):
    """Return the curved gap, with the rounding of g, or infinity; state[4] is written.

    Records move by at most ||x_i|| rho = r; l'' of each loss is no less between eta - r and eta + r than at these ends.
    """
    y, H, eta, slope, second, work = records[2], state[0], state[3][0], state[3][1], state[3][2], state[4]
    H_known = state[1]
    H_known[0] = False
    n, p = len(eta), len(theta)
    squares, reach = _sizes(records)
    # Of the sums that g is, a bound by Cauchy and Schwarz; an error of eta is one of l' by way of l''.
    size = 0.0
    for i in range(n):
        size += (abs(slope[i]) + abs(y[i]) + second[i] * (1 + reach * np.sqrt(np.dot(theta, theta)))) ** 2
    error = _UNITS * (n + p + 8) * (np.sqrt(squares * size) + np.sqrt(np.dot(tilt, tilt)) + np.sqrt(np.dot(g, g)))
    least = np.inf
    move, ends, low_second, other = work[0], work[1], work[2], work[3]
    for radius in _RADII:
        for i in range(n):
            move[i] = eta[i] - radius
        _evaluate(code, bound, move, y, ends, low_second, work[4:])
        for i in range(n):
            move[i] = eta[i] + radius
        _evaluate(code, bound, move, y, ends, other, work[4:])
        for i in range(n):
            low_second[i] = min(low_second[i], other[i])
        _hessian(records, low_second, H)
        mu = _least_eigenvalue(H, 2 * _SHIFT * squares / p + _UNITS * (n + p) * np.trace(H))
        if mu > 0 and reach > 0:
            found = _berhu_curved(theta, g, v, a, c, d, low, high, 0.25 * mu) + 2 * error * error / mu
            if (radius / reach) ** 2 >= 4 * found / mu:
                least = min(least, found)
    return least


@inlined
def _sizes(records):
    """Return the sum of the squares of X's entries, and the largest norm of a row."""
    X, starts, columns, entries = records[0], records[7], records[8], records[9]
    squares, reach = 0.0, 0.0
    for i in range(len(X)):
        own = 0.0
        if len(columns) == 0:
            own = np.dot(X[i], X[i])
        else:
            for k in range(starts[i], starts[i + 1]):
                own += entries[k] * entries[k]
        squares += own
        reach = max(reach, np.sqrt(own))
    return squares, reach


@compiled
def _least_eigenvalue(H, slack):
    return np.linalg.eigvalsh(H)[0] - slack


@inlined
def _fit_gram(records, tilt, v, a, c, d, low, high, tolerance, few, sharp, most, theta):
    """The same for the squared loss."""
    G, xy, yy = records[3], records[4], records[5]
    g, sides = np.empty(len(theta)), np.empty(len(theta))
    least, greatest = low.copy(), high.copy()
    before, steps = np.inf, 0
    while True:
        # Anew each time, without the rounding of the passes.
        np.dot(G, theta, g)
        for j in range(len(g)):
            g[j] = g[j] - xy[j] + tilt[j]
            sides[j] = g[j] - xy[j] + tilt[j]
        value = 0.5 * np.dot(theta, sides) + 0.5 * yy + _penalties(theta, v, a, c, d)
        _level_box(value, tilt, v, a, low, high, least, greatest)
        gap = _gap(theta, g, v, a, c, d, least, greatest)
        if (gap <= tolerance * abs(value) and steps >= few) or gap == 0 or steps >= most or (steps and gap >= before):
            break
        before = gap
        steps += _descend(G, v, a, c, d, least, greatest, 0.5 * tolerance * abs(value), most - steps, sharp, theta, g)
    if gap > tolerance * abs(value):
        squares = np.trace(G)
        mu = _least_eigenvalue(G, _UNITS * len(G) * squares)
        if mu > 0:
            sizes = squares * np.sqrt(np.dot(theta, theta)) + np.sqrt(np.dot(xy, xy)) + np.sqrt(np.dot(tilt, tilt))
            error = _UNITS * (len(G) + 8) * sizes
            gap = min(gap, _berhu_curved(theta, g, v, a, c, d, low, high, 0.5 * mu) + error * error / mu)
    return _relative(gap, value), steps


@compiled
def fits(
    rule, code, bound, data, noise, first, a, c, d, extra, gamma, signed, maximal,
    low, high, tolerance, sharp, turns, most, theta, gap, iterations, flips,
):  # fmt: skip
    """Fit each repeat r and strength s by a rule; theta (R, L, p), gap, iterations (R, L) and flips (R, L, p) in place.

    One function for all rules, as LLVM would optimise a copy of `_fit` for each one's. `data` is X (D, n, p),
    y (D, n), X'X (D, p, p), X'y (D, p), y'y and the bottom (D,), and X by rows if it is sparse; D = 1 or R; noise b
    (R, L, p); `first` (the weights of theta^2 at a start), a, c, d (R, L); `extra` is of a further l1 norm.

    - TILTED, SLOPED: one turn, from the strength before: with tilt b, or with b as weights of |theta|.
    - SIGNED: for each strength the start with tilt b and weights `first`, then its signs followed. The problems are
      convex, so where a fit begins does not matter: the start goes on from the start before it, the fixed point from
      the fixed point before.
    - REWEIGHTED: the iterates t = 1..turns, each with weights of theta^2: from t = 2 on w_j = a |theta_j|^-gamma + c
      and the floor d, their maximum or sum; `flips` counts the signs changed in the last ones.
    """
    repeats, strengths, p = theta.shape
    n, k = data[0].shape[1], -1
    XT, begin, now, former = np.empty((p, n)), np.empty(p), np.empty(p), np.empty(p)
    tilt, v, slopes, curves, beyond = np.empty(p), np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    least, greatest, signs = np.empty(p), np.empty(p), np.empty(p)
    early, late = _state(n, p), _state(n, p)
    for r in range(repeats):
        if r == 0 or len(data[0]) > 1:
            k += 1
            records = _records(k, data, XT)
        for s in range(strengths):
            if s == 0 or rule == REWEIGHTED:
                early[1][0] = early[1][1] = late[1][0] = late[1][1] = False
                for j in range(p):
                    begin[j] = now[j] = min(max(0.0, low[j]), high[j])
            _copy(low, least)
            _copy(high, greatest)
            iterations[r, s] = 0
            for turn in range(turns):
                starts = rule == SIGNED and turn == 0
                for j in range(p):
                    own, at = noise[r, s, j], now[j]
                    former[j] = at
                    tilt[j], v[j], slopes[j], curves[j], beyond[j] = own, extra, a[r, s], c[r, s], d[r, s]
                    if rule == SLOPED:
                        tilt[j], v[j] = 0.0, own + extra
                    elif starts or (rule == REWEIGHTED and turn == 0):
                        v[j], slopes[j], curves[j], beyond[j] = 0.0, 0.0, 2 * first[r, s], 0.0
                    elif rule == SIGNED:
                        tilt[j], v[j] = min(own, 0.0) * signs[j], extra + max(own, 0.0)
                    elif rule == REWEIGHTED:
                        if signed:
                            tilt[j] = own * np.sign(at)
                        weight = _weight(abs(at), a[r, s], c[r, s], d[r, s], extra, gamma, maximal)
                        # A coordinate of infinite weight is 0 from here on, and left out.
                        if not weight < _INFINITE:
                            weight = least[j] = greatest[j] = now[j] = 0.0
                            late[1][1] = False
                        v[j], slopes[j], curves[j], beyond[j] = 0.0, 0.0, 2 * weight, 0.0
                gap[r, s], steps = _fit(
                    code, bound, records, tilt, v, slopes, curves, beyond, least, greatest,
                    EXACT if starts else tolerance, 0 if starts else 1, sharp, most,
                    begin if starts else now, early if starts else late,
                )  # fmt: skip
                iterations[r, s] += steps
                if starts:
                    for j in range(p):
                        now[j] = begin[j] if s == 0 else now[j]
                        signs[j] = np.sign(begin[j])
                        if begin[j] == 0 and a[r, s] + extra > 0:  # its weight is infinite
                            least[j] = greatest[j] = now[j] = 0.0
                            late[1][1] = False
                elif rule == SIGNED:
                    changed = False
                    for j in range(p):
                        if noise[r, s, j] < 0 and now[j] != 0 and np.sign(now[j]) != signs[j]:
                            signs[j], changed = np.sign(now[j]), True
                    if not changed:
                        break
                elif rule == REWEIGHTED and turn >= turns - LAST and turn > 0:
                    # Signs that still change in the last turns: the iteration has not settled.
                    for j in range(p):
                        flips[r, s, j] += now[j] * former[j] < 0
            _copy(now, theta[r, s])


@inlined
def _weight(u, adaptive, constant, floor, extra, gamma, maximal):
    """Return the weight of theta_j^2 for |theta_j| = u at the last iterate; infinite, of an adaptive one, at 0."""
    weight = np.inf if u == 0 and gamma > 0 and adaptive + extra > 0 else constant
    if u > 0:
        weight += adaptive * u**-gamma
    elif gamma == 0:
        weight += adaptive
    weight = max(weight, floor) if maximal else weight + floor
    return weight + 0.5 * extra / u if u > 0 and extra > 0 else weight
