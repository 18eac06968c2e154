"""Verdicts on the papers' claims: each decided from rows by the statistical test that the catalogue states for it.

A claim is an entry of resources/claims/<paper>.yaml; a *verdict* is one row of claims.parquet, for one variant of the
claim on one data set, or on all of them together where `dataset` is among its points. Nothing is decided by eye, and
what could not be tested says why.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from dperm import tables
from dperm.claims import (
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
from dperm.claims.verdict import VERDICTS, Verdict
from dperm.errors import ConfigError

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
        ("figure", pa.string()),
        ("reason", pa.string()),
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
) -> None:
    """Decide every claim, for each of its variants and data sets, and write claims.parquet.

    Parameters
    ----------
    catalogue : sequence of dict
        As `dperm.claims.catalogue.load` gave it.
    rows : mapping
        From experiments to their `rows.parquet`; an experiment that is absent or None was not selected.
    out : path
        Where to write; columns as in `SCHEMA`, metadata under the key `dperm`.
    privacy : path, optional
        The privacy ledger, which promises of privacy are decided by; without it they are not run.
    unavailable : mapping
        From data sets that cannot be had on this machine to the reason.
    metadata : mapping
        JSON-serialisable; nothing that differs between two runs of the same code.

    Raises
    ------
    ConfigError
        If a claim names a test that does not exist.
    CorruptFile, DataError
        If rows cannot be read or contradict themselves.
    """
    promises = None if privacy is None else tables.read_records(privacy)
    # Those that stand on the verdicts of others come last, wherever they stand in the catalogue.
    last = sorted(range(len(catalogue)), key=lambda place: catalogue[place]["test"] == "weakest")
    found: dict[int, list[dict[str, Any]]] = {}
    for place in last:
        claim, others = catalogue[place], [record for records in found.values() for record in records]
        found[place] = list(_verdicts(claim, rows.get(claim["experiment"]), promises, unavailable, others))
    records = [record for place in sorted(found) for record in found[place]]
    tables.write_records(records, SCHEMA, out, metadata=dict(metadata))


def read(path: str | Path) -> pd.DataFrame:
    """Return the verdicts in claims.parquet; columns as in `SCHEMA`.

    Raises
    ------
    CorruptFile
        If the file is not what `judge` writes.
    FileNotFoundError
        If there is no such file.
    """
    return tables.read_records(path, SCHEMA)


def summary(path: str | Path) -> str:
    """Return the verdicts in a few lines for a terminal: the counts, then a line for each claim that was tested.

    Raises
    ------
    CorruptFile
        If the file is not what `judge` writes.
    FileNotFoundError
        If there is no such file.
    """
    verdicts = read(path)
    counts = verdicts["verdict"].value_counts()
    lines = ["claims: " + ", ".join(f"{counts.get(verdict, 0)} {verdict}" for verdict in VERDICTS)]
    for row in verdicts.itertuples():
        name = " ".join(part for part in (row.id, row.variant, f"on {row.dataset}" if row.dataset else "") if part)
        number = "" if math.isnan(row.measured) else f"  ({row.measured:.3g} [{row.low:.3g}, {row.high:.3g}])"
        lines.append(f"  {row.verdict:<14}  {name}{number}")
    return "\n".join(lines)


def _verdicts(
    claim: Mapping[str, Any],
    path: str | Path | None,
    privacy: pd.DataFrame | None,
    unavailable: Mapping[str, str],
    others: Sequence[Mapping[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Give the records of one claim, a variant and a data set (or all that it pools) each."""
    if claim["test"] not in TESTS:
        raise ConfigError(f"{claim['id']}: test: {claim['test']!r} is none of {', '.join(sorted(TESTS))}")
    named = sorted(claim.get("datasets", ()))
    present = set() if path is None or not named else set(tables.read(path, columns=["dataset"])["dataset"].unique())
    for variant in sorted(claim["variants"]):
        rule = select.settings(claim, variant)
        # A promise of privacy speaks of all data sets.
        each = [("", named)] if select.pooled(rule) else [(name, [name]) for name in named] or [("", [])]
        for dataset, members in each:
            if "not_run" in rule:
                verdict = Verdict("not run", rule["not_run"])
            elif claim["test"] == "weakest":
                verdict = weakest.decide(claim, variant, others)
            else:
                here = None
                if present.intersection(members):
                    columns = select.columns(claim, TESTS[claim["test"]].COLUMNS)
                    here = tables.read(path, columns=columns, filters=select.filters(rule, members))
                verdict = _verdict(claim, variant, path, here, members, privacy, unavailable)
            yield {
                **{key: claim[key] for key in ("id", "paper", "place", "figure")},
                "statement": " ".join(claim["statement"].split()),
                "variant": variant,
                "dataset": dataset,
                "expected": rule.get("expected"),
                **asdict(verdict),
            }


def _verdict(
    claim: Mapping[str, Any],
    variant: str,
    path: str | Path | None,
    rows: pd.DataFrame | None,
    datasets: Sequence[str],
    privacy: pd.DataFrame | None,
    unavailable: Mapping[str, str],
) -> Verdict:
    """Decide by the claim's own rule, or say why there is nothing to decide by."""
    decide = TESTS[claim["test"]].decide
    if claim["test"] == "ledger":
        if privacy is None:
            return Verdict("not run", "there is no privacy ledger")
        if not datasets or rows is not None:
            return decide(claim, variant, rows, privacy=privacy)
    if path is None:
        return Verdict("not run", f"the experiment {claim['experiment']} is not among the selected papers")
    if rows is None:
        why = [unavailable[name] for name in datasets if name in unavailable]
        if why:
            return Verdict("not run", f"the data set is unavailable: {'; '.join(why)}")
        return Verdict("not run", f"{', '.join(datasets)} is not in this scale's grid")
    return decide(claim, variant, rows)
