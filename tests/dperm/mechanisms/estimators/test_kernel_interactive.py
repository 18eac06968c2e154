"""PINP and TDIL as scikit-learn and their users know them."""

import inspect
import pickle

import conventions
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from total_checks import failing

from dperm import PINP, TDDL, TDIL, kernels
from dperm.domain import Budget
from dperm.errors import BudgetExhausted, DomainViolation, InvalidBudget, NoGuaranteeWarning, VacuousWarning
from dperm.mechanisms.kernel import pinp, tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm.solvers import kernel as solver

ESTIMATORS = [PINP, TDIL]
KERNELS = {"linear": kernels.linear(), "poly": kernels.polynomial(), "rbf": kernels.gaussian(0.5**0.5)}
LABELS = {"classes": ("no", "yes")}
# So much budget that few updates are vacuous, and many noisy answers needed.
RICH = {"epsilon": 1e6, "delta": 0.5, "C": 1e-2, "random_state": 0}


@pytest.mark.filterwarnings("ignore::dperm.errors.PrivacyLeakWarning")
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@conventions.of(
    PINP(clip=True, loss="huber", kernel="poly", calibration="corrected", random_state=0),
    TDIL(clip=True, fit_intercept=True, random_state=0),
)
def test_scikit_learn_conventions(estimator):
    conventions.keep(estimator, failing(estimator))


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(300, 2))
    return X, np.where(X[:, 0] > 0, "yes", "no")


def test_parameters_are_those_of_the_other_kernel_estimators():
    own = {PINP: {"queries", "beta", "state"}, TDIL: {"nu", "beta", "public"}}
    shared = set(inspect.signature(TDDL).parameters) - {"public", "n_public"}
    for Estimator in ESTIMATORS:
        parameters = inspect.signature(Estimator).parameters
        assert set(parameters) - own[Estimator] == shared
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters.values())


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@pytest.mark.parametrize(("Estimator", "calibration"), [(PINP, "corrected"), (TDIL, "tight")])
def test_learns_at_a_generous_budget(Estimator, calibration, data, kernel):
    X, y = data
    model = Estimator(**RICH, kernel=kernel, calibration=calibration, **LABELS).fit(X, y)
    exact = KERNELS[kernel], X, np.where(y == "yes", 1.0, -1.0), "hinge"
    target = solver.minimise(*exact, total=1 / RICH["C"], slack=1e-3).predict(X)
    assert np.abs(model.decision_function(X) - target).max() < 0.25 * np.abs(target).max()
    assert not model.constants_.vacuous
    assert model.privacy_.guarantee == "proved" and model.privacy_.neighbours == "replace"
    assert set(model.predict(X)) == {"no", "yes"}


@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_a_run_that_promises_nothing_says_B_and_sigma_and_that_it_is_vacuous(Estimator, data):
    with pytest.warns(VacuousWarning, match=rf"^{Estimator.__name__}: B=.*sigma=.*: vacuous"):
        model = Estimator(epsilon=0.01, random_state=0, **LABELS).fit(*data)
    assert model.constants_.vacuous
    with pytest.warns(VacuousWarning, match="vacuous"):
        model.predict(data[0][:2])


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_an_epsilon_for_which_B_is_below_one_is_marked(Estimator, data):
    model = Estimator(epsilon=1e-4, calibration="paper", random_state=0, **LABELS).fit(*data)
    assert model.constants_.bound < 1 and model.constants_.vacuous
    if Estimator is PINP:
        assert model.predict_details(data[0][:3]).vacuous


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_bad_parameters_are_named(Estimator, data):
    for given, error, word in [
        ({"epsilon": 0}, InvalidBudget, "epsilon"),
        ({"delta": 0.0}, InvalidBudget, "delta"),
        ({"beta": 1.5}, ValueError, "beta"),
        ({"calibration": "best"}, ValueError, "calibration"),
        ({"neighbours": "add_remove"}, DomainViolation, "radius"),
        ({"radius": np.inf}, DomainViolation, "radius"),
        ({"radius": -1.0}, DomainViolation, "radius"),
        ({"loss": "squared"}, DomainViolation, "slope"),
        ({"C": 0.0}, ValueError, "C="),
    ]:
        with pytest.raises(error, match=word):
            Estimator(**{**LABELS, **given}).fit(*data)
    with pytest.raises(DomainViolation, match=r"x_norm|above R"):
        Estimator(**LABELS, kernel="linear", x_norm=0.1).fit(*data)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_add_remove_with_a_declared_radius(Estimator, data):
    model = Estimator(neighbours="add_remove", radius=1.0, random_state=0, **LABELS).fit(*data)
    assert model.privacy_.neighbours == "add_remove" and model.privacy_.guarantee == "proved"


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("Estimator", ESTIMATORS)
def test_seeds_clones_and_sparse_rows(Estimator, data):
    X, y = data
    model = Estimator(kernel="linear", **RICH, **LABELS)
    first = model.fit(X, y).decision_function(X[:20])
    np.testing.assert_array_equal(clone(model).fit(X, y).decision_function(X[:20]), first)
    np.testing.assert_allclose(
        clone(model).fit(sparse.csr_array(X), y).decision_function(sparse.csr_array(X[:20])), first, atol=1e-6
    )
    if Estimator is TDIL:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X[:20]), first)


# PINP


