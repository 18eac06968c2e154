r"""The flip law: thresholds on [0, 1] with flipped labels, empirical risk minimisation, and averages of it, exactly.

x is uniform on [0, 1], y = 1[x >= 1/2], flipped with probability `flip`. Every threshold t has the error
flip + (1 - 2 flip)|t - 1/2|, so Opt = flip. The learner is empirical risk minimisation: of m records sorted by x let
S_i = sum_{j <= i} (2 y_j - 1); it takes the first i in 0..m with the least S_i, and t = x_(i+1) (1 if i = m).

**Its law.** Seen from the middle, S rises to both sides with steps +1 (probability 1 - flip) and -1. N_L records lie
left, N_R right. With the path counts of simple walks (hitting times and ballots) let

    hit(k, u)    = P[the walk reaches -u first at step k]                 = u/k P[S_k = -u],
    weak(k, u)   = P[S_k = -u and it has not been lower],
    above(N, u)  = P[it stays at or above -u for N steps]                 = 1 - sum_{k <= N} hit(k, u + 1),
    strict(N)    = P[it stays above 0 after step 0]                       = (1 - flip) above(N - 1, 0),

    P[k steps to the left] = strict(N_L - k) sum_u weak(k, u) above(N_R, u),
    P[k steps to the right] = above(N_R - k, 0) sum_{u >= 1} hit(k, u) above(N_L, u - 1).

Walks longer than `_LONG` steps are taken for infinite: at flip = 0.2 that is right to 1e-16. The k-th point to a side
is at the distance Beta(k, N + 1 - k)/2, so thresholds are drawn without a data set; and with d = |x - 1/2|

    G_L(d) = P[t <= 1/2 - d] = P[k >= 1 steps left, fewer than k of the N_L within d],
    G_R(d) = P[t > 1/2 + d]  = P[k >= 0 steps right, at most k of the N_R within d].

**Averages.** r shards of m records vote V = the number of thresholds up to x, and the bit 1 has the probability
p_b(V/r) (`averaged.expected_clip`). The excess error of one data set is (1 - 2 flip) times the integral of p_b left of
1/2 and of 1 - p_b right of it: a sum over sorted thresholds. V is binomial(r, G) at each x, so the mean excess is

    (1 - 2 flip) sum over both sides of int_0^{1/2} q(G(d)) dd,
    q(G) = G + b/2 [(1 - G + G e^{-s})^r - (G + (1 - G) e^{-s})^r],      s = 1/(r b),

by Gauss-Legendre quadrature on pieces that grow geometrically from 1/m; b = 0 is the mean shard.

References
----------
dwork2018, Section 4.3; errata D7, D8. Feller, An Introduction to Probability Theory I, III.2 and III.7.
"""

import functools
import math

import numpy as np
from scipy import stats
from scipy.special import gammaln

from dperm.compiled import compiled
from dperm.domain import Calibration
from dperm.mechanisms.prediction import averaged
from dperm.solvers.thresholds import minimise
from dperm_papers.dwork2018.shared.counting import least

FLIP = 0.2
# Steps after which a walk that rises by 0.6 a step is taken not to come back, and records that give both sides so many.
_LONG, MANY = 160, 800
_NODES = 12
_NEGLIGIBLE = 1e-17


def error(thresholds: np.ndarray) -> np.ndarray:
    """Return the error of a threshold in [0, 1]: FLIP + (1 - 2 FLIP)|t - 1/2|."""
    return FLIP + (1 - 2 * FLIP) * np.abs(thresholds - 0.5)


def agnostic_size(alpha: float, beta: float) -> int:
    """Return m = ceil(8 ln(4/beta)/alpha^2), beta < 4: m records give excess alpha with probability 1 - beta.

    For thresholds and any law: by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart for each label, both
    empirical functions are within alpha/4 of the truth with probability 1 - 4 e^{-m alpha^2/8}, and the excess error is
    at most twice the sum of both deviations.
    """
    return math.ceil(8 * math.log(4 / beta) / alpha**2)


