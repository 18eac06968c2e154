r"""Attacks on a ledger of many answers as a whole (dwork2018, Definition 1.1): the exact law of the transcript.

The library's own ledger says what an answer may cost, and is asked for answers until it refuses. What so many answers
spend together, all at the worst pair, is exact:

    bits              m of them at one margin: the number of ones is binomial. Soft majority at any count of 200 shards,
                      the average's bit at any of 2, 10 or 50, ExpPW at any value of its walk. Every accountant.
    the predictor     the estimator itself, each row asked twice (`exhaustion`): as many answers as it gave.
    adaptive bits     soft majority: the next query's margin, and its direction, depend on the answers so far
                      (`transcripts.rounds`).
    answers           m answers with Laplace noise, all moved by the same: convolution (`dperm.laws.privacy_loss`);
                      stable ERM, stable SGD.
    adaptive prices   two prices, as the answers suggest, of a ledger that takes them as they come
                      (`transcripts.prices`); which are granted is asked of the library's ledger.

    ledger            price fixed beforehand.      ledger-prices   prices as one goes.

A ledger of calibration "paper" counts as the paper's time did: the sum, and Theorem 3.20 (`PRINTED`).

Neighbouring relation: each row's.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import stats

from dperm.accounting import composition, filters
from dperm.audit import columns, exact, reference_laws
from dperm.audit.prediction import answers, bits, transcripts
from dperm.audit.prediction.exhaustion import exhaust
from dperm.errors import BudgetExhausted
from dperm.laws import privacy_loss
from dperm.laws.finite import best_event
from dperm.mechanisms.prediction.ledger import AdaptiveLedger, PredictionLedger

# Numbers of answers that are tried; and of those whose queries adapt.
QUERIES, ADAPTIVE = (10, 100, 1_000), 100
# Shards of a soft majority, and margins of them that are tried; a strategy has two of them.
SHARDS, _MARGINS = 200, 21
# How often a strategy is looked for.
_AGAIN = 2
# Prices chosen as one goes: 60 answers at the lower price fit into the budget; the higher price is 4 times the lower.
CHEAP, _DEARER = 60, 4


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on a ledger."""
    record = {"guarantee": "proved", "loss": "none"}
    if row["variant"] == "ledger-prices":
        yield record | of_prices(row)
        return
    made = MAKERS[job["mechanism"]]
    ranged, printed = job["mechanism"] in _RANGED, row["calibration"] == "paper"
    for accountant in PRINTED if printed else filters.accountants(row["delta"], ranged):
        tried = [made(row, *opened(row, count, ranged, accountant)) for count in QUERIES]
        best = max(tried, key=lambda found: found["exact_bound"])
        yield record | best | {"pair_words": f"{best['pair_words']} ({accountant})"}
    if printed:
        # The public estimator takes the best accountant: the tight row asks it.
        return
    found = exhaust(job["mechanism"], row, rng("served"))
    made = made(row, found.each, found.answered)
    words = f"the predictor asked until it refuses: {made['pair_words']}"
    yield record | made | {"pair_words": words, "white_box_p": found.p_value}
    if job["mechanism"] == "soft_majority":
        yield record | adaptive(row, *opened(row, ADAPTIVE, ranged))


def opened(row: Mapping[str, Any], count: int, ranged: bool, accountant: str | None = None) -> tuple[float, int]:
    """Return the price of an answer, and how many of the `count` asked for a ledger really grants.

    `ranged` says whether they are of bounded range.
    """
    ledger = PredictionLedger(
        row["epsilon"], row["delta"], answers=count, bounded_range=ranged, neighbours=row["neighbours"],
        accountant=accountant,
    )  # fmt: skip
    granted = 0
    # Twice as many as were asked for would be refuted without doubt.
    while granted < 2 * count:
        try:
            ledger.charge()
        except BudgetExhausted:
            break
        granted += 1
    return ledger.each, granted


def many_bits(law: Callable[[Any], np.ndarray], pairs: list, count: int, delta: float) -> exact.ExactAudit:
    """Return the exact audit of `count` bits of a law at one pair; its outcomes are numbers of ones."""

    return exact.exact(lambda value: ones(law(value)[1], count), pairs, delta=delta)


def ones(chance: float, count: int) -> np.ndarray:
    """Return the law of the number of ones among `count` bits."""
    masses = stats.binom.pmf(np.arange(count + 1), count, chance)
    return masses / math.fsum(masses)


def adaptive(row: Mapping[str, Any], each: float, granted: int) -> dict[str, Any]:
    """Return the attack by margins that depend on the answers so far."""

    def law(count):
        return reference_laws.soft_majority(count, models=SHARDS, epsilon=each)

    fixed = many_bits(law, _margins(), granted, row["delta"])
    # The record votes 1 at one query, and at another its neighbour does.
    offered = [transcripts.bit(law(one), law(other)) for pair in _margins() for one, other in (pair, pair[::-1])]
    always = transcripts.bit(*(law(count) for count in fixed.pair[:: 1 if fixed.likelier == "data" else -1]))
    best = (fixed.epsilon,)
    # A strategy is the best at one epsilon: that of the fixed margin first, and then what is found there.
    for _ in range(_AGAIN):
        tried = []
        for other in offered:
            p, losses = transcripts.rounds(always, other, granted, each, best[0])
            q = p * np.exp(-losses)
            epsilon, chosen = best_event(p, q, row["delta"])
            tried.append((epsilon, float(p[chosen].sum()), float(q[chosen].sum()), float(losses[chosen].min())))
        best = max(tried)
    epsilon, probability, other_probability, least = best
    event = f"the transcript spends {least:.4g} or more"
    words = f"{granted} bits, each margin chosen by the answers before it"
    found = columns.certain(columns.LOSSES, "data", event, epsilon, probability, other_probability)
    return {"pair_words": words} | found


