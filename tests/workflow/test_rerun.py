"""What runs again, and what does not."""

import pyarrow.parquet as pq
import pytest

CELLS = (
    "approximate-minima.paper.add-remove",
    "cms11.paper.add-remove",
    "gradient.tight.add-remove",
    "objective.paper.add-remove",
    "objective.tight.add-remove",
    "output.tight.add-remove",
)

AUDITS = (
    "audit mutants: data",
    "audit exp-mech.paper: shifted",
    "audit exp-mech.tight: shifted",
    "audit objective.paper: saturating",
    "audit objective.separate: saturating",
    "audit objective.tight: saturating",
    "audit output.paper: linear",
    "audit output.tight: linear",
)


def cell_jobs(jobs):
    head = "kifer2012-output: "
    return [job.removeprefix(head) for job in jobs if " at " in job and job.startswith(head)]


@pytest.mark.slow
def test_second_run_does_nothing(finished, tmp_path):
    """Nor is a mirror a reason to run again."""
    (tmp_path / "mirror").mkdir()
    assert "Nothing to be done" in finished.run(config=("scale=tiny", f"mirror={tmp_path / 'mirror'}"))


@pytest.mark.slow
def test_another_seed_gives_other_values(finished):
    def rows():
        cells = (finished.folder / "results").rglob("cells/*/*.parquet")
        return {path: pq.read_table(path)["value"].to_pylist() for path in cells}

    before = rows()
    finished.run("results/tiny/kifer2012-output/rows.parquet", config=("scale=tiny", "seed=99"))
    after = rows()
    assert before.keys() == after.keys()
    assert all(before[path] != after[path] for path in before)


@pytest.mark.slow
def test_adding_epsilons_runs_their_cells_and_what_hangs_on_them(finished):
    """Those in brackets in one job of each mechanism."""
    untouched = {path: (finished.folder / path).stat().st_mtime_ns for path in finished.results() if "/cells/" in path}
    finished.edit("config/experiments/kifer2012-output.yaml", "epsilon: [1.0]", "epsilon: [1.0, [2.0, 3.0]]")
    jobs = finished.jobs()
    assert cell_jobs(jobs) == [f"{cell} at breast-cancer_epsilon-2-3" for cell in CELLS]
    assert sorted(set(jobs) - {f"kifer2012-output: {job}" for job in cell_jobs(jobs)}) == [
        "build the report at scale tiny",
        "collect the privacy ledger at scale tiny",
        "draw kifer2012-output",
        "draw mutants",
        "draw privacy",
        "judge the claims at scale tiny",
        "kifer2012-output: collect rows",
        "record the resolved configuration at scale tiny",
    ]
    finished.run()
    assert {path: (finished.folder / path).stat().st_mtime_ns for path in untouched} == untouched
    assert finished.jobs() == []


def test_editing_a_mechanism_runs_exactly_its_cells_and_attacks_it_again(finished):
    finished.edit("src/dperm/mechanisms/output.py", "import math", "import math\n\nUNUSED = 1")
    jobs = finished.jobs()
    assert cell_jobs(jobs) == ["output.tight.add-remove at breast-cancer_epsilon-1"]
    assert set(AUDITS[1:]) <= set(jobs)


@pytest.mark.slow
def test_editing_shared_code_runs_all_cells(finished):
    finished.edit("src/dperm/noise.py", "import math", "import math\n\nUNUSED = 1")
    assert cell_jobs(finished.jobs()) == [f"{cell} at breast-cancer_epsilon-1" for cell in CELLS]


def test_editing_a_comment_a_docstring_or_a_range_runs_nothing(finished):
    # Nor does a range or a word of a setting: the values are what jobs are given.
    finished.edit("src/dperm_papers/kifer2012/output/settings.py", "high=100_000", "high=90_000")
    finished.edit("src/dperm/mechanisms/output.py", "import math", "# A comment.\nimport math")
    finished.edit("src/dperm/noise.py", '"""The noise laws', '"""All the noise laws')
    assert finished.jobs() == []


@pytest.mark.slow
def test_editing_the_style_draws_all_and_computes_nothing_else(finished):
    finished.edit("src/dperm_pipeline/figures/style.py", "\nimport ", "\nUNUSED = 1\nimport ")
    jobs = finished.jobs()
    assert cell_jobs(jobs) == []
    assert {"draw kifer2012-output", "draw mutants", "draw privacy"} <= set(jobs)


@pytest.mark.slow
def test_editing_a_figure_draws_those_of_its_experiment_alone(finished):
    finished.edit("src/dperm_papers/kifer2012/output/figures.py", "\nimport ", "\nUNUSED = 1\nimport ")
    assert finished.jobs() == ["build the report at scale tiny", "draw kifer2012-output"]


AFTER_THE_LEDGER = (
    "build the report at scale tiny",
    "collect the privacy ledger at scale tiny",
    "draw mutants",
    "draw privacy",
    "judge the claims at scale tiny",
)


@pytest.mark.slow
def test_editing_the_auditor_runs_the_audits_and_what_hangs_on_them(finished):
    finished.edit("src/dperm/audit/events.py", "import math", "import math\n\nUNUSED = 1")
    assert finished.jobs() == sorted([*AUDITS, *AFTER_THE_LEDGER])


@pytest.mark.slow
def test_editing_a_mutant_runs_the_mutants_alone(finished):
    finished.edit("src/dperm/audit/mutants/data.py", "import numpy", "import math\nimport numpy")
    assert finished.jobs() == sorted([AUDITS[0], *AFTER_THE_LEDGER])


@pytest.mark.slow
def test_other_draws_run_the_audits_and_no_cell(finished):
    finished.edit("config/config.yaml", "tiny: 2000", "tiny: 2200")
    expected = [*AUDITS, *AFTER_THE_LEDGER, "record the resolved configuration at scale tiny"]
    assert finished.jobs() == sorted(expected)


@pytest.mark.slow
def test_another_level_judges_the_same_attacks_again(finished):
    finished.edit("config/config.yaml", "level: 0.05", "level: 0.01")
    expected = [*AFTER_THE_LEDGER, "record the resolved configuration at scale tiny"]
    assert finished.jobs() == sorted(expected)


@pytest.mark.slow
def test_one_budget_more_runs_its_mechanism_and_calibration_alone(finished):
    finished.edit(
        "config/audits.yaml",
        "{calibration: tight, neighbours: replace, variant: gaussian, epsilon: 1.0, delta: 1.0e-6}",
        "{calibration: tight, neighbours: replace, variant: gaussian, epsilon: 1.5, delta: 1.0e-6}",
    )
    expected = ["audit output.tight: linear", *AFTER_THE_LEDGER, "record the resolved configuration at scale tiny"]
    assert finished.jobs() == sorted(expected)
