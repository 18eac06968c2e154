"""Every scale has a plan, and none is made of more jobs than a cluster's user can bear."""

import re
import shutil

import pytest
from project_copies import ROOT

# Of all four papers; an experiment has three jobs at least: a cell, its rows, its figures.
LIMITS = {"tiny": 200, "quick": 250, "paper": 400}


@pytest.mark.slow
@pytest.mark.parametrize("scale", LIMITS)
def test_dry_run_and_number_of_jobs(project, scale, tmp_path):
    shutil.copytree(ROOT / "config", project.folder / "config", dirs_exist_ok=True)
    # Where they would come from matters to no plan; without a place the sets that are big have no jobs.
    output = project.run("--dry-run", config=(f"scale={scale}", f"mirror={tmp_path}", "fetch=[kdd-algebra,url]"))
    total = int(re.search(r"^total +(\d+)", output, flags=re.MULTILINE).group(1))
    assert LIMITS[scale] / 2 < total <= LIMITS[scale]


@pytest.mark.slow
def test_targets_by_paper_and_by_figure(project):
    assert project.jobs("results/quick/figures/kifer2012-output.svg")
    jobs = project.jobs("kifer2012")
    assert "draw kifer2012-output" in jobs and not any("report" in job for job in jobs)


@pytest.mark.slow
def test_a_paper_target_of_another_scale_needs_no_flag(project):
    jobs = project.jobs("results/paper/figures/kifer2012-output.svg", config=("scale=quick",))
    assert "prepare adult" in jobs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("results/tiny/figures/kifer2012-nothing.svg", "no selected experiment declares 'kifer2012-nothing'"),
        ("results/tiny/kifer2012-output/cells/objective.tight.replace/adult.parquet", "has no cell"),
        ("results/tiny/audits/objective.tight/nothing.parquet", "there are: exp-mech.paper/shifted, exp-mech.tight/"),
        ("results/tiny/kifer2012-nothing/rows.parquet", "there are: kifer2012-output"),
    ],
)
def test_an_unknown_target_says_what_there_is(project, target, words):
    output = project.run("--dry-run", target, check=False)
    assert words in output
