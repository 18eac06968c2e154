"""Mistakes of private predictions (dwork2018), each beside its proper form: half the noise, walks, votes, ledgers."""

import functools
import math
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import special, stats

from dperm.accounting import filters
from dperm.audit import reference_laws
from dperm.audit.exact import neighbours_of_tiny_domain
from dperm.audit.mutants.mutant import Finite, Sampled, mutant, mutants_of
from dperm.audit.prediction import answers, bits, consensus_ledger, queries, transcripts, walks
from dperm.errors import BudgetExhausted
from dperm.mechanisms.prediction import consensus, soft_majority
from dperm.mechanisms.prediction.consensus import ContestedLedger
from dperm.mechanisms.prediction.ledger import AdaptiveLedger, PredictionLedger

_CLAIM, _DELTA = 1.0, 1e-6
# Answers that one charge is repeated for; answers of a ledger that should have been of bounded range; crashes.
_REPEATS, _ANSWERS, CRASHES = 10, 1_000, 30
# Shards that vote for three classes.
_SHARDS = 12
# Two prices at this delta, one so many times the other; answers of the lower before it is chosen which to go on with.
_LARGE_DELTA, _DEARER, _BEFORE = 1e-2, 8, 30


@mutant("an average of predictions, half the noise", "a classic", "replace")
def half_noise_average(broken: bool) -> Sampled:
    """An average of predictions with half of its Laplace noise."""
    return _halved("averaged", broken)


@mutant("a bit of votes, half the noise", "a classic", "replace")
def half_noise_bit(broken: bool) -> Finite:
    """The average's bit of Boolean votes, from half of its Laplace noise; its data are (votes for 1, shards)."""
    row = {"calibration": "tight", "variant": "bit", "epsilon": _CLAIM}
    made = bits.average(row, share=0.5 if broken else 1.0)
    return Finite(made.law, list(bits.margins(15)))


@mutant("stable ERM, half the noise", "a classic", "replace")
def half_noise_erm(broken: bool) -> Sampled:
    """Stable ERM with half of its Laplace noise."""
    return _halved("stable_erm", broken)


@mutant("stable SGD, half the noise", "a classic", "replace")
def half_noise_sgd(broken: bool) -> Sampled:
    """Stable SGD with half of its Laplace noise."""
    return _halved("stable_sgd", broken)


@mutant("ExpPW with a factor e^epsilon a step", "dwork2018, D6", "replace")
def whole_steps(broken: bool) -> Finite:
    """ExpPW with a factor e^epsilon a step under replace-one, where a record is worth two.

    Its data are small data sets on two points, in order.
    """
    epsilon = 2 * _CLAIM if broken else _CLAIM
    pairs = neighbours_of_tiny_domain([(x, y) for x in (0, 1) for y in (0, 1)], 5, "replace", ordered=True)
    return Finite(lambda data: reference_laws.exp_projected_walk(data, 1, steps=9, epsilon=epsilon), list(pairs))


@mutant("ExpPW's equal points in an order told by how many they are", "dwork2018, D5", "add_remove")
def order_by_the_others(broken: bool) -> Finite:
    """ExpPW on one point, ones first where the number of records is even.

    The twin's order is by keys, each drawn for its own record. Its data are (ones, records).
    """

    def law(data):
        ones, records = data
        if not broken:
            v = walks.end((data,), 2.0, "exponential")
        else:
            labels = [1] * ones + [0] * (records - ones)
            order = labels if records % 2 == 0 else labels[::-1]
            v = {functools.reduce(lambda at, y: min(max(at + 2 * y - 1, -2.0), 2.0), order, 0.0): 1.0}
        odds = _CLAIM * np.array(list(v))
        return special.expit([-odds, odds]) @ np.array(list(v.values()))

    pairs = [((ones, n), (ones + y, n + 1)) for n in range(1, 8) for ones in range(n + 1) for y in (0, 1)]
    return Finite(law, pairs)


@mutant("repeated queries answered anew, at no charge", "a classic", "replace")
def repeats_afresh(broken: bool) -> Finite:
    """A soft majority bit that is drawn anew when its query is repeated, at no charge.

    The twin repeats its first answer. Its data are votes of 15 shards.
    """
    return _bits(_REPEATS if broken else 1, _CLAIM)


@mutant("votes of classes, of which a changed one counts once", "everywhere", "replace")
def vote_counted_once(broken: bool) -> Finite:
    """Soft majority of three classes with weights e^{epsilon count}, as if a changed vote came and left no other class.

    Its data are the counts of the classes.
    """
    counts = [(a, b, _SHARDS - a - b) for a in range(_SHARDS + 1) for b in range(_SHARDS + 1 - a)]
    # Neighbours: one vote goes from one class to another.
    pairs = [(one, other) for one in counts for other in counts if sorted(np.subtract(one, other)) == [-1, 0, 1]]
    price = (2.0 if broken else 1.0) * _CLAIM

    def law(votes):
        return soft_majority.probabilities(np.array([votes]), price)[0]

    return Finite(law, pairs)


