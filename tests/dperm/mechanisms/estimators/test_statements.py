"""The words of statements and errors: no guarantee without one, and no figure of the data."""

import copy
import dataclasses
import re

import numpy as np
import pytest
import together
from dp_accounting import dp_event
from published_modes import BALL, PRINTED, SPARSE, VOTED, VOTES, fitted, modes, named, pair

from dperm import (
    NAPP,
    PINP,
    TDDL,
    TDIL,
    ApproximateMinima,
    AveragedPrediction,
    ExpMechSupport,
    ExpPW,
    NoisyGradientDescent,
    ObjectivePerturbation,
    OutputPerturbation,
    PreconditionedGradientDescent,
    RKHSGaussian,
    SampAggSupport,
    SoftMajority,
    SparseRegression,
    StableERM,
    StableSGD,
    diagnostics,
)
from dperm.errors import PrivacyLeakWarning, SolverError
from dperm.mechanisms import diagnostics as kept
from dperm.mechanisms import napp, objective, output
from dperm.mechanisms import sparse as sparse_regression
from dperm.mechanisms.estimators import kernel as kernel_estimators
from dperm.mechanisms.prediction import stable_erm
from dperm.mechanisms.support import exp_mech, samp_agg

pytestmark = [
    pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning"),
    pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning"),
]


@together.over(
    "mode",
    [
        *modes(ObjectivePerturbation, {}, BALL), *modes(OutputPerturbation, {}), *modes(NAPP, {}), *modes(TDIL, {}),
        *modes(TDDL, {"n_public": 9}), *modes(SparseRegression, SPARSE), *modes(ExpMechSupport, SPARSE),
        *modes(SampAggSupport, VOTES), *modes(NoisyGradientDescent, {}), *modes(PINP, {}),
        *modes(PreconditionedGradientDescent, {}), *modes(RKHSGaussian, {}),
        *modes(StableERM, {}),
    ],
)  # fmt: skip
def test_diagnostics_are_of_this_very_object_and_end_with_it(mode):
    D, other = pair(mode)
    model = fitted(mode, D, 0)
    found = diagnostics(model)
    assert found.converged and found.certificate >= 0
    assert diagnostics(model.fit(*other)) != found or found.certificate == 0
    strangers = [type(model)()] if mode[0] in (PINP, RKHSGaussian, StableERM) else [type(model)(), copy.copy(model)]
    for stranger in strangers:
        with pytest.raises(ValueError, match=r"there are no diagnostics of this .*: it was not fitted in this process"):
            diagnostics(stranger)


def test_diagnostics_do_not_outlive_their_object():
    """Their own keys are looked for: of tests before, models in cycles of references may be collected at any time."""
    mode = OutputPerturbation, {}
    D, _ = pair(mode)
    models = [fitted(mode, D, seed) for seed in range(5)]
    keys = {id(model) for model in models}
    assert len(keys) == 5 and keys <= kept.KEPT.keys()
    del models
    assert not keys & kept.KEPT.keys()


def unreached(release):
    """Return a core that does what the given one does, and says that the solver failed."""

    def failing(*args, **given):
        found = release(*args, **given)
        missed = np.zeros_like(found.converged) if isinstance(found.converged, np.ndarray) else False
        return dataclasses.replace(found, converged=missed)

    return failing


def blamed(model, X, y):
    """Return what an error of the solver shows: with its causes, which anyone sees who sees the error."""
    labels = {"classes": ("no", "yes")} if isinstance(y[0], str) else {}
    with pytest.raises(SolverError) as caught:
        model.set_params(**labels, random_state=0).fit(X, y)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert not {"coef_", "support_", "dual_coef_", "path_", "privacy_"} & set(vars(model))
    return str(caught.value)


@pytest.mark.parametrize(
    ("mode", "module", "name"),
    [
        ((ObjectivePerturbation, {}), objective, "release"),
        ((OutputPerturbation, {}), output, "release"),
        ((NAPP, {}), napp, "release"),
        ((ExpMechSupport, SPARSE), exp_mech, "select"),
        ((SparseRegression, SPARSE), sparse_regression, "release"),
    ],
)
def test_no_error_of_a_solver_carries_how_near_it_came(monkeypatch, mode, module, name):
    monkeypatch.setattr(module, name, unreached(getattr(module, name)))
    words = []
    Estimator, given = mode
    for X, y in pair(mode):
        model = Estimator(**given)
        words.append(blamed(model, X, y))
        # The curator may know.
        assert not diagnostics(model).converged
    assert words[0] == words[1]


KERNELS = [*modes(TDDL, {"n_public": 9}), *modes(TDIL, {}), *modes(PINP, {}), *modes(RKHSGaussian, {})]


