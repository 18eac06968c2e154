"""Write the table of others' implementations into docs/frontier.md, from the lines of JSON that all fits printed.

python examples/frontier/table.py
"""

import json
import re
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]
ROWS, PAGE = ROOT / "src/dperm_papers/frontier/linear/elsewhere.jsonl", ROOT / "docs/frontier.md"
BLOCK = re.compile(r"(?<=<!-- frontier-others -->\n).*?(?=\n<!-- /frontier-others -->)", re.DOTALL)
PROMISES = {"add_remove": "add/remove", "replace": "replace one"}


def table(lines: list[dict]) -> str:
    """Return mean errors in % with standard errors over splits: a line for each data set, promise and method."""
    rows = pd.DataFrame(lines)
    rows["promise"] = rows["neighbours"].map(PROMISES) + rows["delta"].map(", δ = {:g}".format)
    each = (100 * rows.set_index(["dataset", "promise", "method", "epsilon"])["error"]).groupby(level=[0, 1, 2, 3])
    cells = (each.mean().map("{:.1f}".format) + each.sem().map(" ± {:.1f}".format)).unstack(fill_value="–")
    words = [("data set", "promise", "method", *map("ε = {:g}".format, cells.columns)), ("---",) * (3 + cells.shape[1])]
    words += [(*names, *found) for names, found in zip(cells.index, cells.values, strict=True)]
    return "\n".join(f"| {' | '.join(line)} |" for line in words)


def recorded() -> list[dict]:
    """Return the lines of the last run, behind the first, which says what was measured."""
    return [json.loads(line) for line in ROWS.read_text(encoding="utf-8").splitlines()[1:]]


if __name__ == "__main__":
    page, found = BLOCK.subn(lambda _: table(recorded()), PAGE.read_text(encoding="utf-8"))
    if found != 1:
        raise SystemExit(f"{PAGE} has {found} blocks <!-- frontier-others -->, and one was to be written")
    PAGE.write_text(page, encoding="utf-8")
