r"""Two laws without label noise on which shards and their soft majority can be computed (dwork2018, Section 4.1).

**thr**: x uniform on [0, 1], target 1[x >= 1/2], learner 1[x >= the least positive], the constant 0 without positives.
The error of n records is G = min(least positive - 1/2, 1/2), of the law Pr[G > a] = (1 - a)^n for a < 1/2. So

    m(alpha, beta) = ceil(ln beta/ln(1 - alpha)),

and at x = 1/2 + t the shards with G > t are wrong; left of 1/2 none is.

**pts(d)**: the law D_alpha of Theorem 4.3's proof: d points, the heavy one has mass 1 - 4 alpha and target 0, the
d - 1 light ones share 4 alpha and have target 1; the learner knows the points that it saw and says 0 on others. The
error of n records is 4 alpha/(d - 1) times the number U of light points unseen, whose law is that of an occupancy:
Bin(n, 4 alpha) balls in d - 1 boxes.

A soft majority of r such shards, W of them wrong, is wrong with probability p_W = Pr[1 | count W] (the two labels are
alike). Its error given the records is integrated over x, and its mean over the records is a sum as well: a shard is
wrong with probability q = (1 - t)^n at 1/2 + t, and q = (1 - 4 alpha/(d - 1))^n at a light point, independently of the
others, so W is binomial there.
"""

import functools
import math

import numpy as np
from scipy import special, stats

from dperm.compiled import compiled
from dperm.domain import number
from dperm_papers.dwork2018.shared.counting import least

# Uniform numbers held at once.
_BLOCK = 4_000_000


def thr_records(alpha: float, beta: float) -> int:
    """Return m(alpha, beta) of thr, alpha < 1/2: the least n with Pr[error > alpha] <= beta."""
    number("alpha", alpha, 0, 0.5, remedy="the worst error on thr is 1/2")
    number("beta", beta, 0, 1)
    return math.ceil(math.log(beta) / math.log1p(-alpha))


