"""The README tells the truth: its table is the committed output of a run, its links and targets exist."""

import csv
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_of_verdicts_is_the_committed_one():
    with (ROOT / "docs/assets/claims.csv").open(encoding="utf-8") as lines:
        expected = [
            f"| {row['variant']} | {row['dataset']} | {row['verdict']} "
            f"| {float(row['measured']):g} [{float(row['low']):g}, {float(row['high']):g}] |"
            for row in csv.DictReader(lines)
        ]
    assert [line for line in README.splitlines() if line.startswith(("| printed", "| tight"))] == expected


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?<=[`\n(])make ([a-z-]+)", README))
    assert {"reproduce", "test", "resume", "help", "bench"} <= named <= targets
