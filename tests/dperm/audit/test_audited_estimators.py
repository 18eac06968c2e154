"""`dperm audit` on estimators: what is proposed keeps what is declared, and what is released is looked at."""

import sys

import pytest

from dperm import cli

ESTIMATORS = '''
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
