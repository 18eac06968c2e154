"""The privacy ledger and the mutants in a few words: counts of verdicts, and lines for a terminal."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dperm import tables
from dperm.claims.ledger import NOISE
from dperm.errors import CorruptFile

# Verdicts as the ledgers write them, worst first.
PRIVACY = ("refuted", "holds up", "not audited")
MUTANTS = ("not caught", "refuted", "caught by the white-box test")


def counts(path: str | Path, verdicts: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict was given.

    Parameters
    ----------
    path : path
        `privacy.parquet` or `mutants.parquet`.
    verdicts : sequence of str
        All that there are.

    Returns
    -------
    dict
        From verdicts to counts, zeros included.

    Raises
    ------
    CorruptFile
        If the file holds no verdicts, or others.
    FileNotFoundError
        If there is no such file.
    """
    given = _verdicts(path, verdicts)["verdict"].value_counts()
    return {verdict: int(given.get(verdict, 0)) for verdict in verdicts}


def summary(privacy: str | Path, mutants: str | Path) -> str:
    """Return the ledgers' verdicts in a few lines: the counts, then a line for each refuted claim and missed mutant.

    Parameters
    ----------
    privacy, mutants : path

    Returns
    -------
    str

    Raises
    ------
    CorruptFile
        If a file holds no verdicts.
    FileNotFoundError
        If there is no such file.
    """
    lines = ["privacy: " + _counted(counts(privacy, PRIVACY))]
    ledger = _verdicts(privacy, PRIVACY)
    for row in ledger[ledger["verdict"] == "refuted"].itertuples():
        lines.append(
            f"  refuted         {row.mechanism} ({row.calibration}, {row.neighbours}, {row.variant}) claims epsilon "
            f"{row.epsilon:g} at delta {row.delta:g} and spends at least {row.audit_lower_bound:.3g}"
        )
    for row in ledger[ledger["reason"].str.contains(NOISE, regex=False, na=False)].itertuples():
        lines.append(
            f"  wrong noise     {row.mechanism} ({row.calibration}, {row.neighbours}, {row.variant}): {row.reason}"
        )
    broken = _verdicts(mutants, MUTANTS)
    if len(broken):
        lines.append("mutants: " + _counted(counts(mutants, MUTANTS)))
        missed = broken[broken["verdict"] == "not caught"]
        lines += [f"  not caught      {row.name}: {row.broken}" for row in missed.itertuples(index=False)]
        wronged = broken[broken["twin_verdict"] != "holds up"]
        lines += [f"  wrongly refuted {row.name}: its correct twin" for row in wronged.itertuples(index=False)]
    return "\n".join(lines)


def _counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in numbers.items())


def _verdicts(path: str | Path, verdicts: Sequence[str]) -> pd.DataFrame:
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no {path}; run snakemake for this scale first")
    read = tables.read_records(path)
    if "verdict" not in read or not set(read["verdict"]) <= set(verdicts):
        raise CorruptFile(f"{path} does not hold the verdicts {', '.join(verdicts)}; delete it and run again")
    return read
