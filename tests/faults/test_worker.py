"""A job that meets another Python than the one that planned it: without a library, or with another dperm."""

import importlib.metadata
import json
import os
import shutil
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from dperm.errors import WorkerError
from dperm_pipeline import plan, tables, worker

CELL = "results/tiny/kifer2012-output/cells/{}/breast-cancer_epsilon-1.parquet"


def test_a_library_that_is_missing_is_named_with_the_remedy(monkeypatch):
    worker.check_libraries()
    wanted = ["numpy>=1", "no-such-thing>=2", 'nor-this; extra == "x"', 'this-too; python_version >= "3"']
    elsewhere = ['old; python_version < "3"', 'both; python_version >= "3" and extra == "x"']
    monkeypatch.setattr(importlib.metadata, "requires", lambda _: wanted + elsewhere)
    with pytest.raises(WorkerError, match=r"lacks no-such-thing, this-too; install .* `make venv`"):
        worker.check_libraries()


@pytest.fixture
def announced(monkeypatch):
    """What a run that is planned here tells its jobs: (packages, modules)."""
    # Registered, so that it is taken back after the test.
    monkeypatch.setenv(worker.VARIABLE, "")
    plan.code_digest("dperm_pipeline.tables")
    plan.announce()
    return json.loads(os.environ[worker.VARIABLE])


def test_the_code_that_planned_the_run_is_welcome(announced):
    packages, modules = announced
    assert {"numpy", "pyarrow"} <= set(packages)
    assert tables.__name__ in modules
    worker.check_code()


def test_other_words_are_no_other_code(announced, monkeypatch):
    packages, modules = announced
    modules["dperm_pipeline.tables"][0] = "other bytes"
    monkeypatch.setenv(worker.VARIABLE, json.dumps([packages, modules]))
    worker.check_code()


def test_other_code_is_refused_and_named(announced, monkeypatch):
    packages, modules = announced
    modules["dperm_pipeline.tables"] = ["other bytes", "other code"]
    monkeypatch.setenv(worker.VARIABLE, json.dumps([packages, modules]))
    with pytest.raises(WorkerError, match=r"has another dperm, in .*: dperm_pipeline\.tables differs; .*PYTHONPATH"):
        worker.check_code()


def test_code_that_this_job_has_not_loaded_does_not_matter(announced, monkeypatch):
    packages, modules = announced
    modules["dperm.not_loaded_here"] = ["other bytes", "other code"]
    monkeypatch.setenv(worker.VARIABLE, json.dumps([packages, modules]))
    worker.check_code()


def test_another_release_of_a_numerical_library_is_refused(announced, monkeypatch):
    packages, modules = announced
    monkeypatch.setenv(worker.VARIABLE, json.dumps([{**packages, "numpy": "1.0"}, modules]))
    with pytest.raises(WorkerError, match=r"has numpy .*planned with 1\.0; .*make venv"):
        worker.check_code()


def without(library: str, folder: Path) -> str:
    """Make an environment with everything that this one has but one library; return its Python."""
    venv.create(folder, symlinks=True)
    packages = Path(sysconfig.get_path("purelib"))
    inside = next((folder / "lib").glob("python3*")) / "site-packages"
    for path in packages.iterdir():
        if path.name != library and not path.name.startswith(f"{library}-"):
            (inside / path.name).symlink_to(path)
    return str(folder / "bin" / "python")


@pytest.mark.faults
def test_bad_workers_say_so_and_the_others_go_on(finished, tmp_path):
    """Every job meets a worker of its own: one lacks a library, one has a stale dperm, the rest are good."""
    project, undisturbed = finished, finished.results()
    stale = tmp_path / "stale"
    shutil.copytree(project.folder / "src", stale)
    module = stale / "dperm/noise.py"
    module.write_text(module.read_text(encoding="utf-8").replace("import math", "import math\n\nSTALE = 1", 1))
    workers = {
        "output.tight.add-remove": {"PYTHONPATH": str(stale)},
        "cms11.paper.add-remove": {"python": without("threadpoolctl", tmp_path / "worker")},
    }
    (tmp_path / "workers.json").write_text(json.dumps(workers))
    cells = [CELL.format(name) for name in (*workers, "objective.tight.add-remove")]
    for path in cells:
        (project.folder / path).unlink()
    submit = f"{sys.executable} {Path(__file__).with_name('submit.py')} {tmp_path / 'workers.json'}"
    said = project.run(
        *cells, "--executor", "cluster-generic", "--jobs", "2", "--cluster-generic-submit-cmd", submit, check=False
    )
    made = [(project.folder / path).exists() for path in cells]
    assert made == [False, False, True]
    assert f"has another dperm, in {stale}, than the one that planned the run: dperm.noise differs" in said
    assert f"{tmp_path / 'worker/bin/python'} on " in said
    assert "lacks threadpoolctl; install what is in the lock file there with `make venv`" in said
    # On good workers the rest is made, and no cell again.
    before = (project.folder / cells[2]).stat().st_mtime_ns
    project.run(*cells)
    assert (project.folder / cells[2]).stat().st_mtime_ns == before
    project.run()
    assert project.results() == undisturbed
