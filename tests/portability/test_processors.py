"""The same rows and the same verdicts whatever instructions the processor has; run by `make test-processors`.

The digits that differ are the last ones: sums are added in another order. Nothing may hang on them.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import same
from machines import ROOT, compute, environment, threads
from processors import PROCESSORS, flags, settings
from project_copies import copy_whole

from dperm_pipeline import config_files, plan
from dperm_pipeline.datasets import fetch

pytestmark = pytest.mark.processors

# From any processor at hand.
FURTHEST = "SSE4.2"

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


def quick() -> plan.Plan:
    """Return what there is to compute at scale quick; the caller sees to it that there is no mirror."""
    config = {**config_files.parse(ROOT / "config/config.yaml"), "scale": "quick"}
    return plan.load(config, ROOT, unavailable=fetch.unavailable)


# Every claim that rows decide; those that the ledger decides are told by the attacks.
JUDGED = """
import sys
from pathlib import Path
from dperm_pipeline import claims, tables
from dperm_pipeline.claims import catalogue
root, out = map(Path, sys.argv[1:])
entries = catalogue.load(sorted(root.glob("resources/claims/*.yaml")), root / "workflow/schemas/claims.schema.yaml")
rows = {}
for cells in out.glob("*/cells"):
    rows[cells.parent.name] = out / f"{cells.parent.name}.rows"
    parts = [*sorted(cells.rglob("*.parquet")), *sorted((cells.parent / "baselines").glob("*.parquet"))]
    tables.collect(parts, rows[cells.parent.name], metadata={})
claims.judge(entries, rows, out / "claims.judged", unavailable={}, metadata={})
"""


def judging(out: Path, **given: str) -> subprocess.Popen:
    """Start to judge the claims by the cells and baselines of all experiments."""
    command = [sys.executable, "-c", JUDGED, str(ROOT), str(out)]
    return subprocess.Popen(command, env=environment(**given), text=True, stderr=subprocess.PIPE)


def verdicts(out: Path, process: subprocess.Popen) -> list[dict]:
    """Wait for the verdicts, and return them."""
    _, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return pq.read_table(out / "claims.judged", columns=["id", "variant", "dataset", "place", "verdict"]).to_pylist()


def assert_same(first: dict, second: dict, name: str) -> None:
    found = list(same.differences(first, second, same.TOLERANCE))
    assert found == [], f"{len(found)} differences as {name}:\n" + "\n".join(found[:40])


@pytest.mark.parametrize("name", PROCESSORS)
def test_rows_and_attacks_at_scale_tiny(locked, tmp_path, name):
    """Attacks alone as the processor whose rows are computed at scale quick, below."""
    if name == "AVX2" and not PROCESSORS["AVX-512"].flags <= flags():
        pytest.skip("the processor at hand is one of these, and all else is computed by it")
    first = same.tables(locked)
    assert len(first) > 70
    attacks = []
    if name == FURTHEST:
        first = {path: rows for path, rows in first.items() if path.startswith("audits/")}
        attacks = [path.name for path in (locked / "taken").glob("audit *")]
        assert len(first) == len(attacks) > 5
    assert_same(first, same.tables(compute(tmp_path / "out", *attacks, **threads(1), **settings(name))), name)


# A slow machine takes some ten minutes for the second, which is the processor that is furthest from any at hand.
@pytest.mark.limit(2800)
def test_rows_and_verdicts_at_scale_quick(tmp_path, monkeypatch):
    """As a whole run of the workflow gives them on the machine as it is; what differs needs no Snakemake to differ."""
    # Nor has the run one.
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    name, project, given = FURTHEST, copy_whole(tmp_path / "as it is"), {**threads(1), **settings(FURTHEST)}
    names = [experiment.name for experiment in quick().of_scale("quick")]
    project.environment = environment(PYTHONPATH=str(project.folder / "src"))
    project.run(*(f"results/quick/{one}/rows.parquet" for one in names), config=("scale=quick",), timeout=1350)
    results = project.folder / "results/quick"
    first = judging(results)
    other = compute(tmp_path / "other", *names, scale="quick", **given)
    first, second = verdicts(results, first), verdicts(other, judging(other, **given))
    assert len(first) > 200
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
    rows, others = (
        {path: table for path, table in same.tables(folder).items() if {"cells", "baselines"} & {*path.split("/")}}
        for folder in (results, other)
    )
    assert len(rows) > 60 and any("/baselines/" in path for path in rows)
    assert_same(rows, others, name)


KEY = ["paper", "mechanism", "variant", "calibration", "neighbours", "epsilon", "delta"]
# Of epsilon, or of a bound above it: some bounds are quadratures, whose own error is near TOLERANCE.
BOUNDS = 10 * same.TOLERANCE
# Output perturbation adds noise to the solver's point. It lies within 1e-6 of the sensitivity of the minimiser; where
# in there is luck, and a bound is of two such points.
SOLVED = {"output": 2e-6}

LEDGER = """
import sys
from pathlib import Path
from dperm_pipeline.audits import ledger
root, (confidence, level) = Path(sys.argv[1]), map(float, sys.argv[2:])
attacks = sorted(root.glob("audits/*/*.parquet"))
ledger.collect(attacks, [], root / "privacy.parquet", confidence=confidence, level=level, metadata={})
"""


def ledger(out: Path, planned: plan.Plan, keys: list[tuple[str, str]], **given: str) -> pd.DataFrame:
    """Make these attacks of scale quick, and return the ledger that follows from them, by what was attacked."""
    compute(out, *(f"audit {mechanism} {pair}" for mechanism, pair in keys), scale="quick", **threads(1), **given)
    asked = [out, *(planned.audit[key] for key in ("confidence", "level"))]
    subprocess.run([sys.executable, "-c", LEDGER, *map(str, asked)], env=environment(**given), check=True)
    return pq.read_table(out / "privacy.parquet").to_pandas().set_index(KEY)


def unlike(found: pd.DataFrame, told: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that are not told, or with another verdict, or with another bound though no draws bear on it."""
    told = told.reindex(found.index)
    exact = (found["confidence"] == 1) & (told["confidence"] == 1)
    off = (found["audit_lower_bound"] - told["audit_lower_bound"]).abs()
    least = np.maximum(found.index.get_level_values("epsilon"), told["audit_lower_bound"])
    alike = np.array([SOLVED.get(mechanism, BOUNDS) for mechanism in found.index.get_level_values("mechanism")])
    return found[(found["verdict"] != told["verdict"]) | (exact & (off > alike * least))]


