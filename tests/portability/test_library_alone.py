"""The library by itself: a wheel in an environment that holds its own dependencies and nothing of the pipeline."""

import importlib.metadata
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from environments import UV
from packaging.requirements import Requirement
from project_copies import copy_project

pytestmark = pytest.mark.versions
ROOT = Path(__file__).parents[2]
FOREIGN = ("cvxpy", "clarabel", "snakemake", "matplotlib", "pandas", "pyarrow", "jsonschema", "jinja2", "pooch")
USE = """
import importlib.util, sys
import numpy as np
import dperm

held = [name for name in sys.argv[1:] if importlib.util.find_spec(name)]
assert not held, held
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = np.where(X[:, 0] > 0, 1, -1)
both = {"epsilon": 1.0, "clip": True, "classes": (-1, 1), "random_state": 0}
for model in (
    dperm.ObjectivePerturbation(**both, l1=0.1, radius=5.0), dperm.OutputPerturbation(**both), dperm.NAPP(**both),
    dperm.TDDL(**both, n_public=4), dperm.StableERM(**both, queries=3),
    dperm.NoisyGradientDescent(**both), dperm.PreconditionedGradientDescent(**both),
):
    answers = model.fit(X, y).predict(X[:2])
    assert set(np.ravel(answers)) <= {-1, 1}, model
try:
    dperm.ObjectivePerturbation(epsilon=1.0, classes=(-1, 1), regularizer=lambda theta: theta @ theta).fit(X / 10, y)
except dperm.errors.ConfigError as error:
    assert "pip install 'dperm[convex]'" in str(error)
else:
    raise AssertionError("without cvxpy a regularizer of one's own cannot be solved")
"""
# What the wheel compiles, it compiles there and keeps.
COMPILE = """
import numpy as np
from dperm.solvers import berhu

one = np.ones(2)
assert berhu.penalties(2 * one, one, one, one, one) == 12.0
stats = berhu.penalties.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""
ATTACK = """
import numpy as np
from dperm.audit import Subject

def factory():
    def mechanism(data, repeats, rng):
        return data.sum() + rng.laplace(0, SCALE, repeats)
    data = np.ones(10)
    return Subject(mechanism, data, data[:9], epsilon=1.0)
"""


def of_the_library() -> str:
    """Requirements with hashes, from the lock file: what the library asks for, and what that asks for."""
    wanted, pending = set(), ["dperm"]
    while pending:
        for text in importlib.metadata.requires(pending.pop()) or ():
            required = Requirement(text)
            name = re.sub(r"[-_.]+", "-", required.name).lower()
            if name not in wanted and (required.marker is None or required.marker.evaluate({"extra": ""})):
                wanted.add(name)
                pending.append(name)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.findall(r"^[a-z0-9][\w.-]*==.*?(?=^[a-z0-9]|\Z)", lock, flags=re.MULTILINE | re.DOTALL)
    return "".join(entry for entry in entries if entry.partition("==")[0].split("[")[0] in wanted)


def test_the_wheel_works_in_an_environment_of_its_own(tmp_path):
    def run(*command: str, status: int = 0, **given: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env={**os.environ, **given}, text=True, capture_output=True, timeout=700, check=False
        )
        assert done.returncode == status, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout

    python = str(tmp_path / "alone/bin/python")
    (tmp_path / "library.lock").write_text(of_the_library(), encoding="utf-8")
    # Of a copy: building leaves its own folders beside the sources.
    copy_project(tmp_path / "project")
    build = [UV, "build", "--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable]
    run(*build, "-o", str(tmp_path), str(tmp_path / "project"))
    (wheel,) = tmp_path.glob("*.whl")
    run(UV, "venv", "--quiet", "--python", sys.executable, str(tmp_path / "alone"))
    run(UV, "pip", "sync", "--quiet", "--python", python, "--require-hashes", "library.lock")
    run(UV, "pip", "install", "--quiet", "--python", python, "--no-deps", str(wheel))
    # Interpreted: to compile all of it takes a minute, and the suite runs it compiled.
    run(python, "-W", "error", "-c", USE, *FOREIGN, NUMBA_DISABLE_JIT="1")
    cache = {"DPERM_NUMBA_CACHE": str(tmp_path / "cache")}
    assert [run(python, "-W", "error", "-c", COMPILE, **cache) for _ in range(2)] == ["0 1\n", "1 0\n"]
    for scale, status in ((1.0, 0), (0.2, 1)):
        (tmp_path / "attack.py").write_text(ATTACK.replace("SCALE", str(scale)), encoding="utf-8")
        run(
            str(tmp_path / "alone/bin/dperm"),
            "audit",
            "attack:factory",
            "--draws",
            "20000",
            "--seed",
            "1",
            status=status,
        )
