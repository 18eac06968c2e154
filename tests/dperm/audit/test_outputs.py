"""Outputs of any shape are told apart by what they hold, and a call that fails is an outcome like any other."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from dperm import audit
from dperm.audit.leaves import leaves

X = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0]])


def attack(function, data=0, neighbour=1, *, draws=1_000, **options):
    rng = np.random.default_rng(3)
    return audit.lower_bound(audit.one_by_one(function), data, neighbour, draws=draws, rng=rng, **options)


class Curve:
    """A model that is called to predict."""

    def __init__(self, coef):
        self.coef_ = coef

    def __call__(self, x):
        return self.coef_ @ x


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (2, {"": 2.0}),
        (np.float32(0.5), {"": 0.5}),
        (True, {"": 1.0}),
        (math.nan, {"": "nan"}),
        (10**400, {"": repr(10**400)}),
        ("yes", {"": "'yes'"}),
        (None, {"": "None"}),
        (1 + 2j, {".length": 2.0, "[0]": 1.0, "[1]": 2.0}),
        ([1, "a"], {".length": 2.0, "[0]": 1.0, "[1]": "'a'"}),
        ({"b": 1, "a": [3]}, {".length": 2.0, "['a'].length": 1.0, "['a'][0]": 3.0, "['b']": 1.0}),
        ({"x"}, {".length": 1.0, " has 'x'": 1.0}),
        (np.eye(2)[:1], {".shape": "'(1, 2)'", ".length": 2.0, "[0]": 1.0, "[1]": 0.0}),
        (sparse.csr_array([[0, 5]]), {".shape": "'(1, 2)'", ".length": 2.0, "[0]": 0.0, "[1]": 5.0}),
        (SimpleNamespace(a=1, _b=2, f=len), {".a": 1.0, ".f": "a builtin_function_or_method"}),
        (Curve(np.ones(1)), {".coef_.length": 1.0, ".coef_[0]": 1.0}),
        (ValueError("no"), {"raised": "ValueError: no"}),
    ],
)
def test_an_output_is_taken_apart(output, expected):
    assert dict(leaves(output)) == expected


def test_of_a_model_what_fit_made_is_looked_at():
    found = dict(leaves(LinearRegression(fit_intercept=True).fit(X, X @ [1.0, 2.0] + 3)))
    assert found[".coef_[1]"] == pytest.approx(2) and found[".intercept_"] == pytest.approx(3)
    assert not any(place.startswith((".copy_X", ".fit_intercept")) for place in found)
    # A tree is compiled code, and says what it holds when it is pickled.
    tree = dict(leaves(DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 1])))
    assert tree[".classes_[1]"] == 1 and 0.5 in {value for place, value in tree.items() if "threshold" in place}


def test_lists_of_different_lengths():
    """A noisy count decides how long the list is: epsilon = 2."""
    found = attack(lambda data, rng: ["x"] * max(0, round(5 + data + rng.laplace(0, 0.5))), draws=4_000)
    assert 1.2 < found.epsilon <= 2 and (".length" in found.event or "discrete" in found.event)


def test_labels_are_ordered_by_what_they_tell():
    """Four words, none likelier by more than e on either side, and the two telling ones not beside each other."""
    chances = np.array([[0.4, 0.1, 0.4, 0.1], [0.1, 0.4, 0.1, 0.4]])
    found = attack(lambda data, rng: rng.choice(["a", "b", "c", "d"], p=chances[data]), draws=2_000)
    assert 1.0 < found.epsilon <= math.log(4)


def test_an_early_abort_is_an_outcome():
    def function(data, rng):
        if rng.random() < (0.5 if data else 0.1):
            raise RuntimeError("too few records")
        return {"sum": rng.normal()}

    found = attack(function)
    assert 1.0 < found.epsilon <= math.log(5)
    assert "raised" in found.event or "discrete" in found.event or "['sum']" in found.event


def test_errors_that_tell_the_sides_apart_are_outcomes_and_seen_beside_many_places():
    def always(data, rng):
        raise ValueError(f"{data} records")

    def long(data, rng):
        if data and rng.random() < 0.5:
            raise ValueError
        return rng.normal(size=300)

    assert attack(always).epsilon > 4
    assert "raised" in audit.one_by_one(long).prepared(1, 0, 1_000, np.random.default_rng(0)).places


def test_what_the_draws_that_choose_never_saw_is_one_more_outcome():
    calls = []

    def function(data, rng):
        calls.append(data)
        return {"new": 1} if data and len(calls) > 400 else {"old": 1}

    prepared = audit.one_by_one(function).prepared(0, 1, 1_000, np.random.default_rng(0))
    assert len(calls) == 200
    calls.extend([0] * 400)
    assert set(prepared(1, 3, np.random.default_rng(0))[:, 1]) == {1.0}
    assert set(prepared(0, 3, np.random.default_rng(0))[:, 1]) == {0.0}


def test_equal_laws_of_models_labels_and_aborts_show_nothing():
    """40 audits at 5 %: more than 7 alarms have a chance of 1e-3 if all were exactly at the level."""

    def function(data, rng):
        if rng.random() < 0.1:
            raise RuntimeError(f"at {rng.integers(3)}")
        return SimpleNamespace(coef_=rng.normal(size=rng.integers(1, 4)), label=rng.choice(["a", "b"]))

    mechanism = audit.one_by_one(function)
    bounds = [
        audit.lower_bound(mechanism, 0, 1, draws=100, rng=np.random.default_rng(seed)).epsilon for seed in range(40)
    ]
    assert sum(bound > 0 for bound in bounds) <= 7


def test_a_function_that_always_fails_is_an_error_of_its_own():
    with pytest.raises(ZeroDivisionError):
        attack(lambda data, rng: 1 / 0)


def test_events_of_ones_own_see_the_outputs_as_they_are():
    event = audit.Event("second", lambda outputs: outputs[:, 1])
    assert attack(lambda data, rng: [rng.normal(), data], events=[event]).event.startswith("second")
    with pytest.raises(ValueError, match=r"shapes \[\(1,\), \(2,\)\]: with events of your own"):
        attack(lambda data, rng: np.zeros(1 + rng.integers(2)), events=[event])
    # A shape that numbers have, and one message for all that have none.
    first = audit.Event("first", lambda outputs: outputs[:, 0])
    for output in ({"a": 1.0}, "a", 1j, np.ones(1) * 1j, [[1], [1, 2]]):
        mechanism = audit.one_by_one(lambda data, rng, output=output: output)
        for asked, events in ((mechanism, [first]), (audit.Target(mechanism), [])):
            with pytest.raises(ValueError, match=r"function gave a \w+ that is no array of real numbers"):
                audit.assert_private(asked, 1, 0, 1.0, draws=2_000, events=events)
