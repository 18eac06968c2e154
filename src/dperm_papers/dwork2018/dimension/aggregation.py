r"""Averaging on coins, exactly: l = |a - y|, a in [-1, 1], y = +-1 of mean mu (`abs` of `experiments.dwork2018.signs`).

n records are cut into r shards of m = floor(n/r). A shard's minimiser of the empirical risk is the sign of its sum, 0
on a tie. The mean v of the r signs is answered with Laplace noise of scale b = 2/(r epsilon) and clipped to [-1, 1]
(Lemma 4.5 on a range of width 2; replace-one and add/remove alike). With P, Q and N = 1 - P - Q the chances of the
signs +1, -1 and 0, E clip(v + Z) = v + b/2 (e^{-(1 + v)/b} - e^{-(1 - v)/b}) and 1/b = r epsilon/2,

    excess = mu (1 - E clip(v + Z)),
    E clip(v + Z) = P - Q + b/2 ((Q + N h + P h^2)^r - (P + N h + Q h^2)^r),      h = e^{-epsilon/2}.

References
----------
dwork2018, Lemmas 4.5 and 4.6, Section 7.
"""

import math

import numpy as np
from scipy import stats

from dperm.mechanisms.prediction import averaged
from dperm_papers.dwork2018.shared import signs

# Numbers of shards among which the best is sought, from 1 to n.
_CANDIDATES = 200


def excess(n: int, r: int, epsilon: float, mu: np.ndarray) -> np.ndarray:
    """Return the mean excess loss of averaging with r <= n shards at each mu in [0, 1]; epsilon is of one answer."""
    m = n // r
    q = (1 + mu) / 2
    above = stats.binom.sf(m // 2, m, q)
    tie = stats.binom.pmf(m // 2, m, q) if m % 2 == 0 else np.zeros_like(q)
    below = 1 - above - tie
    scale, h = averaged.scale(r, epsilon, "paper", width=2.0), math.exp(-epsilon / 2)
    clipped = (below + tie * h + above * h**2) ** r - (above + tie * h + below * h**2) ** r
    return mu * (1 - (above - below + scale / 2 * clipped))


def best(n: int, epsilon: float) -> tuple[float, int]:
    """Return the worst excess over mu at the best r of a grid, and r, which depends on n and epsilon alone."""
    mu = signs.means(n)
    candidates = np.unique(np.geomspace(1, n, _CANDIDATES).astype(int))
    return min((float(excess(n, int(r), epsilon, mu).max()), int(r)) for r in candidates)
