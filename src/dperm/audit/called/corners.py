"""The corners of a declared domain, as records that a user might have, and which of them `fit` accepts.

A corner is a record (x, y): x = +-R, y one of the extreme targets; with clip=True a hundred times as far. Each is
fitted before what all data sets have: one record at x = 0 (with an intercept at x = R, so that all rows are parallel),
or a crowd. What `fit` refuses is no record of the domain; what it accepts is attacked. Where weights are declared every
record has the largest, a corner with clip=True a hundred times that.

Neighbouring relation: the one asked for. A pair is a corner that comes, or two that are replaced.
"""

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from dperm.audit.called import recording
from dperm.audit.called.recording import Recorded
from dperm.errors import DataError, DomainViolation

# Records far outside of what is declared, in its units.
_BEYOND = 100.0
# Where a loss without a declared range of targets is linear.
FAR = 1e3
# (x, y), or None: nothing beside what all data sets have.
Corner = tuple[float, float] | None


class Call(NamedTuple):
    """One estimator with its arguments, and the extreme targets at the corners of the domain that they declare.

    `make` gives the estimator, random_state aside; `additive` noise is on a number, not in the objective; theta
    lies between `walls`. `crowd` is how many records all data sets have, and at which share of x_norm: short rows
    are satisfied late, and push theta to where others are badly fitted.
    """

    make: Callable[[], Any]
    targets: tuple[float, ...]
    words: str
    additive: bool = False
    walls: tuple[float, float] = (-math.inf, math.inf)
    crowd: tuple[int, float] = (1, 0.0)


def furthest(model: Any) -> float:
    """Return where the longest record lies once it is clipped; without a declared bound it is not."""
    return getattr(model, "x_norm", _BEYOND if model.clip else 1.0)


def fits(call: Call, step: str, number: int, rng: np.random.Generator) -> tuple[dict[Corner, Recorded], list[Recorded]]:
    """Fit without a corner (None) and with each, and `number` times more on the first corner that is accepted.

    The first value holds the corners that are accepted; `step` is as of `recording.fit`; every fit has noise of its
    own.
    """
    common, tried = _records(call)
    found: dict[Corner, Recorded] = {None: _fitted(call, step, None, common, rng)}
    for corner in tried:
        try:
            found[corner] = _fitted(call, step, corner, common, rng)
        except (DomainViolation, DataError):
            continue
    first = next(corner for corner in found if corner)
    return found, [_fitted(call, step, first, common, rng) for _ in range(number)]


def pairs(found: Iterable[Any], neighbours: str) -> list[tuple[Any, Any]]:
    """Return the pairs of accepted records: one that comes (the other is None), or two that are replaced."""
    accepted = [record for record in found if record is not None]
    if neighbours == "add_remove":
        return [(None, record) for record in accepted]
    return list(itertools.combinations(accepted, 2))


def change(first: Any, second: Any) -> str:
    """Return in words what a pair differs in."""
    return f"{second} comes" if first is None else f"{first} becomes {second}"


def words(call: Call, first: Corner, second: Corner) -> str:
    """Return a pair in words."""
    there = f" beside {call.crowd[0]} records" if call.crowd[0] > 1 else ""
    one, other = (corner and f"({corner[0]:g}, {corner[1]:g})" for corner in (first, second))
    return f"{call.words}{there}: {change(one, other)}"


def again(call: Call, step: str, corner: Corner, make: Callable[..., recording.RecordingGenerator]) -> Recorded:
    """Fit a corner that `fit` accepts once more, with a generator of this make (as of `recording.fit`)."""
    common, _ = _records(call)
    return _fitted(call, step, corner, common, np.random.default_rng(0), make)


def _records(call: Call) -> tuple[np.ndarray, list[tuple[float, float]]]:
    """Return the records that all data sets have, a row each, and the corners."""
    model = call.make()
    far = _BEYOND if model.clip else 1.0
    # With an intercept all rows are parallel, and -x is no multiple of x.
    number_there, share = call.crowd
    intercept, x_norm = getattr(model, "fit_intercept", False), getattr(model, "x_norm", 1.0)
    share = 1.0 if intercept else share
    sides = (1.0,) if intercept else (1.0, -1.0)
    # Labels are what they are declared to be.
    targets = [far * y for y in call.targets] if model.classes is None else list(call.targets)
    common = np.full((number_there, 2), (share * x_norm, call.targets[0]), dtype=float)
    return common, [(side * far * x_norm, y) for side in sides for y in targets]


def _fitted(call: Call, step: str, corner: Corner, common: np.ndarray, rng, *make) -> Recorded:
    # The corner first: where the order counts, it is the first record that counts most.
    x, y = (common if corner is None else np.vstack([corner, common])).T
    model, weights = call.make(), {}
    if (bound := getattr(model, "weight_bound", None)) is not None:
        weights["sample_weight"] = np.full(len(x), bound)
        weights["sample_weight"][: len(x) - len(common)] *= _BEYOND if model.clip else 1.0
    return recording.fit(model, step, x[:, None], y, int(rng.integers(2**63)), *make, **weights)
