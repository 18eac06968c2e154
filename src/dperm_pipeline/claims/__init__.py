"""Verdicts on the papers' claims: each decided from rows by the statistical test that the catalogue states for it.

A claim is an entry of resources/claims/<paper>.yaml; a *verdict* is one row of claims.parquet, for one variant of the
claim on one data set, or on all of them together where `dataset` is among its points. Nothing is decided by eye, and
what could not be tested says why.
"""

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dperm.errors import ConfigError, CorruptFile
from dperm_pipeline import tables
from dperm_pipeline.claims import (
    bound,
    coverage,
    crossing,
    equal,
    exact,
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

__all__ = ["SCHEMA", "TESTS", "VERDICTS", "Verdict", "judge", "read", "summary"]

# Name in the catalogue -> module with decide(claim, variant, rows of one data set) -> Verdict, and the COLUMNS that it
# reads besides those that the claim names. `ledger` reads the privacy ledger too, `weakest` nothing but other verdicts.
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

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("id", "paper", "variant", "dataset", "place", "statement", "verdict")),
        *((name, pa.float64()) for name in ("measured", "low", "high", "expected")),
        ("n", pa.int64()),
        *((name, pa.string()) for name in ("figure", "reason", "test", "note", "experiment")),
        ("headline", pa.bool_()),
    ]
)


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

    - catalogue: as `dperm_pipeline.claims.catalogue.load` gave it.
    - rows: from experiments to their `rows.parquet`; an experiment that is absent or None was not selected.
    - out: where to write; columns as in `SCHEMA`, metadata under the key `dperm`.
    - privacy: the privacy ledger, which promises of privacy are decided by; without it they are not run.
    - unavailable: from data sets that cannot be had on this machine to the reason.
    - metadata: JSON-serialisable; nothing that differs between two runs of the same code.
    - prepared: collection of str; data sets that only their own cells write rows of: a cell on another that is lost
      does not concern claims on them. A cell may write rows of any other name, such as of a law that it integrates.
    - only: the id of the one claim whose verdicts are written; others of the catalogue are there for it to stand on
      (`dperm_pipeline.claims.catalogue.standing_on`).
    - Raises ConfigError: if a claim names a test that does not exist.
    - Raises CorruptFile, DataError: if rows cannot be read or contradict themselves.
    """
    promises = None if privacy is None else tables.read_records(privacy)

    asked = [list(_questions(claim)) for claim in catalogue]

    # Those that stand on the verdicts of others come last, wherever they stand in the catalogue; else those that read
    # the same metrics of an experiment one after the other, so that these rows are read once and no others are held.
    def turn(place: int) -> tuple[bool, str, list[str]]:
        claim, metrics = catalogue[place], {str(filters[-1]) for _, filters in asked[place]}
        return claim["test"] == "weakest", claim["experiment"], sorted(metrics)

    found: dict[int, list[dict[str, Any]]] = {}
    for (_, experiment, _), places in itertools.groupby(sorted(range(len(catalogue)), key=turn), key=turn):
        own = [*places]
        here = Rows(rows.get(experiment), [question for place in own for question in asked[place]])
        for place in own:
            others = [record for judged in sorted(found) for record in found[judged]]
            found[place] = list(_verdicts(catalogue[place], here, promises, unavailable, others, prepared))
    records = [record for place in sorted(found) for record in found[place] if only in (None, record["id"])]
    tables.write_records(records, SCHEMA, out, metadata=dict(metadata))


def read(path: str | Path) -> pd.DataFrame:
    """Return the verdicts in claims.parquet; columns as in `SCHEMA`.

    - Raises CorruptFile: if the file is not what `judge` writes.
    - Raises FileNotFoundError: if there is no such file.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no {path}; run snakemake for this scale first")
    verdicts = tables.read_records(path, SCHEMA)
    for column, known in (("verdict", VERDICTS), ("test", TESTS)):
        unknown = verdicts.loc[~verdicts[column].isin(list(known)), column]
        if len(unknown):
            raise CorruptFile(f"{path}: {column} {unknown.iloc[0]!r} is none of {', '.join(known)}", made=path)
    for column in (field.name for field in SCHEMA if field.type in (pa.string(), pa.bool_())):
        if verdicts[column].isna().any():
            raise CorruptFile(f"{path}: column {column!r} has empty cells", made=path)
    return verdicts


