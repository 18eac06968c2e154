"""The steps of docs/extending.md, carried out in a copy: a user's own data set and a new mechanism, and they run."""

import numpy as np
import pandas as pd
import pytest

from dperm import tables

EXPERIMENT = "config/experiments/kifer2012-output.yaml"

OWN_ENTRY = """
people:
  title: People
  task: binary
  format: csv
  path: people.csv
  licence: private
  citation: none
  target: {column: tall, positive: "yes", negative: "no"}
  ranges: {height: [100, 200], weight: [40, 120]}
  data_dependent: []
"""

MECHANISM = '''"""Output perturbation at half the budget (kifer2012, Section 1); add/remove or replace-one."""

from dperm.mechanisms import output


def release(X, y, loss, *, budget, neighbours, **rest):
    """Release at half the budget."""
    return output.release(X, y, loss, budget=budget.share(0.5), neighbours=neighbours, **rest)
'''


LINE = '"doubled": Mechanism("dperm.mechanisms.doubled", ("paper", "tight"))'


@pytest.mark.slow
def test_a_data_set_of_my_own(project):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"height": rng.uniform(100, 200, 300), "weight": rng.uniform(40, 120, 300)})
    frame["tall"] = np.where(frame["height"] > 150, "yes", "no")
    frame.to_csv(project.folder / "people.csv", index=False)
    with (project.folder / "config/datasets.yaml").open("a", encoding="utf-8") as catalogue:
        catalogue.write(OWN_ENTRY)
    project.edit(EXPERIMENT, "dataset: [breast-cancer]", "dataset: [breast-cancer, people]")
    project.run("results/tiny/kifer2012-output/rows.parquet")
    rows = tables.read(project.folder / "results/tiny/kifer2012-output/rows.parquet")
    assert set(rows["dataset"]) == {"breast-cancer", "people"}
    assert (rows["status"] == "ok").all()


def test_a_mechanism_of_my_own(finished):
    (finished.folder / "src/dperm/mechanisms/doubled.py").write_text(MECHANISM, encoding="utf-8")
    finished.edit("src/dperm/mechanisms/__init__.py", "REGISTRY = {", f"REGISTRY = {{\n    {LINE},")
    finished.edit(
        EXPERIMENT, "mechanisms:", "mechanisms:\n  - {mechanism: doubled, calibration: tight, neighbours: replace}"
    )
    # An entry in REGISTRY runs nothing but its own cell again, and the rows' union.
    target = "results/tiny/kifer2012-output/rows.parquet"
    assert finished.jobs(target) == [
        "kifer2012-output: collect rows",
        "kifer2012-output: doubled.tight.replace at breast-cancer_epsilon-1",
    ]
    finished.run(target)
    rows = tables.read(finished.folder / target)
    mine = rows[rows["mechanism"] == "doubled"]
    assert len(mine) == len(rows[rows["mechanism"] == "output"])
    assert set(mine["neighbours"]) == {"replace"}
