r"""Noisy top-s: add Laplace noise to the scores of p items and take the s largest (kifer2012, Theorem 37).

Theorem 37: if a record moves each score by at most Dq, then noise Lap(2 s Dq/epsilon) gives epsilon. The selected set
is O exactly if every noisy score in O is above every one outside, so it depends on differences alone. Two proofs, both
of which allow m = min(s, p - s) in place of s:

- scores move by at most Dq each: raise the noise in O by 2 Dq (s items), or lower that outside (p - s items);
- one block's vote of s items changes: at most m scores rise and m fall by Dq = 1/k, so ||q - q'||_1 <= 2 m Dq, and the
  Laplace mechanism releases all noisy scores.

That is tight: where O lies far below the rest, the ratio of its probabilities tends to exp(2 m Dq/scale) (tested).

The law of the set, exactly. With F and f the distribution and density of the noise,

    P(O) = int prod_{j in O} (1 - F(t - q_j)) d prod_{i not in O} F(t - q_i).

Between neighbouring scores the integrand is a polynomial in exp(t/scale), so Gauss-Legendre panels that end at the
scores reach rounding; products are sums of logarithms, so that tiny probabilities keep their relative accuracy.

Sources: kifer2012, Theorem 37 (after Bhaskar et al., KDD 2010) and Theorem 8.
"""

import math
from collections.abc import Callable
from itertools import combinations, pairwise

import numpy as np
from scipy.special import logsumexp

from dperm.domain import number
from dperm.noise import Laplace
from dperm.solvers.blas import one_thread

CHUNK_ENTRIES = 2**22
_MOST_SETS = 100_000
# In units of the scale: beyond the outermost score (of the s, of the p - s) by this much, the rest is below exp(-60).
_TAIL = 60.0
# By how much the logarithm of an integrand may vary within a panel of 20 nodes.
_SPREAD = 4.0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


def top(values: np.ndarray, size: int) -> np.ndarray:
    """Return the places, ascending, of the `size` largest of each row (no NaN); of equal ones those that come first."""
    p = values.shape[1]
    least = np.partition(values, p - size, axis=1)[:, p - size, None]
    above, equal = values > least, values == least
    room = size - above.sum(axis=1, keepdims=True)
    chosen = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return np.nonzero(chosen)[1].reshape(len(values), size)


