"""Plans against what fits themselves warn of, and against what more records and larger budgets must do."""

import re

import numpy as np
import pytest
import together

import dperm
from dperm.domain import Budget
from dperm.errors import VacuousWarning
from dperm.planning import law, noise

# Zeros: what a fit warns of hangs on public numbers alone.
N, P = 12, 4
FITS = {
    "objective": dperm.ObjectivePerturbation,
    "output": dperm.OutputPerturbation,
    "napp": dperm.NAPP,
    "gradient": dperm.NoisyGradientDescent,
    "preconditioned": dperm.PreconditionedGradientDescent,
    "approximate_minima": dperm.ApproximateMinima,
}


@together.over(
    "name, delta", [(name, delta) for name in FITS for delta in (0.0, 1e-6) if delta or noise.BINARY[name].pure]
)
def test_noise_is_what_a_fit_warns_of(name, delta):
    given = {"epsilon": 0.1, "delta": delta, "neighbours": "replace", "classes": (0, 1), "random_state": 0}
    with pytest.warns(VacuousWarning) as warned:
        FITS[name](**given).fit(np.zeros((N, P)), np.arange(N) % 2)
    found = noise.records(name, noise.Told(Budget(0.1, delta), "replace", N, P), 2)
    said = re.search(r"by (\S+) times the largest margin|as strong as (\S+) records", str(warned[0].message))
    expected = found.margin if said[1] else found.records
    assert float(said[1] or said[2]) == pytest.approx(expected, rel=6e-3)


def test_with_several_classes_a_method_of_one_model_a_class_has_a_share_of_the_budget():
    told = noise.Told(Budget(1.0, 0.0), "replace", 1000, P)
    each = noise.Told(Budget(0.25, 0.0), "replace", 1000, P)
    assert noise.records("output_rest", told, 4) == noise.records("output", each, 2)
    assert noise.records("gradient", noise.Told(Budget(1.0, 1e-6), "replace", 1000, P), 4).records == pytest.approx(
        noise.records("gradient", noise.Told(Budget(1.0, 1e-6), "replace", 9, P), 2).records
    )


def excess(**given):
    made = dperm.plan(**{"n": 3000, "p": 20, "epsilon": 1.0, "delta": 1e-6} | given)
    return {one.method: one.excess for one in made.methods}


@together.over(
    "more",
    [
        {"n": 6000},
        {"epsilon": 2.0},
        {"delta": 1e-4},
        {"p": 10},
        {"neighbours": "add_remove"},
        {"bounds": {"usual_norm": 1.0}},
        {"bounds": {"usual_norm": 0.5, "plain": 0.3}},
    ],
)
def test_more_records_or_less_noise_is_expected_to_lose_less(more):
    first = excess(neighbours="replace", bounds={"usual_norm": 0.5})
    second = excess(**{"neighbours": "replace", "bounds": {"usual_norm": 0.5}} | more)
    assert second and all(second[method] < first[method] for method in second)


def test_the_records_that_are_needed_reach_what_was_wanted():
    given = {"p": 20, "epsilon": 0.5, "delta": 1e-6, "bounds": {"usual_norm": 0.5}}
    for method in dperm.plan(3000, **given, wanted=0.03).methods:
        again = {one.method: one.excess for one in dperm.plan(int(method.needed) + 1, **given).methods}
        assert again[method.method] == pytest.approx(0.03, rel=0.01)
    # The levels are those of the frontier's data sets where nobody knows better.
    assert dperm.plan(3000, **given).plain == np.median([one[3] for one in law.table()["sets"].values() if one[2] == 2])


def test_it_prints_what_to_take_or_that_it_is_hopeless():
    good = dperm.plan(30_000, 50, 1.0, 1e-6)
    assert not good.hopeless and f"Take {good.best.method}: " in str(good) and "Beyond" not in str(good)
    bad = dperm.plan(20, 50, 0.1, neighbours="replace", wanted=0.01)
    assert bad.hopeless and re.search(r"Hopeless: the noise is as strong as \S+ records .* n=20", str(bad))
    assert "Beyond all that was measured: n=20 (measured: 379 to 31000)" in str(bad)
    # Without a word of `vacuous`, for under add/remove n is private; and of several classes.
    assert dperm.plan(20, 50, 0.1, 1e-6, {"classes": 5}, "multiclass").hopeless
    assert {one.method for one in dperm.plan(2000, 50, 1.0, 0.0).methods} == {
        "ObjectivePerturbation", "OutputPerturbation", "NAPP"
    }  # fmt: skip


@together.over(
    "wrong, words",
    [
        ({"task": "regression"}, "task='regression' is not one of 'binary', 'multiclass'"),
        ({"task": "multiclass"}, "needs bounds={'classes': how many"),
        ({"bounds": {"classes": 4}}, "take task='multiclass'"),
        ({"bounds": {"radius": 1}}, "bounds has 'radius'; it may declare x_norm"),
        ({"bounds": {"usual_norm": 2.0}}, "no row is longer than x_norm"),
        ({"bounds": {"majority": 0.2, "plain": 0.2}}, "plain=0.2 must be a number in [0, 0.2)"),
        ({"n": 10.5}, "n=10.5 must be a whole number"),
        ({"p": 10**12}, "p=1000000000000.0 must be a number in [1, 1e+07]"),
        ({"wanted": 0.9}, "the most frequent label is"),
        ({"epsilon": 0}, "epsilon=0"),
    ],
)
def test_what_is_impossible_is_refused(wrong, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        dperm.plan(**{"n": 100, "p": 3, "epsilon": 1.0} | wrong)
