"""The command `dperm`, of which `audit` and `plan`: what it prints, its exit status, and one line for every mistake."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dperm import cli

ATTACK = """
import warnings

import numpy as np

from dperm.audit import Event, Subject, one_by_one

DATA = np.ones(10)


def laplace(scale):
    return lambda data, repeats, rng: data.sum() + rng.laplace(0, scale, repeats)


def good():
    return Subject(laplace(1.0), DATA, DATA[:9], epsilon=1.0, words="a sum with Laplace noise")


def half():
    return Subject(laplace(0.5), DATA, DATA[:9], epsilon=1.0)


def no_claim():
    return Subject(laplace(1.0), DATA, DATA[:9])


def foreign():
    def release(data, rng):
        return np.array([data.sum() + rng.normal(0, 1), 0.0])

    return Subject(one_by_one(release), DATA, DATA[:9], epsilon=5.0, delta=1e-6)


def hidden():
    def mechanism(data, repeats, rng):
        return 2.0 * rng.integers(0, 10**6, repeats) + len(data) % 2

    return Subject(mechanism, DATA, DATA[:9], epsilon=1.0, events=[Event("parity", lambda outputs: outputs[:, 0] % 2)])


def wrong_type():
    return laplace(1.0)


def broken():
    return 1 / 0


def leaves():
    raise SystemExit(1)


def too_few():
    return Subject(lambda data, repeats, rng: rng.normal(size=repeats - 1), DATA, DATA[:9], epsilon=1.0)


def ragged():
    event = Event("first", lambda outputs: outputs[:, 0])
    release = one_by_one(lambda data, rng: np.zeros(1 + rng.integers(2)))
    return Subject(release, DATA, DATA[:9], epsilon=1.0, events=[event])


def foreign_error():
    return Subject(one_by_one(lambda data, rng: float("foreign")), DATA, DATA[:9], epsilon=1.0)


constant = 3


class Mean:
    # Noise for the declared bounds, or for the range of the data.

    def __init__(self, scale_by, epsilon=1.0, bounds=None, random_state=None):
        self.scale_by, self.epsilon, self.bounds, self.random_state = scale_by, epsilon, bounds, random_state

    def fit(self, X, y=None):
        warnings.warn("said at every fit")
        low, high = (X.min(axis=0), X.max(axis=0)) if self.scale_by == "range" else self.bounds
        rng = np.random.default_rng(self.random_state)
        noise = rng.laplace(size=X.shape[1]) * (high - low) * X.shape[1] / len(X) / self.epsilon
        self.mean_, self.n_seen_ = X.mean(axis=0) + noise, len(X)
        return self


