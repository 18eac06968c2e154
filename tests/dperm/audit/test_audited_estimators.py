"""`dperm audit` on estimators: what is proposed keeps what is declared, and what is released is looked at."""

import sys

import pytest

from dperm import cli

ESTIMATORS = '''
import enum

import numpy as np

class Strict:
    """The sum of y, exactly epsilon-DP; it refuses what is outside of its bounds, as many libraries do."""

    def __init__(self, bounds_y=None, x_norm=1.0, epsilon=1.0, random_state=None):
        self.bounds_y, self.x_norm, self.epsilon, self.random_state = bounds_y, x_norm, epsilon, random_state

    def fit(self, X, y):
        low, high = self.bounds_y
        lengths = np.array([np.sqrt(sum(x * x for x in row[order])) for row in X for order in (slice(None), [2, 0, 1])])
        if y.min() < low or y.max() > high or (lengths > self.x_norm).any():
            raise ValueError("outside of the bounds")
        self.sum_ = y.sum() + np.random.default_rng(self.random_state).laplace(0, (high - low) / self.epsilon)
        return self


class Flaky:
    # Epsilon is 40; in one fit of twenty the solver gives up.
    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X):
        rng = np.random.default_rng(self.random_state)
        self.sum_ = X.sum() + rng.laplace(0, 0.05) if rng.random() > 0.05 else None


class Plain:
    # No underscore at the end.
    def fit(self, X):
        self.model = X.sum()


class Changed:
    # A parameter that is no longer what was given.
    def __init__(self, start=0.0):
        self.start = start

    def fit(self, X):
        self.start = X.sum()


class Kept:
    # A parameter that is changed in its place.
    def __init__(self, history=None):
        self.history = {"sum": 0.0}

    def fit(self, X):
        self.history["sum"] = X.sum()


class Slots:
    __slots__ = ("sum_",)

    def fit(self, X):
        self.sum_ = X.sum()


class Property:
    def fit(self, X):
        self._sum = X.sum()

    @property
    def sum_(self):
        return self._sum


class Enumerated:
    def fit(self, X):
        self.kind_ = Kind.LARGE if X.sum() >= 1 else Kind.SMALL


class Kind(enum.Enum):
    LARGE, SMALL = range(2)


class Same:
    # Parameters that stay, and what is made of no data.
    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon, self.random_state, self.counts = epsilon, random_state, [1, 2]

    def fit(self, X):
        self.noise_ = np.random.default_rng(self.random_state).normal()


class Hidden:
    def __init__(self, bounds=(0, 1)):
        self.bounds = bounds

    def fit(self, X):
        self._sum = X.sum()


class Opaque:
    def fit(self, X):
        self.model_ = Hidden().fit(X) or Held(X.sum())


class Held:
    def __init__(self, value):
        self._value = value
'''


@pytest.fixture
def audited(tmp_path, monkeypatch, capsys):
    """Return what runs `dperm audit` on one of the estimators above, and gives status, output and errors."""
    (tmp_path / "estimators_here.py").write_text(ESTIMATORS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(name, *options, draws=400):
        common = ("--epsilon", "1", "--relation", "replace", "--draws", str(draws), "--seed", "1", "--search", "200")
        status = cli.main(["audit", f"estimators_here:{name}", *common, *options])
        output = capsys.readouterr()
        return status, output.out, output.err

    yield run
    sys.modules.pop("estimators_here", None)


@pytest.mark.slow
@pytest.mark.parametrize("bound", [("--box", "0", "1"), ("--norm", "1.7320508075688772")])
def test_a_correct_estimator_that_checks_its_bounds_is_not_accused(audited, bound):
    """0.1 is less than -3 + (0.1 - -3), and a diagonal's length depends on the order in which its squares are added."""
    status, out, err = audited("Strict", *bound, "--targets", "-3", "0.1", "--features", "3", "--aborts", "outcome")
    assert (status, err) == (0, "") and "sum_" in out


ROWS = ("--box", "0", "1", "--features", "1", "--sizes", "0", "1")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Flaky", "Plain", "Changed", "Kept", "Slots", "Property", "Enumerated"])
def test_all_that_fit_makes_public_is_looked_at(audited, name):
    status, out, err = audited(name, *ROWS)
    assert (status, err) == (1, "") and "REFUTED" in out


@pytest.mark.slow
def test_what_a_constructor_made_is_looked_at_and_tells_nothing(audited):
    status, out, err = audited("Same", *ROWS)
    assert (status, err) == (0, "") and "noise_" in out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Hidden", "Hidden.fit makes no public attribute, but for those ignored"),
        ("Opaque", "nothing of this output is looked at (['model_'] is a Held)"),
    ],
)
def test_an_estimator_of_which_nothing_can_be_looked_at_is_an_error(audited, name, words):
    status, out, err = audited(name, *ROWS)
    assert (status, out) == (2, "") and words in err
