"""The digest's module list is what a cell really loads: a module missing from it would make results stale."""

import json
import subprocess
import sys

import pytest

from dperm import experiments, plan

CELL_CODE = """
import json, sys
from dperm import experiments, tables
cell = json.loads(sys.argv[1])
baseline = sys.argv[3]
if cell.get("mechanism"):
    experiments.run(cell, data=sys.argv[2], baseline=baseline)
else:
    experiments.run_baseline(cell, data=sys.argv[2])
print(json.dumps(sorted(name for name in sys.modules if name.split(".")[0] == "dperm")))
"""


def loaded(project, cell):
    data = "resources/prepared/breast-cancer.parquet"
    baseline = "results/tiny/kifer2012-output/baselines/breast-cancer.parquet"
    command = [sys.executable, "-c", CELL_CODE, json.dumps(cell), data, baseline]
    output = subprocess.run(command, cwd=project.folder, check=True, capture_output=True, text=True).stdout
    return json.loads(output.splitlines()[-1])


@pytest.fixture
def declared(finished):
    return plan.load({"scale": "tiny", "papers": ["kifer2012"], "seed": 1}, finished.folder)


def test_cells(finished, declared):
    for (slug, _), cell in declared.experiments["tiny", "kifer2012-output"].cells.items():
        modules = experiments.modules("kifer2012-output", cell["mechanism"])
        assert list(plan.modules(*modules)) == loaded(finished, cell), slug


def test_baselines(finished, declared):
    for cell in declared.experiments["tiny", "kifer2012-output"].baselines.values():
        assert list(plan.modules(*experiments.modules("kifer2012-output"))) == loaded(finished, cell)


def test_one_mechanism_does_not_load_the_other(finished):
    objective = plan.modules(*experiments.modules("kifer2012-output", "objective"))
    output = plan.modules(*experiments.modules("kifer2012-output", "output"))
    assert "dperm.mechanisms.output" not in objective
    assert "dperm.mechanisms.objective" not in output
    assert plan.code_digest(*objective) != plan.code_digest(*output)