class Classifier:
    # Labels are those of the data; one class alone is an error.

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("needs two classes")
        self.votes_ = [(y == label).sum() + np.random.default_rng().laplace(0, 2) for label in self.classes_]
        return self
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with attack.py in it, as the current one."""
    (tmp_path / "attack.py").write_text(ATTACK, encoding="utf-8")
    (tmp_path / "lacking.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("attack", "lacking"):
        sys.modules.pop(name, None)


def run(capsys, *arguments):
    status = cli.main(["audit", *arguments])
    output = capsys.readouterr()
    return status, output.out, output.err


def test_a_claim_that_holds(here, capsys):
    status, out, err = run(capsys, "attack:good", "--seed", "1")
    assert (status, err) == (0, "")
    assert "a sum with Laplace noise" in out
    assert "with confidence 0.95" in out
    assert "claim        epsilon = 1" in out
    assert "not refuted" in out and "no proof of privacy" in out


def test_a_claim_that_does_not(here, capsys):
    status, out, _ = run(capsys, "attack:half", "--draws", "4000")
    assert status == 1
    assert "REFUTED" in out


def test_for_machines(here, capsys):
    status, out, _ = run(capsys, "attack:half", "--json", "--seed", "3")
    found = json.loads(out)
    assert status == 1 and found["refuted"] is True
    assert found["claim"] == 1 and 1.5 < found["epsilon"] < 2 and found["p_value"] < 1e-10
    # Of 20,000 draws a side three fifths certify, here as guesses of either side.
    assert found["counts"]["tries"] == 24_000


def test_the_same_seed_prints_the_same(here, capsys):
    first, second = (run(capsys, "attack:good", "--seed", "5", "--draws", "1000") for _ in range(2))
    assert first == second


def test_no_claim_is_only_measured(here, capsys):
    status, out, _ = run(capsys, "attack:no_claim", "--draws", "1000")
    assert status == 0 and "none given" in out
    status, out, _ = run(capsys, "attack:no_claim", "--epsilon", "0.1", "--draws", "4000")
    assert status == 1 and "claim        epsilon = 0.1" in out


def test_one_output_at_a_time_and_a_model(here, capsys):
    status, out, _ = run(capsys, "attack:foreign", "--gaussian", "--draws", "2000")
    assert status == 0
    assert "model-based: assumes a Gaussian trade-off" in out and "delta = 1e-06" in out


def test_the_subjects_own_events(here, capsys):
    status, out, _ = run(capsys, "attack:hidden", "--raw", "--draws", "1000")
    assert status == 1 and "parity" in out


ESTIMATOR = ("--epsilon", "1", "--relation", "replace", "--box", "0", "1", "--draws", "200", "--seed", "1")


@pytest.mark.slow
def test_an_estimator_needs_no_attack_file(here, capsys):
    status, out, err = run(capsys, "attack:Mean", *ESTIMATOR, "--set", "scale_by='range'")
    assert (status, err) == (1, "") and "pair         replace: " in out and "REFUTED" in out
    status, out, err = run(capsys, "attack:Mean", *ESTIMATOR, "--set", "scale_by=bounds", "--features", "1")
    assert (status, err) == (0, "") and "mean_" in out


@pytest.mark.slow
def test_of_an_estimator_attributes_can_be_left_out_and_aborts_avoided(here, capsys):
    added = [
        *ESTIMATOR[:3],
        "add_remove",
        *ESTIMATOR[4:],
        "--set",
        "scale_by=bounds",
        "--set",
        "epsilon=0.1",
        "--sizes",
        "16",
    ]
    assert run(capsys, "attack:Mean", *added)[0] == 1
    # The number of records said it. (The mean's noise is a tenth of what could be refuted.)
    assert run(capsys, "attack:Mean", *added, "--ignore", "n_seen_")[0] == 0
    status, out, _ = run(capsys, "attack:Classifier", *ESTIMATOR, "--classes", "no", "yes", "--json")
    assert status == 1 and json.loads(out)["pair"]
    kept = run(capsys, "attack:Classifier", *ESTIMATOR, "--classes", "0", "1", "--aborts", "avoid", "--sizes", "4")
    assert kept[0] == 0, kept


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["attack:Mean", "--epsilon", "1"], "does not say whom it protects: give --relation"),
        (["attack:Mean", "--relation", "replace"], "does not say what it claims: give --epsilon"),
        (["attack:Mean", *ESTIMATOR[:4]], "how large records may be: give --norm R, or --box LOW HIGH"),
        (["attack:Mean", *ESTIMATOR], "Mean needs 'scale_by': give --set scale_by=VALUE"),
        (["attack:Mean", *ESTIMATOR, "--set", "C=1"], "Mean has no parameter 'C'; it has scale_by, epsilon"),
        (["attack:Mean", *ESTIMATOR, "--set", "C"], "--set C: give NAME=VALUE"),
        (["attack:Classifier", *ESTIMATOR], "what y may be: give --classes A B"),
    ],
)
def test_what_cannot_be_guessed_is_asked_for(here, capsys, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "") and words in err and len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["attack"], "'attack' is not of the form module:factory"),
        (["nowhere:factory"], "module 'nowhere' is not importable from here"),
        (["lacking:factory"], "needs 'no_such_package'"),
        (["attack:nothing"], "has no function 'nothing'"),
        (["attack:constant"], "has no function 'constant'"),
        (["attack:wrong_type"], "it must return a dperm.audit.Subject"),
        (["attack:broken"], "attack:broken failed: ZeroDivisionError"),
        (["attack:leaves"], "attack:leaves failed: SystemExit"),
        (["attack:foreign_error"], "attack:foreign_error failed: ValueError: could not convert string"),
        (["attack:too_few"], "mechanism gave the shape (7999, 1) when asked for 8000 outputs"),
        (["attack:ragged"], "function gave outputs of the shapes [(1,), (2,)]: with events of your own"),
        (["attack:good", "--epsilon", "0"], "epsilon=0.0 must be a number in (0, 1e+12]"),
        (["attack:good", "--delta", "1"], "delta=1.0 must be a number in [0, 1)"),
        (["attack:good", "--draws", "3"], "draws=3 must be an integer, 100 or above"),
        (["attack:good", "--confidence", "1"], "confidence=1.0"),
        (["attack:good", "--seed", "-1"], "--seed=-1.0"),
        (["attack:good", "--relation", "replace"], "--relation is for estimators: attack:good makes a Subject"),
        (["attack:good", "--gaussian"], "a Gaussian trade-off needs one above 0"),
    ],
)
def test_mistakes_are_named_in_one_line(here, capsys, arguments, words):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert words in err.splitlines()[-1]
    # Only of the subject's own code.
    assert ("Traceback" in err) == (" failed: " in words)


def test_a_plan_for_each_budget(capsys):
    arguments = ["plan", "3000", "20", "--epsilon", "1", "2", "--delta", "1e-6", "--wanted", "0.02"]
    assert cli.main(arguments) == 0
    out = capsys.readouterr().out
    assert out.count("3,000 records, 20 features, 2 classes") == 2 and "records for 2.0 points" in out
    assert cli.main([*arguments, "--json", "--classes", "4"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert first["methods"][0]["excess"] > second["methods"][0]["excess"] and first["classes"] == 4
    assert cli.main(["plan", "30", "20", "--epsilon", "1", "--plain", "0.7"]) == 2
    assert "dperm: error: plain=0.7 must be" in capsys.readouterr().err


def test_it_is_installed_as_a_command(here):
    command = Path(sys.executable).parent / "dperm"
    done = subprocess.run(
        [command, "audit", "attack:half", "--draws", "4000"], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1, done.stderr
    assert "REFUTED" in done.stdout
    assert "module:factory" in subprocess.run([command, "audit", "--help"], capture_output=True, text=True).stdout
