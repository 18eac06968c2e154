"""The profiles for clusters ask for what the rules declare, double it on a retry, and explain each of their entries."""

import itertools
import re
from pathlib import Path

import pytest
import together
import yte

ROOT = Path(__file__).parents[2]
PROFILES = ("default", "slurm", "cluster-generic")


def profile(name: str) -> dict:
    # As Snakemake reads it, from the project's folder.
    return yte.process_yaml(_text(name), require_use_yte=True)


def _text(name: str) -> str:
    return (ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8")


def declared() -> dict[str, dict[str, int]]:
    """What each rule that may go to a cluster declares; the rules drawn in a loop under the one name `draw`."""
    found = {}
    for path in (ROOT / "workflow/rules").glob("*.smk"):
        for name, body in re.findall(r"^ *rule ?(\w*):\n(.*?)(?=^ *rule |\Z)", path.read_text(), re.M | re.S):
            numbers = dict(re.findall(r"^ +(mem_mb|runtime)=(\d+),$", body, re.M))
            if numbers and "localrule: True" not in body:
                found[name or "draw"] = {key: int(value) for key, value in numbers.items()}
    return found


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch):
    monkeypatch.chdir(ROOT)


@pytest.mark.parametrize("name", ["slurm", "cluster-generic"])
def test_what_rules_declare_is_asked_for_and_doubled_on_a_retry(name):
    rules = declared()
    assert {"run_cell", "run_audit", "draw", "build_report"} <= set(rules)
    lists = profile(name)["set-resources"]
    drawings = [rule for rule in lists if rule.startswith("draw_")]
    experiments = {path.stem.replace("-", "_") for path in Path("config/experiments").glob("*.yaml")}
    assert {f"draw_{name}" for name in experiments} < set(drawings)
    assert set(lists) == set(rules) - {"draw"} | set(drawings)
    for rule, expressions in lists.items():
        numbers = rules["draw" if rule in drawings else rule]
        doubled = {
            "mem_mb": f"({numbers['mem_mb']} + 400) * 2 ** (attempt - 1)",
            "runtime": f"{numbers['runtime']} * 2 ** (attempt - 1)",
        }
        assert expressions == doubled, f"profiles/slurm asks for other numbers for {rule} than its rule"


def test_a_cluster_loses_none_of_the_default_entries():
    for name in ("slurm", "cluster-generic"):
        assert set(profile("default")) <= set(profile(name))
        assert profile(name)["latency-wait"] > profile("default")["latency-wait"]


@together.over("name", PROFILES)
def test_every_entry_is_explained(name):
    lines = _text(name).splitlines()
    taken_over = re.compile(r'^([a-z-]+): \?slurm\["\1"\]$')
    for before, line in itertools.pairwise(lines):
        if re.match(r"[a-z]", line) and not taken_over.match(line):
            assert before.lstrip().startswith("#"), f"{line!r} in profiles/{name} has no comment above it"
