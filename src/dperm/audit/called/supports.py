r"""A private choice of features as a user asks for it: where one drawn number decides, its law is read off `fit`.

Of two features one is chosen. ExpMechSupport draws one uniform u and takes the first below a threshold: the threshold
is the first one's probability. SampAggSupport adds Laplace noise to each one's votes; with t for the first and none for
the second, the first is chosen above a threshold, and its probability is that of a difference of two such noises beyond
it. The threshold is found by bisection, with a generator that gives what it is told to, so no formula of the
mechanism's is used.

Records. Of ExpMechSupport others that fit theta_1 = 1 and theta_2 = -1, so that (1, 1) with y = -1 costs the first all
that a record can cost and the second nothing; more of the latter, so that the first is rare; beside them every corner
of what is declared, with clip=True a hundred times as far. Of SampAggSupport, which declares nothing, others whose
blocks vote for the first, as empty ones do, and one that turns its block's vote whatever else is in it: so the law is
the same for every assignment of records to blocks.

Neighbouring relation: each row's.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from dperm.audit import columns, exact
from dperm.audit.called import corners
from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.estimators.support import ExpMechSupport, SampAggSupport

# ((x_1, x_2), y)
Record = tuple[tuple[float, float], float]
_FIRST, _SECOND = ((1.0, 0.0), 1.0), ((0.0, 1.0), -1.0)
_TURNING = ((0.0, 1e3), 1e4)
_BEYOND = 100.0
_BISECTIONS = 42


class Choice(NamedTuple):
    """An estimator that chooses, and what is drawn for it.

    `given` are its parameters, the budget aside; `crowd` is what all data sets have, `records` what may come. The
    number that decides lies between `first`, at which the first feature is chosen, and `last`; `probability` maps
    the threshold to that of the first feature.
    """

    make: type
    given: dict[str, Any]
    crowd: list[Record]
    records: tuple[Record, ...]
    first: float
    last: float
    probability: Callable[[float], float]


def _beyond(t: float) -> float:
    """Return the probability that a difference of two Laplace noises of scale 1 is above t."""
    tail = (2 + abs(t)) * math.exp(-abs(t)) / 4
    return tail if t > 0 else 1 - tail


_CORNERS = tuple(((x1, x2), y) for x1, x2, y in itertools.product((1.0, -1.0), (1.0, 0.0, -1.0), (1.0, -1.0)))
CHOICES = {
    "exp_mech": Choice(
        ExpMechSupport, {"y_bound": 1.0}, [_FIRST] * 20 + [_SECOND] * 44, _CORNERS, 0.0, 1.0, lambda u: u
    ),
    "samp_agg": Choice(
        SampAggSupport, {"penalty": 1.0, "blocks": 20}, [_FIRST] * 40, (_TURNING, _FIRST), 60.0, -60.0, _beyond
    ),
}


class ScriptedGenerator(np.random.Generator):
    """A generator whose uniform numbers are the one that it is told, and of whose Laplace noises the first is."""

    told: float = 0.0

    def random(self, size=None, *args, **options):
        """Return the number, as often as it is asked for."""
        return self.told if size is None else np.full(size, self.told)

    def laplace(self, loc=0.0, scale=1.0, size=None):
        """Return the number, in the scale that is asked for, and no noise after it."""
        noise = np.zeros(size)
        noise.flat[0] = self.told
        return loc + scale * noise


def attack(mechanism: str, neighbours: str, epsilon: float, *, clip: bool) -> dict[str, Any]:
    """Return the strongest attack, as columns of an attack (mechanism: a key of `CHOICES`)."""
    choice = CHOICES[mechanism]
    given = {**choice.given, "size": 1, "clip": clip, "neighbours": neighbours, "epsilon": epsilon}

    def chosen(records, told):
        return fitted(choice, given, records, told).support_

    met: list[float] = []
    chances = accepted(choice, clip, lambda records: chance(choice, lambda told: chosen(records, told)[0], met))
    found = exact.exact(
        lambda record: np.array([chances[record], 1 - chances[record]]), corners.pairs(chances, neighbours), delta=0.0
    )
    return {
        "guarantee": fitted(choice, given, [], choice.first).privacy_.guarantee,
        "loss": "squared",
        "pair_words": f"{words(choice.make, choice.given, clip)} beside {len(choice.crowd)} records: "
        + corners.change(*found.pair),
        **columns.of_finite(found),
    }


def accepted(choice: Choice, clip: bool, of: Callable[[list[Record]], Any]) -> dict[Record | None, Any]:
    """Return what `of` makes of each record that `fit` accepts beside the crowd, and of none.

    With `clip`, records lie far outside of what is declared.
    """
    far = _BEYOND if clip else 1.0
    found: dict[Record | None, Any] = {None: of([])}
    for (x1, x2), y in choice.records:
        record = (far * x1, far * x2), far * y
        try:
            found[record] = of([record])
        except (DomainViolation, DataError):
            continue
    return found


def chance(choice: Choice, chosen: Callable[[float], bool], met: list[float]) -> float:
    """Return the probability of the first feature (chosen: the number that decides -> whether it is chosen).

    `met` holds where bisection ended on other records, and gets the ends of this one: records that mirror each other
    end alike, so two fits tell what forty-two would.
    """
    known = [choice.first, choice.last]

    def right(told: float) -> bool:
        if min(known) < told < max(known):
            known[0 if chosen(told) else 1] = told
        return abs(told - choice.first) <= abs(known[0] - choice.first)

    for told in met:
        right(told)
    low, high = choice.first, choice.last
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if right(middle) else (low, middle)
    met += [told for told in (low, high) if told not in met]
    return choice.probability(0.5 * (low + high))


def rows(choice: Choice, records: list[Record]) -> tuple[np.ndarray, np.ndarray]:
    """Return records beside the crowd as X and y."""
    every = [*choice.crowd, *records]
    return np.array([row for row, _ in every]), np.array([target for _, target in every])


def words(make: type, given: dict[str, Any], clip: bool) -> str:
    """Return a call in words."""
    return f"{make.__name__}({', '.join(f'{key}={value!r}' for key, value in given.items())}, clip={clip})"


def fitted(choice: Choice, given: dict[str, Any], records: list[Record], told: float) -> Any:
    """Fit the estimator to a few records, with every draw told beforehand."""
    rng = ScriptedGenerator(np.random.PCG64(0))
    rng.told = told
    return choice.make(**given, random_state=rng).fit(*rows(choice, records))
