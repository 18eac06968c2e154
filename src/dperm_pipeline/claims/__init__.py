"""Verdicts on the papers' claims: each decided from rows by the statistical test that the catalogue states for it.

A claim is an entry of resources/claims/<paper>.yaml; a *verdict* is one row of claims.parquet, for one variant of the
claim on one data set, or on all of them together where `dataset` is among its points. Nothing is decided by eye, and
a claim that could not be tested says why.

A *rule* is a module of this folder with

- `decide(rule, rows)`: the verdict; `rule` holds the keys of the claim and its variant (`select.settings`), `rows` the
  tidy rows of the claim's data set. `ledger` is given the privacy ledger too, `weakest` the verdicts on other claims.
- `COLUMNS`: the columns that it reads, besides those that the claim names.

Every rule raises `select.NoRows` where there is nothing to test (the verdict is then "not run"), ConfigError if the
claim names a column that the rows do not have, and DataError if the rows contradict it: two values for one repeat of a
point, or a value outside its range.
"""

import itertools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dperm.errors import ConfigError, CorruptFile
from dperm_pipeline import tables
from dperm_pipeline.claims import (
    answers,
    bound,
    coverage,
    crossing,
    equal,
    exact,
    forms,
    ledger,
    monotone,
    ordered,
    paired,
    select,
    slope,
    threshold,
    vanishing,
    weakest,
    within,
)
from dperm_pipeline.claims.rows import Rows
from dperm_pipeline.claims.verdict import VERDICTS, Verdict

__all__ = ["SCHEMA", "TESTS", "VERDICTS", "Verdict", "decide", "judge", "read", "summary"]

# Name in the catalogue -> rule.
TESTS = {
    "bound": bound,
    "coverage": coverage,
    "crossing": crossing,
    "equal": equal,
    "exact": exact,
    "ledger": ledger,
    "monotone": monotone,
    "ordered": ordered,
    "paired": paired,
    "slope": slope,
    "threshold": threshold,
    "vanishing": vanishing,
    "weakest": weakest,
    "within": within,
}

# Rows of several metrics that are held together: far fewer than some metric has alone.
ROWS_TOGETHER = 3_000_000

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "paper", "variant", "dataset", "place", "statement", "verdict")),
        *((name, pa.float64()) for name in ("measured", "low", "high", "expected", "certified")),
        *((name, pa.int64()) for name in ("n", "held", "points")),
        *((name, pa.string()) for name in ("figure", "reason", "test", "note", "experiment", "depends_on", "choice")),
        *((name, pa.string()) for name in ("remark", "words")),
        *((name, pa.bool_()) for name in ("beside", "headline")),
    ]
)


def decide(claim: Mapping[str, Any], variant: str, rows: pd.DataFrame | None, **evidence: Any) -> Verdict:
    """Decide one variant of a claim by its rule, `ledger` by the evidence `privacy`, `weakest` by `verdicts`."""
    try:
        return TESTS[claim["test"]].decide(select.settings(claim, variant), rows, **evidence)
    except select.NoRows as nothing:
        return Verdict("not run", str(nothing))


@dataclass(frozen=True)
class _Question:
    """One verdict to give: on one variant of a claim, on one data set or (`dataset` is empty) all of them together."""

    claim: Mapping[str, Any]
    variant: str
    dataset: str
    datasets: Sequence[str]

    @cached_property
    def rule(self) -> dict[str, Any]:
        return select.settings(self.claim, self.variant)

    @property
    def reads_rows(self) -> bool:
        return bool(self.datasets) and "not_run" not in self.rule and self.claim["test"] != "weakest"

    @cached_property
    def columns_and_filters(self) -> tuple[list[str], list[tuple]]:
        """What `Rows` is asked for."""
        columns = select.columns(self.claim, TESTS[self.claim["test"]].COLUMNS)
        return columns, select.filters(self.rule, self.datasets)


@dataclass(frozen=True)
class _Sources:
    """What verdicts are decided by, besides rows; as `judge` was given it."""

    privacy: pd.DataFrame | None
    unavailable: Mapping[str, str]
    prepared: Collection[str]


