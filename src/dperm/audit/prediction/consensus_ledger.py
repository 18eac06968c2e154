r"""Attacks on consensus answers as a whole: free ones where shards agree, paid ones where they do not, in any number.

Of r shards c vote 1 and q = min(c, r - c) disagree. A round says "free" and the majority if q + Lap(1/e) < T, else
"contested" and a bit of log-odds each (2c - r)/2; after B contested rounds nothing more (docs/privacy.md, Theorem U).
Written here from these formulas; e, each, T and B are those of the library's own ledger.

A record moves c by one, up or down as the query has it. The adversary takes in turn, as the answers suggest, blocks of
up to N queries at one margin, each ended by its first contested round: N times free, or contested and 0, or contested
and 1, wherever in the block. At the tie a free answer gives the neighbour away: its loss has no bound.

    P(N free) = f^N,    P(contested in it, bit b) = (1 - f^N) P(b),    f = P(q + Lap(1/e) < T).

State: contested rounds left, blocks left, and the loss so far in widths, rounded down; what exceeds the grid counts as
its end, and what falls below it is left out: that lowers P or raises Q, and nothing else.

Neighbouring relation: each row's; both move c by one.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit import columns
from dperm.audit.prediction import bits
from dperm.audit.prediction.bits import Bits
from dperm.laws.privacy_loss import PrivacyLoss
from dperm.mechanisms.prediction import consensus
from dperm.mechanisms.prediction.consensus import ContestedLedger, Terms

# B, and blocks of queries; and the parts of epsilon that strategies are the best for: at the claim little is to be won.
CONTESTED, BLOCKS, _TARGETS = (1, 5), 20, (0.6, 0.7, 0.8, 0.9)
# Queries of a block; and margins, e (T - q).
_LENGTHS, _MARGINS = (1, 10, 100, 1_000), (8.0, 6.0, 4.0, 2.0, 1.0, 0.0, -2.0)
# Widths of e, and the ends of the grid in epsilon.
_PIECES, _REACH = 40, 2.0
# Rounds that the test of the code runs at a margin.
FITTED = bits.FITTED


class Block(NamedTuple):
    """Up to N queries at one margin, ended by the first contested one.

    Outcomes are (loss in widths, probability under P); the contested ones take one of B.
    """

    free: list[tuple[int, float]]
    contested: list[tuple[int, float]]


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attack on a ledger of consensus answers."""
    fixed = row["epsilon"], row["delta"]
    record = {"guarantee": "proved", "loss": "none", "white_box_p": _fit_p(row, rng("fit"))}
    for contested in CONTESTED:
        shards = consensus.shards_needed(*fixed, contested)
        ledger = ContestedLedger(*fixed, shards, contested, neighbours=row["neighbours"])
        laws = [strategy(ledger.terms, shards, ledger.answers, share * row["epsilon"]) for share in _TARGETS]
        law = max(laws, key=lambda one: one.epsilon(row["delta"]).epsilon)
        words = f"{shards} shards, {ledger.answers} contested, {BLOCKS} blocks of up to {max(_LENGTHS):,} queries"
        yield record | {"pair_words": words} | columns.of_losses(law, law, row["delta"], "the transcript")


def strategy(terms: Terms, shards: int, contested: int, epsilon: float) -> PrivacyLoss:
    """Return the privacy loss of the strategy that is the best at `epsilon`, for r shards and B contested rounds."""
    width = terms.round / _PIECES
    half = math.ceil(_REACH * epsilon / width)
    offered = _blocks(terms, shards, width, half)
    losses = width * np.arange(-half, half + 1)
    gain = -np.expm1(np.minimum(epsilon - losses, 0.0))
    (at_free, free_chance), (at_contested, contested_chance) = (
        _columns([getattr(block, kind) for block in offered]) for kind in ("free", "contested")
    )
    # By contested answers left.
    values = np.tile(gain, (contested + 1, 1))
    chosen = []
    for _ in range(BLOCKS):
        choice = np.full((contested + 1, len(gain)), -1)
        following = np.tile(gain, (contested + 1, 1))
        for left in range(1, contested + 1):
            still, less = (_ahead(values[k], steps) for k, steps in ((left, at_free), (left - 1, at_contested)))
            tried = (free_chance * still).sum(axis=1) + (contested_chance * less).sum(axis=1)
            choice[left], following[left] = tried.argmax(axis=0), tried.max(axis=0)
        values = following
        chosen.append(choice)
    masses = np.zeros((contested + 1, len(gain)))
    masses[contested, half] = 1.0
    for choice in reversed(chosen):
        following = np.zeros_like(masses)
        following[0] = masses[0]
        for left in range(1, contested + 1):
            for k, block in enumerate(offered):
                taken = np.where(choice[left] == k, masses[left], 0.0)
                if not taken.any():
                    continue
                for to, outcomes in ((left, block.free), (left - 1, block.contested)):
                    for step, chance in outcomes:
                        following[to] += chance * _moved(taken, step)
        masses = following
    return PrivacyLoss(masses.sum(axis=0), -half, width)


