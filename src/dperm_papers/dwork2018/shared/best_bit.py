r"""The least error of any private prediction of one point's label: the linear program of Theorem 4.3, solved.

n records are drawn; t ~ Bin(n, q) of them are at the point i, all with its label b, which is a fair coin and tells
nothing about other points. What can an (epsilon, delta)-private bit M(S, i) (replace-one) know of b?

**Label counts suffice.** Let p(a, c) be the mean of Pr[M(S, i) = 1] over S with a records (i, 1) and c records (i, 0)
at uniformly random places and the n - a - c others drawn from the law without i. (a, c) and a neighbour (a', c') (one
record replaced: a and c move by at most 1, and if both move, against each other) can be drawn together so that the data
sets differ in one record. Privacy is linear in the two probabilities of a pair, so p is private between neighbouring
counts if M is; the mean error of M over b and S is E_t [(1 - p(t, 0)) + p(0, t)]/2, a function of p; and a p that is
private between neighbouring counts is a private M. Exchanging the labels, M and 1 - M, keeps all of this: also
p(a, c) = 1 - p(c, a), and the error is E_t [1 - p(t, 0)]. So the program over all mechanisms has the value of that over
the counts.

**Its solution.** Privacy of a bit says that p' <= F(p) for neighbours, both ways, with

    F(p) = min(e^eps p + delta, 1 - e^{-eps} (1 - p - delta), 1),

which rises; p' <= F(p) just if 1 - p <= F(1 - p'). t replacements lead from (t, 0) to (0, t), so every solution has
u = p(t, 0) <= F^t(1 - u), and the largest u with that, u_t, is the most that p(t, 0) can be. All these bounds are met
at once by p(a, c) = g(a - c), g(0) = 1/2, g(1) = F(1 - g(1)), g(v + 2) = F(g(v)) and g(-v) = 1 - g(v) for v >= 0: a
replaced record moves v by at most 2, and g rises, for g(0) <= g(1) <= g(2). Above 1/2 the second term of F is the least
or F is 1, so with w = 1 - g

    w(0) = 1/2,   w(1) = (1 - delta)/(1 + e^eps),   w(v + 2) = max(0, e^{-eps} (w(v) - delta)),

and the least mean error is E w(t). No count is left out; a sum that stops early leaves out terms >= 0 and is below it.

References
----------
dwork2018, Theorems 2.2 and 4.3.
"""

import math

import numpy as np
from scipy import stats

from dperm.domain import Budget
from dperm_papers.dwork2018.shared.counting import least

# Minus the logarithm of a probability that no sum of doubles would see.
_TAIL = 41.0


def wrong(counts: np.ndarray, budget: Budget) -> np.ndarray:
    """Return w(v): the least error of a private bit (replace-one) after v = 0, 1, .. agreeing records or votes."""
    counts = np.asarray(counts)
    start = np.where(counts % 2, (1 - budget.delta) / (1 + math.exp(budget.epsilon)), 0.5)
    # w + c shrinks by e^{-eps} in two steps.
    c = budget.delta / math.expm1(budget.epsilon)
    return np.maximum(np.exp(-budget.epsilon * (counts // 2)) * (start + c) - c, 0.0)


def error(n: int, q: float, budget: Budget) -> float:
    """Return E w(t), t ~ Bin(n, q), or less by rounding: the least mean error on a point of mass q (replace-one)."""
    # Bernstein: Pr[t >= n q + s] <= exp(-s^2/(2 (n q + s/3))), which is e^-_TAIL or less at this s.
    last = n * q + 2 / 3 * _TAIL + math.sqrt(2 * _TAIL * n * q)
    t = np.arange(min(n, math.ceil(last)) + 1)
    return float(stats.binom.pmf(t, n, q) @ wrong(t, budget))


def records(q: float, budget: Budget, most: float) -> int:
    """Return the least n with E w(t) <= most < 1/2; E w(t) falls in n, for w falls and t grows (stochastically)."""
    return least(lambda n: error(n, q, budget) <= most)


def few(d: int, epsilon: float) -> float:
    """Return Pr[t <= 1/(4 epsilon)], t ~ Bin(floor(d/(8 epsilon)), 1/d) (proof of Theorem 4.3; erratum D12)."""
    # Quotients that are whole numbers may have been rounded down.
    n, most = (math.floor(value * (1 + 1e-12)) for value in (d / (8 * epsilon), 1 / (4 * epsilon)))
    return float(stats.binom.cdf(most, n, 1 / d))
