"""What no estimator takes is refused by the name of its parameter, in one clear sentence."""

import numpy as np
import pandas as pd
import pytest
import together

import dperm
from dperm.errors import ConfigError, DataError, InvalidBudget

X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 2))
Y = (X[:, 0] > 0).astype(int)
LABELS = {"classes": (0, 1), "clip": True}
# Of these epsilon=1e300 was an OverflowError without a name, or was not refused at all.
SPENDING = {
    "ExpPW": {"queries": 5}, "AveragedPrediction": {"shards": 3}, "SoftMajority": {"shards": 3}, "StableERM": {},
    "StableSGD": {}, "TDIL": {}, "PINP": {"queries": 100}, "ObjectivePerturbation": {}, "OutputPerturbation": {},
}  # fmt: skip


@together.over("name", SPENDING)
def test_so_large_an_epsilon_is_none(name):
    model = getattr(dperm, name)(epsilon=1e300, **SPENDING[name], **LABELS)
    with pytest.raises(InvalidBudget, match=r"^epsilon=1e\+300 must be a number in \(0, 1e\+12\]"):
        model.fit(X, Y)


@together.over(
    ("make", "given", "error", "words"),
    [
        ("SoftMajority", {"shards": 1e300}, ValueError, "^shards must be at most 100,000,000"),
        ("SoftMajority", {"shards": 10**400}, ValueError, "^shards must be at most"),
        (
            "SoftMajority",
            {"shards": 3, "queries": 10**400},
            ValueError,
            r"^queries must be .* at most 10\^20",
        ),
        ("SoftMajority", {"shards": 3, "calibration": np.array([1.0, 2.0])}, ValueError, "^calibration=array"),
        ("ExpPW", {"neighbours": np.array(["replace", "replace"])}, ValueError, "^neighbours=array"),
        ("ExpPW", {"state": 3}, ConfigError, "^state=3 must be a path"),
        ("RKHSGaussian", {"state": [], "delta": 1e-6}, ConfigError, r"^state=\[\] must be a path"),
        ("TDDL", {"public": (1, 2)}, ValueError, "^public must be a table"),
        ("TDDL", {"public": "x"}, ValueError, "^public must be a table"),
        ("TDDL", {"public": object()}, ValueError, "^public must be a table"),
        ("TDIL", {"public": 3.0, "kernel": "rbf"}, ValueError, "^public must be a table"),
    ],
)
def test_what_is_no_value_of_a_parameter_is_named(make, given, error, words):
    with pytest.raises(error, match=words):
        getattr(dperm, make)(**given, **LABELS).fit(X, Y)


def test_a_teacher_that_is_none_is_named():
    with pytest.raises(ValueError, match=r"^teacher=3 must be a fitted private predictor"):
        dperm.Student(3).fit(X)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_two_columns_of_one_name_are_named(neighbours):
    """Before, an error of another library came from the depths of scikit-learn."""
    twice, once = (pd.DataFrame(X, columns=names) for names in (["u", "u"], ["u", "v"]))
    model = dperm.OutputPerturbation(neighbours=neighbours, **LABELS)
    with pytest.raises(DataError, match=r"^X has more than once the column 'u'"):
        model.fit(twice, Y)
    with pytest.raises(DataError, match=r"^X has more than once the column 'u'"):
        model.fit(once, Y).predict(twice)


def test_many_rows_of_a_person_leave_a_budget_for_each():
    """Before, the share of each was epsilon=0, which was refused by a name that the user had not given."""
    model = dperm.PerPerson(dperm.NoisyGradientDescent(random_state=0, **LABELS), rows=30, epsilon=0.1, delta=1e-3)
    model.fit(X, Y, groups=np.arange(60) // 30)
    assert (model.privacy_.epsilon, model.privacy_.delta) == (0.1, 1e-3)
    assert 0.1 / 30 <= model.row_privacy_.epsilon < 0.1 and 0 < model.row_privacy_.delta < 1e-3
