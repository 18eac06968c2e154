"""One answer a claim: what became of a numbered statement of a paper, from all verdicts on it.

A *claim* is every entry of the catalogue with one number (K-c26, K-c26a, K-c26b). Its *parts* are the statements that
its entries make; entries of rule `weakest` sum up others and are no evidence of their own, and a claim that has no
other is not counted again. Each part is tested in one or several *forms*: as `printed`; with a slip of the paper mended
(`mended`, `corrected`, `halved`); with our own calibration (`tight`). A form holds if all its tests are reproduced
(each variant of it, on each data set), and fails if one is not; tests that were not run count for neither side, unless
there is no other. Tests that stand *beside* a claim (the catalogue's `beside`: readings, controls and findings of ours)
are no evidence on it; a claim that has no others is none of the paper's, and has no answer.

Of each part, the first of these that is true:

- *holds as printed*: the form `printed` holds.
- *depends on X*: the entry names something that the paper leaves open (`depends_on`), and as printed the part holds at
  some of its values and fails or is undecided at others, or the number that the paper states lies between what two
  values give. The values are the variants with a `choice`, or, if none has one, the data sets.
- *holds when mended*: another form holds.
- *fails*: the form `printed` fails, and if variants have a `choice`, at each. (What exists in a mended form alone is
  answered by that.)
- *undecided*: some test is inconclusive, or it fails at some choices, but not at all, and holds at none.
- *not run*.

The claim's answer is that of its weakest part, and says which parts fare better or depend on something else; parts
that were not run count only if
all are.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dperm_pipeline.claims import forms, ledger

# From the strongest to the weakest; of `depends on`, the answer adds what on.
ANSWERS = ("holds as printed", "holds when mended", "depends on", "undecided", "fails", "not run")
GLYPHS = dict(zip(ANSWERS, "✓◐◇~✗–", strict=True))
PRINTED = "printed"
MANY = 8
# Rule -> what its verdicts measure.
QUANTITIES = {
    "bound": "error over bound",
    "coverage": "share of violations",
    "crossing": "where they cross",
    "equal": "difference",
    "exact": "excess over the bound",
    "ledger": "epsilon spent over claimed",
    "monotone": "rank correlation",
    "ordered": "difference",
    "paired": "gain",
    "slope": "slope",
    "threshold": "mean or share",
    "vanishing": "last over first",
    "within": "mean or difference",
}
_MENDED = ("mended", "corrected", "halved", "tight")
# Verdicts by their columns: there are thousands of small groups of them, and a table of each would take a minute.
_Tests = list[dict[str, Any]]


@dataclass(frozen=True)
class Answer:
    """What became of one claim.

    `kind` is one of `ANSWERS`, `open_choice` what the claim depends on, `where` at which values of it the claim holds,
    and what else the answer has to be read with. `low` to `high` is the range of what was measured in the weakest part,
    in its form `form`. As printed, the tests of all parts show the claim to hold at `held` of `points` points, 0 of 0
    where no printed form has a test; `tests` counts all. `expected` is the number that the paper prints, where it
    prints one. `quantity` says what the numbers are (`QUANTITIES`). Of an attacked promise, `held` points are those
    that are not refuted, and infinity is a spent epsilon without a bound.
    """

    claim: str
    paper: str
    place: str
    statement: str
    kind: str
    open_choice: str
    where: str
    form: str
    quantity: str
    low: float
    high: float
    expected: float
    held: int
    points: int
    tests: int
    headline: bool
    figure: str

    @property
    def words(self) -> str:
        """The answer as people read it."""
        return f"{self.kind} {self.open_choice}".rstrip()

    @property
    def range(self) -> str:
        """The range of what was measured, such as `0.3 to 0.4`; nothing where nothing was."""
        ends = [f"{end:.3g}".replace("inf", "∞") for end in (self.low, self.high) if not math.isnan(end)]
        return " to ".join(dict.fromkeys(ends))

    @property
    def at_points(self) -> str:
        """At how many points the printed form is shown to hold, such as `6 of 10 as printed`; empty without."""
        if not self.points:
            return ""
        outcome = " not refuted" if self.quantity == QUANTITIES["ledger"] else ""
        # The numbers beside it are another form's.
        form = "" if self.form == PRINTED else " as printed"
        return f"{self.held:,} of {self.points:,}{outcome}{form}"


@dataclass(frozen=True)
class _Part:
    """One statement of a claim, with what was found of it."""

    kind: str
    form: str
    tests: _Tests
    open_choice: str = ""
    where: str = ""


def number(name: str) -> str:
    """Return the claim that an entry belongs to: `K-c26` of `K-c26a`."""
    return name.rstrip("abcdefghijklmnopqrstuvwxyz") if name[-1].isalpha() else name


def answers(verdicts: pd.DataFrame) -> list[Answer]:
    """Return one answer for each claim, in the order of the verdicts."""
    tests = [test | {"form": forms.form(test["variant"])} for test in verdicts.to_dict("records")]
    by_claim = _grouped((number(test["id"]), test) for test in tests if not test["beside"])
    return [_answer(claim, part) for claim, part in by_claim if any(test["test"] != "weakest" for test in part)]


def _grouped(named: Iterable[tuple[Any, dict[str, Any]]]) -> Iterable[tuple[Any, _Tests]]:
    """Return the tests of each name, in the order in which the names come."""
    found: dict[Any, _Tests] = {}
    for name, test in named:
        found.setdefault(name, []).append(test)
    return found.items()


def _answer(claim: str, verdicts: _Tests) -> Answer:
    tests = [test for test in verdicts if test["test"] != "weakest"]
    parts = [_part(part) for _, part in _grouped(((test["id"], test["statement"]), test) for test in tests)]
    ran = [part for part in parts if part.kind != "not run"] or parts
    weakest = max(ran, key=lambda part: ANSWERS.index(part.kind))
    # The entry that sums up the others says the whole; else what the weakest part says is what the answer is about.
    says = next((test for test in verdicts if test["test"] == "weakest"), weakest.tests[0])
    shown = [test for part in ran for test in _in_form(part.tests, PRINTED)]
    stated = {float(test["expected"]) for test in _in_form(weakest.tests, PRINTED) if not pd.isna(test["expected"])}
    weak = [test for part in ran if part.kind == weakest.kind for test in _in_form(part.tests, PRINTED)]
    untested = "" if weak else "the printed form has no test"
    remarks = dict.fromkeys(test["remark"] for test in verdicts)
    low, high = _range(_in_form(weakest.tests, weakest.form))
    return Answer(
        claim=claim,
        paper=says["paper"],
        place=says["place"],
        statement=says["statement"],
        kind=weakest.kind,
        open_choice=weakest.open_choice,
        where="; ".join(filter(None, (weakest.where, *_others(ran, weakest), untested, *remarks))),
        form=weakest.form,
        quantity=_quantity(weakest.tests[0]),
        low=low,
        high=high,
        expected=stated.pop() if len(stated) == 1 else math.nan,
        held=_sum(test["held"] for test in shown),
        points=_sum(test["points"] for test in shown),
        tests=len(tests),
        headline=any(test["headline"] for test in verdicts),
        figure=weakest.tests[0]["figure"],
    )


def _range(tests: _Tests) -> tuple[float, float]:
    """Return the least and the largest that was measured; NaN twice where nothing was."""
    measured = [_measured(test) for test in tests if not pd.isna(test["measured"])]
    return min(measured, default=math.nan), max(measured, default=math.nan)


def _measured(test: dict[str, Any]) -> float:
    """Return what was measured; infinity where an outcome is impossible for the neighbour, and no epsilon bounds it."""
    # NaN of a promise that quadratures decide, and of other rules.
    return math.inf if test["certified"] > ledger.NO_BOUND else float(test["measured"])


def _quantity(test: dict[str, Any]) -> str:
    """Say what a test's numbers are: where it compares with a value that the paper states, that value."""
    if test["test"] == "ledger" and pd.isna(test["certified"]):
        return QUANTITIES["exact"]
    stated = test["test"] in ("equal", "within") and not pd.isna(test["expected"])
    return "value" if stated else QUANTITIES[test["test"]]