@pytest.mark.parametrize("mode", KERNELS, ids=named)
def test_no_error_of_a_kernel_s_solver_carries_how_it_failed(monkeypatch, mode):
    """Before, the solver's own error was the cause: whether rounding or the number of rounds was in the way."""

    def failing(made, X, y, *args, **given):
        raise SolverError(f"of these records: {X.sum()}")

    monkeypatch.setattr(kernel_estimators.solver, "minimise", failing)
    assert len({blamed(mode[0](**mode[1]), X, y) for X, y in pair(mode)}) == 1


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_no_error_of_stable_erm_carries_how_near_it_came(monkeypatch, loss):
    mode = StableERM, {"total": 30.0, "loss": loss}
    if loss == "hinge":
        monkeypatch.setattr(stable_erm, "by_passes", lambda X, *_: (X[0], abs(X.sum()) + 1))
        monkeypatch.setattr(stable_erm.kinked, "minimise", lambda X, *_, **__: (X[0], abs(X.sum()) + 1))
    minimise = stable_erm.composite.minimise

    def missing(loss, X, y, **given):
        found = minimise(loss, X, y, **given)
        return dataclasses.replace(found, certificate=found.certificate + abs(X.sum()) + 1)

    monkeypatch.setattr(stable_erm.composite, "minimise", missing)
    assert len({blamed(StableERM(**mode[1]), X, y) for X, y in pair(mode)}) == 1


def test_votes_of_blocks_whose_lassos_missed_their_target_are_no_error(monkeypatch):
    """A vote is its block's own, whatever the solver made of it."""
    mode = SampAggSupport, {**VOTES, "epsilon": 0.5}
    whole = [fitted(mode, data, 0).support_.tolist() for data in pair(mode)]
    monkeypatch.setattr(samp_agg, "select", unreached(samp_agg.select))
    models = [fitted(mode, data, 0) for data in pair(mode)]
    assert [model.support_.tolist() for model in models] == whole
    assert not any(diagnostics(model).converged for model in models)


@together.over(
    "mode",
    [
        *modes(ObjectivePerturbation, {}), *modes(OutputPerturbation, {}), *modes(ApproximateMinima, {}),
        *modes(NAPP, {}), *modes(TDIL, {}), *modes(TDDL, {"n_public": 9}), *modes(PINP, {}), *modes(RKHSGaussian, {}),
        *modes(SoftMajority, {}), *modes(AveragedPrediction, {}), *modes(StableERM, {}),
        *modes(StableSGD, {"radius": 0.1}), *modes(ExpPW, {}), *modes(NoisyGradientDescent, {}),
        *modes(PreconditionedGradientDescent, {}),
    ],
)  # fmt: skip
def test_labels_from_the_data_leave_no_guarantee(mode):
    """The two labels of neighbours may differ, and `classes_` shows them."""
    X, y = pair(mode)[0]
    Estimator, given = mode
    two = (np.where(y == "yes", "HIV", "healthy"), np.where(y == "yes", "flu", "healthy"))
    with pytest.warns(PrivacyLeakWarning):
        models = [Estimator(**given, random_state=0).fit(X, labels) for labels in two]
    assert [model.classes_.tolist() for model in models] == [["HIV", "healthy"], ["flu", "healthy"]]
    for model in models:
        assert model.privacy_.guarantee == "none" and "pass classes=(negative, positive)" in model.privacy_.reason
        assert type(model.privacy_.event) is dp_event.NonPrivateDpEvent
    declared = Estimator(**given, classes=("healthy", "HIV"), random_state=0).fit(X, two[0]).privacy_
    assert declared.guarantee != "none" and not declared.reason


@together.over(
    ("mode", "words"),
    [
        # Of the logistic loss the printed Gaussian noise is proved under replace-one too.
        *(
            (mode, "erratum K3")
            for mode in modes(ObjectivePerturbation, {**PRINTED, "loss": "smoothed_hinge"}, neighbours=("replace",))
        ),
        *((mode, "epsilon < 1") for mode in modes(OutputPerturbation, {**PRINTED, "epsilon": 20.0})),
        *((mode, "erratum N2.*erratum N4") for mode in modes(NAPP, {**PRINTED, "moor": True, "variant": "vs_plus"})),
        *((mode, "erratum J3") for mode in modes(PINP, {"calibration": "paper", "C": 1e-7})),
        *((mode, "erratum J1") for mode in modes(TDIL, {"calibration": "paper", "C": 1e-2, "epsilon": 100.0})),
        *((mode, "erratum K6") for mode in modes(SampAggSupport, {**VOTES, "calibration": "paper"})),
        *((mode, "erratum K3") for mode in modes(SparseRegression, {**SPARSE, **PRINTED, "neighbours": "replace"})),
        *((mode, "erratum K6") for mode in modes(SparseRegression, {**VOTED, **PRINTED})),
        *((mode, "erratum D1") for mode in modes(SoftMajority, {"calibration": "paper"})),
        *((mode, "erratum D2") for mode in modes(StableSGD, {"calibration": "paper", "radius": 0.1})),
        *((mode, "erratum D6") for mode in modes(ExpPW, {"calibration": "paper"})),
    ],
)
def test_where_nothing_is_promised_the_statement_says_why(mode, words):
    privacy = fitted(mode, pair(mode)[0], 0).privacy_
    assert privacy.guarantee == "none" and re.search(words, privacy.reason) and privacy.reason in str(privacy)
