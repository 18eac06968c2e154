r"""Two laws on outcomes 1..m: delta at epsilon, and the event that makes epsilon the largest at delta.

P(S) <= e^epsilon Q(S) + delta for all S means that it holds for the S that makes the difference largest,
{p_i > e^epsilon q_i}, so that

    delta(epsilon) = sum_i (p_i - e^epsilon q_i)_+,    epsilon(delta) = max(0, max_S log((P(S) - delta)/Q(S))),

and the best S holds the outcomes of largest ratio p_i/q_i: sort by ratio, take sums of the first k, and take the
largest of m quotients. For delta = 0 that is the largest log(p_i/q_i). If an event that Q never produces is likelier
than delta under P, epsilon is infinite.
"""

import math

import numpy as np

# Quotients this close (relative) count as equal: which is larger depends on the processor, and no event may.
ALIKE = 1e-12


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return the least delta with which P(S) <= e^epsilon Q(S) + delta for all S."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def closeness(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """Return the least delta with which the two are (epsilon, delta)-close: in both directions."""
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def best_event(p: np.ndarray, q: np.ndarray, delta: float) -> tuple[float, np.ndarray]:
    """Return max(0, max_S log((P(S) - delta)/Q(S))) and, as rising indices, the S that attains the maximum.

    p and q are measures of the outcomes; nothing here needs their sums to be 1. Of all maximisers (but for
    rounding) S is the largest; if no S has P(S) > delta, it is where p exceeds q.
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(p > 0, p / q, 0.0)
        order = np.argsort(-ratio, kind="stable")
        order = order[p[order] > 0]
        above, below = np.cumsum(p[order]) - delta, np.cumsum(q[order])
        value = np.where(above > 0, above / below, 0.0)
    if not len(order) or value.max() <= 0:
        return 0.0, np.flatnonzero(p > q)
    best = float(value.max())
    # Outcomes whose ratio is the quotient itself change nothing: with them the event is all of {p >= e^epsilon q}.
    last = np.flatnonzero(value >= best * (1 - ALIKE))[-1]
    return max(0.0, math.log(best)), np.sort(order[: last + 1])