def erm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the threshold of each sample, a row of x in [0, 1] and y in {0, 1}; 1 where it says 0 everywhere."""
    return np.minimum(minimise(x, y)[0], 1.0)


def thresholds(m: int, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Draw thresholds of independent shards of m records.

    Of m >= 800 records from the law of the walk's least place and of order statistics.
    """
    count = math.prod(shape)
    if m < MANY:
        x = rng.random((count, m))
        y = (x >= 0.5) ^ (rng.random((count, m)) < FLIP)
        return erm(x, y).reshape(shape)
    left, right = places().ends(m, m)
    cumulated = np.cumsum(np.concatenate([left, right[1:]]))
    place = np.searchsorted(cumulated, rng.random(count) * cumulated[-1], side="right")
    k = np.where(place < len(left), -place, place - len(left) + 1)
    on_left = rng.binomial(m, 0.5, count)
    # The point itself to the left; to the right, and in the middle, the next one.
    rank, size = np.where(k < 0, -k, k + 1), np.where(k < 0, on_left, m - on_left)
    return (0.5 + np.where(k < 0, -0.5, 0.5) * rng.beta(rank, size + 1 - rank)).reshape(shape)


def excesses(drawn: np.ndarray, scale: float) -> np.ndarray:
    """Return the excess error of each row's mean threshold with Laplace noise of scale b, integrated over x exactly."""
    r = drawn.shape[1]
    values = np.arange(r + 1) / r
    one = averaged.expected_clip(values, scale) if scale else values
    ordered = np.sort(drawn, axis=1)
    ends = [np.full((len(drawn), 1), end) for end in (0.0, 0.5, 1.0)]
    left = np.diff(np.concatenate([ends[0], np.minimum(ordered, 0.5), ends[1]], axis=1), axis=1)
    right = np.diff(np.concatenate([ends[1], np.maximum(ordered, 0.5), ends[2]], axis=1), axis=1)
    return (1 - 2 * FLIP) * (left @ one + right @ (1 - one))


def mean_excess(m: int, r: int, scale: float) -> float:
    """Return the mean excess error of the noised average of r shards of m records; at scale 0 of one shard."""
    weights, shares = _beyond(m)
    mean = shares
    if scale:
        moved = np.exp(r * np.log1p(shares * math.expm1(-1 / (r * scale))))
        mirrored = np.exp(r * np.log1p((1 - shares) * math.expm1(-1 / (r * scale))))
        mean = shares + scale / 2 * (moved - mirrored)
    return float((1 - 2 * FLIP) * np.sum(weights * mean))


def mean_over_votes(m: int, r: int, left: np.ndarray, right: np.ndarray) -> float:
    """Return the mean over x and the data of a number that depends on the votes of r shards of m records.

    `left` and `right` hold it by how many shards are wrong, left of 1/2 and right of it.
    """
    weights, shares = _beyond(m)
    ways = gammaln(r + 1) - gammaln(np.arange(1, r + 2)) - gammaln(np.arange(r + 1, 0, -1))
    half, total = len(weights) // 2, 0.0
    for k, (weight, share) in enumerate(zip(weights, shares, strict=True)):
        share = min(max(share, 1e-300), 1 - 1e-16)
        # What lies outside has a probability below 1e-16 (Bernstein).
        reach = 9 * math.sqrt(r * share * (1 - share)) + 40
        wrong = np.arange(max(0, math.floor(r * share - reach)), min(r, math.ceil(r * share + reach)) + 1)
        law = np.exp(ways[wrong] + wrong * math.log(share) + (r - wrong) * math.log1p(-share))
        total += weight * (law @ (left if k < half else right)[wrong])
    return float(total)


def accuracy(wrong: float) -> float:
    """Return the accuracy of a bit that is not 1[x >= 1/2] so often, its mean over x and the data."""
    return 1 - FLIP - (1 - 2 * FLIP) * wrong


def least_records(alpha: float, r: int, scale: float) -> int:
    """Return the least m at which r shards of m records have a mean excess of at most alpha.

    ValueError if the noise alone costs more than alpha.
    """
    if (1 - 2 * FLIP) * averaged.expected_clip(0.0, scale) >= alpha:
        raise ValueError(
            f"shards={r}: noise of scale {scale:g} alone costs more than alpha={alpha:g}; take more shards"
        )
    m = 1
    while mean_excess(m, r, scale) > alpha:
        m += 1
    return m


