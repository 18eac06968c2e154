"""What every estimator refuses of records as a whole, and that it says nothing of them: no value, no number of them."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
import together
from scipy import sparse
from total_fits import LABELS, NUMBERS

import dperm

N, P = 17, 3
X = np.full((N, P), 0.0625)
Y = np.tile([0.125, 0.25], N)[:N]
NAMES = np.tile(["SECRET", "other"], N)[:N]
TWO = {**LABELS, "classes": ("SECRET", "other")}
LABELLED = {
    "objective": lambda **how: dperm.ObjectivePerturbation(**TWO | how),
    "output": lambda **how: dperm.OutputPerturbation(**TWO | how),
    "approximate minima": lambda **how: dperm.ApproximateMinima(**TWO | how),
    "descent": lambda **how: dperm.NoisyGradientDescent(**TWO | how),
    "preconditioned": lambda **how: dperm.PreconditionedGradientDescent(**TWO | how),
    "napp": lambda **how: dperm.NAPP(**TWO | how),
    "rkhs": lambda **how: dperm.RKHSGaussian(**TWO | how, C=0.01),
    "tddl": lambda **how: dperm.TDDL(**TWO | how, C=0.01, n_public=4),
    "exppw": lambda **how: dperm.ExpPW(**TWO | how),
    "stable erm": lambda **how: dperm.StableERM(**TWO | how, queries=5),
    "soft majority": lambda **how: dperm.SoftMajority(**TWO | how, queries=5, shards=2),
}
NUMBERED = {
    "objective, huber": lambda **how: dperm.ObjectivePerturbation(**NUMBERS | how, loss="huber"),
    "tdil, huber": lambda **how: dperm.TDIL(**NUMBERS | how, loss="huber"),
    "exp mech": lambda **how: dperm.ExpMechSupport(**NUMBERS | how, y_bound=1.0),
    "sparse": lambda **how: dperm.SparseRegression(**NUMBERS | how, y_bound=1.0),
}
MODELS = LABELLED | NUMBERED
TABLES = {
    "complex": (X + 1j * X, "Complex data not supported: X"),
    "complex, csr": (sparse.csr_array(X + 1j * X), "Complex data not supported: X"),
    "complex, frame": (pd.DataFrame(X + 1j * X), "Complex data not supported: X"),
    "no columns": (X[:, :0], r"0 feature\(s\) \(shape=\(, 0\)\) while a minimum of 1 is required"),
    "no columns, list": ([[] for _ in X], "0 feature"),
    "three dimensions": (X[None], "X has 3 dimensions"),
    "one dimension": (X[:, 0], "X has 1 dimensions"),
}


def silent(message):
    """Hold that a message has nothing of the records."""
    assert not re.search(rf"0\.0625|0\.06|0\.125|0\.25|SECRET|\b{N}\b|\b{N - 1}\b", message), message


def refusal(call, *given):
    with warnings.catch_warnings(), pytest.raises((ValueError, TypeError)) as caught:
        warnings.simplefilter("ignore", dperm.errors.VacuousWarning)
        call(*given)
    error = caught.value
    while error is not None:
        silent(str(error))
        error = error.__cause__ or error.__context__
    return str(caught.value)


@together.over("clip", [True, False])
@together.over("name", MODELS)
def test_tables_of_a_wrong_shape_or_type_are_refused_and_not_quoted(name, clip):
    y = NAMES if name in LABELLED else Y
    for table, words in TABLES.values():
        assert re.search(words, refusal(MODELS[name](clip=clip).fit, table, y))
    if not clip:
        assert "no records" in refusal(MODELS[name](clip=False).fit, X[:0], y[:0])


@pytest.mark.parametrize("name", MODELS)
def test_queries_of_a_wrong_shape_or_type_are_not_quoted_either(name):
    model = MODELS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dperm.errors.VacuousWarning)
        model.fit(X, NAMES if name in LABELLED else Y)
    ask = model.predict if hasattr(model, "predict") else model.transform
    for table, words in TABLES.values():
        assert re.search(words, refusal(ask, table))
    assert "no records" in refusal(ask, X[:0])
    assert "no number" in refusal(ask, np.where(X > 0, "SECRET", "0").astype(object))


TARGETS = {
    "two columns": lambda y: np.column_stack([y, y]),
    "two columns, frame": lambda y: pd.DataFrame({"a": y, "b": y}),
    "three dimensions": lambda y: y[:, None, None],
    "none": lambda y: y[0],
}


@together.over("clip", [True, False])
@together.over("kind", TARGETS)
@together.over("name", MODELS)
def test_targets_of_a_wrong_shape_are_refused_and_not_quoted(name, kind, clip):
    y = TARGETS[kind](NAMES if name in LABELLED else Y)
    assert "y should be a 1d array" in refusal(MODELS[name](clip=clip).fit, X, y)


@together.over("name", MODELS)
def test_complex_targets_are_refused_and_not_quoted(name):
    y = Y * 1j
    if name in LABELLED:
        assert "Complex data not supported: y" in refusal(MODELS[name](clip=False).fit, X, y)
        return
    for clip in (True, False):
        assert "Complex data not supported: y" in refusal(MODELS[name](clip=clip).fit, X, y)


def test_targets_that_are_lists_are_not_counted():
    for y in ([[0, 1]] * N, [[0], [0, 1]] + [0] * (N - 2)):
        refusal(dperm.OutputPerturbation(classes=(0, 1)).fit, X, y)
        refusal(dperm.OutputPerturbation(loss="huber").fit, X, y)