def thr_errors(n: int, r: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the errors, in [0, 1/2], of r shards of n records each, ascending in each row."""
    errors = np.minimum(-np.expm1(np.log1p(-rng.random((repeats, r))) / n), 0.5)
    errors.sort(axis=1)
    return errors


def thr_risk(errors: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Return the error of the majority given the shards' errors, integrated over x; wrong[W] = p_W, W = 0..r."""
    # On [G_(j), G_(j+1)) r - j shards are wrong; summed by parts.
    return wrong[0] + errors @ np.diff(wrong)[::-1]


def thr_mean(n: int, wrong: np.ndarray) -> float:
    r"""Return the mean error of the majority over the n records of each shard.

    With u = (1 - t)^n, the mass of the t in [0, 1/2] at which W shards are wrong has the mean
    C(r, W)/n int_{2^{-n}}^1 u^{W + 1/n - 1} (1 - u)^{r - W} du: a beta function, less its incomplete part.
    """
    r = len(wrong) - 1
    W = np.arange(r + 1)
    a, b = W + 1 / n, r - W + 1.0
    mass = np.exp(_log_choose(r) + special.betaln(a, b)) / n
    # The incomplete part is about (2^-n r)^W: beside 1 it is nothing for the later ones.
    last = r if n < 100 else 1
    mass[: last + 1] *= special.betaincc(a[: last + 1], b[: last + 1], 0.5**n)
    return float(wrong[0] / 2 + mass @ wrong)


def pts_records(d: int, alpha: float, error: float, beta: float) -> int:
    """Return m(error, beta) on D_alpha, d >= 2, alpha <= 1/4: the least n with Pr[n records' error > error] <= beta."""
    light, mass = _light(d, alpha)
    allowed = math.floor(error / mass * light * (1 + 1e-12))
    if allowed >= light:
        return 1
    # Pr[more than `allowed` unseen] after h hits, up to where it does not count beside beta.
    tails = []
    for law in _occupancies(light):
        tails.append(law[: light - allowed].sum())
        if tails[-1] < 1e-12 * beta:
            break
    tails = np.array(tails)

    def enough(n: int) -> bool:
        return stats.binom.pmf(np.arange(len(tails)), n, mass) @ tails <= beta

    return least(enough, len(tails))


def pts_unseen(d: int, alpha: float, n: int) -> np.ndarray:
    """Return Pr[U = 0], .., Pr[U = d - 1], to 1e-15, U the number of light points that n records do not hold."""
    light, mass = _light(d, alpha)
    first, last = (int(end) for end in stats.binom.ppf([1e-17, 1 - 1e-16], n, mass))
    weights = stats.binom.pmf(np.arange(first, last + 1), n, mass)
    found = np.zeros(light + 1)
    for h, law in enumerate(_occupancies(light)):
        if h >= first:
            found += weights[h - first] * law
        if h == last:
            break
    return found[::-1] / found.sum()


def pts_risk(d: int, alpha: float, n: int, wrong: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the errors of k majorities over the same shards of n records, integrated over x; a row of p_W for each.

    A shard's unseen light points are a uniformly random set of U of them, U of the law of `pts_unseen`.
    """
    light, mass = _light(d, alpha)
    r = wrong.shape[1] - 1
    ends = np.cumsum(pts_unseen(d, alpha, n))
    found, step = np.empty((len(wrong), repeats)), max(1, _BLOCK // (r * d))
    for start in range(0, repeats, step):
        unseen = np.searchsorted(ends[:-1], rng.random((min(step, repeats - start), r)), side="right")
        W = _wrong_counts(unseen, light, rng.random(int(unseen.sum())))
        found[:, start : start + len(W)] = (1 - mass) * wrong[:, :1] + mass * wrong[:, W].mean(axis=2)
    return found


def pts_mean(d: int, alpha: float, n: int, wrong: np.ndarray) -> float:
    """Return the mean error of the majority over the n records of each shard."""
    light, mass = _light(d, alpha)
    q = math.exp(n * math.log1p(-mass / light)) if mass < light else float(n == 0)
    r, W = len(wrong) - 1, np.arange(len(wrong))
    law = np.exp(_log_choose(r) + special.xlogy(W, q) + special.xlog1py(r - W, -q))
    return float((1 - mass) * wrong[0] + mass * (law @ wrong))


@functools.lru_cache(8)
def _log_choose(r: int) -> np.ndarray:
    W = np.arange(r + 1)
    return special.gammaln(r + 1) - special.gammaln(W + 1) - special.gammaln(r - W + 1)


def _light(d: int, alpha: float) -> tuple[int, float]:
    number("d", d, 2, math.inf, ends="[)", remedy="one point is heavy, so there must be another")
    number("alpha", alpha, 0, 0.25, ends="(]", remedy="the light points of D_alpha have mass 4 alpha")
    return d - 1, 4 * alpha


def _occupancies(boxes: int):
    """Give the law of the number of boxes that are occupied after 0, 1, 2, .. balls."""
    law = np.zeros(boxes + 1)
    law[0] = 1
    taken = np.arange(boxes + 1) / boxes
    while True:
        yield law
        law = law * taken + np.concatenate([[0.0], (law * (1 - taken))[:-1]])


@compiled
def _wrong_counts(unseen, light, uniforms):
    """Return how many shards have not seen each light point, shape (repeats, light), by partial shuffles."""
    repeats, r = unseen.shape
    counts = np.zeros((repeats, light), dtype=np.int64)
    order = np.arange(light)
    used = 0
    for i in range(repeats):
        for j in range(r):
            for k in range(unseen[i, j]):
                other = k + int(uniforms[used] * (light - k))
                used += 1
                order[k], order[other] = order[other], order[k]
                counts[i, order[k]] += 1
    return counts
