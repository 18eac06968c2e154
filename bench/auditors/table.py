"""Write the table of auditors into docs/audit.md, from the lines of JSON that all of them printed.

python bench/auditors/table.py
"""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
from mechanisms import mechanisms

ROOT = Path(__file__).parents[2]
ROWS, PAGE = ROOT / "docs/assets/auditors.jsonl", ROOT / "docs/audit.md"
BLOCK = re.compile(r"(?<=<!-- auditors -->\n).*?(?=\n<!-- /auditors -->)", re.DOTALL)


def table(lines: list[dict]) -> str:
    """Return mean certified epsilon, a line for each mechanism; then false alarms and seconds of an audit.

    Of a tool that has to be given a side, the better one by its mean is shown; the best of a line is bold.
    """
    rows = pd.DataFrame(lines)
    sides = rows[rows["epsilon"].notna()].groupby(["mechanism", "tool"], sort=False)["epsilon"].mean().reset_index()
    sides["tool"] = sides["tool"].str.replace(r", side \d", "", regex=True)
    found = sides.groupby(["mechanism", "tool"], sort=False)["epsilon"].max().unstack(sort=False)
    words = [("mechanism (its epsilon on the pair)", *found.columns), ("---",) * (1 + found.shape[1])]
    for made in mechanisms():
        line = found.loc[made.name]
        shown = [f"**{x:.3f}**" if x == line.max() else f"{x:.3f}" if np.isfinite(x) else "–" for x in line]
        delta = f"; δ = {made.delta:g}" if made.delta else ""
        words.append((f"{made.name} ({made.epsilon:.4g}{delta})", *shown))
    rows["tool"] = rows["tool"].str.replace(r", side \d", "", regex=True)
    counted = rows[rows["audits"].notna()] if "audits" in rows else rows[:0]
    alarms = counted.groupby("tool")[["alarms", "audits"]].sum()
    words.append(("false alarms", *(_of(alarms, tool) for tool in found.columns)))
    seconds = rows.groupby("tool")["seconds"].median()
    words.append(("CPU seconds of an audit, median", *(f"{seconds[tool]:.2g}" for tool in found.columns)))
    return "\n".join(f"| {' | '.join(line)} |" for line in words)


def _of(alarms: pd.DataFrame, tool: str) -> str:
    return f"{alarms['alarms'][tool]:.0f} of {alarms['audits'][tool]:.0f}" if tool in alarms.index else "–"


def recorded() -> list[dict]:
    """Return the lines of the last run."""
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()]


if __name__ == "__main__":
    page, found = BLOCK.subn(lambda _: table(recorded()), PAGE.read_text(encoding="utf-8"))
    if found != 1:
        raise SystemExit(f"{PAGE} has {found} blocks <!-- auditors -->, and one was to be written")
    PAGE.write_text(page, encoding="utf-8")
