"""Audits as tests: `assert_private`, the fixture of the plug-in, reports, and what has to be installed for them."""

import importlib.metadata
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import together

from dperm import audit

TESTS = """
import numpy as np
import pytest

DATA = np.ones(10)

def laplace(scale):
    return lambda data, repeats, rng: data.sum() + rng.laplace(0, scale, repeats)

def test_kept(assert_private):
    first, again = (assert_private(laplace(1.0), DATA, DATA[:9], 1.0, draws=300) for _ in range(2))
    assert first.audit.counts != again.audit.counts

@pytest.fixture
def prepared(assert_private):
    assert_private(laplace(1.0), DATA, DATA[:9], 1.0, draws=300, words="in a fixture")

def test_broken(prepared, assert_private):
    assert_private(laplace(0.1), DATA, DATA[:9], 1.0, draws=2_000, false_alarms=0.01, words="a | tenth")

@pytest.mark.parametrize("claim", [np.log(3), np.float32(1.1), np.int64(2)])
def test_claims_in_numpy_s_numbers(assert_private, claim):
    assert_private(laplace(1.0), DATA, DATA[:9], claim, np.float64(0), draws=np.int64(300), words=np.str_("numpy"))
"""
ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        known = {"numpy", "scipy", "sklearn", "dperm", *sys.stdlib_module_names, *sys.argv[1:]}
        if path is None and package not in known and not package.startswith("_"):
            raise ModuleNotFoundError(f"{package} is blocked", name=package)

sys.meta_path.insert(0, Blocked())
import importlib, pathlib
import numpy as np
from dperm import audit, cli

for name in audit.__all__:
    getattr(audit, name)
mechanism = lambda data, repeats, rng: data + rng.laplace(0, 0.2, repeats)
try:
    audit.assert_private(mechanism, 0.0, 1.0, 1.0, draws=500)
except audit.PrivacyViolation as violation:
    assert "trees" not in violation.report.audit.event or "sklearn" in sys.modules
    print(violation.report.markdown())
for blocked in ("numba", "dp_accounting"):
    try:
        importlib.import_module(blocked)
    except ModuleNotFoundError:
        continue
    raise AssertionError(blocked)
"""


def laplace(scale):
    return lambda data, repeats, rng: data + rng.laplace(0, scale, repeats)


def test_what_keeps_its_claim_passes_and_what_does_not_fails_with_a_report():
    report = audit.assert_private(laplace(1.0), 0.0, 1.0, 1.0, draws=2_000, words="a count", pair="0 beside 1")
    assert not report.refuted and report.audit.confidence == pytest.approx(0.999)
    with pytest.raises(AssertionError, match="epsilon = 1 is not kept") as failure:
        audit.assert_private(laplace(0.4), 0.0, 1.0, 1.0, draws=2_000)
    found = failure.value.report
    assert found.refuted and found.p_value < 1e-3 and found.audit.epsilon > 1.5
    assert "REFUTED" in str(failure.value) and "subject" in str(failure.value)


def test_a_report_says_the_same_to_all():
    report = audit.assert_private(laplace(1.0), 0.0, 1.0, 1.0, draws=500, words="a | count", pair="0 beside 1")
    machine = json.loads(report.json())
    assert machine == report.as_dict() | {"counts": machine["counts"]}
    assert (machine["claim"], machine["refuted"], machine["pair"]) == (1.0, False, "0 beside 1")
    header, _, row = report.markdown().splitlines()
    assert header.count("|") == row.count("|") - row.count("\\|") == 9 and f"{report.audit.epsilon:.4g}" in row
    assert "0 beside 1" in report.text() and "no proof of privacy" in report.text()


def test_a_report_holds_python_s_own_numbers():
    """Nothing else gets from one process of pytest-xdist to another."""
    report = audit.assert_private(
        laplace(1.0),
        0.0,
        1.0,
        np.float32(1.0),
        np.float64(0),
        draws=np.int64(500),
        words=np.str_("a"),
        pair=np.str_("b"),
    )
    found = report.as_dict()
    values = [*found.values(), *found["counts"].values()]
    assert {type(value) for value in values} <= {dict, str, bool, int, float, type(None)}
    assert type(found["claim"]) is float and json.loads(report.json()) == found


def test_false_alarms_are_rarer_than_stated():
    """200 calls on Laplace noise that keeps its claim exactly: at a level of .1 more than 35 alarms have p < 4e-4."""
    alarms = 0
    for k in range(200):
        try:
            audit.assert_private(
                audit.Target(laplace(1.0), log_density=lambda outputs, data: -abs(outputs[:, 0] - data)),
                *(0.0, 1.0, 1.0), draws=400, false_alarms=0.1, rng=np.random.default_rng(k),
            )  # fmt: skip
        except audit.PrivacyViolation:
            alarms += 1
    assert alarms <= 35


def test_a_test_that_could_not_fail_is_refused():
    with pytest.raises(ValueError, match=r"draws=500 cannot refute epsilon=9 .* take at least ([\d,]+)") as refused:
        audit.assert_private(laplace(1e-9), 0.0, 1.0, 9.0, draws=500)
    least = int(str(refused.value).split("at least ")[1].split(" ")[0].replace(",", "").rstrip(","))
    # Two far apart: with so many draws, and hardly fewer, all guesses are right.
    with pytest.raises(audit.PrivacyViolation):
        audit.assert_private(laplace(1e-9), 0.0, 1.0, 9.0, draws=least)
    with pytest.raises(ValueError, match="cannot refute"):
        audit.assert_private(laplace(1e-9), 0.0, 1.0, 9.0, draws=int(least / 1.03))


@together.over(
    "options, words",
    [
        ({"epsilon": 0}, "epsilon=0"),
        ({"delta": 1}, "delta=1"),
        ({"false_alarms": 0}, "false_alarms=0"),
        ({"draws": 9}, "draws=9 must be an integer"),
    ],
)
def test_mistakes_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        audit.assert_private(laplace(1.0), 0.0, 1.0, **{"epsilon": 1.0, **options})


@pytest.mark.slow
def test_the_plug_in_reports_a_session_of_several_processes(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS, encoding="utf-8")
    (plugin,) = (point for point in importlib.metadata.entry_points(group="pytest11") if point.name == "dperm")
    # Others, which take seconds to load, are left out.
    command = [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "xdist", "-p", plugin.value, "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, "--dperm-report", tmp_path / "out", tmp_path / "test_it.py"],
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 1 and "1 failed, 4 passed" in done.stdout, done.stdout + done.stderr
    assert "dperm: 7 audits, 1 claims refuted" in done.stdout and "probability 0.016 at most" in done.stdout
    rows = json.loads((tmp_path / "out/dperm-audit.json").read_text(encoding="utf-8"))
    assert [row["subject"] for row in rows] == [
        "a | tenth",
        "in a fixture",
        *3 * ["numpy"],
        *2 * ["test_it.py::test_kept"],
    ]
    assert [row["refuted"] for row in rows] == [True, *6 * [False]]
    assert len((tmp_path / "out/dperm-audit.md").read_text(encoding="utf-8").splitlines()) == 9


def test_numpy_scipy_and_scikit_learn_are_enough():
    """Everything else is blocked, but for what these three need themselves."""
    needed = ("threadpoolctl", "joblib", "narwhals", "cloudpickle", "psutil", "charset_normalizer")
    done = subprocess.run(
        [sys.executable, "-c", ALONE, *needed], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "**refuted**" in done.stdout
