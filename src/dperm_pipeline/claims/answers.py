"""One answer a claim: what became of a numbered statement of a paper, from all verdicts on it.

A *claim* is every entry of the catalogue with one number (K-c20, K-c20a, K-c20b). Its *parts* are the statements that
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
- *fails*: the form `printed` fails. (What exists in a mended form alone is answered by that.)
- *undecided*: some test is inconclusive.
- *not run*.

The claim's answer is that of its weakest part, and says which parts fare better; parts that were not run count only if
all are.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

# From the strongest to the weakest; of `depends on`, the answer adds what on.
ANSWERS = ("holds as printed", "holds when mended", "depends on", "undecided", "fails", "not run")
GLYPHS = dict(zip(ANSWERS, "✓◐◇~✗–", strict=True))
PRINTED = "printed"
# Rule -> what its verdicts measure.
QUANTITIES = {
    "bound": "error over bound",
    "coverage": "share of violations",
    "crossing": "where they cross",
    "equal": "difference",
    "exact": "excess over the bound",
    "ledger": "epsilon spent over claimed, or its excess",
    "monotone": "rank correlation",
    "ordered": "difference",
    "paired": "gain",
    "slope": "slope",
    "threshold": "mean or share",
    "vanishing": "last over first",
    "within": "mean, difference or log ratio",
}
_MENDED = ("mended", "corrected", "halved", "tight")


@dataclass(frozen=True)
class Answer:
    """What became of one claim.

    `kind` is one of `ANSWERS`, `open_choice` what the claim depends on, `where` at which values of it the claim holds,
    and what else the answer has to be read with. `low` to `high` is the range of what was measured in the weakest part,
    in its form `form`. As printed, the tests of the parts with this answer show the claim to hold at `held` of `points`
    points; `tests` counts those of all parts. `quantity` says what the numbers are (`QUANTITIES`).
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


@dataclass(frozen=True)
class _Part:
    """One statement of a claim, with what was found of it."""

    kind: str
    form: str
    tests: pd.DataFrame
    open_choice: str = ""
    where: str = ""


def number(name: str) -> str:
    """Return the claim that an entry belongs to: `K-c20` of `K-c20a`."""
    return name.rstrip("abcdefghijklmnopqrstuvwxyz") if name[-1].isalpha() else name


def answers(verdicts: pd.DataFrame) -> list[Answer]:
    """Return one answer for each claim, in the order of the verdicts.

    - verdicts: as `dperm_pipeline.claims.read` gives them.
    """
    verdicts = verdicts[~verdicts["beside"]]
    verdicts = verdicts.assign(form=verdicts["variant"].str.split("-over-").str[0])
    by_claim = verdicts.groupby(verdicts["id"].map(number), sort=False)
    return [_answer(claim, part) for claim, part in by_claim if (part["test"] != "weakest").any()]


def _answer(claim: str, verdicts: pd.DataFrame) -> Answer:
    tests = verdicts[verdicts["test"] != "weakest"]
    parts = [_part(part) for _, part in tests.groupby(["id", "statement"], sort=False)]
    ran = [part for part in parts if part.kind != "not run"] or parts
    weakest = max(ran, key=lambda part: ANSWERS.index(part.kind))
    # The entry that sums up the others says the whole; else what the weakest part says is what the answer is about.
    whole = verdicts[verdicts["test"] == "weakest"]
    says = whole.iloc[0] if len(whole) else weakest.tests.iloc[0]
    shown = [_in_form(part.tests, _first_form(part.tests)) for part in ran if part.kind == weakest.kind]
    remarks = dict.fromkeys(verdicts["remark"])
    measured = _in_form(weakest.tests, weakest.form)["measured"]
    return Answer(
        claim=claim,
        paper=says["paper"],
        place=says["place"],
        statement=says["statement"],
        kind=weakest.kind,
        open_choice=weakest.open_choice,
        where="; ".join(filter(None, (weakest.where, *_stronger(ran, weakest), *remarks))),
        form=weakest.form,
        quantity=QUANTITIES[weakest.tests["test"].iloc[0]],
        low=float(measured.min()),
        high=float(measured.max()),
        expected=float(weakest.tests["expected"].iloc[0]),
        held=int(sum(tests["held"].fillna(0).sum() for tests in shown)),
        points=int(sum(tests["points"].fillna(0).sum() for tests in shown)),
        tests=len(tests),
        headline=bool(verdicts["headline"].any()),
        figure=weakest.tests["figure"].iloc[0],
    )


