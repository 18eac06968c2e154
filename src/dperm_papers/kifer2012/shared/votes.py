r"""Samp-Agg on random signs: the votes of all blocks, and the exact probability of a set given the votes.

Blocks are made a few at a time, so that n p doubles never stand in memory at once (in this design the blocks are
independent). Given the votes q, the noisy top-s set is O with probability

    P(O) = int prod_{j in O} (1 - F(t - q_j)) (sum_{j in O} f(t - q_j)/(1 - F(t - q_j))) prod_{i not in O} F(t - q_i) dt

with F, f of the Laplace law: t is the least noisy score of O. Between neighbouring scores the integrand is smooth on
the noise's own scale, which panels of half of it resolve.
"""

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dperm.mechanisms.support import samp_agg
from dperm_papers.kifer2012.shared import case_study, designs

# Entries of X that stand in memory at once: 32 MB.
_ENTRIES = 2**22
# In units of the noise's scale: how far the integral goes beyond the outermost score, and the width of a panel.
_TAIL, _PANEL = 40.0, 0.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


class Votes(NamedTuple):
    """What k blocks voted: shares by feature, the right support, and sweeps of coordinate descent over all blocks."""

    shares: np.ndarray
    support: np.ndarray
    sweeps: int
    converged: bool


def rademacher(n: int, p: int, size: int, rng: np.random.Generator, *, entries: int = _ENTRIES) -> Votes:
    """Return the votes of floor(sqrt(n)) blocks of the design `rad`, as Algorithm 6 prints them.

    Lambda = 4 sigma n^{1/4} sqrt(log p) with the declared sigma of `designs`; at most `entries` of X are in memory
    at once.
    """
    blocks = max(1, math.isqrt(n))
    block = samp_agg.partition(n, blocks)
    at_once = max(1, entries // (p * -(-n // blocks)))
    penalty = samp_agg.paper_penalty(designs.DECLARED, math.sqrt(n), p)
    # Ties fall to the feature that comes first, so that the true columns may not stand there: they change places with
    # random ones (which costs less than a permutation of all).
    swaps = [(j, int(rng.integers(j, p))) for j in range(size)]
    counts, sweeps, converged = np.zeros(p), 0, True
    for first in range(0, blocks, at_once):
        rows = block[(block >= first) & (block < first + at_once)] - first
        X, y, theta = designs.rademacher(len(rows), p, size, rng)
        for j, k in swaps:
            X[:, [j, k]], theta[[j, k]] = X[:, [k, j]], theta[[k, j]]
        chosen, solution = samp_agg.block_votes(X, y, rows, blocks=int(rows[-1]) + 1, size=size, penalty=penalty)
        counts += np.bincount(chosen.ravel(), minlength=p)
        sweeps += int(solution.sweeps.sum())
        converged &= bool(solution.converged.all())
    return Votes(counts / blocks, np.flatnonzero(theta), sweeps, converged)


def set_probability(shares: np.ndarray, chosen: np.ndarray, scale: float) -> float:
    """Return the probability, to 1e-12, that the noisy top set of the shares q is O (Algorithm 5, lines 5 and 6)."""
    q = shares / scale
    inside = np.zeros(len(q), bool)
    inside[chosen] = True
    # Most features share the score 0: equal ones are counted.
    (above, many), (below, others) = (np.unique(q[mask], return_counts=True) for mask in (inside, ~inside))
    corners = np.unique(np.concatenate([above, below, [q.min() - _TAIL, q.max() + _TAIL]]))
    edges = np.unique(
        np.concatenate([np.linspace(a, b, 1 + math.ceil((b - a) / _PANEL)) for a, b in pairwise(corners)])
    )
    half = np.diff(edges)[:, None] / 2
    t, weights = (edges[:-1, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()
    survival = _log_cdf(above - t[:, None])
    hazard = np.exp(-np.abs(t[:, None] - above) - math.log(2) - survival) @ many
    return float(weights @ (hazard * np.exp(survival @ many + _log_cdf(t[:, None] - below) @ others)))


def printed_scale(blocks: int, size: int, spending: case_study.Spending) -> float:
    """Return the scale of Algorithm 5's noise with half of epsilon, in units of the shares: 2 s/(k epsilon/2)."""
    return 2 * size / (blocks * spending.support.epsilon)


def _log_cdf(z: np.ndarray) -> np.ndarray:
    """Logarithm of the standard Laplace distribution function."""
    return np.where(z < 0, np.minimum(z, 0) - math.log(2), np.log1p(-np.exp(-np.abs(z)) / 2))
