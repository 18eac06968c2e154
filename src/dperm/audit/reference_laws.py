r"""Reference laws of mechanisms that answer with a bit or a finite choice, for exact audits (`dperm.audit.exact`).

Each is a plain function from the data (or what the mechanism keeps of them) to the probabilities of the outcomes. They
are written from the formulas, not from the mechanisms' code, and need no sampling.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import special

# (x, y): for thresholds x a point and y in {0, 1}; for supports x a tuple of features and y a number.
Record = tuple


def bit(log_odds: float) -> np.ndarray:
    r"""Return the law of a bit with log(P(1)/P(0)) = log_odds, as (P(0), P(1)), each with its full relative accuracy.

    If the log-odds of two inputs differ by d, the exact epsilon is less than |d|, and tends to it as one value
    of the bit becomes certain: log P(1) - log P'(1) = d + log((1 + e^{z-d})/(1 + e^z)) at z = log_odds.
    """
    return special.expit(np.array([-log_odds, log_odds], dtype=float))


def soft_majority(count: int, *, models: int, epsilon: float) -> np.ndarray:
    r"""Return the law of the soft majority vote: P(1) = e^{epsilon v/2}/(1 + e^{epsilon v/2}), v = 2 count - models.

    dwork2018, Theorem 4.1 (its proof; the prose before it doubles the exponent, erratum D1). Each model is trained on a
    block of its own, so a changed record changes one model, one vote, and v by 2: the log-odds move by epsilon.
    Neighbours: replace-one, or add/remove if the number of models is fixed and a record's block does not depend on the
    other records. The exact epsilon between count and count + 1, largest at count = 0, is epsilon - log((1 + e^{z +
    epsilon})/(1 + e^z)) with z = -epsilon models/2: below epsilon, by about (e^epsilon - 1) e^z.
    """
    return bit(epsilon * (2 * count - models) / 2)


def weighted_votes(count: int, *, models: int, epsilon: float) -> np.ndarray:
    r"""Return the law of a label drawn with weight e^{epsilon (number of its votes)}: NOT epsilon-DP.

    The prose of dwork2018, Section 4.1 (erratum D1). Moving one vote raises one label's exponent and lowers the
    other's: the log-odds epsilon (2 count - models) move by 2 epsilon, and that is what it spends.
    """
    return bit(epsilon * (2 * count - models))


def vote_margins(models: int) -> Iterator[tuple[int, int]]:
    """Yield all pairs of neighbouring vote counts, k and k + 1.

    A changed record changes one model, for the models are trained on disjoint blocks; that model's vote moves the count
    of ones by one, or not at all.
    """
    for count in range(models):
        yield count, count + 1


def exponential(scores: Sequence[float], *, epsilon: float, alpha: float, monotone: bool = False) -> np.ndarray:
    r"""Return the law of the exponential mechanism over losses: P(j) proportional to e^{-epsilon q_j/(2 alpha)}.

    The scores are exact minima, one for each choice; `alpha` bounds the change of every score between neighbours.
    All weights, and their sum, then change by a factor within e^{+-epsilon/2}: epsilon-DP under the relation for
    which alpha is the bound. kifer2012, Algorithm 4 (Section 3.2 writes the exponent wrongly, erratum K4), with
    scores that are least sums of losses in [0, alpha].

    `monotone=True` drops the 2 (erratum K5). Under add/remove such scores only grow when a record is added, by 0 to
    alpha: a weight is multiplied by w in [e^{-epsilon}, 1], the sum of weights too, the quotient by at most
    e^{+-epsilon}. Under replace-one the scores move both ways, by up to alpha, and the same weights spend up to
    2 epsilon.
    """
    weight = epsilon / alpha if monotone else epsilon / (2 * alpha)
    return special.softmax(-weight * np.asarray(scores, dtype=float))


def one_feature_scores(data: Sequence[Record], *, features: int, bound: float) -> np.ndarray:
    r"""Return q_j = min over |t| <= bound of sum_i (y_i - x_ij t)^2/2, for every single feature j.

    The scores of kifer2012's Exp-mech for supports of size 1. With |x_ij| <= 1 and |y_i| <= bound every term is within
    [0, 2 bound^2], so alpha = 2 bound^2 (erratum K5; printed 4 s^2) bounds the change under add/remove, and under
    replace-one as well. `features` is needed for data without records.
    """
    X = np.array([x for x, _ in data], dtype=float).reshape(len(data), features)
    y = np.array([y for _, y in data], dtype=float)
    square, product = (X**2).sum(axis=0), X.T @ y
    # A parabola's minimum over an interval: its vertex, or the nearer end. Where all x are 0 any t serves.
    t = np.clip(product / np.where(square > 0, square, 1.0), -bound, bound)
    return 0.5 * (y @ y) - t * product + 0.5 * t**2 * square


def projected_walk(data: Sequence[Record], query: float, *, steps: int) -> int:
    r"""Return V(S, x), the end of the projected walk of dwork2018's ExpPW (Section 5; Figure 1 by erratum D4).

    v_0 = 0; for the examples with x_i <= query in increasing order of x_i, v <- clip(v + 2 y_i - 1, -T, T). Clipping
    does not take two walks apart, and a record more is one step: it moves V by at most 1, a replaced record by at most
    2 (Lemma 5.1), as long as the order of the other records is the same in both data sets.

    Ties. Here the order of `data` decides among equal x. Any order in which a record's place depends on that record (or
    on a key of its own) keeps the lemma: sorted by (x, y), by a random key, by the place in a sequence. An order that
    looks at the others, such as ones first if an even number is tied, does not. (Erratum D5: sorted by (x, y) the walk
    is as private, but Lemma 5.2 on its error fails.)
    """
    v = 0
    for _, y in sorted((record for record in data if record[0] <= query), key=lambda record: record[0]):
        v = min(max(v + 2 * y - 1, -steps), steps)
    return v


def exp_projected_walk(data: Sequence[Record], query: float, *, steps: int, epsilon: float) -> np.ndarray:
    r"""Return the law of ExpPW's answer: 1 with probability e^{epsilon V/2}/(1 + e^{epsilon V/2}).

    dwork2018, Lemma 5.1: epsilon-DP under replace-one (V moves by at most 2) and epsilon/2 under add/remove (at most
    1). See `projected_walk` for V, ties and errata.
    """
    return bit(epsilon * projected_walk(data, query, steps=steps) / 2)
