"""The privacy ledger and the mutants in a few words: counts of verdicts, and lines for a terminal."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from dperm.errors import CorruptFile
from dperm_pipeline import tables
from dperm_pipeline.claims.ledger import NO_BOUND, NOISE

# Verdicts as the ledgers write them, worst first.
PRIVACY = ("refuted", "holds up", "not audited")
MUTANTS = ("not caught", "refuted", "caught by the white-box test")
# Variants that no paper promises: our own, which the same attacks have to refute.
CONTROLS = ("half-noise",)
# How the reason of a row begins that was not attacked itself, but whose law was.
OTHER_BUDGET = "attacked at its worst budget"
NO_BOUND_WORDS = "no bound (an outcome that is impossible for the neighbour)"


def unbounded(bound: float) -> bool:
    """Return whether a lower bound of epsilon stands for an outcome that only one of two neighbours can have."""
    return bound > NO_BOUND


def rounded_down(value: float) -> str:
    """Return a lower bound with four digits, never above the value (but for a float's own last digits)."""
    if not math.isfinite(value) or value <= 0:
        return "infinity" if value > 0 else "0"
    digits = 3 - math.floor(math.log10(value))
    # repr(10.0) is a float's own rounding, and must not become 9.999.
    return f"{math.floor(value * (1 + 1e-12) * 10.0**digits) / 10.0**digits:.4g}"


def least(bound: float) -> str:
    """Say a certified lower bound of epsilon: at least so much, or that there is no bound."""
    return NO_BOUND_WORDS if unbounded(bound) else f"at least {rounded_down(bound)}"


def controls(ledger: pd.DataFrame) -> pd.Series:
    """Return which refuted rows of a ledger (columns `variant verdict`) are controls, as booleans."""
    return ledger["variant"].isin(CONTROLS) & (ledger["verdict"] == "refuted")


def counts(path: str | Path, verdicts: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict was given in a ledger, zeros included; raises as `read`."""
    given = read(path, verdicts)["verdict"].value_counts()
    return {verdict: int(given.get(verdict, 0)) for verdict in verdicts}


def summary(privacy: str | Path, mutants: str | Path) -> str:
    """Return the ledgers' verdicts in a few lines: the counts, then a line for each refuted claim and missed mutant."""
    ledger = read(privacy, PRIVACY)
    ours = controls(ledger)
    apart = f" ({ours.sum()} of the refuted are controls of our own)" if ours.any() else ""
    lines = [f"privacy: {_counted(counts(privacy, PRIVACY))}{apart}"]
    for row in ledger.assign(control=ours)[ledger["verdict"] == "refuted"].itertuples():
        word, spends = "control" if row.control else "refuted", least(row.audit_lower_bound)
        lines.append(
            f"  {word:15} {row.mechanism} ({row.calibration}, {row.neighbours}, {row.variant}) claims epsilon "
            f"{row.epsilon:g} at delta {row.delta:g} and spends {spends}"
        )
    for row in ledger[ledger["reason"].str.contains(NOISE, regex=False, na=False)].itertuples():
        lines.append(
            f"  wrong noise     {row.mechanism} ({row.calibration}, {row.neighbours}, {row.variant}): {row.reason}"
        )
    broken = read(mutants, MUTANTS)
    if len(broken):
        lines.append("mutants: " + _counted(counts(mutants, MUTANTS)))
        missed = broken[broken["verdict"] == "not caught"]
        lines += [f"  not caught      {row.name}: {row.broken}" for row in missed.itertuples(index=False)]
        wronged = broken[broken["twin_verdict"] != "holds up"]
        lines += [f"  wrongly refuted {row.name}: its correct twin" for row in wronged.itertuples(index=False)]
    return "\n".join(lines)


def _counted(numbers: dict[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in numbers.items())


def read(path: str | Path, verdicts: Sequence[str]) -> pd.DataFrame:
    """Return a ledger; CorruptFile if the file holds no verdicts, or others than these."""
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no {path}; run snakemake for this scale first")
    ledger = tables.read_records(path)
    if "verdict" not in ledger or not set(ledger["verdict"]) <= set(verdicts):
        raise CorruptFile(f"{path} does not hold the verdicts {', '.join(verdicts)}", made=path)
    return ledger
