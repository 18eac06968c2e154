r"""Samp-Agg as the auditor sees it: the exact law of its support, and data that turn votes (kifer2012, Algorithm 5).

Where one record may touch one block only, one vote of k flips, from {1}, which all others want, to {2}. {2} is rare, so
its probability shows 2/(k scale) less about 2/k. `corrected` under add/remove: each record draws its block; the law is
the mixture over all ways in which the records can share blocks. A far record decides on the vote of its block whichever
it is, and blocks without records vote {1}.

For s = 2 all blocks vote for {1, 2} (targets 0.5 there and 0.4 at features 3 and 4, one feature a record) and a record
(0, 0, 1, 1)/sqrt(2) with a target of 10^6 turns its block's vote to {3, 4}: two shares fall and two rise, so that
2 m/k with m = min(s, p - s) = 2 is spent, and sqrt(s) nowhere hides. In whichever blocks the records lie, that is so
as long as each block has a record of every feature. Where blocks are drawn, one lacks some with a probability of at
most 4 k (1 - 1/k)^N, N records a feature, which is ignored: below 1e-170, and all outcomes are likelier than 1e-20.

As printed, under add/remove (erratum K6). k = floor(sqrt(n)) blocks are cut from the list: from n = m^2 - 1 to m^2
records all ends of blocks move. Let all these ends, of m - 1 blocks of m + 1 records and of m blocks of m, cut the list
into segments, with targets that rise from segment to segment and the features 1 and 2 in turns. Every block consists of
two segments and votes for the feature of the latter: all m - 1 blocks vote for feature 2, and with one record more all
m blocks vote for feature 1. A given number k of blocks is no better (`laplace_at_k`): of k m records and k m + 1, too,
all ends but the last move, and all votes but one turn.

Neighbouring relation: the one that is asked for.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from dperm.audit.linear_targets import LinearData, with_record
from dperm.domain import Budget
from dperm.mechanisms.support import noisy_top, samp_agg

# Lambda, of the sum of squares: next to nothing beside the records.
PENALTY = 1e-3
# Blocks where their number is a parameter; n = 100^2 where it is floor(sqrt(n)).
BLOCKS, SQUARE = 200, 100
# The published blocks: from 99 records to 100.
RECUT = 10
# Published blocks whose number does not change, and records of each of them before one more comes.
GIVEN, ROWS = 9, 11
# Blocks for s = 2, and records of each feature.
BLOCKS_OF_TWO, EACH = 20, 8_000
# A target that decides on the vote of any block.
DECIDES = 1e3


class Selector(NamedTuple):
    """A support selection as the auditor sees it: the law of the supports, in lexicographic order, and its draws."""

    law: Callable[[LinearData], np.ndarray]
    draw: Callable[[LinearData, int, np.random.Generator], np.ndarray]
    guarantee: str


def selector(*, budget: Budget, neighbours, calibration, blocks: int | None) -> Selector:
    """Return Samp-Agg for s = 1 on data in which every record has one feature, with k blocks (None: floor(sqrt(n))).

    Where blocks are drawn, its law enumerates how the records can share blocks: for few records only.
    """
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    _, guarantee = samp_agg.calibrate(2, size=1, blocks=blocks or 1, **fixed)

    def law(data):
        n, p = data[0].shape
        k = blocks or max(1, int(np.sqrt(n)))
        scale, _ = samp_agg.calibrate(p, size=1, blocks=k, **fixed)

        def chosen(found):
            shares = np.bincount(found, minlength=p) / k
            return np.exp(noisy_top.set_log_probabilities(shares, size=1, scale=scale)[1])

        if calibration == "corrected" and neighbours == "add_remove":
            ways = list(shared_blocks(n, k))
            found = sum(weight * chosen([*votes(data, way), *[0] * (k - len(way))]) for way, weight in ways)
        else:
            ends = np.arange(n) * k // max(n, 1)
            found = chosen(votes(data, [np.flatnonzero(ends == block) for block in range(k)]))
        return found / found.sum()

    def draw(data, repeats, rng):
        return samp_agg.select(
            *data, size=1, **fixed, penalty=PENALTY, blocks=blocks, rng=rng, repeats=repeats
        ).supports

    return Selector(law, draw, guarantee)


def shared_blocks(records: int, blocks: int) -> Iterator[tuple[list[list[int]], float]]:
    """Give all ways in which records can share k blocks that each draws for itself, with their probabilities.

    Records that are in one block are a group, all other blocks are empty; the probability is k (k - 1) ... /
    k^records. There are to be few records: Bell's numbers grow fast.
    """

    def ways(record, groups):
        if record == records:
            yield groups
            return
        for place in range(len(groups)):
            yield from ways(record + 1, [*groups[:place], [*groups[place], record], *groups[place + 1 :]])
        yield from ways(record + 1, [*groups, [record]])

    for groups in ways(0, []):
        falling = np.prod(blocks - np.arange(len(groups)), dtype=float)
        if falling > 0:
            yield groups, falling / float(blocks) ** records


def votes(data: LinearData, groups: Iterable[Sequence[int]], penalty: float = PENALTY) -> list[int]:
    """Return each block's vote: largest |theta_j| of a lasso whose columns do not overlap, of equal ones the first.

    Every record has one feature; `penalty` is Lambda.
    """
    X, y = data
    found = []
    for group in groups:
        part, target = X[group], y[group]
        force, square = part.T @ target, (part**2).sum(axis=0)
        size = np.maximum(np.abs(force) - penalty, 0) / np.where(square > 0, square, 1.0)
        found.append(int(size.argmax()))
    return found


def flipped(*, neighbours, calibration) -> tuple[LinearData, LinearData, str]:
    """Return data that flip one vote; of the printed blocks under add/remove all."""
    if neighbours == "add_remove" and calibration == "paper":
        words = f"from {RECUT**2 - 1} records in {RECUT - 1} blocks to {RECUT**2} in {RECUT}: all votes turn"
        return *list_cut_anew(RECUT), words
    if neighbours == "add_remove":
        common = one_feature([0, 0], [1.0, 1.0])
        words = f"one record more decides on its block's vote, one of {BLOCKS}"
        return common, with_record(common, (0.0, 1.0), DECIDES), words
    k = BLOCKS if calibration == "corrected" else SQUARE
    n = k if calibration == "corrected" else k * k
    data = one_feature(np.zeros(n, int), np.ones(n))
    other = data[0].copy(), data[1].copy()
    other[0][0], other[1][0] = (0.0, 1.0), DECIDES
    return data, other, f"one record turns its block's vote, one of {k}"


def selector_of_two(*, budget: Budget, neighbours, calibration, blocks: int) -> Selector:
    """Return Samp-Agg for s = 2, k blocks, on `crowd_of_two`, with a record that turns a vote or without.

    Its law leaves blocks aside that lack a feature.
    """
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    scale, guarantee = samp_agg.calibrate(4, size=2, blocks=blocks, **fixed)

    def law(data):
        turned = int((np.abs(data[1]) > DECIDES).sum())
        if turned > 1:
            raise ValueError("two records may turn the vote of the same block: the law is not written here")
        shares = np.repeat([blocks - turned, turned], 2) / blocks
        found = np.exp(noisy_top.set_log_probabilities(shares, size=2, scale=scale)[1])
        return found / found.sum()

    def draw(data, repeats, rng):
        return samp_agg.select(
            *data, size=2, **fixed, penalty=PENALTY, blocks=blocks, rng=rng, repeats=repeats
        ).supports

    return Selector(law, draw, guarantee)


def crowd_of_two(each: int) -> LinearData:
    """Return `each` records of each of 4 features, whose blocks vote for the first two, except the first record's."""
    X, y = _all_alike(each)
    X[0], y[0] = _TURNS, 1e3 * DECIDES
    return X, y