def _stronger(parts: list[_Part], weakest: _Part) -> Iterator[str]:
    """Say what became of the parts that fare better than the weakest: a paper's main clause may be among them."""
    for part in parts:
        if ANSWERS.index(part.kind) < ANSWERS.index(weakest.kind):
            said = part.tests["statement"].iloc[0].rstrip(".")
            yield f"but this {part.kind}{f' {part.open_choice} ({part.where})' if part.open_choice else ''}: {said}"


def _part(tests: pd.DataFrame) -> _Part:
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
    return _Part(outcome, printed, tests)


def _first_form(tests: pd.DataFrame) -> str:
    """Return `printed`, or the nearest to it that there is."""
    forms = set(tests["form"])
    return next(form for form in (PRINTED, *_MENDED) if form in forms)


def _in_form(tests: pd.DataFrame, form: str) -> pd.DataFrame:
    return tests[tests["form"] == form]


def _outcome(tests: pd.DataFrame) -> str:
    """Return holds, fails, undecided or not run, of tests that all have to hold."""
    given = set(tests["verdict"]) - {"not run"}
    if not given:
        return "not run"
    if "not reproduced" in given:
        return "fails"
    return "undecided" if "inconclusive" in given else "holds"


def _dependence(tests: pd.DataFrame) -> tuple[str, str]:
    """Return what tests of one form depend on, with where they hold; empty where that makes no difference."""
    choice = tests["depends_on"].iloc[0]
    if not choice:
        return "", ""
    outcomes = {value: _outcome(part) for value, part in _by_value(tests)}
    choice, outcomes = _that_matter(choice, outcomes)
    if "holds" in outcomes.values() and {"fails", "undecided"} & set(outcomes.values()):
        return choice, _listed(outcomes)
    stated, least, most = tests["expected"].iloc[0], tests["measured"].min(), tests["measured"].max()
    if "holds" not in outcomes.values() and least < stated < most:
        return choice, f"from {least:.3g} to {most:.3g}, on both sides of {stated:g}"
    return "", ""


def _that_matter(choice: str, outcomes: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Leave out what makes no difference, of several things that are left open (the catalogue's `again`).

    Values are such as `zeta range, delta 0.0001`, the first, and `delta 0.001`, which changes the one thing alone.
    """
    names = choice.split(" or ")
    base = next(iter(outcomes), "")
    if len(names) < 2 or not all(value in base for value in names):
        return choice, outcomes
    others = {name: {value: o for value, o in outcomes.items() if value.startswith(f"{name} ")} for name in names}
    for values in others.values():
        values.pop(base, None)
    matter = [name for name, values in others.items() if set(values.values()) - {outcomes[base]}]
    if not matter:
        return choice, outcomes
    here = ", ".join(part for part in base.split(", ") if part.split()[0] in matter)
    return " or ".join(matter), {here: outcomes[base]} | {v: o for name in matter for v, o in others[name].items()}


def _by_value(tests: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """Give the tests at each value of the open choice; those without a value of it have to hold at all."""
    column = "choice" if (tests["choice"] != "").any() else "dataset"
    always = tests[tests[column] == ""]
    for value, part in tests[tests[column] != ""].groupby(column, sort=False):
        yield value, pd.concat([part, always])


def _listed(outcomes: dict[str, str]) -> str:
    """Say at which values a claim holds, fails and is undecided."""
    parts = []
    for outcome in ("holds", "fails", "undecided"):
        values = [value for value, found in outcomes.items() if found == outcome]
        if values:
            parts.append(f"{outcome} at {', '.join(values)}")
    return "; ".join(parts)
