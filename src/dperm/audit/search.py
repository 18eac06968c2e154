"""A search for the pair of data sets that tells most, inside bounds that a user declares.

Pairs are proposed (`dperm.audit.spaces`) and drawn from; the more a pair promises, the more draws it gets, and pairs
like it are tried too. What is returned is a pair, and no bound: an audit with draws of its own follows. Its bound is
certified as if the pair had been given, because given the draws of the search the pair is fixed, and the error is at
most 1 - confidence for each pair; so it is on average. No correction for the number of pairs is due.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from dperm.audit import events, floating, sampling
from dperm.audit.outputs import OneByOne
from dperm.audit.spaces import Answers, Pair, Records
from dperm.domain import Neighbours, one_of

# Pairs that are left in each round; of those of a later round so many are new, like the best so far.
_ROUNDS = ((96, 0), (20, 8), (6, 2))
# Draws of a pair are wasted below this.
_LEAST = 40
# Promises only rank pairs: they may be wrong this often.
_ERROR = 0.1
Aborts = Literal["outcome", "avoid"]


def pair(
    mechanism: Callable[[Any, int, np.random.Generator], np.ndarray],
    within: Records | Answers,
    relation: Neighbours,
    *,
    delta: float = 0.0,
    draws: int = 40_000,
    aborts: Aborts = "outcome",
    rng: np.random.Generator,
) -> Pair:
    """Return the most telling pair that was found.

    Parameters
    ----------
    mechanism : callable
        As for `dperm.audit.lower_bound`. Pairs that it cannot be drawn from are left out.
    within : Records or Answers
        The bounds; or an object that has their methods `draw` and `vary`.
    relation : {"add_remove", "replace"}
    delta : float
        That of the claim.
    draws : int
        A side, over all pairs, about; none of them certifies anything.
    aborts : {"outcome", "avoid"}
        What `one_by_one` makes of an exception: an outcome like any other; or pairs that raise are left out, where a
        mechanism promises nothing of data that it refuses.
    rng : Generator

    Returns
    -------
    Pair
        `data`, `neighbour`, and in `words` what they are.

    Raises
    ------
    ValueError
        If every pair has calls that raise, and these are to be avoided.
    Exception
        What the mechanism raised last, if it could be drawn from on no pair.
    """
    one_of("relation", relation, Neighbours)
    one_of("aborts", aborts, Aborts)
    proposals, trials = rng.spawn(2)
    kept: list[Pair] = []
    failed: Exception | None = None
    for place, (count, new) in enumerate(_ROUNDS):
        if place == 0:
            kept = [within.draw(relation, proposals) for _ in range(count)]
        else:
            kept = kept[: count - new] + [within.vary(kept[k % len(kept)], relation, proposals) for k in range(new)]
        each = max(_LEAST, draws // (len(_ROUNDS) * count))
        ranked = []
        for candidate in kept:
            try:
                promise = _promise(mechanism, candidate, each, delta, aborts, trials, trees=place > 0)
            except Exception as error:
                failed = error
                continue
            ranked.append((promise, candidate))
        if not ranked:
            raise failed
        if max(promise for promise, _ in ranked) == -np.inf:
            raise ValueError(
                "every pair has calls that raise: leave these as outcomes, or declare other bounds or sizes"
            )
        kept = [candidate for _, candidate in sorted(ranked, key=lambda one: -one[0])]
    return kept[0]


def _promise(mechanism, candidate: Pair, draws: int, delta: float, aborts: Aborts, rng, *, trees: bool) -> float:
    data, neighbour = candidate.data, candidate.neighbour
    if isinstance(mechanism, OneByOne):
        mechanism = mechanism.prepared(data, neighbour, draws, rng)
        if aborts == "avoid" and "raised" in mechanism.places:
            return -np.inf
    first, second = (
        np.concatenate(list(sampling.outputs(mechanism, side, draws, rng, sampling.BATCH)))
        for side in (data, neighbour)
    )
    steps = floating.grid(first, second)
    return events.choose(
        floating.rounded(first, steps),
        floating.rounded(second, steps),
        mechanism=mechanism,
        data=data,
        neighbour=neighbour,
        extra=(),
        raw=False,
        delta=delta,
        confidence=0.5,
        model="none",
        trees=trees,
        error=_ERROR,
    ).promise