def of_prices(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attack by prices that depend on the answers so far."""
    low = cheap(row["epsilon"], row["delta"])
    allowed = table(granting(AdaptiveLedger, row, low, _DEARER), 2 * CHEAP)
    offered = tuple(transcripts.laplace(price, low) for price in (1, _DEARER))
    law = transcripts.prices(allowed, offered, row["epsilon"], low)
    words = f"answers at {low:.3g} or {_DEARER * low:.3g}, as the answers before suggest"
    return {"pair_words": words} | columns.of_losses(law, law, row["delta"], "the transcript")


def cheap(epsilon: float, delta: float) -> float:
    """Return the lower of two prices: zCDP allows `CHEAP` answers at it."""
    return math.sqrt(2 * composition.zcdp_rho(epsilon, delta) / CHEAP) * (1 - 1e-9)


def granting(opened: Callable[..., Any], row: Mapping[str, Any], low: float, dearer: int) -> Callable[[int, int], bool]:
    """Return what says whether a ledger of this class, asked anew, grants so many answers of either price.

    The higher price is `dearer` times `low`.
    """

    def granted(first, second):
        ledger = opened(row["epsilon"], row["delta"], neighbours=row["neighbours"])
        try:
            for count, price in ((first, low), (second, dearer * low)):
                if count:
                    ledger.charge(count, each=price)
        except BudgetExhausted:
            return False
        return True

    return granted


def table(granted: Callable[[int, int], bool], most: int) -> np.ndarray:
    """Return which numbers of answers of two prices a ledger grants; false in the last row and column.

    What it grants it grants fewer of, too; no more than `most` of the first are asked for.
    """
    found = []
    for first in range(most + 1):
        second = 0
        while second <= most and granted(first, second):
            second += 1
        found.append(second)
    width = max(found) + 1
    return np.array([np.arange(width) < second for second in (*found, 0)])


def _margins() -> list[tuple[int, int]]:
    return [(int(count), int(count) + 1) for count in np.linspace(0, SHARDS - 1, _MARGINS)]


def majority(row: Mapping[str, Any], each: float, granted: int) -> dict[str, Any]:
    """Attack `granted` answers of soft majority, each of epsilon `each`."""

    def law(count):
        return reference_laws.soft_majority(count, models=SHARDS, epsilon=each)

    found = many_bits(law, _margins(), granted, row["delta"])
    words = f"{granted} bits of {SHARDS} shards' votes, {found.pair[0]} or {found.pair[1]} for 1"
    return {"pair_words": words} | columns.of_finite(found)


def _average(row: Mapping[str, Any], each: float, granted: int) -> dict[str, Any]:
    law = bits.average({**row, "epsilon": each}).law
    pairs = [((count, r), (count + 1, r)) for r in (2, 10, 50) for count in range(r)]
    found = many_bits(law, pairs, granted, row["delta"])
    words = f"{granted} bits, {found.pair[0][0]} or {found.pair[1][0]} of {found.pair[0][1]} votes for 1"
    return {"pair_words": words} | columns.of_finite(found)


def _walk(row: Mapping[str, Any], each: float, granted: int) -> dict[str, Any]:
    # A replaced record moves V by 2 steps of each/2, one that comes by one of each.
    moved, step = (1, each) if row["neighbours"] == "add_remove" else (2, each / 2)
    ends = math.ceil(8 / step)
    pairs = [(int(v), int(v) + moved) for v in np.linspace(-ends, ends, _MARGINS)]
    found = many_bits(lambda v: reference_laws.bit(step * v), pairs, granted, row["delta"])
    words = f"{granted} bits of a walk at {found.pair[0]} or {found.pair[1]}"
    return {"pair_words": words} | columns.of_finite(found)


def _noisy(make: Callable[[Mapping[str, Any]], list[answers.Answer]]) -> Callable[..., dict[str, Any]]:
    """Return the attack on answers with Laplace noise, all moved by the same."""

    def of(row, each, granted):
        made, *_ = make({**row, "epsilon": each, "variant": "laplace"})
        law = privacy_loss.aligned_laplace(abs(made.first - made.second) / made.scale, granted)
        words = f"{granted} answers; {made.words}"
        return {"pair_words": words} | columns.of_losses(law, law, row["delta"], "the transcript")

    return of


MAKERS = {
    "soft_majority": majority,
    "averaged": _average,
    "exppw": _walk,
    "stable_erm": _noisy(answers.erm),
    "stable_sgd": _noisy(answers.sgd),
}
_RANGED = ("soft_majority", "exppw")
VARIANTS = ("ledger", "ledger-prices")
# Accountants of the paper's time.
PRINTED = ("basic", "advanced")
KNOWN = {
    **{(mechanism, "tight"): ("ledger",) for mechanism in MAKERS},
    ("stable_erm", "tight"): VARIANTS,
    ("soft_majority", "paper"): ("ledger",),
}