@mutant("answers charged for once they are given, and a crash in between", "a classic", "replace", delta=_DELTA)
def charged_after(broken: bool) -> Finite:
    """A ledger that writes its charge down after the answer: who crashes it in between is answered for nothing.

    The twin is the library's, closed by a crash after every answer. Its data are votes of 15 shards; its outcomes
    numbers of ones.
    """
    with tempfile.TemporaryDirectory() as folder:

        def opened():
            return PredictionLedger(
                _CLAIM, _DELTA, answers=10, bounded_range=True, path=Path(folder, "journal"), reserve=1
            )

        given, each = 0, 0.0
        for _ in range(CRASHES):
            ledger = opened()
            each = ledger.each
            if broken:
                given += int(ledger.remaining > 0)
            else:
                try:
                    ledger.charge()
                    given += 1
                except BudgetExhausted:
                    pass
            # All that a crash leaves is the file: what was not written is not there.
            del ledger
    return _bits(given, each)


@mutant("bounded range counted for answers that have none", "a classic", "replace", delta=_DELTA)
def range_for_any(broken: bool) -> Finite:
    """A ledger that prices the average's bits, which are pure, as if of bounded range.

    Its data are (votes for 1, of two shards); its outcomes numbers of ones.
    """
    each = filters.each(_CLAIM, _DELTA, _ANSWERS, bounded_range=broken)
    one = bits.average({"calibration": "tight", "variant": "bit", "epsilon": each}).law
    return Finite(lambda value: queries.ones(one(value)[1], _ANSWERS), [((0, 2), (1, 2))])


@mutant(
    "the better of two accountants, each with all of delta, at prices as one goes",
    "a classic",
    "replace",
    delta=_LARGE_DELTA,
)
def two_accountants(broken: bool) -> Finite:
    """A ledger that goes on while either of two accountants allows it, each with all of delta, at prices as one goes.

    Either is sound by itself, and exact: one for answers of the lower price alone, the other for thirty of those and
    then of the higher. An adversary goes on with the one or the other, as the first thirty answers suggest. The twin is
    the library's: epsilon of the sum, or zCDP's. Its data are the side, 1 or -1; its outcomes losses.
    """
    return _against(lambda low, first, second: exact(low, first, second) and (second == 0 or first == _BEFORE), broken)


@mutant("prices as one goes, accounted for as if fixed beforehand", "a classic", "replace", delta=_LARGE_DELTA)
def as_if_fixed(broken: bool) -> Finite:
    """A ledger that asks of the prices so far what they would cost had they been fixed beforehand.

    The twin is the library's. Its data are the side, 1 or -1; its outcomes losses.
    """
    return _against(exact, broken)


@mutant("consensus whose comparison has no noise", "a classic", "replace", delta=_DELTA)
def free_without_noise(broken: bool) -> Finite:
    """Consensus that compares the votes with the threshold as they are: a free answer tells that they agree.

    Its data are votes for 1; its outcomes free 0 and 1, contested 0 and 1.
    """
    shards = consensus.shards_needed(_CLAIM, _DELTA, 1)
    terms = ContestedLedger(_CLAIM, _DELTA, shards, 1).terms
    end = math.ceil(terms.threshold)

    def law(count):
        free = float(count < terms.threshold) if broken else consensus_ledger.free(count, terms)
        return np.array(
            [free, 0.0, *(1 - free) * reference_laws.soft_majority(count, models=shards, epsilon=terms.each)]
        )

    return Finite(law, [(count, count + 1) for count in range(end - 3, end + 2)])


def _bits(count: int, each: float) -> Finite:
    """Return so many bits of 15 shards' soft majority."""

    def law(votes):
        return queries.ones(reference_laws.soft_majority(votes, models=15, epsilon=each)[1], count)

    return Finite(law, list(reference_laws.vote_margins(15)))


def exact(low: float, first: int, second: int) -> bool:
    """Say whether so many randomised responses of both prices, fixed beforehand, are within the claim."""
    losses = [price * low * (2 * np.arange(count + 1) - count) for price, count in ((1, first), (_DEARER, second))]
    masses = [
        stats.binom.pmf(np.arange(count + 1), count, special.expit(price * low))
        for price, count in ((1, first), (_DEARER, second))
    ]
    gain = -np.expm1(np.minimum(_CLAIM - np.add.outer(*losses), 0.0))
    return float(np.multiply.outer(*masses).ravel() @ gain.ravel()) <= _LARGE_DELTA


def _against(granted: Callable[[float, int, int], bool], broken: bool) -> Finite:
    """Return the best strategy against a ledger of two prices, or against the library's."""
    low = queries.cheap(_CLAIM, _LARGE_DELTA)
    if broken:
        allowed = queries.table(functools.partial(granted, low), 2 * queries.CHEAP)
    else:
        row = {"epsilon": _CLAIM, "delta": _LARGE_DELTA, "neighbours": "replace"}
        allowed = queries.table(queries.granting(AdaptiveLedger, row, low, _DEARER), 2 * queries.CHEAP)
    offered = tuple(transcripts.response(price, low) for price in (1, _DEARER))
    law = transcripts.prices(allowed, offered, _CLAIM, low)
    other = law.masses * np.exp(-law.losses)
    laws = {1: law.masses / law.masses.sum(), -1: other / other.sum()}
    return Finite(lambda side: laws[side], [(1, -1)])


def _halved(mechanism: str, broken: bool) -> Sampled:
    """Return one answer with half of its Laplace noise; its data are the sides of the pair, 0 and 1."""
    variant, calibration = ("half-noise", "paper") if broken else ("laplace", "tight")
    row = {"variant": variant, "calibration": calibration, "neighbours": "replace", "epsilon": _CLAIM}
    made, *_ = answers.MAKERS[mechanism](row)
    return Sampled(made.draw, 0, 1)


MUTANTS = mutants_of(globals())