def free(disagree: float, terms: Terms) -> float:
    """Return f = P(q + Lap(1/e) < T), q shards disagreeing."""
    room = terms.round * (terms.threshold - disagree)
    return 1 - 0.5 * math.exp(-room) if room > 0 else 0.5 * math.exp(room)


def _blocks(terms: Terms, shards: int, width: float, most: int) -> list[Block]:
    """Return what the adversary may ask, between two counts of votes, c under P and c' under Q."""
    tie = shards // 2
    counts = {min(max(round(terms.threshold - margin / terms.round), 0), tie - 1) for margin in _MARGINS}
    found = []
    for count in sorted(counts):
        for p, q in ((count, count + 1), (count + 1, count)):
            found += [make_block(p, q, terms, shards, length, width, most) for length in _LENGTHS]
    # Around the tie: of 2k shards k votes say 0 and k + 1 say 1, of 2k + 1 too.
    for p, q in ((tie, tie + 1), (tie + 1, tie)):
        found.append(make_block(p, q, terms, shards, 1, width, most))
    return found


def make_block(p: int, q: int, terms: Terms, shards: int, length: int, width: float, most: int) -> Block:
    """Give what a block of queries at p and q ones of `shards` loses, in steps of `width`, and how probable that is."""
    same = (2 * p > shards) == (2 * q > shards)
    logs = [length * math.log(free(min(count, shards - count), terms)) for count in (p, q)]
    free_step = math.floor((logs[0] - logs[1]) / width) if same else 2 * most
    contested = []
    for sign in (-1, 1):
        ends = [
            math.log(-math.expm1(log)) + float(special.log_expit(sign * terms.each * (2 * count - shards) / 2))
            for log, count in zip(logs, (p, q), strict=True)
        ]
        contested.append((math.floor((ends[0] - ends[1]) / width), math.exp(ends[0])))
    return Block([(free_step, math.exp(logs[0]))], contested)


def _columns(outcomes: list[list[tuple[int, float]]]) -> tuple[np.ndarray, np.ndarray]:
    """Return steps, shape (blocks, k), and their probabilities, shape (blocks, k, 1), of k outcomes a block."""
    table = np.array(outcomes)
    return table[..., 0].astype(int), table[..., 1:]


def _ahead(value: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Return the value so many widths further, a last axis for all steps: at the end beyond it, and nothing below."""
    n = len(value)
    padded = np.concatenate([np.zeros(n), value, np.full(n, value[-1])])
    return np.lib.stride_tricks.sliding_window_view(padded, n)[n + np.clip(steps, -n, n)]


def _moved(masses: np.ndarray, step: int) -> np.ndarray:
    """Return masses so many widths further: put together at the end, and left out below."""
    places = np.arange(len(masses)) + step
    inside = places >= 0
    return np.bincount(np.minimum(places[inside], len(masses) - 1), weights=masses[inside], minlength=len(masses))


def _fit_p(row: Mapping[str, Any], rng: np.random.Generator) -> float:
    """Return how well the library's own answers fit these laws, with a ledger that none of them exhausts."""
    fixed = row["epsilon"], row["delta"]
    shards = consensus.shards_needed(*fixed, FITTED)

    def opened():
        return ContestedLedger(*fixed, shards, FITTED, neighbours=row["neighbours"])

    terms = opened().terms

    def law(count):
        agree = free(min(count, shards - count), terms)
        bit = special.expit(terms.each * (2 * count - shards) / 2)
        one = agree * (2 * count > shards) + (1 - agree) * bit
        return np.array([1 - one, one])

    def release(count, repeats, rng):
        ledger = opened()
        return np.array([consensus.answer(count, shards, ledger, rng) for _ in range(repeats)])

    # Free with probabilities between a tenth and nine tenths.
    counts = [round(terms.threshold + away / terms.round) for away in (-1.5, 0.0, 1.5)]
    return bits.fit_p(Bits(law, (), release, "proved", ""), counts, rng)


KNOWN = {("soft_majority", "tight"): ("ledger-consensus",)}
