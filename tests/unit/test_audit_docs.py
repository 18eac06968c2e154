"""docs/audit.md tells the truth: its code runs, its tables are the pipeline's and say what they must."""

import importlib.util
import re
from pathlib import Path

import pytest

from dperm.audit.families import FAMILIES
from dperm.plan import config_files

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/audit.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def tables():
    """The script that fills the page."""
    spec = importlib.util.spec_from_file_location("update_tables", ROOT / "docs/update_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
def test_examples_run(block):
    exec(compile(block, "docs/audit.md", "exec"), {})


def test_a_table_is_narrowed_to_the_columns_of_the_page(tables):
    header = [*tables.COLUMNS["privacy-ledger"], "reason"]
    rows = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    rows += ["| refuted" + " | x" * (len(header) - 1) + " |", "| not audited" + " | y" * (len(header) - 1) + " |"]
    narrow = tables.narrowed("privacy-ledger", "\n".join(rows)).splitlines()
    assert narrow[0] == "| " + " | ".join(tables.COLUMNS["privacy-ledger"]) + " |"
    assert len(narrow) == 3 and "reason" not in narrow[0] and narrow[2].startswith("| refuted | x |")


def test_the_ledger_shows_every_mechanism_calibration_and_relation_that_is_attacked(tables):
    header, *lines = tables.cells(tables.between(PAGE, "privacy-ledger"))
    assert tuple(header) == tables.COLUMNS["privacy-ledger"]
    shown = {tuple(line[header.index(name)] for name in ("mechanism", "calibration", "neighbours")) for line in lines}
    relations = {"add_remove": "add/remove", "replace": "replace-one"}
    declared = config_files.parse(ROOT / "config/audits.yaml")["attacks"]
    assert shown == {
        (attack["mechanism"], budget["calibration"], relations[budget["neighbours"]])
        for attack in declared
        for budget in attack["budgets"]
    }
    for line in lines:
        row = dict(zip(header, line, strict=True))
        assert row["verdict"] in ("refuted", "holds up")
        # What is proved is not refuted.
        assert row["verdict"] == "holds up" or row["calibration"] == "paper"


def test_every_mutant_is_caught_and_no_twin(tables):
    header, *lines = tables.cells(tables.between(PAGE, "audit-mutants"))
    assert tuple(header) == tables.COLUMNS["audit-mutants"]
    assert len(lines) >= 10
    for line in lines:
        row = dict(zip(header, line, strict=True))
        assert row["verdict"] in ("refuted", "caught by the white-box test"), row
        assert row["the twin"] == "holds up", row


def test_every_pair_family_is_explained():
    for family in ("linear", "support", "composed", "comparators"):
        for name in FAMILIES[family].pairs:
            assert f"`{name}`" in PAGE or (name == "random" and "random_search" in PAGE)