@pytest.mark.limit(2800)
@pytest.mark.parametrize("name", [FURTHEST])
def test_the_ledger_at_scale_quick_is_the_same(tmp_path, name):
    """As that of docs/assets, of a run at scale paper. What is not as there is attacked as this machine is, too."""
    planned = quick()
    # Of mutants the ledger has no row.
    audits = {key: audit for key, audit in planned.audits["quick"].items() if key[0] != "mutants"}
    found = ledger(tmp_path / "other", planned, [*audits], **settings(name))
    # Rows are found by their epsilon and delta: Arrow reads each decimal as the double that it was written from.
    told = pd.read_csv(ROOT / "docs/assets/privacy.csv", engine="pyarrow").fillna({"variant": ""})
    left = unlike(found, told[told["verdict"] != "not audited"].set_index(KEY))
    assert len(found) > 300 and len(left) < len(found) / 2
    kinds = {key[1:] for key in left.index}
    again = [
        key
        for key, audit in audits.items()
        if any((audit["mechanism"], *({**audit, **row}[name] for name in KEY[2:])) in kinds for row in audit["rows"])
    ]
    if again:
        left = unlike(left, ledger(tmp_path / "as it is", planned, again))
    assert left.reset_index()[[*KEY, "verdict", "audit_lower_bound"]].to_dict("records") == []


# What hangs on the last digits, by name of the file: solvers and their certificates, accounting, kernels, the grid of
# released numbers, mechanisms, and records and bounds so extreme that a solver might give up. On no digit hang laws by
# thousands of draws (tests/statistical), counts of votes, and what a model says, refuses or keeps on disk.
NUMERICS = (
    "dperm/test_losses.py", "dperm/test_noise.py", "dperm/test_grid.py", "dperm/accounting/test_accounting*.py",
    "dperm/solvers/test_*.py", "dperm/mechanisms/test_*.py", "dperm/mechanisms/kernel/test_*.py",
    "dperm/mechanisms/napp/test_*.py", "dperm/mechanisms/support/test_*.py",
    "dperm/mechanisms/prediction/test_exppw.py", "dperm/mechanisms/prediction/test_stable*.py",
    "dperm/mechanisms/estimators/test_loss_domains.py",
    "dperm/mechanisms/estimators/test_total_bounds.py",
)  # fmt: skip
# By parts of their names: scikit-learn's conventions, what is refused (but not what may never be, for rounding), the
# same bytes twice on one processor, and the arithmetic of a share of the budget.
OTHERS = ("scikit_learn_conventions", "(refuse and not never)", "named", "same_bytes", "noise_is_for_twice_tau")

# Searches over finitely many candidates by counts: no sum of theirs has a last digit.
SEARCHES = {"__init__", "intervals", "stumps", "thresholds"}


@pytest.mark.limit(2800)
@pytest.mark.parametrize("name", [FURTHEST])
def test_the_tests_of_the_numerics_pass(name):
    files = [str(path) for pattern in NUMERICS for path in sorted((ROOT / "tests").glob(pattern))]
    assert len(files) > 30 and [pattern for pattern in NUMERICS if not list((ROOT / "tests").glob(pattern))] == []
    # Each solver has a test that runs here, of its own or of those that it serves.
    text = "".join(Path(file).read_text(encoding="utf-8") for file in files)
    solvers = {path.stem for path in (ROOT / "src/dperm/solvers").glob("*.py")} - SEARCHES
    assert [name for name in sorted(solvers) if not re.search(rf"\b{name}\b", text)] == []
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-p", "no:cacheprovider"]
    command += ["-m", "not slow", "-k", " and ".join(f"not {part}" for part in OTHERS), *files]
    given = environment(**settings(name))
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, check=False, timeout=1350)
    assert done.returncode == 0, done.stdout[-20_000:]
