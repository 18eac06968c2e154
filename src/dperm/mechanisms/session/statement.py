"""What all releases of a session promise together."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from dperm.accounting import adaptive
from dperm.domain import Budget
from dperm.mechanisms.session.books import Entry

_FROM_WEAKEST = ("claimed", "proved_exact", "proved")


@dataclass(frozen=True)
class SessionStatement:
    """What everything that a session released promises together.

    Parameters
    ----------
    epsilon, delta : float
        What is spent: all releases together are (epsilon, delta)-DP if neither their budgets nor their number were
        chosen by what earlier ones released.
    of_epsilon, of_delta : float
        The session's budget: all releases together are (of_epsilon, of_delta)-DP, whatever was chosen on the way.
    neighbours : {"add_remove", "replace"}
    accountant : {"basic", "renyi", "gaussian"}
    unit : str
        Whose records are protected.
    releases : tuple of str
        What was charged, in words.
    person_epsilon, person_delta, of_person_epsilon, of_person_delta : float
        The same two for a person with as many rows as the session declares: group privacy.
    guarantee : {"proved", "proved_exact", "claimed"}
        The weakest of the releases', as of `PrivacyStatement`; what was charged by hand is its caller's claim.
    seeded : bool
        Whether some noise came from a seed: for science only, whoever knows the seed knows the noise.
    """

    epsilon: float
    delta: float
    of_epsilon: float
    of_delta: float
    neighbours: str
    accountant: str
    unit: str
    releases: tuple[str, ...]
    person_epsilon: float
    person_delta: float
    of_person_epsilon: float
    of_person_delta: float
    guarantee: str
    seeded: bool

    def __str__(self):
        relation = {"add_remove": "adding or removing", "replace": "replacing"}[self.neighbours]
        lines = [
            f"({self.of_epsilon:g}, {self.of_delta:g})-differential privacy for {relation} one record, whatever was "
            f"chosen on the way; spent of it: ({self.epsilon:g}, {self.delta:g}), which is the promise where budgets "
            f"and their number were fixed before; added up by {self.accountant!r}; unit: {self.unit}; "
            f"guarantee: {self.guarantee.replace('_', ' ')}{', from seeds: for science only' if self.seeded else ''}"
        ]
        if (self.person_epsilon, self.person_delta) != (self.epsilon, self.delta):
            lines.append(
                f"for the unit: ({self.of_person_epsilon:g}, {self.of_person_delta:g}), spent of it: "
                f"({self.person_epsilon:g}, {self.person_delta:g})"
            )
        return "\n".join([*lines, *(f"- {words}" for words in self.releases)])

    def to_json(self) -> str:
        """Return the statement for machines."""
        return json.dumps(asdict(self), sort_keys=True)


def stated(
    entries: Sequence[Entry], now: adaptive.Spent, total: Budget, neighbours: str, accountant: str, rows: int
) -> SessionStatement:
    """Return the statement of what was charged, `now` in all; rows: the most that one person has."""
    person, of_person = (
        adaptive.of_group(*pair, rows) for pair in ((now.epsilon, now.delta), (total.epsilon, total.delta))
    )
    return SessionStatement(
        epsilon=now.epsilon,
        delta=now.delta,
        of_epsilon=total.epsilon,
        of_delta=total.delta,
        neighbours=neighbours,
        accountant=accountant,
        unit="a record" if rows == 1 else f"a person with at most {rows} rows",
        releases=tuple(map(_told, entries)),
        person_epsilon=person[0],
        person_delta=person[1],
        of_person_epsilon=of_person[0],
        of_person_delta=of_person[1],
        guarantee=_weakest(entries),
        seeded=any(one.seeded for one in entries),
    )


def _told(entry: Entry) -> str:
    cost = entry.cost
    law = "" if cost.rho is None else f", {cost.rho:.3g}-zCDP"
    if cost.mu is not None:
        law = f", {cost.mu:.3g}-GDP"
    guarantee = entry.guarantee or "charged, and nothing is known to have been released"
    return f"{entry.words}: epsilon {cost.epsilon:g}, delta {cost.delta:g}{law}; {guarantee}"


def _weakest(entries: Sequence[Entry]) -> str:
    """Return the weakest guarantee of what was released; `proved` of nothing."""
    return min((one.guarantee for one in entries if one.guarantee), key=_FROM_WEAKEST.index, default="proved")
