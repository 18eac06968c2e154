"""Oldest and newest libraries that pyproject.toml allows: rows of all four papers at scale tiny, and one workflow."""

import json
import os
import subprocess
import tomllib
from pathlib import Path

import environments
import pytest
import same
from machines import PLACE, ROOT, bytes_of, compute, locale, threads
from project_copies import Project, copy_project

pytestmark = pytest.mark.versions

ENDS = ("oldest", "newest")
VERSIONS = """
import importlib.metadata, json
print(json.dumps({found.metadata["Name"].lower(): found.version for found in importlib.metadata.distributions()}))
"""


class Other(Project):
    """The project, run by another environment's Python."""

    end = ""

    def command(self, *arguments: str, **options) -> list[str]:
        return [environments.python(self.end), *super().command(*arguments, **options)[1:]]


def versions(python: str) -> dict[str, str]:
    done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture(scope="module", params=ENDS)
def end(request, tmp_path_factory) -> tuple[str, Path]:
    """What one of the two environments computes."""
    if not Path(environments.python(request.param)).exists():
        pytest.fail(f"there is no .venv-{request.param}; run make test-versions")
    # Kept with the environment: to compile takes as long as to compute.
    given = {
        "python": environments.python(request.param),
        "DPERM_NUMBA_CACHE": f"{environments.folder(request.param)}/numba",
    }
    return request.param, compute(tmp_path_factory.mktemp(request.param) / "out", **given, **threads(1))


def test_the_oldest_are_the_lower_bounds():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = versions(environments.python("oldest"))
    for bounds in (*project["dependencies"], *project["optional-dependencies"]["release"]):
        name, _, least = bounds.partition(",")[0].partition(">=")
        parts = [part.rstrip("0") or "0" for part in least.split(".")]
        there = [part.rstrip("0") or "0" for part in found[name].split(".")]
        assert there[: len(parts)] == parts, f"{name} {found[name]} is not the {least} of pyproject.toml: make lock"


def test_rows_are_the_same_within_rounding(locked, end):
    name, out = end
    first, second = same.tables(locked), same.tables(out)
    # Four papers, data sets, baselines, cells and audits.
    declared = {path.stem for path in (ROOT / "config/experiments").glob("*.yaml")}
    # The data of one come from a mirror alone.
    assert declared - {"jain2013-url"} == {path.split("/")[0] for path in first if "/cells/" in path}
    assert any(path.startswith("audits/mutants/") for path in first)
    # Attacks whose event is learned are the exception, not the rule.
    attacks = [name for name in first if name.startswith("audits/")]
    learned = sum(len(same.learned_rows(first[name], second[name])) for name in attacks)
    assert learned < 0.2 * sum(len(first[name]) for name in attacks)
    found = list(same.differences(first, second, same.TOLERANCE))
    assert found == [], f"{len(found)} differences with the {name} libraries:\n" + "\n".join(found[:40])


def test_a_workflow_runs_and_computes_what_the_library_does(end, tmp_path):
    name, out = end
    folder = copy_project(tmp_path / "project").folder
    project = Other(folder)
    project.end = name
    # What was compiled to compute the rows is not compiled again: the same code, by the same Numba.
    project.environment["DPERM_NUMBA_CACHE"] = f"{environments.folder(name)}/numba"
    project.run()
    results = folder / "results/tiny"
    # Data sets are prepared beside the experiment there.
    cells = same.tables(results / "kifer2012-output/cells")
    assert len(cells) == 6
    assert list(same.differences(cells, same.tables(out / "kifer2012-output/cells"))) == []
    page = (results / "report/provenance.html").read_text(encoding="utf-8")
    for package in ("numpy", "pandas", "snakemake"):
        assert versions(environments.python(name))[package] in page
    assert (results / "figures/kifer2012-output.svg").stat().st_size > 1000
    assert (results / "tables/kifer2012-output.md").stat().st_size > 100
    assert project.jobs() == []


RELEASE = """
import numpy as np
from dperm import OutputPerturbation

rng = np.random.default_rng(0)
X = rng.uniform(-0.5, 0.5, (200, 2))
model = OutputPerturbation(epsilon=1.0, release=True, classes=(-1, 1)).fit(X, np.where(X[:, 0] > 0, 1, -1))
assert not model.privacy_.seeded
"""


@pytest.mark.parametrize("name", ENDS)
def test_a_release_by_opendp(name):
    given = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([environments.python(name), "-c", RELEASE], env=given, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_nothing_of_all_depends_on_the_settings_of_the_machine(locked, tmp_path):
    settings = {**threads(7), **locale(tmp_path / "locales", "de_DE"), "TZ": "Pacific/Kiritimati"}
    out = compute(tmp_path / PLACE / "out", PYTHONHASHSEED="4711", umask=0o077, **settings)
    assert bytes_of(out) == bytes_of(locked)
