"""The table of what is called: each (loss, relation, kind of noise) that a public estimator accepts has a row."""

import itertools
import warnings
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import together

import dperm
from dperm.audit.called import cases, sparse, supports, threads
from dperm.losses import LOSSES
from dperm.mechanisms.napp.noise import Variant
from dperm.mechanisms.napp.scheme import Target
from dperm.mechanisms.napp.validity import Retrieval
from dperm_pipeline import config_files

ROOT = Path(__file__).parents[3]
BLOCKS = config_files.parse(ROOT / "config/audits.yaml")["attacks"]
ROWS = {
    (block["mechanism"], row["variant"].removeprefix("called-"), row["neighbours"], row["delta"] > 0)
    for block in BLOCKS
    if block["family"] == "called"
    for row in block["budgets"]
}


def rest(neighbours, **given):
    """One class against the rest, of a model with this relation."""
    return dperm.PrivateOneVsRest(dperm.OutputPerturbation(neighbours=neighbours), **given)


# Estimator without losses -> mechanism, what makes it, and its rows.
LOSSLESS = {
    "SoftMajority": ("soft_majority", partial(dperm.SoftMajority, shards=2, queries=1), ("threads",)),
    "AveragedPrediction": ("averaged", partial(dperm.AveragedPrediction, shards=2, queries=1), ("threads", "numbers")),
    "ExpPW": ("exppw", partial(dperm.ExpPW, queries=1), ("threads",)),
    "ExpMechSupport": ("exp_mech", partial(dperm.ExpMechSupport, y_bound=1.0), ("squared",)),
    "SampAggSupport": ("samp_agg", partial(dperm.SampAggSupport, penalty=1.0, blocks=2), ("squared",)),
    "SparseRegression": ("sparse", partial(dperm.SparseRegression, y_bound=1.0), tuple(sparse.STAGES)),
    "PrivateOneVsRest": ("output", partial(rest, classes=(0, 1)), ("one_vs_rest",)),
    "Student": (
        "stable_erm",
        partial(cases.Taught, classes=(0, 1), queries=2, total=4.0, clip=False),
        (cases.STUDENT,),
    ),
}
OF_LOSSES = {make.__name__: name for name, (make, _) in cases.CALLS.items()}
ESTIMATORS = [name for name in dperm.__all__ if hasattr(getattr(dperm, name), "fit")]
WITHOUT_DELTA = (dperm.ExpMechSupport, dperm.SampAggSupport)
KINDS = list(itertools.product(("add_remove", "replace"), (0.0, 1e-6)))


def accepts(make, y, **budget):
    """Whether `fit` takes these parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            make(**budget).fit(np.linspace(-0.5, 0.5, 40)[:, None], y)
        except (ValueError, TypeError):
            return False
    return True


def kinds(make, y):
    """Relations and kinds of noise that are accepted."""
    for neighbours, delta in KINDS:
        # Supports have no delta: theirs is 0.
        given = {} if make.func in WITHOUT_DELTA and not delta else {"delta": delta}
        if accepts(make, y, neighbours=neighbours, **given):
            yield neighbours, delta > 0


def accepted(name):
    """What `fit` of a public estimator accepts, as rows have it."""
    if name in LOSSLESS:
        mechanism, make, variants = LOSSLESS[name]
        y = np.arange(40) % 2
        yield from ((mechanism, variant, *kind) for variant in variants for kind in kinds(make, y))
        return
    mechanism = OF_LOSSES[name]
    make, offered = cases.CALLS[mechanism]
    for loss, (extreme, declared) in cases.EXTREME.items():
        for own, release in itertools.product((offered.get(loss, {}), next(iter(offered.values()))), (False, True)):
            given = {**own, **declared, "loss": loss, **({"release": True} if release else {})}
            found = list(kinds(partial(make, **given), np.resize([extreme[0], extreme[-1]], 40)))
            yield from ((mechanism, loss + "_release" * release, *kind) for kind in found)


# Models are fitted, and nothing of them is looked at: no drawn number decides.
@pytest.mark.chance(0.0)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_each_loss_relation_and_kind_of_noise_that_fit_accepts_has_a_row(name):
    if name in cases.UNCALLED:
        assert name not in LOSSLESS and name not in OF_LOSSES and cases.UNCALLED[name]
        return
    wanted = set(accepted(name))
    assert wanted and wanted <= ROWS, f"no row in config/audits.yaml for {sorted(wanted - ROWS)}"


# Models are fitted, and nothing of them is looked at.
@pytest.mark.chance(0.0)
@pytest.mark.parametrize("mechanism", ["stable_erm", "stable_sgd"])
def test_a_model_that_is_released_once_has_rows_for_every_relation_and_kind_of_noise(mechanism):
    """One loss at least: how w is made, the answers' rows attack for each loss."""
    make, losses = cases.CALLS[mechanism]
    models = [name for name in losses if name.endswith(cases.MODEL)]
    assert len(models) >= 2
    for name in models:
        declared = cases.EXTREME[losses[name]["loss"]][1]
        found = list(kinds(partial(make, **losses[name], **declared), np.arange(40) % 2))
        assert len(found) == (4 if mechanism == "stable_erm" else 2)
        assert {(mechanism, name, *kind) for kind in found} <= ROWS


