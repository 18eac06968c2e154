r"""Fair and unfair coins as records: f(w, x) = w on [-1, 1], y = +-1 of mean mu; every expectation is a finite sum.

With k of n labels positive, s = (2k - n)/n, k binomial(n, (1 + mu)/2), the problems are

    signs   l = lambda h(a) - y a, h(a) = a^2/2 on [-1, 1] and |a| - 1/2 beyond (so that L_l = 1 + lambda holds for
            answers that noise carries beyond): w_S = clip(s/lambda), Corollary 4.10;
    abs     l = |a - y|, that is 1 - y a on [-1, 1], L_l = 1: w_S = clip(s/(2 lambda)), Corollary 4.11;
    lin     l = 1 - y a, L_l = 1: gradient descent is a walk of steps +-eta, clipped to [-1, 1].

The walk is a Markov chain on the places of `dperm_papers.dwork2018.shared.projected`, stepped forward exactly. There
the laws of `sq` and `hard` stand. Laplace noise zeta of scale b (0: none) is integrated in closed form:

    E|d + zeta| = |d| + b e^{-|d|/b},    E h(a + zeta) = a^2/2 + b^2 - b^2 e^{-1/b} cosh(a/b) for |a| <= 1,

the solution of G - b^2 G'' = h that is smooth at +-1.

References
----------
dwork2018, Section 4.4.
"""

import math

import numpy as np

from dperm.compiled import compiled
from dperm_papers.dwork2018.shared import projected

# Terms of a binomial sum below this share of the largest are left out.
_NEGLIGIBLE = 1e-20
# Values of c among which the worst mean c/sqrt n of `lin` is sought, from the first to sqrt n.
_GRID, _FIRST = 25, 0.5


def means(n: int) -> np.ndarray:
    """Return the 201 means mu among which the worst is sought: 0, and (by symmetry) from a tenth of 1/sqrt n to 1."""
    return np.concatenate([[0.0], np.geomspace(0.1 / math.sqrt(n), 1.0, 200)])


def erm_excess(problem: str, n: int, curvature: float, scale: float, mu: np.ndarray) -> np.ndarray:
    """Return the mean excess loss of the minimiser (curvature lambda) with Laplace noise of scale b, at each mu."""
    curved = problem == "signs"
    return np.array([_erm(n, float(m), curvature, scale, curved) for m in mu])


def worst(problem: str, n: int, curvature: float, scale: float) -> tuple[float, float]:
    """Return the largest excess of `erm_excess` over `means`, and the mean where it is."""
    mu = means(n)
    found = erm_excess(problem, n, curvature, scale, mu)
    return float(found.max()), float(mu[found.argmax()])


def minimiser(problem: str, n: int, curvature: float) -> np.ndarray:
    """Return w_S for each number k = 0 .. n of positive labels."""
    mean = (2 * np.arange(n + 1) - n) / n
    return np.clip(mean / (curvature if problem == "signs" else 2 * curvature), -1, 1)


def lin_excess(n: int, eta: float) -> tuple[float, float]:
    """Return the excess mu (1 - E w) of descent on `lin` at the worst mean of a grid, and that mean.

    Noise adds nothing to a linear loss.
    """
    mu = np.geomspace(_FIRST, math.sqrt(n), _GRID) / math.sqrt(n)
    found = np.array([m * (1 - lin_mean(n, eta, m)) for m in mu])
    return float(found.max()), float(mu[found.argmax()])


def lin_mean(n: int, eta: float, mu: float) -> float:
    """Return E of the mean of w_0 .. w_{n-1} on `lin`."""
    chain = projected.walk(eta)
    return _forward(chain.places, chain.above, chain.below, (1 + mu) / 2, n) / n


@compiled
def _erm(n, mu, curvature, scale, curved):
    p = (1 + mu) / 2
    top = min(int((n + 1) * p), n)
    total, mass = _erm_at(top, n, mu, curvature, scale, curved), 1.0
    if 0 < p < 1:
        odds = p / (1 - p)
        weight, k = 1.0, top
        while k < n:
            weight *= (n - k) / (k + 1) * odds
            k += 1
            if weight < _NEGLIGIBLE:
                break
            mass += weight
            total += weight * _erm_at(k, n, mu, curvature, scale, curved)
        weight, k = 1.0, top
        while k > 0:
            weight *= k / (n - k + 1) / odds
            k -= 1
            if weight < _NEGLIGIBLE:
                break
            mass += weight
            total += weight * _erm_at(k, n, mu, curvature, scale, curved)
    return total / mass


@compiled
def _erm_at(k, n, mu, curvature, scale, curved):
    """Excess loss, label and noise integrated, of the minimiser of k positive labels among n."""
    weight = curvature if curved else 2 * curvature
    w = min(max((2 * k - n) / n / weight, -1.0), 1.0)
    # What noise adds, at the distances of w from the ends 1 and -1.
    up, down = 0.0, 0.0
    if scale > 0:
        up, down = np.exp((w - 1) / scale), np.exp(-(1 + w) / scale)
    if curved:
        best = min(max(mu / curvature, -1.0), 1.0)
        noise = scale * scale * (1 - (up + down) / 2)
        return curvature * (w * w / 2 + noise) - mu * w - (curvature * best * best / 2 - mu * best)
    return abs(mu) - mu * w + scale * ((1 + mu) / 2 * up + (1 - mu) / 2 * down)


@compiled
def _forward(places, above, below, up, n):
    """Sum of E w_t over t < n; lattices as in `projected.walk`, each rising."""
    states = len(places)
    now, new, spent = np.zeros(states), np.zeros(states), np.zeros(states)
    now[above // 2] = 1.0
    for _ in range(n):
        for k in range(states):
            spent[k] += now[k]
        projected.move(now, new, above, below, up, 0.0, 1 - up)
        now, new = new, now
    return np.dot(spent, places)
