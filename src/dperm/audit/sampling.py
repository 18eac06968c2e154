"""Audits by sampling: a certified lower bound on the epsilon of anything that can be called.

Some draws choose a guess of the side (`dperm.audit.events`), the others certify it (`dperm.audit.bounds`). The bound
holds whatever the choice was, so nothing about the mechanism has to be known or trusted. It is a statement about one
pair of data sets: a small bound shows no privacy, a large one refutes a claim.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.audit import bounds, events, floating
from dperm.audit.bounds import Counts, Model
from dperm.audit.events import Event
from dperm.domain import integer, number, one_of

Mechanism = Callable[[Any, int, np.random.Generator], np.ndarray]

# Draws that are asked of the mechanism at once.
BATCH = 50_000
# Share of the draws that choose the guess.
CHOOSING = 0.4
# Fewer leave nothing to choose an event from.
LEAST_DRAWS = 100
# What is said of a number that is none.
DRAWN = "it counts draws of the mechanism"


@dataclass(frozen=True)
class Audit:
    """What an audit by sampling found.

    Parameters
    ----------
    epsilon : float
        Lower bound on the mechanism's epsilon at `delta`, right with probability `confidence`.
    delta, confidence : float
    draws : int
        A side on average, those that choose and those that certify together.
    event : str
        In words, the outputs of which one side is guessed; and those, if any, of which the other is.
    likelier : {"data", "neighbour"}
        The side that is guessed first, on which the event is likelier.
    both : bool
        Is either side ever guessed?
    counts : Counts
        How often the guess was right and wrong in the draws that certify.
    model : {"none", "gaussian"}
        What was assumed: nothing, or that the trade-off curve is a Gaussian's.
    mu : float or None
        With the Gaussian model, the lower bound on mu.
    """

    epsilon: float
    delta: float
    confidence: float
    draws: int
    event: str
    likelier: str
    both: bool
    counts: Counts
    model: Model
    mu: float | None

    def p_value(self, epsilon: float) -> float:
        """Return how surprising the counts are if (epsilon, self.delta) holds.

        Parameters
        ----------
        epsilon : float
            The claim, above 0.
        """
        return bounds.p_value(self.counts, epsilon=epsilon, delta=self.delta, model=self.model)

    def refutes(self, epsilon: float) -> bool:
        """Say whether the claim (epsilon, self.delta) is refuted at this audit's confidence.

        With model="gaussian" it is refuted only if the trade-off is a Gaussian's: that of a correct Laplace mechanism
        is not, and it would be accused.

        Parameters
        ----------
        epsilon : float
            The claim, above 0.
        """
        return self.p_value(epsilon) <= 1 - self.confidence


def lower_bound(
    mechanism: Mechanism,
    data: Any,
    neighbour: Any,
    *,
    draws: int,
    delta: float = 0.0,
    confidence: float = 0.95,
    rng: np.random.Generator,
    model: Model = "none",
    raw: bool = False,
    events: Iterable[Event] = (),
    batch: int = BATCH,
) -> Audit:
    """Attack a mechanism with two neighbouring data sets and return a certified lower bound on its epsilon.

    Parameters
    ----------
    mechanism : callable
        (data, repeats, rng) -> ndarray, shape (repeats,) or (repeats, p): independent outputs. A
        `dperm.audit.target.Target` may know more, which makes the attack sharper.
    data, neighbour : object
        Whatever the mechanism takes; whether they are neighbours, and under which relation, is up to the caller.
    draws : int
        A side, at least 100; two fifths choose the guess. Of the others each has its side from a fair coin.
    delta : float
        In [0, 1).
    confidence : float
        In (0, 1).
    rng : Generator
    model : {"none", "gaussian"}
        "gaussian" for additive Gaussian noise at a small delta: the bound then assumes a Gaussian trade-off curve
        (`dperm.audit.bounds`) and is to be reported as model-based.
    raw : bool
        False: outputs are rounded to a grid a million times finer than their spread, which hides what floating-point
        numbers betray: an audit of the algorithm. True: they are looked at bit by bit: an audit of the release.
    events : iterable of Event
        Scores to be tried besides our own.
    batch : int
        Draws asked of the mechanism at once, at least 1.

    Raises
    ------
    ValueError
        If an argument is outside its range, or the outputs are no finite numbers of one shape.
    """
    draws, batch = integer("draws", draws, LEAST_DRAWS, DRAWN), integer("batch", batch, 1, DRAWN)
    number("confidence", confidence, 0, 1, remedy="0.95 is usual")
    one_of("model", model, Model)
    ends, remedy = ("()", "a Gaussian trade-off needs one above 0") if model == "gaussian" else ("[)", "0 is pure")
    number("delta", delta, 0, 1, ends=ends, remedy=remedy)
    extra = tuple(events)
    # One stream for each side and part: which guess is taken changes nothing in the draws that certify it.
    streams = rng.spawn(6)
    # What a user's own events look at are the outputs as they are.
    if hasattr(mechanism, "prepared") and not extra:
        mechanism = mechanism.prepared(data, neighbour, draws, streams[5])
    choosing = int(CHOOSING * draws)
    certifying = draws - choosing
    # Each draw that certifies has its side from a fair coin; that of the choice needs none.
    tries = int(streams[4].binomial(2 * certifying, 0.5))
    first, second = (
        np.concatenate(list(outputs(mechanism, value, choosing, stream, batch)))
        for value, stream in ((data, streams[0]), (neighbour, streams[1]))
    )
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"mechanism gives {first.shape[1]} numbers for `data` and {second.shape[1]} for `neighbour`: "
            "outputs of both sides must have one shape (their difference would tell them apart)"
        )
    steps = np.zeros(first.shape[1]) if raw else floating.grid(first, second)
    first, second = floating.rounded(first, steps), floating.rounded(second, steps)
    event = _choose(
        first,
        second,
        mechanism=mechanism,
        data=data,
        neighbour=neighbour,
        extra=extra,
        raw=raw,
        delta=delta,
        confidence=confidence,
        model=model,
    )
    asked = ((data, tries, streams[2]), (neighbour, 2 * certifying - tries, streams[3]))
    seen = [
        sum(event.count(floating.rounded(some, steps)) for some in outputs(mechanism, *side, batch)) for side in asked
    ]
    counts = event.counts(*seen, tries=(tries, 2 * certifying - tries))
    return Audit(
        epsilon=bounds.epsilon_bound(counts, delta=delta, confidence=confidence, model=model),
        delta=delta,
        confidence=confidence,
        draws=draws,
        event=event.words,
        likelier=event.likelier,
        both=event.both,
        counts=counts,
        model=model,
        mu=bounds.mu_bound(counts, confidence=confidence) if model == "gaussian" else None,
    )


# Under its own name: `events` is a parameter here.
_choose = events.choose


def numbers(output: Any, who: str) -> np.ndarray:
    """Return an output as an array of numbers; ValueError, saying who gave it and what takes others, if it is none."""
    try:
        array = np.asarray(output)
        if array.dtype.kind != "c":
            return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"{who} gave a {type(output).__name__} that is no array of real numbers: dperm.audit.one_by_one looks at "
        "outputs of any kind, but events of your own, and a Target, need numbers"
    )


def outputs(mechanism: Mechanism, data: Any, draws: int, rng: np.random.Generator, batch: int):
    """Yield outputs, shape (up to batch, p), `draws` in all."""
    for low in range(0, draws, batch):
        repeats = min(batch, draws - low)
        outputs = numbers(mechanism(data, repeats, rng), "mechanism")
        if outputs.ndim == 1:
            outputs = outputs[:, None]
        if outputs.ndim != 2 or len(outputs) != repeats:
            raise ValueError(
                f"mechanism gave the shape {outputs.shape} when asked for {repeats} outputs: "
                "return one number, or one row of numbers, for each"
            )
        if not np.isfinite(outputs).all():
            raise ValueError(
                "mechanism gave outputs that are not finite: such an output is an event of its own; map it to a number"
            )
        yield outputs
