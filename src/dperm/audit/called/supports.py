r"""A private choice of features as a user asks for it: where one uniform number decides, its law is read off `fit`.

ExpMechSupport draws one uniform u and takes the first of two features below a threshold, the second above: the
threshold is the first one's probability. It is found by bisection, with a generator that gives what it is told to, so
no formula of the mechanism's is used. Others: records that fit theta_1 = 1 and theta_2 = -1, so that (1, 1) with y = -1
costs the first all that a record can cost and the second nothing; more of the latter, so that the first is rare.
Beside it every corner of what is declared, with clip=True a hundred times as far.

Neighbouring relation: each row's.
"""

import itertools
from typing import Any

import numpy as np

from dperm.audit import attempts, exact
from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.estimators.support import ExpMechSupport

# Corners (x_1, x_2, y), in units of what is declared.
_CORNERS = tuple(itertools.product((1.0, -1.0), (1.0, 0.0, -1.0), (1.0, -1.0)))
_FIRST, _SECOND = ((1.0, 0.0), 1.0), ((0.0, 1.0), -1.0)
_CROWD = (20, 44)
_BEYOND = 100.0
_BISECTIONS = 42


class _Told(np.random.Generator):
    """A generator whose uniform numbers are all the one that it is told."""

    def __init__(self, u: float):
        super().__init__(np.random.PCG64(0))
        self._u = u

    def random(self, size=None, *args, **options):
        """Return the number, as often as it is asked for."""
        return self._u if size is None else np.full(size, self._u)


def attack(neighbours: str, epsilon: float, *, clip: bool) -> dict[str, Any]:
    """Return the strongest attack, as columns of `dperm.audit.attacks.ATTACKS`.

    Parameters
    ----------
    neighbours : {"add_remove", "replace"}
    epsilon : float
    clip : bool

    Returns
    -------
    dict
    """
    given = {"size": 1, "y_bound": 1.0, "clip": clip, "neighbours": neighbours, "epsilon": epsilon}
    far = _BEYOND if clip else 1.0
    chances = {None: chance(given, [])}
    for x1, x2, y in _CORNERS:
        record = (far * x1, far * x2), far * y
        try:
            chances[record] = chance(given, [record])
        except (DomainViolation, DataError):
            continue
    accepted = [record for record in chances if record]
    pairs = (
        [(None, record) for record in accepted] if neighbours == "add_remove" else itertools.combinations(accepted, 2)
    )
    found = exact.exact(lambda record: np.array([chances[record], 1 - chances[record]]), pairs, delta=0.0)
    first, second = found.pair
    what = f"{second} comes" if first is None else f"{first} becomes {second}"
    return {
        "guarantee": _fitted(given, [], 0.5).privacy_.guarantee,
        "loss": "squared",
        "pair_words": f"ExpMechSupport(y_bound=1.0, clip={clip}) beside {sum(_CROWD)} records: {what}",
        "white_box_p": None,
        **attempts.of_finite(found),
    }


def chance(given: dict[str, Any], records: list) -> float:
    """Return the probability of the first feature.

    Parameters
    ----------
    given : dict
        Parameters of the estimator.
    records : list of ((x_1, x_2), y)
        Beside the crowd.

    Returns
    -------
    float
    """
    low, high = 0.0, 1.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        first = bool(_fitted(given, records, middle).support_[0])
        low, high = (middle, high) if first else (low, middle)
    return 0.5 * (low + high)


def _fitted(given: dict[str, Any], records: list, u: float) -> ExpMechSupport:
    rows = [_FIRST] * _CROWD[0] + [_SECOND] * _CROWD[1] + records
    X, y = np.array([row for row, _ in rows]), np.array([target for _, target in rows])
    return ExpMechSupport(**given, random_state=_Told(u)).fit(X, y)