def _sum(counts: Iterable[Any]) -> int:
    return int(sum(count for count in counts if not pd.isna(count)))


def _others(parts: list[_Part], weakest: _Part) -> Iterator[str]:
    """Say what became of the parts that fare better than the weakest, or depend on something else.

    A paper's main clause may be among them.
    """
    for part in parts:
        better = ANSWERS.index(part.kind) < ANSWERS.index(weakest.kind)
        if better or (part.kind == weakest.kind and part.open_choice != weakest.open_choice):
            said = part.tests[0]["statement"].rstrip(".")
            found = f"{part.kind}{f' {part.open_choice} ({part.where})' if part.open_choice else ''}"
            yield f"{'but' if better else 'and'} “{said}” {found}"


def _part(tests: _Tests) -> _Part:
    """Return what was found of one statement."""
    printed = _first_form(tests)
    outcome = _outcome(_in_form(tests, printed))
    if outcome == "holds":
        return _Part("holds as printed" if printed == PRINTED else "holds when mended", printed, tests)
    choice, values = _dependence(_in_form(tests, printed))
    if choice:
        return _Part("depends on", printed, tests, choice, values)
    for form in _MENDED:
        if form != printed and _outcome(_in_form(tests, form)) == "holds":
            return _Part("holds when mended", form, tests)
    if outcome == "fails" and (values := _fails_at_some(_in_form(tests, printed))):
        return _Part("undecided", printed, tests, where=values)
    return _Part(outcome, printed, tests)


