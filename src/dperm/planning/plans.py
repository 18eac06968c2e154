"""A plan: which method, what excess error to expect, how many records it takes, and whether it is hopeless."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dperm.domain import LEAST, MOST, Budget, Neighbours, number, one_of
from dperm.mechanisms import vacuous
from dperm.planning import law, noise
from dperm.planning.noise import Told

Task = Literal["binary", "multiclass"]
# A method that is expected to lose more of what can be learned is of no use.
_HOPELESS = 0.9
# A calibration may keep a number for each.
_MOST_FEATURES = 1e7
# What `bounds` may declare.
_BOUNDS = ("x_norm", "usual_norm", "classes", "majority", "plain")


@dataclass(frozen=True)
class Expectation:
    """What is expected of one method.

    Parameters
    ----------
    method : str
        As it is called.
    excess : float
        Expected share of wrong labels beyond that of a model without privacy.
    needed : float
        Records with which the wanted excess error is expected; infinite if none would do; NaN if none was wanted.
    hopeless : str
        Why, by the public test of `dperm.mechanisms.vacuous`; empty if that has nothing to say.
    """

    method: str
    excess: float
    needed: float
    hopeless: str


@dataclass(frozen=True)
class Plan:
    """What to expect before any record is looked at; prints as words and a table.

    Parameters
    ----------
    n, p, classes : int
        Records, features, labels.
    epsilon, delta : float
    neighbours : {"add_remove", "replace"}
    majority, plain : float
        Shares of wrong labels of the most frequent label and without privacy: declared, or the usual ones.
    wanted : float or None
        An excess error.
    methods : tuple of Expectation
        The least expected excess error first.
    hopeless : bool
        Whether no method is expected to keep a tenth of what can be learned, or public numbers alone tell of each that
        its noise drowns the records.
    miss : tuple of two floats
        How far excess errors of data sets to which the law was not fitted were from what it predicted: half of them
        less than the first, nine of ten less than the second.
    beyond : tuple of str
        Which of the numbers are outside of what was ever measured.
    """

    n: int
    p: int
    classes: int
    epsilon: float
    delta: float
    neighbours: str
    majority: float
    plain: float
    wanted: float | None
    methods: tuple[Expectation, ...]
    hopeless: bool
    miss: tuple[float, float]
    beyond: tuple[str, ...]

    @property
    def best(self) -> Expectation:
        """The method of least expected excess error."""
        return self.methods[0]

    def __str__(self):
        best, span = self.best, self.majority - self.plain
        budget = f"({self.epsilon:g}, {self.delta:g})-DP, {self.neighbours}"
        lines = [
            f"{self.n:,} records, {self.p:,} features, {self.classes} classes, {budget}.",
            f"Taken as known: the most frequent label errs on {self.majority:.1%}, a model without privacy on "
            f"{self.plain:.1%}.",
        ]
        if self.hopeless:
            lines.append(f"Hopeless: {best.hopeless or self._lost(span)}. Take more records or a larger budget.")
        else:
            lines.append(
                f"Take {best.method}: expected to err on {_points(best.excess)} more than without privacy, "
                f"on {self.plain + best.excess:.1%} in all."
            )
        lines.append(
            f"On data sets it was not fitted to, half of its excess errors were within {_points(self.miss[0])} of what "
            f"was measured, nine of ten within {_points(self.miss[1])}: a plan is no measurement."
        )
        if self.beyond:
            lines.append(f"Beyond all that was measured: {', '.join(self.beyond)}.")
        return "\n".join([*lines, "", *self._table()])

    def _lost(self, span: float) -> str:
        return f"{self.best.method}, the best, is expected to lose {self.best.excess / span:.0%} of what can be learned"

    def _table(self) -> list[str]:
        head = ["method", "excess error", "error"]
        if self.wanted is not None:
            head.append(f"records for {_points(self.wanted)}")
        lines = [head]
        for one in self.methods:
            row = [one.method, _points(one.excess), f"{self.plain + one.excess:.1%}"]
            if self.wanted is not None:
                row.append(f"{one.needed:,.0f}" if math.isfinite(one.needed) else "more than anybody has")
            lines.append([*row, "hopeless" if one.hopeless else ""])
        lines[0].append("")
        widths = [max(len(row[k]) for row in lines) for k in range(len(head))]
        return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in lines]


def _points(share: float) -> str:
    return f"{100 * share:.1f} points"


def plan(
    n: int,
    p: int,
    epsilon: float,
    delta: float = 0.0,
    bounds: Mapping[str, float] | None = None,
    task: Task = "binary",
    *,
    neighbours: Neighbours = "add_remove",
    wanted: float | None = None,
) -> Plan:
    """Say which linear classifier to take with nothing set, and what to expect of it, from public numbers alone.

    The noise is that of the library's own calibrations; what it costs follows from a law that was fitted to the test
    errors of docs/frontier.md (`dperm.planning.law`), and docs/planning.md says how well it predicts. No record is
    looked at, and nothing is spent.

    Parameters
    ----------
    n, p : int
        Records and features, a constant one included; for an intercept count one more.
    epsilon, delta : float
        The budget; delta=0 by default.
    bounds : dict, optional
        Public guesses. "x_norm": the declared bound on the rows' length, default 1; "usual_norm": how long most rows
        are, default the bound: shorter rows pull less. "classes": how many labels, needed where task="multiclass".
        "majority" and "plain": shares of wrong labels of the most frequent label, default 1 - 1/classes, and of a model
        without privacy, default the median of the frontier's data sets, or half of "majority" where that is less.
    task : {"binary", "multiclass"}, default="binary"
        Nothing was measured of regression.
    neighbours : {"add_remove", "replace"}, default="add_remove"
    wanted : float, optional
        An excess error, such as 0.02, for which the records that it takes are asked.

    Raises
    ------
    ValueError
        If a number is outside its range, or `bounds` has a name that nobody knows.
    InvalidBudget
        If the budget is impossible.

    References
    ----------
    Objective perturbation: kifer2012, Algorithm 1; NAPP: li2021; StableERM and StableSGD: dwork2018. The law is of none
    of them.

    Examples
    --------
    >>> import dperm
    >>> made = dperm.plan(30_000, 100, epsilon=1.0, delta=1e-6, bounds={"majority": 0.25, "plain": 0.15})
    >>> made.best.method, made.hopeless
    ('ObjectivePerturbation', False)
    """
    one_of("task", task, Task)
    one_of("neighbours", neighbours, Neighbours)
    budget, given = Budget(epsilon, delta), dict(bounds or {})
    if unknown := sorted(set(given) - set(_BOUNDS)):
        raise ValueError(f"bounds has {unknown[0]!r}; it may declare {', '.join(_BOUNDS)}")
    n, p = _whole("n", n, law.MOST_RECORDS), _whole("p", p, _MOST_FEATURES)
    classes = _classes(task, given.get("classes"))
    majority, plain = _levels(classes, given)
    span = majority - plain
    if wanted is not None:
        wanted = number("wanted", wanted, 0, span, remedy=f"the most frequent label is {span:.3g} behind already")
    pulling = max(1, math.ceil(n * _shortening(given)))
    told, expected = Told(budget, neighbours, pulling, p), []
    for name, method in noise.methods(classes).items():
        if neighbours not in method.relations or (delta == 0 and not method.pure):
            continue
        share = law.share_lost(name, told, classes)
        needed = math.nan
        if wanted is not None:
            needed = law.needed(name, told, classes, wanted / span) / _shortening(given)
        why = vacuous.reason(noise.records(name, told, classes), pulling)
        expected.append(Expectation(method.call, share * span, needed, why))
    expected.sort(key=lambda one: (bool(one.hopeless), one.excess))
    hopeless = all(one.hopeless for one in expected) or expected[0].excess > _HOPELESS * span
    miss = tuple(share * span for share in law.table()["misses"]["binary" if classes == 2 else "several"])
    return Plan(
        n, p, classes, budget.epsilon, budget.delta, neighbours, majority, plain, wanted, tuple(expected), hopeless,
        miss, tuple(_beyond(classes, n=n, p=p, epsilon=budget.epsilon)),
    )  # fmt: skip


def _whole(name: str, value: int, most: float) -> int:
    found = number(name, value, 1, most, ends="[]", remedy="it counts something")
    if found != int(found):
        raise ValueError(f"{name}={value!r} must be a whole number")
    return int(found)


def _classes(task: Task, classes: float | None) -> int:
    if task == "binary":
        if classes not in (None, 2):
            raise ValueError(f"bounds has classes={classes!r} with task='binary'; take task='multiclass'")
        return 2
    if classes is None:
        raise ValueError("task='multiclass' needs bounds={'classes': how many labels there are}")
    return int(number("classes", classes, 3, 1000, ends="[]", remedy="for two labels take task='binary'"))


def _levels(classes: int, given: Mapping[str, float]) -> tuple[float, float]:
    """Return the errors of the most frequent label and without privacy, as they are declared or usual."""
    most = 1 - 1 / classes
    majority = number("majority", given.get("majority", most), 0, 1, remedy="it is a share of wrong labels")
    sets = law.table()["sets"].values()
    usual = sorted(plain for _, _, k, plain, _ in sets if (k == 2) == (classes == 2))
    middle = (usual[(len(usual) - 1) // 2] + usual[len(usual) // 2]) / 2
    plain = given.get("plain", min(middle, majority / 2))
    return majority, number("plain", plain, 0, majority, ends="[)", remedy="it has to be below that of `majority`")


def _shortening(given: Mapping[str, float]) -> float:
    bound = number("x_norm", given.get("x_norm", 1.0), LEAST, MOST, ends="[]", remedy="it bounds the rows' length")
    usual = given.get("usual_norm", bound)
    return number("usual_norm", usual, 0, bound, ends="(]", remedy="no row is longer than x_norm") / bound


def _beyond(classes: int, **numbers: float) -> list[str]:
    """Say which numbers are outside of the frontier's."""
    sets = [one for one in law.table()["sets"].values() if (one[2] == 2) == (classes == 2)]
    measured = {"n": [one[0] for one in sets], "p": [one[1] for one in sets], "epsilon": law.table()["epsilons"]}
    return [
        f"{name}={numbers[name]:g} (measured: {min(seen):g} to {max(seen):g})"
        for name, seen in measured.items()
        if not min(seen) <= numbers[name] <= max(seen)
    ]
