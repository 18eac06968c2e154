"""A test that fails where a mechanism spends more than it claims, and how often it may be wrong."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from dperm.audit import bounds, sampling
from dperm.audit.events import Event
from dperm.audit.report import Report
from dperm.domain import Budget, number


class PrivacyViolation(AssertionError):
    """A claim is refuted; `report` holds the audit.

    Parameters
    ----------
    report : Report
    """

    def __init__(self, report: Report):
        super().__init__(f"epsilon = {report.claim:g} is not kept\n{report.text()}")
        self.report = report


def assert_private(
    mechanism: sampling.Mechanism,
    data: Any,
    neighbour: Any,
    epsilon: float,
    delta: float = 0.0,
    *,
    draws: int = 20_000,
    false_alarms: float = 1e-3,
    rng: np.random.Generator | None = None,
    raw: bool = False,
    events: Iterable[Event] = (),
    words: str = "",
    pair: str = "",
) -> Report:
    """Fail if an attack with this pair of data sets refutes (epsilon, delta).

    Passing is no proof of privacy.

    Parameters
    ----------
    mechanism : callable
        (data, repeats, rng) -> ndarray, as for `dperm.audit.lower_bound`; `dperm.audit.one_by_one` makes one of a
        function that gives a single output.
    data, neighbour : object
        Neighbouring data sets under the relation of the claim.
    epsilon, delta : float
        The claim.
    draws : int
        A side.
    false_alarms : float
        How probable it is at most that a mechanism which keeps the claim fails, in a call: the audit's confidence is
        1 - false_alarms. With a fixed `rng`, and a mechanism that draws from nothing else, a call that passes once
        always passes.
    rng : Generator, optional
        Seeded with (0, 1) if left out: a search that was given the seed 0 has other draws.
    raw : bool
        Look at the outputs bit by bit, not rounded.
    events : iterable of Event
        Scores to be tried besides our own.
    words : str
        What is attacked, for the report.
    pair : str
        What the data sets are, for the report.

    Raises
    ------
    PrivacyViolation
        An AssertionError, if the claim is refuted.
    ValueError
        If an argument is outside its range, or so few draws could refute nothing.
    """
    Budget(epsilon, delta)
    number("false_alarms", false_alarms, 0, 1, remedy="0.001 is usual")
    if draws >= sampling.LEAST_DRAWS and (least := draws_needed(epsilon, delta, false_alarms)) > draws:
        raise ValueError(
            f"draws={draws} cannot refute epsilon={epsilon:g} even if every guess is right, so the test could not "
            f"fail; take at least {least:,}, or more false_alarms"
        )
    found = sampling.lower_bound(
        mechanism,
        data,
        neighbour,
        draws=draws,
        delta=delta,
        confidence=1 - false_alarms,
        rng=np.random.default_rng([0, 1]) if rng is None else rng,
        raw=raw,
        events=events,
    )
    report = Report(words or getattr(mechanism, "__name__", type(mechanism).__name__), found, epsilon, pair)
    if report.refuted:
        raise PrivacyViolation(report)
    return report


def draws_needed(epsilon: float, delta: float, error: float) -> int:
    """Return the fewest draws a side (to a hundredth) that refute epsilon where every guess is right."""
    draws = float(sampling.LEAST_DRAWS)
    while draws < 2**62:
        tries = 2 * (int(draws) - int(sampling.CHOOSING * draws))
        if bounds.promised(np.float64(tries), tries, np.float64(0), delta, error) > epsilon:
            break
        draws *= 1.01
    return int(draws)
