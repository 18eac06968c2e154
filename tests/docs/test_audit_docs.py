"""docs/audit.md tells the truth: its code runs, its tables are the pipeline's and say what they must."""

import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import fake_audits
import pandas as pd
import pytest

from dperm.audit.families import FAMILIES
from dperm_pipeline import config_files
from dperm_pipeline.figures import audit
from dperm_pipeline.report import ledgers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/audit.md").read_text(encoding="utf-8")
# What the ledger adds to an attack.
ROW = {"verdict": "refuted", "p_holm": 1e-9, "counts": "exact", "reason": "above the claim"}


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
def test_examples_run(block):
    exec(compile(block, "docs/audit.md", "exec"), {})


@pytest.mark.slow
def test_the_suite_of_the_page_on_ci_passes(tmp_path):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs/audit-in-ci.md").read_text("utf-8"), flags=re.DOTALL)
    (tmp_path / "test_it.py").write_text(block, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "dperm.audit.pytest_plugin", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, "--dperm-report", tmp_path / "audits", tmp_path / "test_it.py"],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and "2 audits, 0 claims refuted" in done.stdout, done.stdout + done.stderr
    assert {path.name for path in (tmp_path / "audits").iterdir()} == {"dperm-audit.json", "dperm-audit.md"}


def test_a_table_is_narrowed_to_the_columns_of_the_page(tables):
    header = [*tables.COLUMNS["privacy-ledger"], "reason"]
    rows = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    rows += ["| refuted" + " | x" * (len(header) - 1) + " |", "| not audited" + " | y" * (len(header) - 1) + " |"]
    narrow = tables.narrowed("privacy-ledger", "\n".join(rows)).splitlines()
    assert narrow[0] == "| " + " | ".join(tables.COLUMNS["privacy-ledger"]) + " |"
    assert len(narrow) == 3 and "reason" not in narrow[0] and narrow[2].startswith("| refuted | x |")


def test_a_bound_that_is_none_is_called_so_in_every_table(tables):
    """Probability 0 counts as 1e-300: what an attack then certifies says nothing but that."""
    lost = [fake_audits.exact(687.0), fake_audits.exact(599.0, variant="gaussian")]
    rows = pd.DataFrame([{**ROW, **row, "audit_lower_bound": row["exact_bound"]} for row in lost])
    plain, words = audit.ledger_table(rows)
    assert dict(zip(words["noise"], words["spends at least"], strict=True)) == {"gamma": "no bound", "gaussian": "599"}
    # For machines it is the number.
    assert sorted(plain["audit_lower_bound"]) == [599.0, 687.0]
    mutants = pd.DataFrame(
        [{**fake_audits.mutant(mutant_bound=680.8), "verdict": "refuted", "twin_verdict": "holds up"}]
    )
    _, words = audit.mutants_table(mutants)
    assert words["spends at least"].tolist() == ["no bound"] and words["its twin spends at least"].tolist() == ["0.8"]
    assert audit.NO_BOUND == ledgers.NO_BOUND


def test_so_it_is_in_the_verdicts_of_a_paper(tables):
    def row(measured, certified=math.nan, low=None, high=math.nan):
        return SimpleNamespace(certified=certified, measured=measured, low=measured if low is None else low, high=high)

    assert tables.measured(row(6870.0, certified=687.0)) == "no bound"
    # A share may be large where the bound is none of this kind.
    assert tables.measured(row(687.0, certified=68.7)) == "687"
    assert tables.measured(row(687.0, low=680.0, high=690.0)) == "687 [680, 690]"
    assert tables.measured(row(math.nan)) == ""


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
