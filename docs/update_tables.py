"""Put the pipeline's tables into docs/audit.md, between their markers: make docs-tables, after a run at scale quick."""

import re
from pathlib import Path

DOCS = Path(__file__).parent
# Table of results/quick/tables -> the columns that a page has room for.
COLUMNS = {
    "privacy-ledger": (
        "verdict", "mechanism", "calibration", "neighbours", "noise", "claimed ε", "δ", "spends at least", "attack",
    ),
    "audit-mutants": (
        "mutant", "what is wrong", "source", "claimed ε", "δ", "attack", "spends at least", "verdict",
        "its twin spends at least", "the twin",
    ),
}  # fmt: skip


def cells(text: str) -> list[list[str]]:
    """Return the cells of a pipe table, header first, without the rule."""
    lines = [line.strip() for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for k, line in enumerate(lines) if k != 1]


def narrowed(name: str, text: str) -> str:
    """Return a table with the columns that the page shows, and of the ledger the rows that were attacked."""
    header, *lines = cells(text)
    places = [header.index(column) for column in COLUMNS[name]]
    kept = [line for line in lines if "not audited" not in line]
    rows = [COLUMNS[name], ["---"] * len(places), *([line[place] for place in places] for line in kept)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def between(page: str, name: str) -> str:
    """Return what stands between the markers of a table."""
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, flags=re.DOTALL)[1]


def main() -> None:
    """Rewrite docs/audit.md."""
    page = (DOCS / "audit.md").read_text(encoding="utf-8")
    for name in COLUMNS:
        table = (DOCS.parent / f"results/quick/tables/{name}.md").read_text(encoding="utf-8")
        page = page.replace(f"<!-- {name} -->\n{between(page, name)}", f"<!-- {name} -->\n{narrowed(name, table)}")
    (DOCS / "audit.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
