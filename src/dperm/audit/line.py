"""Audits of mechanisms with outputs on a line and a known distribution function: interval events, no sampling.

`dperm.laws.line` searches for the event, and bounds what rounding may cost. Neighbouring relation: that of the pair
which the caller hands in.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.audit.exact import ROUNDING
from dperm.audit.target import Data, Target
from dperm.domain import number
from dperm.laws import line


@dataclass(frozen=True)
class LineAudit:
    """What an audit on a line found.

    Parameters
    ----------
    epsilon : float
        Lower bound on the mechanism's epsilon at `delta`, 0 or above; certain, not at a level of confidence.
    delta : float
    likelier : {"data", "neighbour"}
        The side on which the event is likelier.
    event : str
        The event in words.
    intervals : ndarray, shape (k, 2)
        The event: the output is in one of the intervals (low, high].
    probability, other_probability : float
        Of the event, on the likelier side (rounded down) and on the other (rounded up).
    """

    epsilon: float
    delta: float
    likelier: str
    event: str
    intervals: np.ndarray
    probability: float
    other_probability: float

    def refutes(self, epsilon: float) -> bool:
        """Say whether the claim (epsilon, self.delta) is false.

        Parameters
        ----------
        epsilon : float
            The claim.

        Returns
        -------
        bool
            True if the bound is above it by more than rounding.
        """
        return self.epsilon > epsilon * (1 + ROUNDING)


def lower_bound(
    target: Target, data: Data, neighbour: Data, *, delta: float, kept: dict[Any, line.Law] | None = None
) -> LineAudit:
    """Return the largest lower bound on epsilon that a union of intervals proves for this pair, in either direction.

    Parameters
    ----------
    target : Target
        With `cdf`, and for upper tails below 1e-9 with `sf`.
    data, neighbour : object
        What the mechanism takes.
    delta : float
        In [0, 1).
    kept : dict, optional
        Of a scan over pairs of data sets (tuples of arrays) under one target: what is found of a data set is kept here,
        for the next pair that it is in.

    Raises
    ------
    ValueError
        If the target has no cdf, or it is no distribution function.
    """
    delta = number("delta", delta, 0, 1, ends="[)", remedy="take 0 for pure privacy")
    if target.cdf is None:
        raise ValueError("this target has no cdf: give it one (outputs on a line), or audit it by sampling")
    found = line.lower_bound(_law(target, data, kept), _law(target, neighbour, kept), delta)
    likelier = "neighbour" if found.reversed else "data"
    words = _words(found.intervals)
    return LineAudit(found.epsilon, delta, likelier, words, found.intervals, found.probability, found.other_probability)


def _law(target: Target, data: Data, kept: dict[Any, line.Law] | None) -> line.Law:
    def sf(points):
        return target.sf(points, data)

    law = line.Law(lambda points: target.cdf(points, data), sf if target.sf is not None else None, target.atoms)
    return law if kept is None else kept.setdefault(tuple((part.shape, part.tobytes()) for part in data), law)


def _words(intervals: np.ndarray, most: int = 3) -> str:
    if not len(intervals):
        return "none: no interval is likelier on one side"
    parts = [_interval(low, high) for low, high in intervals[:most]]
    more = f" or {len(intervals) - most} more intervals" if len(intervals) > most else ""
    return "output " + " or ".join(parts) + more


def _interval(low: float, high: float) -> str:
    if math.isinf(low) and math.isinf(high):
        return "anywhere"
    if math.isinf(low):
        return f"<= {high:.6g}"
    return f"> {low:.6g}" if math.isinf(high) else f"in ({low:.10g}, {high:.10g}]"