def _first_form(tests: _Tests) -> str:
    """Return `printed`, or the nearest to it that there is."""
    forms = {test["form"] for test in tests}
    return next(form for form in (PRINTED, *_MENDED) if form in forms)


def _in_form(tests: _Tests, form: str) -> _Tests:
    return [test for test in tests if test["form"] == form]


def _outcome(tests: _Tests) -> str:
    """Return holds, fails, undecided or not run, of tests that all have to hold."""
    given = {test["verdict"] for test in tests} - {"not run"}
    if not given:
        return "not run"
    if "not reproduced" in given:
        return "fails"
    return "undecided" if "inconclusive" in given else "holds"


def _dependence(tests: _Tests) -> tuple[str, str]:
    """Return what tests of one form depend on, with where they hold; empty where that makes no difference."""
    choice = tests[0]["depends_on"]
    if not choice:
        return "", ""
    outcomes = {value: _outcome(part) for value, part in _by_value(tests)}
    choice, outcomes = _that_matter(choice, outcomes)
    if "holds" in outcomes.values() and {"fails", "undecided"} & set(outcomes.values()):
        return choice, _listed(outcomes)
    stated, (least, most) = tests[0]["expected"], _range(tests)
    if "holds" not in outcomes.values() and least < stated < most:
        return choice, f"from {least:.3g} to {most:.3g}, on both sides of {stated:g}"
    return "", ""


def _fails_at_some(tests: _Tests) -> str:
    """Say at which choices tests of one form fail; empty if at all, or if there are none."""
    choice = tests[0]["depends_on"]
    if not choice or not any(test["choice"] for test in tests):
        return ""
    _, outcomes = _that_matter(choice, {value: _outcome(part) for value, part in _by_value(tests)})
    return f"shown at none: {_listed(outcomes)}" if set(outcomes.values()) - {"fails"} else ""


def _that_matter(choice: str, outcomes: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Leave out what makes no difference, of several things that are left open (the catalogue's `again`).

    Values are such as `zeta of 1 with delta 0.0001`, the first; `delta 0.001`, which changes the one thing alone; and
    `delta 0.001 with zeta of 2`, which changes both. A thing makes a difference if to change it alone does, anywhere.
    """
    names = choice.split(" or ")
    base = _by_name(next(iter(outcomes), ""))
    if len(names) < 2 or base.keys() != set(names):
        return choice, outcomes
    found = {frozenset((base | _by_name(value)).items()): outcome for value, outcome in outcomes.items()}

    def differs(name: str) -> bool:
        back = {name: base[name]}
        return any(found.get(frozenset((dict(at) | back).items()), outcome) != outcome for at, outcome in found.items())

    matter = [name for name in names if differs(name)]
    if not matter:
        return choice, outcomes
    kept = {}
    for value, outcome in outcomes.items():
        parts = _by_name(value)
        if parts == base:
            kept[" with ".join(part for name, part in parts.items() if name in matter)] = outcome
        elif parts.keys() <= set(matter):
            kept[value] = outcome
    return " or ".join(matter), kept


def _by_name(value: str) -> dict[str, str]:
    """Return from the names of what is chosen to each in words, such as `zeta of 1`."""
    return {part.split()[0]: part for part in value.split(" with ") if part}


def _by_value(tests: _Tests) -> Iterator[tuple[str, _Tests]]:
    """Give the tests at each value of the open choice; those without a value of it have to hold at all."""
    column = "choice" if any(test["choice"] for test in tests) else "dataset"
    always = [test for test in tests if not test[column]]
    for value, part in _grouped((test[column], test) for test in tests if test[column]):
        yield value, part + always


def _listed(outcomes: dict[str, str]) -> str:
    """Say at which values a claim has each outcome; more than `MANY` values of one outcome are counted."""
    parts = []
    for outcome in ("holds", "fails", "undecided", "not run"):
        values = [value for value, found in outcomes.items() if found == outcome]
        if values:
            at = ", ".join(values) if len(values) <= MANY else f"{len(values)} other choices"
            parts.append(f"{outcome} at {at}")
    return "; ".join(parts)