def both_flipped(neighbours, blocks: int) -> tuple[LinearData, LinearData, str]:
    """Return data whose k blocks all vote for {1, 2}, and the same with a record that turns one vote to {3, 4}."""
    data = _all_alike(EACH)
    if neighbours == "add_remove":
        words = f"one record more turns both features of its block's vote, one of {blocks}"
        return data, with_record(data, _TURNS, 1e3 * DECIDES), words
    words = f"one record turns both features of its block's vote, one of {blocks}"
    return data, crowd_of_two(EACH), words


_TURNS = (0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5))


def _all_alike(each: int) -> LinearData:
    feature = np.tile(np.arange(4), each)
    return np.eye(4)[feature], np.where(feature < 2, 0.5, 0.4)


def list_cut_anew(m: int) -> tuple[LinearData, LinearData]:
    """Return lists of m^2 - 1 and m^2 records whose m - 1 and m blocks all vote differently."""
    return list_with_segments(m, -1), list_with_segments(m, 0)


def list_cut_at_k() -> tuple[LinearData, LinearData, str]:
    """Return lists of which one has a record more, and whose k blocks vote differently, all but one."""
    n = GIVEN * ROWS
    cuts = [np.flatnonzero(np.diff(samp_agg.partition(size, GIVEN))) + 1 for size in (n, n + 1)]
    X, y = _in_turns(np.unique(np.concatenate([[0, n + 1], *cuts])), n + 1)
    words = f"from {n} records to {n + 1}, in {GIVEN} blocks: all votes but one turn"
    return (X[:n], y[:n]), (X, y), words


def list_with_segments(m: int, more: int) -> LinearData:
    """Return m^2 + more records whose targets rise from segment to segment, the features in turns.

    If `more` is below 0 the last are left out, above 0 the first come again.
    """
    n = m * m
    ends = np.unique(np.concatenate([np.arange(0, n, m), np.arange(0, n, m + 1), [n - 1, n]]))
    data = _in_turns(ends, n)
    if more <= 0:
        return data[0][: n + more], data[1][: n + more]
    return np.concatenate([data[0], data[0][:more]]), np.concatenate([data[1], data[1][:more]])


def _in_turns(ends: np.ndarray, n: int) -> LinearData:
    """Return n records whose targets rise from one segment to the next, the two features in turns."""
    segment = np.searchsorted(ends, np.arange(n), side="right") - 1
    return one_feature(segment % 2, (segment + 1.0) / (segment[-1] + 1.0))


def one_feature(feature: Sequence[int], y: Sequence[float]) -> LinearData:
    """Return records with x = (1, 0), feature 0, or (0, 1), feature 1."""
    return np.eye(2)[np.asarray(feature)], np.asarray(y, dtype=float)