ATTACKED = {(block["mechanism"], row["calibration"]) for block in BLOCKS for row in block["budgets"]}
# Ways to make a model that fits some forty records, of which each takes one.
GIVEN = (
    {}, {"y_bound": 1.0}, {"shards": 2, "queries": 1}, {"penalty": 1.0, "blocks": 2}, {"n_public": 2},
    {"total": 4.0, "queries": 1},
)  # fmt: skip


def promised(make, calibration, neighbours):
    """Whether `fit` with this calibration promises anything."""
    X = np.linspace(-0.5, 0.5, 40)[:, None]
    for given, classes in itertools.product(GIVEN, ({"classes": (0, 1)}, {})):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = make(calibration=calibration, neighbours=neighbours, **given, **classes)
                return model.fit(X, np.arange(40) % 2).privacy_.guarantee != "none"
            except (TypeError, ValueError):
                continue
    return False


@pytest.mark.chance(0.0)
def test_each_calibration_that_promises_something_is_attacked_by_a_call_or_at_its_core():
    """Records reach the core by the same way, whatever its constants."""
    missing, seen = [], 0
    for name in sorted(set(ESTIMATORS) - cases.UNCALLED.keys() - {"Student"}):
        mechanism = LOSSLESS[name][0] if name in LOSSLESS else OF_LOSSES[name]
        for calibration, neighbours in itertools.product(("tight", "corrected", "paper"), ("add_remove", "replace")):
            if promised(getattr(dperm, name), calibration, neighbours):
                seen += 1
                missing += [(mechanism, calibration)] if (mechanism, calibration) not in ATTACKED else []
    assert missing == [] and seen >= 40


def test_consensus_is_attacked_as_a_whole_ledger_of_answers():
    """Rows on which shards agree are free, so one answer alone says little."""
    variants = {row["variant"] for block in BLOCKS if block["mechanism"] == "soft_majority" for row in block["budgets"]}
    assert "ledger-consensus" in variants


def test_all_losses_and_no_others_are_called():
    assert cases.EXTREME.keys() == LOSSES.keys()
    assert cases.UNCALLED.keys() <= set(ESTIMATORS)


# Arguments that are words or weights of the objective -> mechanism, and values that some way of calling it has.
WORDS = {
    "penalty": ("napp", {"lasso", "ridge"}), "l1": ("objective", {0.5}), "l2": ("objective", {2.0}),
    "radius": ("objective", {0.01}),
}  # fmt: skip


def test_weights_are_called_with_each_estimator_that_takes_them():
    takers = {OF_LOSSES[name] for name in OF_LOSSES if "weight_bound" in getattr(dperm, name)().get_params()}
    called = {(mechanism, neighbours) for mechanism, variant, neighbours, _ in ROWS if variant == cases.WEIGHTS}
    assert called == set(itertools.product(takers, ("add_remove", "replace"))) and takers


NAPPS = {"penalty": Target, "variant": Variant, "retrieval": Retrieval}


@together.over("argument", [*NAPPS, "moor"])
def test_each_mode_of_napp_is_called_under_both_relations_and_with_both_kinds_of_noise(argument):
    default, found = dperm.NAPP().get_params()[argument], {}
    for mechanism, name, *kind in ROWS:
        given = cases.CALLS["napp"][1].get(name, {}) if mechanism == "napp" else {}
        found.setdefault(given.get(argument, default), set()).add(tuple(kind))
    assert found.keys() == (set(get_args(NAPPS[argument])) if argument in NAPPS else {False, True})
    assert all(kinds == {(near, noisy) for near, delta in KINDS for noisy in [delta > 0]} for kinds in found.values())


def test_what_claims_less_than_its_budget_claims_what_its_row_claims():
    for neighbours, delta in KINDS:
        row = {"epsilon": 1.0, "delta": delta, "neighbours": neighbours, "calibration": "corrected"}
        for _, given, _ in cases.calls("napp", "return", row):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = dperm.NAPP(**given, random_state=0).fit([[0.5], [-0.5]], [1, 0])
            assert given["epsilon"] > 1.9 and model.privacy_.epsilon == pytest.approx(1, rel=1e-12)


@together.over("argument", WORDS)
def test_regularizers_and_sets_are_called(argument):
    mechanism, values = WORDS[argument]
    row = {"epsilon": 1.0, "delta": 1e-6, "neighbours": "replace", "calibration": "tight"}
    ways = [arguments for _, arguments, _ in cases.calls(mechanism, "logistic", row)]
    default = cases.CALLS[mechanism][0]().get_params()[argument]
    assert values <= {way.get(argument, default) for way in ways}


def test_each_model_that_threads_may_ask_has_rows_for_every_relation_it_accepts():
    relations = {(mechanism, neighbours) for mechanism, variant, neighbours, _ in ROWS if variant != "threads"}
    asked = {(mechanism, neighbours) for mechanism, variant, neighbours, _ in ROWS if variant == "threads"}
    assert {mechanism for mechanism, _ in asked} == threads.SHARED.keys()
    assert {pair for pair in relations if pair[0] in threads.SHARED} <= asked
    assert supports.CHOICES.keys() <= {mechanism for mechanism, _ in relations}