def fitted(data, **given):
    return PINP(**{**RICH, "kernel": "rbf", "queries": 50, **LABELS, **given}).fit(*data)


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_a_repeated_query_gets_its_first_answer_and_costs_nothing(data, calibration):
    model, X = fitted(data, calibration=calibration), data[0]
    first = model.predict_details(X[:50])
    asked, updates = model.dialogue_.asked, model.dialogue_.updates
    assert asked == 50 and updates == first.updated.sum() > 0
    again = model.predict_details(np.vstack([X[10:30], X[:10], X[:10]]))
    np.testing.assert_array_equal(
        again.values, np.concatenate([first.values[10:30], first.values[:10], first.values[:10]])
    )
    assert (model.dialogue_.asked, model.dialogue_.updates) == (asked, updates)


def test_the_promised_error_holds_of_the_estimator(data):
    model, X = fitted(data, queries=300), data[0]
    details = model.predict_details(X)
    exact = model.dialogue_._exact(X)
    assert np.abs(details.values - exact).max() <= model.constants_.error < np.abs(exact).max()
    assert not details.frozen.any()


@pytest.mark.parametrize("calibration", ["corrected", "tight"])
def test_after_B_updates_the_frozen_model_answers_and_says_so(data, calibration):
    # B belongs to a promised T of 3: more queries than that are answered, after the third update from the frozen model.
    model, X = fitted(data, calibration=calibration, queries=3), data[0]
    assert model.constants_.updates == 3
    details = model.predict_details(X)
    assert model.dialogue_.frozen and details.updated.sum() == 3
    assert details.frozen.sum() > 200 and not (details.frozen & details.updated).any()


@pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning")
def test_the_printed_run_halts_and_earlier_answers_stay_free(data):
    given = {"epsilon": 1e9, "calibration": "paper", "C": 1e-2, "delta": 0.9, "radius": 0.15}
    model, X = fitted(data, **given), data[0]
    model.dialogue_._session.constants = pinp.Constants(
        **{**model.constants_.__dict__, "updates": 2, "threshold": 1e-3}
    )
    with pytest.raises(BudgetExhausted, match="B=2"):
        model.predict(X)
    known = list(model.dialogue_.known.values())
    assert sum(paid for _, paid, _ in known) == 2
    first = model.decision_function(X[: len(known)])
    np.testing.assert_array_equal(first, [value for value, _, _ in known])


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_a_query_above_R_is_refused_before_anything_is_answered(data):
    model = fitted(data, kernel="linear", x_norm=1.0)
    with pytest.raises(DomainViolation):
        model.predict(np.array([[0.1, 0.1], [5.0, 0.0]]))
    assert model.dialogue_.asked == 0
    # The bound is that of the fit, whatever was declared since.
    with pytest.raises(DomainViolation, match=r"rows with sqrt\(K\(x, x\)\) above R=1"):
        model.set_params(x_norm=1e6).predict(np.array([[0.1, 0.1], [5.0, 0.0]]))
    assert model.dialogue_.asked == 0


# TDIL


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_the_linear_kernels_learner_is_the_mechanisms(data):
    X, y = data
    model = TDIL(epsilon=2.0, C=0.1, fit_intercept=True, random_state=5, **LABELS).fit(X, y)
    setting = Setting(
        1.0, np.sqrt(2), 10.0, slack=0.05 * 2 * np.sqrt(2) / 10, radius=min(np.sqrt(60.0), 300 * 2**0.5 / 10)
    )
    expected = tdil.constants(setting, Budget(2.0, 1e-6), records=300, dimension=3)
    assert model.constants_.threshold == pytest.approx(expected.threshold)
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (1,)


def test_other_kernels_take_a_net_or_a_public_set(data):
    X, y = data
    model = TDIL(**{**RICH, "epsilon": 1e9}, kernel="poly", **LABELS).fit(X, y)
    np.testing.assert_array_equal(model.public_, tdil.net(2, 0.5))
    public = np.random.default_rng(1).uniform(-0.6, 0.6, (40, 2))
    own = TDIL(**{**RICH, "epsilon": 1e9}, kernel="rbf", public=public, **LABELS).fit(X, y)
    assert own.dual_coef_.shape == (40,) and not hasattr(own, "coef_")
    # A training row among them is no error: that would tell that it is one.
    TDIL(**RICH, kernel="rbf", public=np.vstack([public[1:], X[:1]]), **LABELS).fit(X, y)
    with pytest.raises(ValueError, match="3 columns"):
        TDIL(**RICH, kernel="rbf", public=np.zeros((4, 3)), **LABELS).fit(X, y)


def test_a_net_in_many_dimensions_is_refused_with_its_size(data):
    X = np.hstack([data[0]] * 6)
    with pytest.raises(DomainViolation, match=r"\(4/nu\)\^d = 6.87e\+10"):
        TDIL(**RICH, kernel="rbf", **LABELS).fit(X / 3, data[1])


def test_the_printed_constants_need_a_public_n(data):
    with pytest.raises(DomainViolation, match=r"calibration='paper'.* n is private"):
        TDIL(calibration="paper", neighbours="add_remove", radius=1.0, **LABELS).fit(*data)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_the_printed_constants_promise_nothing(data):
    with pytest.warns(NoGuaranteeWarning, match="take calibration='tight'"):
        model = TDIL(C=1e-3, calibration="paper", random_state=0, **LABELS).fit(
            np.tile(data[0], (30, 1)), np.tile(data[1], 30)
        )
    assert model.privacy_.guarantee == "none"
