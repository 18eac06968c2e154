"""docs/results.md, taken apart."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs/results.md").read_text(encoding="utf-8")


def section(title: str) -> str:
    """Return what stands below a heading."""
    return re.search(rf"^##+ {re.escape(title)}\n(.*?)(?=^##+ |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)[1]


def described(text: str, header: str) -> list[list[str]]:
    """Return the cells of the first table with that header."""
    table = text.split(header + "\n", 1)[1].split("\n\n", 1)[0].splitlines()[1:]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def own_columns() -> dict[str, list[str]]:
    """Return what the page says of each experiment."""
    listed = described(section("Columns of an experiment's own"), "| experiment | columns |")
    return {cells[0].strip("`"): re.findall("`([^`]+)`", cells[1]) for cells in listed}
