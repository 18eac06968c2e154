"""The same rows and the same verdicts whatever instructions the processor has; run by `make test-processors`.

The digits that differ are the last ones: sums are added in another order. Nothing may hang on them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import same
from machines import ROOT, compute, environment, threads
from processors import PROCESSORS, settings
from project_copies import copy_whole

pytestmark = pytest.mark.processors

ASKED = """
import json
import numba.core.registry
import numpy as np
import scipy.linalg
from numpy._core import _multiarray_umath as umath
from threadpoolctl import threadpool_info
print(json.dumps([
    sorted({library["architecture"] for library in threadpool_info() if library["internal_api"] == "openblas"}),
    sorted(name for name in umath.__cpu_dispatch__ if umath.__cpu_features__[name]),
    numba.core.registry.cpu_target.target_context.codegen().magic_tuple()[1],
]))
"""


@pytest.mark.parametrize("name", PROCESSORS)
def test_the_settings_take_hold(name):
    """Else the same would be compared with itself."""
    given = environment(**settings(name))
    done = subprocess.run([sys.executable, "-c", ASKED], env=given, capture_output=True, text=True, check=True)
    kernels, features, target = json.loads(done.stdout)
    assert kernels == [PROCESSORS[name].openblas] and target == PROCESSORS[name].numba
    assert not features if name == "SSE4.2" else {"X86_V3", "AVX2"} & {*features}
    assert bool({"X86_V4", "AVX512_SKX"} & {*features}) == (name == "AVX-512")


def run(folder: Path, **given: str) -> tuple[dict, list]:
    """Return the rows and attacks of a run at scale quick, and its verdicts; nothing is drawn."""
    project = copy_whole(folder)
    # Digits do not hang on how many outputs are drawn.
    project.edit("config/config.yaml", "quick: 40000", "quick: 4000")
    project.environment = environment(**given, PYTHONPATH=str(folder / "src"))
    project.run("results/quick/claims.parquet", config=("scale=quick",), timeout=1350)
    found = same.tables(folder / "results/quick")
    claims = found.pop("claims.parquet")
    return found, claims.select(["id", "variant", "dataset", "place", "verdict"]).to_pylist()


def assert_same(first: dict, second: dict, name: str) -> None:
    found = list(same.differences(first, second, same.TOLERANCE))
    assert found == [], f"{len(found)} differences as {name}:\n" + "\n".join(found[:40])


# As the least of them, all that is run at tiny is run at quick, below.
@pytest.mark.parametrize("name", [*PROCESSORS][1:])
def test_rows_and_attacks_at_scale_tiny(locked, tmp_path, name):
    first, second = same.tables(locked), same.tables(compute(tmp_path / "out", **threads(1), **settings(name)))
    assert len(first) > 70
    assert_same(first, second, name)


@pytest.fixture(scope="module")
def quick(tmp_path_factory) -> tuple[dict, list]:
    """What this machine computes at scale quick, as it is."""
    found = run(tmp_path_factory.mktemp("quick") / "project")
    assert len(found[0]) > 140 and len(found[1]) > 200
    return found


# A whole run each; a slow machine takes some ten minutes.
@pytest.mark.limit(1400)
@pytest.mark.parametrize("name", ["SSE4.2"])
def test_rows_attacks_and_verdicts_at_scale_quick(quick, tmp_path, name):
    """The one that is furthest from any machine at hand."""
    rows, verdicts = run(tmp_path / "project", **settings(name))
    assert [pair for pair in zip(quick[1], verdicts, strict=True) if pair[0] != pair[1]] == []
    assert_same(quick[0], rows, name)


# Solvers, mechanisms, accounting and laws of noise: what is computed in numbers, by name of the file.
NUMERICS = (
    "dperm/test_losses.py", "dperm/test_noise.py", "dperm/accounting/test_accounting*.py", "dperm/solvers/test_*.py",
    "dperm/mechanisms/test_*.py", "dperm/mechanisms/kernel/test_*.py", "dperm/mechanisms/napp/test_*.py",
    "dperm/mechanisms/support/test_*.py", "dperm/mechanisms/prediction/test_[aes]*.py",
    "dperm/mechanisms/estimators/test_loss_domains.py", "dperm/mechanisms/estimators/test_total*.py",
    "statistical/test_*.py",
)  # fmt: skip

# Searches over finitely many candidates by counts: no sum of theirs has a last digit.
SEARCHES = {"__init__", "intervals", "stumps", "thresholds"}


@pytest.mark.parametrize("name", ["SSE4.2"])
def test_the_tests_of_the_numerics_pass(name):
    files = [str(path) for pattern in NUMERICS for path in sorted((ROOT / "tests").glob(pattern))]
    assert len(files) > 30 and [pattern for pattern in NUMERICS if not list((ROOT / "tests").glob(pattern))] == []
    # Each solver has a test that runs here, of its own or of those that it serves.
    text = "".join(Path(file).read_text(encoding="utf-8") for file in files)
    solvers = {path.stem for path in (ROOT / "src/dperm/solvers").glob("*.py")} - SEARCHES
    assert [name for name in sorted(solvers) if not re.search(rf"\b{name}\b", text)] == []
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
    command += ["-m", "not slow", *files]
    given = environment(**settings(name))
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False, timeout=800)
    assert done.returncode == 0, done.stdout[-20_000:]