def judge(
    catalogue: Sequence[Mapping[str, Any]],
    rows: Mapping[str, str | Path | None],
    out: str | Path,
    *,
    privacy: str | Path | None = None,
    unavailable: Mapping[str, str],
    metadata: Mapping[str, Any],
    prepared: Collection[str] = (),
    only: str | None = None,
) -> None:
    """Decide every claim, for each of its variants and data sets, and write claims.parquet.

    An experiment whose `rows` are absent or None was not selected. Without the ledger `privacy`, promises of
    privacy are not run. `unavailable` maps data sets that cannot be had here to the reason. Of the data sets in
    `prepared` only their own cells write rows: a lost cell of another one does not concern claims on them, while a
    cell may write rows of any other name, such as of a law that it integrates. With `only`, the verdicts of one
    claim are written; the others of the catalogue are there for it to stand on
    (`dperm_pipeline.claims.catalogue.standing_on`). The metadata hold nothing that differs between two runs of the
    same code.

    ConfigError if a claim names a test that does not exist; CorruptFile or DataError if rows cannot be read or
    contradict themselves.
    """
    sources = _Sources(None if privacy is None else tables.read_records(privacy), unavailable, prepared)
    questions = [_questions(claim) for claim in catalogue]
    # Place in the catalogue -> its records.
    found: dict[int, list[dict[str, Any]]] = {}
    for places, held in _turns(catalogue, questions, rows):
        for place in places:
            others = [record for judged in sorted(found) for record in found[judged]]
            found[place] = [_record(question, held, sources, others) for question in questions[place]]
    records = [record for place in sorted(found) for record in found[place] if only in (None, record["id"])]
    tables.write_records(records, SCHEMA, out, metadata=dict(metadata))


def _turns(
    catalogue: Sequence[Mapping[str, Any]],
    questions: Sequence[Sequence[_Question]],
    rows: Mapping[str, str | Path | None],
) -> Iterator[tuple[list[int], Rows]]:
    """Give the places of the claims that are judged together, with the rows of their experiment.

    Claims that stand on the verdicts of others come last, wherever they stand in the catalogue. Of the rest, those that
    read the same metrics of an experiment follow each other: rows are read once, and no others held. Where metrics have
    few rows, those of several are held: each pass through a file takes seconds, however few it finds.
    """

    def asked(place: int) -> list[tuple]:
        return [question.columns_and_filters for question in questions[place] if question.reads_rows]

    def turn(place: int) -> tuple[bool, str, list[str]]:
        metrics = {str(filters[-1]) for _, filters in asked(place)}
        return catalogue[place]["test"] == "weakest", catalogue[place]["experiment"], sorted(metrics)

    def source(places: Sequence[int]) -> Rows:
        wanted = [question for place in places for question in asked(place)]
        return Rows(rows.get(catalogue[places[0]]["experiment"]), wanted)

    waiting: list[int] = []
    for _, group in itertools.groupby(sorted(range(len(catalogue)), key=turn), key=turn):
        following = list(group)
        if waiting and (
            turn(waiting[0])[:2] != turn(following[0])[:2] or source(waiting + following).at_most > ROWS_TOGETHER
        ):
            yield waiting, source(waiting)
            waiting = []
        waiting += following
    if waiting:
        yield waiting, source(waiting)


def read(path: str | Path) -> pd.DataFrame:
    """Return the verdicts, columns as in `SCHEMA`; CorruptFile if the file is not what `judge` writes."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no {path}; run snakemake for this scale first")
    verdicts = tables.read_records(path, SCHEMA)
    for column, known in (("verdict", VERDICTS), ("test", TESTS)):
        unknown = verdicts.loc[~verdicts[column].isin(list(known)), column]
        if len(unknown):
            raise CorruptFile(f"{path}: unknown {column} {unknown.iloc[0]!r}; known: {', '.join(known)}", made=path)
    for column in (field.name for field in SCHEMA if field.type in (pa.string(), pa.bool_())):
        if verdicts[column].isna().any():
            raise CorruptFile(f"{path}: column {column!r} has empty cells", made=path)
    return verdicts


def summary(path: str | Path) -> str:
    """Return the answers in a few lines for a terminal, counts first, then a line for each claim; raises as `read`."""
    found = answers.answers(read(path))
    kinds = [answer.kind for answer in found]
    lines = ["claims: " + ", ".join(f"{kinds.count(kind)} {kind}" for kind in answers.ANSWERS)]
    for answer in found:
        measured = f"  ({answer.range})" if answer.range else ""
        points = f"  points: {answer.at_points}" if answer.points else ""
        lines.append(f"  {answer.words:<20}  {answer.claim}{measured}{points}")
    return "\n".join(lines)


def _questions(claim: Mapping[str, Any]) -> list[_Question]:
    """Return the verdicts that a claim asks for: one for each variant and data set, or for all that it pools."""
    if claim["test"] not in TESTS:
        raise ConfigError(f"{claim['id']}: unknown test {claim['test']!r}; known: {', '.join(sorted(TESTS))}")
    named = sorted(claim.get("datasets", ()))
    questions = []
    for variant in sorted(claim["variants"]):
        if "no_such_form" in claim["variants"][variant]:
            continue
        # A claim without data sets, such as a promise of privacy, speaks of all.
        together = not named or select.pooled(select.settings(claim, variant))
        each = [("", named)] if together else [(name, [name]) for name in named]
        questions += [_Question(claim, variant, dataset, datasets) for dataset, datasets in each]
    return questions


def _record(question: _Question, rows: Rows, sources: _Sources, others: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return one row of claims.parquet."""
    claim = question.claim
    if "not_run" in question.rule:
        verdict = Verdict("not run", question.rule["not_run"])
    elif claim["test"] == "weakest":
        verdict = decide(claim, question.variant, None, verdicts=others)
    else:
        verdict = _decided(question, rows, sources)
    return {
        **{key: claim[key] for key in ("id", "paper", "place", "figure", "test", "experiment")},
        **{key: " ".join(text.split()) for key, text in (("statement", claim["statement"]), ("note", _note(claim)))},
        "depends_on": claim.get("depends_on", ""),
        "choice": question.rule.get("choice", ""),
        "remark": " ".join(claim.get("remark", "").split()),
        "words": forms.told(question.variant, question.rule),
        "beside": not {question.variant, question.dataset}.isdisjoint(claim.get("beside", ())),
        "headline": claim.get("headline", False),
        "variant": question.variant,
        "dataset": question.dataset,
        "expected": _stated(question.rule),
        **asdict(verdict),
    }


