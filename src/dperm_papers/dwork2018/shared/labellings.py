r"""Lemma 5.2 on single samples: the error of ExpPW on its own sample, the best of Thr_k on it, and the bound.

    Err_S(M(S)) <= Opt_S(Thr_k) + (k + 2) T/n + e^{-step T},

with step = eps/2, or eps for Section 2.2's walk, whose query at x_i does not see the record i. Points are all
different, so a sample is a row of labels:

    exhaustive   all 2^n of them, n small;
    realizable   the alternating intervals (`alternating.target`), flipped likewise with a share of wrong labels;
    random       fair coins;
    blocks       zeros and ones in turn, in blocks of one length, for each of a list of lengths: what a walk that lags
                 2 T behind likes least.

References
----------
dwork2018, Lemma 5.2; erratum D6.
"""

import numpy as np
from scipy.special import expit

from dperm.compiled import compiled
from dperm_papers.dwork2018.shared import alternating


def exhaustive(n: int) -> np.ndarray:
    """Return all 2^n rows of n <= 20 labels."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.int8)


def blocks(n: int, lengths: list[int]) -> np.ndarray:
    """Return alternating blocks, zeros first, a row for each length."""
    return np.array([np.arange(n) // length % 2 for length in lengths], dtype=np.int8)


def drawn(kind: str, n: int, k: int, flip: float, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Return rows of labels of drawn samples in the order of their points: k ends, a share `flip` wrong if flipped."""
    if kind == "random":
        return rng.integers(2, size=(repeats, n), dtype=np.int8)
    share = flip if kind == "flipped" else 0.0
    return np.array([alternating.draw(n, k, share, rng)[1] for _ in range(repeats)])


def sample_errors(labels: np.ndarray, bound: float, step: float, *, own: bool = True) -> np.ndarray:
    """Return n Err_S(M(S)) of each row exactly, T an integer; not `own` is Section 2.2's walk, blind to record i."""
    T = round(bound)
    return _sums(np.ascontiguousarray(labels, dtype=np.int8), expit(step * np.arange(-T, T + 1)), T, own)


@compiled
def _sums(labels, one, T, own):
    found = np.zeros(len(labels))
    for r in range(len(labels)):
        at = T
        for i in range(labels.shape[1]):
            before = at
            at = min(at + 1, 2 * T) if labels[r, i] else max(at - 1, 0)
            asked = one[at if own else before]
            found[r] += 1.0 - asked if labels[r, i] else asked
    return found


def lemma_bound(k: int, T: float, n: int, step: float) -> float:
    """Return (k + 2) T/n + e^{-step T}; Lemma 5.2 has step = epsilon/2."""
    return (k + 2) * T / n + float(np.exp(-step * T))
