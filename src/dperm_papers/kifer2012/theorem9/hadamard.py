r"""The Hadamard design of Theorem 9's experiment: every block of Samp-Agg is whole Hadamard matrices.

    n = k^2 records, k a multiple of p, k blocks of k/p copies of a Hadamard matrix each: X_b'X_b = k I, X'X = n I;
    y = X theta* + w, theta* = Phi (1, -1, 0, ...), Phi = 1/2, w of sd NOISE, declared sigma = 2 NOISE, s = 2.

Then Psi = 1, and of a block nothing is needed but X_b'y_b: its lasso is the soft threshold, exactly. Of Definition 2
the noise condition ||X_b'w_b||_inf <= 2 sigma sqrt(k log p) and |y| <= s are checked block by block; the rest holds
always. |<x, theta*>| <= 1 and |y| <= 2 are 20 sds apart, so that nothing is clipped. Phi = 1 would need it, and what is
cut shrinks the minimiser by more than Algorithm 1's noise moves it at the largest n.
"""

import math
from typing import NamedTuple

import numpy as np

from dperm.mechanisms.support import noisy_top, samp_agg
from dperm_papers.kifer2012.shared import designs
from dperm_papers.kifer2012.shared.case_study import Moments

SIZE, PHI, NOISE = 2, 0.5, 0.05
SIGMA = 2 * NOISE


def whole(n: int, p: int) -> bool:
    """Return whether sqrt(n) blocks of the Hadamard design are whole Hadamard matrices."""
    k = math.isqrt(n)
    return k * k == n and k % p == 0


def enough(n: int, p: int) -> bool:
    """Return whether n >= (16 sigma/(Psi Phi))^4 s^2 log^2 p with Psi = 1 (kifer2012, Lemma 41)."""
    return n >= (16 * SIGMA / PHI) ** 4 * (SIZE * math.log(p)) ** 2


class Blocks(NamedTuple):
    """All that blocks of whole Hadamard matrices know of their records: `moments` of all records, c_b = X_b'y_b.

    `well_behaved`: whether ||X_b'w_b||_inf <= 2 sigma sqrt(k log p) and |y| <= s.
    """

    moments: Moments
    c: np.ndarray
    well_behaved: np.ndarray


def draw(n: int, p: int, rng: np.random.Generator) -> Blocks:
    """Draw the noise of the Hadamard design: k = sqrt(n) blocks of k rows, each k/p copies of a Hadamard matrix."""
    k = math.isqrt(n)
    H, theta = designs.hadamard_rows(p), star(p)
    noise = NOISE * rng.standard_normal((k, k // p, p))
    y = H @ theta + noise
    hit, limit = noise.sum(axis=1) @ H, 2 * SIGMA * math.sqrt(k * math.log(p))
    well_behaved = (np.abs(hit).max(axis=1) <= limit) & (np.abs(y).max(axis=(1, 2)) <= SIZE)
    c = k * theta + hit
    return Blocks(Moments(n * np.eye(p), c.sum(axis=0), float(np.sum(y**2)), n), c, well_behaved)


def vote_shares(blocks: Blocks) -> np.ndarray:
    """Return the share of the votes that each feature has, by each block's lasso.

    Exact: with Lambda = 4 sigma sqrt(k log p) theta_j is X_b'y_b moved towards 0 by Lambda, over k.
    """
    k, p = blocks.c.shape
    distance = np.maximum(np.abs(blocks.c) - samp_agg.paper_penalty(SIGMA, k, p), 0.0) / k
    return np.bincount(noisy_top.top(distance, SIZE).ravel(), minlength=p) / k


def star(p: int, phi: float = PHI) -> np.ndarray:
    """Return theta* = phi (1, -1, 0, ..., 0)."""
    theta = np.zeros(p)
    theta[:SIZE] = phi * np.where(np.arange(SIZE) % 2, -1.0, 1.0)
    return theta
