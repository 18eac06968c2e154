"""SoftMajority in consensus mode: what the shards agree on is free, what they contest is charged."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from dperm import SoftMajority
from dperm.errors import BudgetExhausted, DataError, InvalidBudget
from dperm.mechanisms.prediction import consensus


@pytest.fixture
def data():
    x = np.random.default_rng(0).random((6000, 1))
    return x, (x[:, 0] >= 0.5).astype(int)


def fitted(data, **given):
    given = {"epsilon": 20.0, "queries": 3, "classes": (0, 1), "random_state": 0, **given}
    # Trees are quick to fit, and their thresholds lie between two records.
    base = DecisionTreeClassifier(max_depth=1)
    return SoftMajority(mode="consensus", base=base, **given).fit(*data)


def test_any_number_of_agreed_rows_is_free_and_right(data):
    model = fitted(data)
    assert model.shards_ == consensus.shards_needed(20.0, 1e-6, 3) and model.ledger_.answers == 3
    rows = np.concatenate([np.linspace(0, 0.2, 200), np.linspace(0.8, 1, 200)])[:, None]
    assert (model.predict(rows) == (rows[:, 0] > 0.5)).all()
    assert model.ledger_.answered == 0 and model.privacy_.guarantee == "proved"


def test_contested_rows_are_charged_and_the_last_one_ends_it(data, tmp_path):
    model = fitted(data, state=tmp_path / "journal")
    rows = (0.5 + np.linspace(-1e-4, 1e-4, 40))[:, None]
    with pytest.raises(BudgetExhausted, match="all 3 contested answers were given"):
        model.predict(rows)
    kept = len(model._known.answers)
    assert 3 <= kept < 40 and model.ledger_.remaining == 0
    model.predict(rows[:kept])
    with pytest.raises(BudgetExhausted):
        model.predict([[0.0]])
    model.ledger_.close()
    again = fitted(data, state=tmp_path / "journal")
    with pytest.raises(BudgetExhausted):
        again.predict([[0.0]])


class Fails(DecisionTreeClassifier):
    """Fits, and cannot be asked about rows beyond 1."""

    def predict(self, X):
        if (X > 1).any():
            raise FloatingPointError
        return super().predict(X)


@pytest.mark.parametrize("mode", ["each", "consensus"])
def test_models_that_fail_when_asked_have_cost_something(data, tmp_path, mode):
    given = {"mode": mode, "epsilon": 20.0, "queries": 3, "classes": (0, 1), "base": Fails(max_depth=1)}
    model = SoftMajority(**given, state=tmp_path / "journal").fit(*data)
    for left in (2, 1, 0):
        with pytest.raises(DataError, match="fails to predict"):
            model.predict([[2.0]])
        assert model.ledger_.remaining == left
    # Then not even that they fail is told.
    with pytest.raises(BudgetExhausted):
        model.predict([[2.0]])


def test_what_it_needs_is_said(data):
    with pytest.raises(InvalidBudget, match="shards=300 are too few for free answers"):
        fitted(data, epsilon=1.0)
    with pytest.raises(InvalidBudget, match="mode='each'"):
        fitted(data, delta=0.0)
    with pytest.raises(ValueError, match="has no mode='consensus'; take calibration='tight'"):
        fitted(data, calibration="paper")
    with pytest.raises(ValueError, match="mode='all' is not one of"):
        SoftMajority(mode="all").fit(*data)


def test_n_does_not_enter_under_add_remove(data):
    model = fitted(data, neighbours="add_remove")
    assert model.shards_ == consensus.shards_needed(20.0, 1e-6, 3)
