r"""Exact laws of one pass of projected gradient descent: `hard`, a walk between walls, and `sq`, a linear recursion.

f(w, x) = <w, x>; a step is eta = share R/(L sqrt n), share 1 (printed) or 1/2 (halved); the answer is the mean
v = 1/n (w_0 + .. + w_{n-1}) at a fresh x, plus Laplace noise of scale b = rate/epsilon.

hard (K = [-1, 1]^2, R = sqrt 2, L_f = 1; l Huber with knee 1/2: l'(r) = clip(2r, -1, 1), L_l = 1, sigma_l = 2).
x is e1 or e2 evenly; at e1 y = +-2 of mean sign m = c/sqrt n, at e2 y = 0. The second coordinate never leaves 0. At e1
|w - y| >= 1 is beyond the knee, so the first coordinate goes eta up with probability (1 + m)/4, down with (1 - m)/4,
and stops at the walls. Its places are k eta before it meets a wall, 1 - j eta or -1 + j eta after it last met the one
or the other: a Markov chain of O(1/eta) states whose law is stepped forward exactly. The loss is linear at e1, so

    statistical excess = m/2 (1 - E v).

By E|r + Z| - |r| = b e^{-|r|/b} and the curvature 2 of l within the knee, the noise costs at a residual r

    E l(r + Z) - l(r) = integral over |u| <= 1/2 of b e^{-|r - u|/b} du,

which is 2 b^2 (1 - e^{-1/(2b)}) at e2 and b^2 (1 - e^{-1/b}) e^{-(|r| - 1/2)/b} at e1, |r| = 2 -+ v. What is left is
E e^{+-v/b}: the same chain, each step weighted by e^{+-w_t/(nb)}. Both are exact; c is the worst one.

sq (R = 1, w in [-1, 1], y = +-1 of mean mu; l = (a - y)^2/2, L_l = 2, sigma_l = 1). w_{t+1} = (1 - eta) w_t + eta y_t
stays within [-1, 1], so v is a weighted sum of labels: its mean is mu (1 - h), h = 1/n sum_{t<n} (1 - eta)^t, and

    statistical excess = 1/2 (mu^2 h^2 + (1 - mu^2) sum of squared weights),    noise excess = b^2.

References
----------
dwork2018, Section 4.4, Theorem 4.12, Corollary 4.13; errata D2, D11, D15.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import optimize

from dperm.compiled import compiled

# Values of c on a grid from the first to sqrt n, before the best of them is refined.
_GRID, _FIRST = 17, 0.5


class Problem(NamedTuple):
    """R, L_f, L_l and sigma_l of a law."""

    radius: float
    x_norm: float
    lipschitz: float
    smoothness: float


PROBLEMS = {"hard": Problem(math.sqrt(2), 1.0, 1.0, 2.0), "sq": Problem(1.0, 1.0, 2.0, 1.0)}


class Walk(NamedTuple):
    """The chain of `hard`: where its states are, and where the second and third lattice of them begin."""

    places: np.ndarray
    above: int
    below: int


def walk(eta: float) -> Walk:
    """Return the places of a walk of step eta between -1 and 1, from 0: lattices k eta, 1 - j eta and -1 + j eta.

    A wall that is a whole number of steps away within rounding counts as that.
    """
    once, twice = (math.floor(reach / eta * (1 + 1e-12)) for reach in (1, 2))
    up = np.arange(twice + 1) * eta
    places = np.concatenate([np.arange(-once, once + 1) * eta, 1 - up[::-1], up - 1])
    return Walk(np.clip(places, -1, 1), 2 * once + 1, 2 * once + twice + 2)


def mean_iterate(chain: Walk, mean: float, n: int) -> float:
    """Return E v of `hard` at e1, where the sign of y has mean m."""
    return _forward(chain.places, chain.above, chain.below, mean, n, np.ones(len(chain.places)))[0] / n


def exponential_moment(chain: Walk, mean: float, n: int, rate: float) -> float:
    """Return E e^{(v - 1)/b} of `hard` at e1, rate = 1/b; that of -v is had by -m."""
    return _forward(chain.places, chain.above, chain.below, mean, n, np.exp(rate / n * (chain.places - 1)))[1]


def hard_statistical(n: int, share: float) -> tuple[float, float]:
    """Return the statistical excess of `hard` at the worst c, and c, for this share (1 or 1/2) of the printed step."""
    chain, most = walk(step("hard", n, share)), math.sqrt(n)

    def excess(c: float) -> float:
        return c / (2 * most) * (1 - mean_iterate(chain, c / most, n))

    grid = np.geomspace(_FIRST, most, _GRID)
    best = int(np.argmax([excess(c) for c in grid]))
    ends = (math.log(grid[max(best - 1, 0)]), math.log(grid[min(best + 1, _GRID - 1)]))
    fine = optimize.minimize_scalar(
        lambda u: -excess(math.exp(u)), bounds=ends, method="bounded", options={"xatol": 1e-3}
    )
    return max((excess(grid[best]), float(grid[best])), (-float(fine.fun), math.exp(float(fine.x))))


def hard_noise(n: int, share: float, c: float, scale: float) -> float:
    """Return the noise excess of `hard` at c: what Laplace noise adds to the risk of v."""
    at_knee = 2 * scale**2 * -math.expm1(-0.5 / scale)
    # |r| >= 1 at e1: beyond this its noise costs less than a rounding error of what it costs at e2.
    if 0.5 / scale > 40:
        return at_knee / 2
    chain, m = walk(step("hard", n, share)), c / math.sqrt(n)
    # e^{-(2 - v - 1/2)/b} = e^{-1/(2b)} e^{(v - 1)/b}, and likewise for y = -2 with -v, of which the chain has mean -m.
    up, down = (exponential_moment(chain, sign * m, n, 1 / scale) for sign in (1, -1))
    beyond = scale**2 * -math.expm1(-1 / scale) * math.exp(-0.5 / scale) * ((1 + m) / 2 * up + (1 - m) / 2 * down)
    return (at_knee + beyond) / 2


def squared_statistical(n: int, share: float, means: np.ndarray) -> tuple[float, float]:
    """Return the statistical excess of `sq` at the worst of some means of y, and that mean."""
    eta = step("sq", n, share)
    # The weight of y_t in v: eta (1 + q + .. + q^{n-t-2})/n with q = 1 - eta.
    powers = np.exp(np.arange(n) * math.log1p(-eta))
    weights = (1 - powers[::-1]) / n
    bias, variance = powers.mean(), float(weights @ weights)
    excess = (means**2 * bias**2 + (1 - means**2) * variance) / 2
    worst = int(np.argmax(excess))
    return float(excess[worst]), float(means[worst])


def step(law: str, n: int, share: float) -> float:
    """Return eta = share R/(L_f L_l sqrt n)."""
    problem = PROBLEMS[law]
    return share * problem.radius / (problem.x_norm * problem.lipschitz * math.sqrt(n))


@compiled
def move(now, new, above, below, up, stay, down):
    """Write to `new` the law one step after `now`, on the lattices of `Walk`: a step up, none, or a step down."""
    states = len(now)
    for first, last in ((0, above - 1), (above, below - 1), (below, states - 1)):
        # Four views that begin at 0: an index that might be negative keeps a loop out of the vector registers.
        inner, here, left = new[first + 1 : last], now[first + 1 : last], now[first : last - 1]
        right = now[first + 2 : last + 1]
        for k in range(len(inner)):
            inner[k] = stay * here[k] + up * left[k] + down * right[k]
        new[first], new[last] = stay * now[first], stay * now[last]
        if last > first:
            new[first] += down * now[first + 1]
            new[last] += up * now[last - 1]
    # Beyond the end of any lattice is the wall: the top of the second, the bottom of the third.
    new[below - 1] += up * (now[above - 1] + now[below - 1] + now[states - 1])
    new[below] += down * (now[0] + now[above] + now[below])


@compiled
def _forward(places, above, below, mean, n, weight):
    """Step the law of w forward; return sum of E w_t (for weights 1) and the mean product of the weights of all w_t."""
    states = len(places)
    up, down = (1.0 + mean) / 4.0, (1.0 - mean) / 4.0
    now, new, spent = np.zeros(states), np.zeros(states), np.zeros(states)
    now[above // 2] = 1.0
    for t in range(n):
        for k in range(states):
            now[k] *= weight[k]
            spent[k] += now[k]
        if t == n - 1:
            break
        move(now, new, above, below, up, 0.5, down)
        now, new = new, now
    return np.dot(spent, places), now.sum()
