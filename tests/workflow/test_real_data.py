"""A job of all of UCI Adult at scale `paper`, from the mirror to its rows."""

import pytest

from dperm_pipeline import tables

ROWS = "results/paper/kifer2012-output/cells/output.tight.add-remove/adult_epsilon-0.1-0.3-1-3.parquet"


@pytest.mark.slow
def test_a_job_of_adult(project, mirror):
    project.run(ROWS, config=("scale=paper", f"mirror={mirror}"))
    rows = tables.read(project.folder / ROWS)
    assert set(rows["status"]) == {"ok"}
    assert set(rows["guarantee"]) == {"proved"}
    assert set(rows["epsilon"]) == {0.1, 0.3, 1.0, 3.0}
    rows = rows[rows["epsilon"] == 1.0]
    assert (rows["metric"] == "excess_risk").sum() == 2 * 3 * 30
    # Noise costs something, and the fit still beats always saying "no" (24.6 % of the test rows are positive).
    errors = rows[(rows["metric"] == "test_error") & rows["chosen"]]["value"]
    assert 0.15 < errors.mean() < 0.246