def best_split(alpha: float, epsilon: float, calibration: Calibration = "tight") -> tuple[int, int]:
    """Return (r, m) with the least n = r m at which the mean excess of the noised average is at most alpha.

    The mean excess falls with r at fixed m (more shards, less noise), so for each m the least r is found by halving.
    """

    def noise(r):
        return averaged.scale(r, epsilon, calibration, bits=True)

    def least_shards(m, most):
        """Return the least r that m records a shard need; 0 if it is above `most`."""
        if most < 1 or mean_excess(m, most, noise(most)) > alpha:
            return 0
        return least(lambda r: mean_excess(m, r, noise(r)) <= alpha, most)

    fewest = 1
    while (1 - 2 * FLIP) * averaged.expected_clip(0.0, noise(fewest)) >= alpha:
        fewest += 1
    # The printed number of shards is one way; a better one has fewer records in all.
    r = averaged.shards_needed(alpha, epsilon, "corrected")
    best = r, least_records(alpha, r, noise(r))
    m = 1
    while m * fewest < best[0] * best[1]:
        r = least_shards(m, (best[0] * best[1] - 1) // m)
        best = (r, m) if r else best
        m += 1
    return best


class _Places:
    """Where the least prefix sum lies, as steps from the middle."""

    def __init__(self):
        up, down = 1 - FLIP, FLIP
        k, u = np.meshgrid(np.arange(_LONG + 1), np.arange(_LONG + 2), indexing="ij")
        possible = ((k - u) % 2 == 0) & (u <= k)
        downs = np.where(possible, (k + u) // 2, 0)
        paths = gammaln(k + 1) - gammaln(downs + 1) - gammaln(k - downs + 1)
        weight = np.where(possible, np.exp(paths + downs * math.log(down) + (k - downs) * math.log(up)), 0.0)
        # Of the walks that end at -u: those that were never there before, and those that were never lower.
        hit = np.divide(u, k, out=np.zeros(k.shape), where=k > 0) * weight
        self.weak = (weight * (u + 1) / (downs + 1))[:, :-1]
        self.hit = hit
        self.above = 1 - np.cumsum(hit, axis=0)[:, 1:]
        self.strict = np.concatenate([[1.0], up * self.above[:-1, 0]])

    def ends(self, on_left: int, on_right: int) -> tuple[np.ndarray, np.ndarray]:
        """Return P[k steps left], k = 0.., and P[k steps right], with P = 0 at k = 0, for so many records a side."""
        left, right = min(on_left, _LONG), min(on_right, _LONG)
        k, j = np.arange(left + 1), np.arange(right + 1)
        to_left = self.strict[np.minimum(on_left - k, _LONG)] * (self.weak[: left + 1] @ self.above[right])
        lower = self.hit[: right + 1, 1:] @ self.above[left]
        return to_left, self.above[np.minimum(on_right - j, _LONG), 0] * lower


@functools.cache
def places() -> _Places:
    """Return where the law of the least place is looked up, made once."""
    return _Places()


@functools.lru_cache(maxsize=4096)
def _beyond(m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return quadrature weights over d of both sides, and G there."""
    pieces = [0.0, *(2.0**j / m for j in range(-1, 64) if 2.0**j / m < 0.5), 0.5]
    at, weight = np.polynomial.legendre.leggauss(_NODES)
    low, high = np.array(pieces[:-1])[:, None], np.array(pieces[1:])[:, None]
    d = ((high - low) / 2 * at + (high + low) / 2).ravel()
    weights = ((high - low) / 2 * weight).ravel()
    found = np.zeros((2, len(d)))
    if m >= MANY:
        left, right = places().ends(m, m)
        right[0] = left[0]
        for k in range(len(left)):
            found[0] += left[k] * stats.binom.cdf(k - 1, m, d) if k else 0.0
            found[1] += right[k] * stats.binom.cdf(k, m, d)
        return np.concatenate([weights, weights]), found.ravel()
    counts = np.arange(m + 1)
    shares = stats.binom.pmf(counts, m, 0.5)
    for count in counts[shares > _NEGLIGIBLE]:
        left, right = places().ends(count, m - count)
        right[0] = left[0]
        found[0] += shares[count] * _at_most(left[1:], count, 2 * d)
        found[1] += shares[count] * _at_most(right, m - count, 2 * d)
    return np.concatenate([weights, weights]), found.ravel()


@compiled
def _at_most(chances, n, p):
    """Return sum_k chances[k] P[Bin(n, p) <= k] for each p, by the ratio of neighbouring terms."""
    found = np.zeros(len(p))
    for i in range(len(p)):
        # Scaled by 1e250: the first terms may leave the doubles while later ones do not.
        odds, start = p[i] / (1 - p[i]), n * math.log1p(-p[i])
        if start < -1200:
            continue  # so much mass beyond that all terms up to _LONG are below 1e-200
        term, below = math.exp(start + 575), 0.0
        for k in range(min(len(chances), n + 1)):
            if k > 0:
                term *= (n - k + 1) / k * odds
            below += term
            found[i] += chances[k] * below
        found[i] *= math.exp(-575)
    return found