def summary(path: str | Path) -> str:
    """Return the verdicts in a few lines for a terminal: the counts, then a line for each claim that was tested.

    - Raises CorruptFile: if the file is not what `judge` writes.
    - Raises FileNotFoundError: if there is no such file.
    """
    verdicts = read(path)
    counts = verdicts["verdict"].value_counts()
    lines = ["claims: " + ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in VERDICTS)]
    for row in verdicts.itertuples():
        name = " ".join(part for part in (row.id, row.variant, f"on {row.dataset}" if row.dataset else "") if part)
        number = "" if math.isnan(row.measured) else f"  ({row.measured:.3g} [{row.low:.3g}, {row.high:.3g}])"
        lines.append(f"  {row.verdict:<14}  {name}{number}")
    return "\n".join(lines)


def _parts(claim: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any], str, list[str]]]:
    """Give each verdict's variant, rule, data set (empty where all are decided together) and the data sets it reads."""
    named = sorted(claim.get("datasets", ()))
    for variant in sorted(claim["variants"]):
        rule = select.settings(claim, variant)
        # A promise of privacy speaks of all data sets.
        each = [("", named)] if select.pooled(rule) else [(name, [name]) for name in named] or [("", [])]
        for dataset, members in each:
            yield variant, rule, dataset, members


def _questions(claim: Mapping[str, Any]) -> Iterator[tuple[list[str], list[tuple]]]:
    """Give the columns and filters by which each verdict of a claim reads rows."""
    if claim["test"] not in TESTS:
        raise ConfigError(f"{claim['id']}: test: {claim['test']!r} is none of {', '.join(sorted(TESTS))}")
    for _, rule, _, members in _parts(claim):
        if members and "not_run" not in rule and claim["test"] != "weakest":
            yield select.columns(claim, TESTS[claim["test"]].COLUMNS), select.filters(rule, members)


def _verdicts(
    claim: Mapping[str, Any],
    rows: Rows,
    privacy: pd.DataFrame | None,
    unavailable: Mapping[str, str],
    others: Sequence[Mapping[str, Any]],
    prepared: Collection[str],
) -> Iterator[dict[str, Any]]:
    """Give the records of one claim, a variant and a data set (or all that it pools) each."""
    for variant, rule, dataset, members in _parts(claim):
        if "not_run" in rule:
            verdict = Verdict("not run", rule["not_run"])
        elif claim["test"] == "weakest":
            verdict = weakest.decide(claim, variant, others)
        else:
            here = None
            if rows.datasets.intersection(members):
                here = rows.of(select.columns(claim, TESTS[claim["test"]].COLUMNS), select.filters(rule, members))
            missing = [where for where in rows.given_up if _concerns(where, members, prepared)]
            verdict = _verdict(claim, variant, rows.path, here, members, privacy, unavailable, bool(missing))
            if missing:
                reason = (
                    f"whole cells are missing, whose solver did not converge: {'; '.join(missing)}. {verdict.reason}"
                )
                decided = verdict.verdict in ("reproduced", "not reproduced")
                verdict = replace(verdict, verdict="inconclusive" if decided else verdict.verdict, reason=reason)
        yield {
            **{key: claim[key] for key in ("id", "paper", "place", "figure", "test", "experiment")},
            **{key: " ".join(claim.get(key, "").split()) for key in ("statement", "note")},
            "headline": claim.get("headline", False),
            "variant": variant,
            "dataset": dataset,
            "expected": rule.get("expected"),
            **asdict(verdict),
        }


def _concerns(where: str, datasets: Sequence[str], prepared: Collection[str]) -> bool:
    """Return whether a cell that was given up, in words, could have written rows of one of these data sets."""
    if "dataset=" not in where:
        return True
    parts = re.split(", | at ", where)
    return any(name not in prepared or f"dataset={name}" in parts for name in datasets)


def _verdict(
    claim: Mapping[str, Any],
    variant: str,
    path: str | Path | None,
    rows: pd.DataFrame | None,
    datasets: Sequence[str],
    privacy: pd.DataFrame | None,
    unavailable: Mapping[str, str],
    lost: bool,
) -> Verdict:
    """Decide by the claim's own rule, or say why there is nothing to decide by."""
    decide = TESTS[claim["test"]].decide
    if claim["test"] == "ledger":
        # A variant may be decided by quadratures alone.
        if privacy is None and "ledger" in select.settings(claim, variant):
            return Verdict("not run", "there is no privacy ledger")
        if not datasets or rows is not None:
            return decide(claim, variant, rows, privacy=privacy)
    if path is None:
        return Verdict("not run", f"the experiment {claim['experiment']} is not among the selected papers")
    if rows is None:
        why = [unavailable[name] for name in datasets if name in unavailable]
        if why:
            return Verdict("not run", f"the data set is unavailable: {'; '.join(why)}")
        names = ", ".join(datasets)
        return Verdict("not run", f"no rows of {names}" if lost else f"{names} is not in this scale's grid")
    return decide(claim, variant, rows)
