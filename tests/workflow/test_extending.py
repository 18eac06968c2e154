"""The steps of docs/extending.md, read from that page and carried out in a copy: what is new runs, and nothing else."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from dperm_pipeline import claims, tables

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
EXPERIMENT = "config/experiments/kifer2012-output.yaml"
# `path`, where in it: then the block that goes there; and blocks of commands.
STEP = re.compile(
    r"^`(?P<path>[^`\n]+)`(?:, (?P<where>at the end|after|instead of)(?: `(?P<anchor>[^`\n]+)`)?)?:\n\n"
    r"```\w+\n(?P<text>.*?)^```$|^```sh\n(?P<commands>.*?)^```$",
    flags=re.DOTALL | re.MULTILINE,
)


class Step(NamedTuple):
    """A file that is written or edited, or commands that are run."""

    path: str | None
    where: str | None
    anchor: str | None
    text: str | None
    commands: str | None


def steps(first="", last=""):
    """The page's steps, from one heading to another."""
    part = PAGE[PAGE.index(f"{first}\n") if first else 0 : PAGE.index(f"{last}\n") if last else len(PAGE)]
    return [Step(**found.groupdict()) for found in STEP.finditer(part)]


def carry_out(step, folder):
    """Do what a step says, to the letter."""
    if step.commands:
        run(folder, "bash", "-euc", step.commands)
        return
    path = folder / step.path
    if step.where is None:
        assert not path.exists(), f"docs/extending.md writes {step.path} anew, which is there"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(step.text, encoding="utf-8")
        return
    old = path.read_text(encoding="utf-8")
    if step.where == "at the end":
        new = old + step.text
    else:
        anchor = f"{step.anchor}\n"
        assert old.count(anchor) == 1, f"docs/extending.md: {step.path} has {old.count(anchor)} lines {step.anchor!r}"
        new = old.replace(anchor, (anchor if step.where == "after" else "") + step.text)
    path.write_text(new, encoding="utf-8")


def run(folder, *command):
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("DPERM_MIRROR", None)
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=environment, text=True, capture_output=True, timeout=800, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


# An experiment of ours, which the page edits to show how.
STAYS_AS_IT_IS = steps("### In an existing figure", "### An attack on it")


def test_every_block_of_the_page_is_a_step():
    found = steps()
    assert len(found) == len(re.findall(r"^```\w+$", PAGE, flags=re.MULTILINE)) >= 15
    parts = (
        "config/datasets",
        "src/dperm/mechanisms/",
        "config/audits",
        "config/experiments/",
        "src/dperm_papers/",
    )
    parts += ("resources/claims/", "tests/dperm/mechanisms/")
    for part in parts:
        assert any((step.path or "").startswith(part) for step in found), part


@pytest.mark.slow
def test_a_mechanism_of_my_own_in_a_figure_that_is_there(finished):
    *written, command = steps("## A mechanism", "### An attack on it")
    for step in written:
        carry_out(step, finished.folder)
    # A new mechanism runs nothing but its own cell, and what is made from it.
    assert finished.jobs("results/tiny/figures/kifer2012-output.svg") == [
        "draw kifer2012-output",
        "kifer2012-output: cautious.tight.add-remove at breast-cancer_epsilon-1",
        "kifer2012-output: collect rows",
    ]
    carry_out(command, finished.folder)
    rows = tables.read(finished.folder / "results/tiny/kifer2012-output/rows.parquet")
    mine = rows[rows["mechanism"] == "cautious"]
    assert len(mine) == len(rows[rows["mechanism"] == "output"])
    assert "cautious" in (finished.folder / "results/tiny/tables/kifer2012-output.csv").read_text(encoding="utf-8")


def test_few_files_of_few_lines():
    """What a mechanism with test, attack, experiment, figure, table and claim touches, by the page."""
    added = [step for step in steps("## A mechanism") if step.path and step not in STAYS_AS_IT_IS]
    assert len({step.path for step in added}) <= 8
    assert len({step.path.partition("/")[0] for step in added}) <= 4
    assert sum(len(step.text.splitlines()) for step in added) <= 175


@pytest.mark.slow
def test_a_data_set_of_my_own(project):
    for step in steps("## A data set", "## A mechanism"):
        carry_out(step, project.folder)
    project.edit(EXPERIMENT, "dataset: [breast-cancer]", "dataset: [breast-cancer, people]")
    project.run("results/tiny/kifer2012-output/rows.parquet")
    rows = tables.read(project.folder / "results/tiny/kifer2012-output/rows.parquet")
    assert set(rows["dataset"]) == {"breast-cancer", "people"}
    assert (rows["status"] == "ok").all()


@pytest.mark.slow
def test_all_steps_of_the_page(project):
    written = []
    for step in (step for step in steps() if step not in STAYS_AS_IT_IS):
        carry_out(step, project.folder)
        written += [step.path] * bool(step.path and step.path.endswith(".py"))
    results = project.folder / "results/tiny"
    attack = tables.read_records(results / "audits/cautious.tight/saturating.parquet")
    assert attack["mechanism"].tolist() == ["cautious"] and attack["guarantee"].tolist() == ["proved"]
    # Half of the budget is unspent: far fewer than e times as many guesses are right as wrong.
    assert 1 < (attack["hits"] / attack["other_hits"]).iloc[0] < 2.2
    rows = tables.read(results / "kifer2012-cautious/rows.parquet")
    assert set(rows["mechanism"]) == {"output", "cautious", "nonprivate"} and set(rows["dataset"]) == {"people"}
    assert (rows["status"] == "ok").all() and len(rows) == 2 * 2 * 100 + 1
    assert (results / "figures/kifer2012-cautious.svg").read_text(encoding="utf-8").count("<path") > 50
    table = pd.read_csv(results / "tables/kifer2012-cautious.csv").pivot(index="epsilon", columns="mechanism")["mean"]
    # Twice the noise: four means of a hundred releases, each good to some 7 %.
    assert (table["cautious"] / table["output"]).to_numpy() == pytest.approx(2, rel=0.3)
    (verdict,) = claims.read(results / "claims/K-c99.parquet").to_dict("records")
    assert (verdict["verdict"], verdict["dataset"], verdict["figure"]) == ("reproduced", "people", "kifer2012-cautious")
    # Nothing but what is new was run.
    assert {path.parts[len(results.parts)] for path in results.rglob("*.parquet")} == {
        "audits", "claims", "kifer2012-cautious",
    }  # fmt: skip
    # The copy has no tests but those that the page adds.
    run(
        project.folder,
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--import-mode=importlib",
        "tests",
    )
    for check in (("check",), ("format", "--check")):
        run(project.folder, sys.executable, "-m", "ruff", *check, *dict.fromkeys(written))