def sample(
    scores: np.ndarray, *, size: int, scale: float, rng: np.random.Generator, repeats: int | None = None
) -> np.ndarray:
    """Draw sets: the `size` largest of scores + Laplace noise.

    - scores: shape (p,) or (R, p); q; one row for all repeats, or one for each.
    - scale: of the noise, 0 or above, in units of the scores.
    - repeats: R; needed where `scores` is one row.
    - Returns: shape (R, s); ascending indices; the same sets for the same rng, however large R is made.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        scores = np.broadcast_to(scores, (1 if repeats is None else repeats, len(scores)))
    repeats, p = scores.shape
    _check(scores, size)
    noise = Laplace(scale)
    supports = np.empty((repeats, size), int)
    chunk = max(1, CHUNK_ENTRIES // p)
    for low in range(0, repeats, chunk):
        part = scores[low : low + chunk]
        supports[low : low + chunk] = top(part + noise.sample(part.shape, rng), size)
    return supports


def set_log_probabilities(scores: np.ndarray, *, size: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return every set of `size` items and the logarithm of the probability that `sample` draws it.

    - scores: shape (p,); q; so few that there are at most 100,000 sets.
    - sets: shape (C, s); in lexicographic order.
    - log_probability: shape (C,); relative accuracy of the probabilities: about 1e-11, also of tiny ones.
    """
    scores = np.asarray(scores, dtype=np.float64)
    _check(scores[None], size)
    number("scale", scale, 0, math.inf, remedy="without noise the set is certain: see top")
    p = len(scores)
    if math.comb(p, size) > _MOST_SETS:
        raise ValueError(f"size={size} of {p} items gives more than {_MOST_SETS} sets; count draws of `sample` instead")
    sets = np.array(list(combinations(range(p), size)))
    if size == p:
        return sets, np.zeros(1)
    q = (scores - scores.min()) / scale
    corners = np.concatenate([[-_TAIL], np.unique(q), [q.max() + _TAIL]])
    steps = [np.linspace(a, b, 2 + int((b - a) * max(1.0, p / 8))) for a, b in pairwise(corners)]
    t, log_weight = (part.ravel() for part in _nodes(np.unique(np.concatenate(steps))))
    inside = np.zeros((len(sets), p))
    np.put_along_axis(inside, sets, 1.0, axis=1)
    result = np.empty(len(sets))
    z = t[:, None] - q
    log_below, log_above = _log_cdf(z), _log_cdf(-z)
    hazard = np.exp(-np.abs(z) - math.log(2) - log_below)
    chunk = max(1, CHUNK_ENTRIES // len(t))
    with one_thread():
        for low in range(0, len(sets), chunk):
            part = inside[low : low + chunk]
            # d prod F = prod F times the sum of f/F, which underflows only where the integrand does not matter.
            with np.errstate(divide="ignore"):
                log_density = (1 - part) @ log_below.T + np.log((1 - part) @ hazard.T)
            result[low : low + chunk] = logsumexp(part @ log_above.T + log_density + log_weight, axis=1)
    return sets, np.minimum(result, 0.0)


def log_separation(p: int, *, size: int, gap: float) -> tuple[float, float]:
    """Return log P and log(1 - P), where P is the probability that s items with score 1 beat p - s with score 0.

    Theorem 8's event, where all k blocks agree: gap = 1/scale = k epsilon/(2 s) for the printed noise, and the theorem
    claims 1 - P <= p exp(-gap/2). With u the smallest noise of the s,

        P = int s f(u) (1 - F(u))^(s-1) F(u + gap)^(p-s) du,

    and 1 - P the same with 1 - F^(p-s): no difference of near-equal numbers either way.

    - p: above s; tested up to 1e6.
    - gap: difference of the scores in units of the noise's scale, in [0, inf).
    - log_success, log_failure: each with relative accuracy about 1e-11 of the probability (1e-15 of the logarithm,
      where it is large).
    - Source: kifer2012, Theorem 8.
    """
    number("size", size, 1, math.inf, ends="[)")
    number("p", p, size, math.inf, remedy="more items than are taken, else nothing can fail")
    number("gap", gap, 0, math.inf, ends="[)", remedy="it is the difference of the scores over the noise's scale")
    others = p - size

    def log_density(u: np.ndarray) -> np.ndarray:
        return math.log(size / 2) - np.abs(u) + (size - 1) * _log_cdf(-u)

    def log_fails(u: np.ndarray) -> np.ndarray:
        # Far out, 1 - F^m = m exp(-z)/2 before it underflows.
        z = u + gap
        far = math.log(others / 2) - z
        return log_density(u) + np.where(far < -_TAIL, far, _log1mexp(others * _log_cdf(z)))

    # The smallest of the s lies around -log s, the largest of the others around log(p - s) - gap: panels of width 1
    # there; where a large gap lies between, one (there the integrands are constant, or too small to matter).
    low, high = -_TAIL - math.log(size), _TAIL + math.log(others)
    zones = [(low - gap, high - gap), (low, high)] if gap > high - low else [(low - gap, high)]
    edges = [[-gap, 0.0]] + [np.linspace(start, end, 2 + int(end - start)) for start, end in zones]
    edges = np.unique(np.concatenate(edges))
    success = log_integral(lambda u: log_density(u) + others * _log_cdf(u + gap), edges)
    failure = log_integral(log_fails, edges)
    return min(success, 0.0), min(failure, 0.0)


def log_integral(log_integrand: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> float:
    """Return log int exp(log_integrand) for a concave one: panels are halved where it varies by more than _SPREAD.

    That resolves any slope; a kink must be at an edge, and a bend within a panel as gentle as those of exp.
    """
    while True:
        nodes, log_weight = _nodes(edges)
        values = log_integrand(nodes)
        largest = values.max(axis=1)
        matters = largest > largest.max() - _TAIL
        # The peak may lie beside its nearest node, across the edge.
        matters[max(0, largest.argmax() - 1) : largest.argmax() + 2] = True
        halve = matters & (largest - values.min(axis=1) > _SPREAD)
        if not halve.any():
            return float(logsumexp(values + log_weight))
        edges = np.sort(np.concatenate([edges, (edges[:-1] + edges[1:])[halve] / 2]))


def _nodes(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return Gauss-Legendre nodes and the logarithms of their weights, shape (panels, nodes) each."""
    half = np.diff(edges)[:, None] / 2
    with np.errstate(divide="ignore"):  # edges that differ by rounding alone
        return edges[:-1, None] + half * (1 + _NODES), np.log(half * _WEIGHTS)


def _log_cdf(z: np.ndarray) -> np.ndarray:
    """Logarithm of the standard Laplace distribution function."""
    tail = np.exp(-np.abs(z)) / 2
    return np.where(z < 0, np.minimum(z, 0) - math.log(2), np.log1p(-tail))


def _log1mexp(x: np.ndarray) -> np.ndarray:
    """log(1 - exp(x)) for x <= 0."""
    with np.errstate(divide="ignore"):
        return np.where(x > -math.log(2), np.log(-np.expm1(np.maximum(x, -1))), np.log1p(-np.exp(np.minimum(x, -0.5))))


def _check(scores: np.ndarray, size: int) -> None:
    if scores.ndim != 2 or not np.isfinite(scores).all():
        raise ValueError(f"scores of shape {scores.shape} must be finite, of shape (p,) or (R, p)")
    number("size", size, 1, scores.shape[1], ends="[]", remedy="it is how many of the p items are taken")