def _stated(rule: Mapping[str, Any]) -> float | None:
    """Return the value that the paper states; `unstated`, or a one-sided bound without a margin, is a limit of ours."""
    ours = "unstated" in rule or (rule.get("margin") == 0 and "side" in rule)
    return None if ours else rule.get("expected")


def _note(claim: Mapping[str, Any]) -> str:
    """Return the entry's note, and why it lacks a form that others have."""
    reasons: dict[str, list[str]] = {}
    for variant, settings in claim["variants"].items():
        if "no_such_form" in settings:
            name = f"“{forms.told(variant, settings)}”"
            reasons.setdefault(settings["no_such_form"].strip().rstrip("."), []).append(name)
    lacking = (f"There is no form {', '.join(names)}: {reason}." for reason, names in reasons.items())
    return " ".join([claim.get("note", ""), *lacking])


def _decided(question: _Question, rows: Rows, sources: _Sources) -> Verdict:
    """Decide from rows; where a whole cell of them is lost, nothing is decided."""
    missing = [where for where in rows.given_up if _concerns(where, question.datasets, sources.prepared)]
    verdict = _from_rows(question, rows, sources, cells_lost=bool(missing))
    if not missing:
        return verdict
    reason = f"whole cells are missing, whose solver did not converge: {'; '.join(missing)}. {verdict.reason}"
    was_decided = verdict.verdict in ("reproduced", "not reproduced")
    return replace(verdict, verdict="inconclusive" if was_decided else verdict.verdict, reason=reason)


def _concerns(where: str, datasets: Sequence[str], prepared: Collection[str]) -> bool:
    """Return whether a cell that was given up, in words, could have written rows of one of these data sets."""
    if "dataset=" not in where:
        return True
    parts = re.split(", | at ", where)
    return any(name not in prepared or f"dataset={name}" in parts for name in datasets)


def _from_rows(question: _Question, rows: Rows, sources: _Sources, *, cells_lost: bool) -> Verdict:
    """Decide by the claim's own rule, or say why there is nothing to decide by."""
    claim, variant, datasets = question.claim, question.variant, question.datasets
    here = rows.of(*question.columns_and_filters) if rows.datasets.intersection(datasets) else None
    if claim["test"] == "ledger":
        # A variant without `ledger` is decided by quadratures alone.
        if sources.privacy is None and "ledger" in question.rule:
            return Verdict("not run", "there is no privacy ledger")
        if not datasets or here is not None:
            return decide(claim, variant, here, privacy=sources.privacy)
    if rows.path is None:
        return Verdict("not run", f"the experiment {claim['experiment']} is not among the selected papers")
    if here is None:
        why = [sources.unavailable[name] for name in datasets if name in sources.unavailable]
        if why:
            return Verdict("not run", f"the data set is unavailable: {'; '.join(why)}")
        names = ", ".join(datasets)
        return Verdict("not run", f"no rows of {names}" if cells_lost else f"{names} is not in this scale's grid")
    return decide(claim, variant, here)
