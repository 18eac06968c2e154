"""A fit that fails leaves nothing that answers: neither a new value under an old statement nor the like."""

import sys
import threading
import warnings

import numpy as np
import pytest
import together
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import NotFittedError

import dperm
from dperm.errors import InvalidBudget, NoGuaranteeWarning, ReleaseError
from dperm.mechanisms import output

RNG = np.random.default_rng(4)
X = RNG.uniform(-0.5, 0.5, (60, 2))
Y = (X[:, 0] > 0).astype(float)
OTHER = np.append(Y[:-1], 1 - Y[-1])
LABELS = {"classes": (0, 1), "random_state": 0}
REAL = {"y_bound": 1.0, "random_state": 0}
FITTED = {
    "objective": lambda: dperm.ObjectivePerturbation(**LABELS),
    "output": lambda: dperm.OutputPerturbation(**LABELS),
    "descent": lambda: dperm.NoisyGradientDescent(**LABELS),
    "preconditioned": lambda: dperm.PreconditionedGradientDescent(**LABELS),
    "napp": lambda: dperm.NAPP(**LABELS),
    "tddl": lambda: dperm.TDDL(n_public=5, **LABELS),
    "tdil": lambda: dperm.TDIL(kernel="linear", **LABELS),
    "pinp": lambda: dperm.PINP(**LABELS),
    "rkhs": lambda: dperm.RKHSGaussian(**LABELS),
    "exp mech": lambda: dperm.ExpMechSupport(size=1, **REAL),
    "samp agg": lambda: dperm.SampAggSupport(size=1, penalty=0.1, blocks=3, random_state=0),
    "sparse": lambda: dperm.SparseRegression(size=1, **REAL),
    "exppw": lambda: dperm.ExpPW(**LABELS),
    "stable erm": lambda: dperm.StableERM(**LABELS),
}


def made(model):
    """What fits left on the object."""
    return set(vars(model)) - set(model.get_params(deep=False))


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@together.over("name", sorted(FITTED))
def test_a_fit_that_is_refused_leaves_nothing_of_the_one_before(name):
    model = FITTED[name]().fit(X, Y)
    assert {"privacy_", "n_features_in_"} <= made(model)
    with pytest.raises(ValueError):
        model.set_params(epsilon=-1.0).fit(X, Y)
    assert not made(model)
    with pytest.raises(ValueError, match="no diagnostics"):
        dperm.diagnostics(model)
    assert "privacy_" in made(model.set_params(epsilon=1.0).fit(X, Y))


@pytest.mark.parametrize(
    "model",
    [
        dperm.ObjectivePerturbation(epsilon=0.1, **LABELS),
        dperm.SampAggSupport(size=1, penalty=0.1, blocks=3, epsilon=0.1, neighbours="add_remove", random_state=0),
    ],
)
def test_a_warning_that_is_an_error_leaves_no_value_under_an_old_statement(model):
    model.fit(X, Y)
    relation = "replace" if isinstance(model, dperm.ObjectivePerturbation) else "add_remove"
    model.set_params(epsilon=50.0, calibration="paper", neighbours=relation)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NoGuaranteeWarning)
        with pytest.raises(NoGuaranteeWarning):
            model.fit(X, Y)
    assert not made(model)


@pytest.mark.parametrize("name", ["rkhs", "pinp"])
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_a_journal_that_refuses_other_records_leaves_a_model_that_answers_nothing(name, tmp_path):
    """Else the new records' exact model would answer at the noise, and on the path, of the old one."""
    model = FITTED[name]().set_params(state=tmp_path / "journal").fit(X, Y)
    model.decision_function(X[:2])
    with pytest.raises(InvalidBudget, match="another fit"):
        model.fit(X, OTHER)
    assert not made(model)
    with pytest.raises(NotFittedError):
        model.decision_function(X[:3])


@pytest.mark.parametrize("name", ["rkhs", "pinp"])
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_the_journal_knows_each_target_also_where_no_shown_prediction_moves(name, tmp_path):
    """1,100 rows so far apart that the last target moves no prediction at the first 1,000."""
    far = np.arange(1100)[:, None] * 100.0
    y = np.arange(1100) % 2
    other = np.append(y[:-1], 1 - y[-1])
    exact = [dperm.RKHSGaussian(**LABELS).fit(far, one).path_.exactly(far[:1000]) for one in (y, other)]
    np.testing.assert_array_equal(*exact)
    FITTED[name]().set_params(state=tmp_path / "journal").fit(far, y)
    with pytest.raises(InvalidBudget, match="another fit"):
        FITTED[name]().set_params(state=tmp_path / "journal").fit(far, other)


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_answers_are_of_the_path_s_own_fit():
    """The exact part and the path come from one object, so that a fit in another thread cannot come between them."""
    model = dperm.RKHSGaussian(**LABELS).fit(X, Y)
    path = model.path_
    model.fit(X, OTHER)
    assert model.path_ is not path
    assert not np.array_equal(path.exactly(X), model.path_.exactly(X))
    assert model.decision_function(X[:1])[0] == model.path_.answer(X[:1], np.zeros(1))[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dperm.StableERM(**LABELS, epsilon=500.0),
        lambda: dperm.SoftMajority(**LABELS, epsilon=500.0, shards=3),
        lambda: dperm.ExpPW(**LABELS, epsilon=500.0),
    ],
)
def test_what_one_fit_has_charged_is_answered_from_its_own_records(make, monkeypatch):
    """Before, a fit between charge and answer let the ledger of the one pay for the records of the other."""
    expected, model = make().fit(X, Y).predict(X[:5]), make().fit(X, Y)
    answer = type(model)._answer

    def fitted_meanwhile(self, *asked):
        monkeypatch.setattr(type(model), "_answer", answer)
        model.fit(X, 1 - Y)
        return answer(self, *asked)

    monkeypatch.setattr(type(model), "_answer", fitted_meanwhile)
    np.testing.assert_array_equal(model.predict(X[:5]), expected)
    assert model.ledger_.remaining == model.queries
    assert (model.predict(X[:5]) != expected).any()


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("name", ["pinp", "rkhs", "tddl", "tdil"])
def test_a_model_that_is_being_fitted_is_not_fitted(name, monkeypatch):
    """Before, another thread's prediction met whatever attribute was there first, and then an AttributeError."""
    model = FITTED[name]().fit(X, Y)
    start = type(model)._start

    def asked_meanwhile(self, *given):
        with pytest.raises(NotFittedError):
            model.predict(X[:2])
        return start(self, *given)

    monkeypatch.setattr(type(model), "_start", asked_meanwhile)
    assert model.fit(X, Y).predict(X[:2]).shape == (2,)


class Waits(RegressorMixin, BaseEstimator):
    """Answers a constant; where a thread named "small" clones it, it lets another fit come first."""

    begun, go_on = threading.Event(), threading.Event()

    def __sklearn_clone__(self):
        if threading.current_thread().name == "small":
            self.begun.set()
            assert self.go_on.wait(60)
        return type(self)()

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


def test_two_threads_that_fit_one_object_leave_one_fit_as_a_whole():
    """40 records make 2 shards, 4,000 make 200: with the mean of the one the noise of the other spends 100 epsilon."""
    model = dperm.AveragedPrediction(base=Waits(), epsilon=1.0, delta=0.0, queries=1, alpha=0.01)
    small = threading.Thread(target=model.fit, args=(np.full((40, 1), -1.0), np.zeros(40)), name="small")
    small.start()
    assert Waits.begun.wait(60)
    model.fit(np.full((4000, 1), 1.0), np.zeros(4000))
    assert (model.shards_, model.scale_) == (200, pytest.approx(0.005))
    first = model.ledger_
    Waits.go_on.set()
    small.join(60)
    assert (model.shards_, model.scale_) == (2, pytest.approx(0.5)) and len(model._models) == 2
    with pytest.raises(ReleaseError, match="closed"):
        first.charge()


@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
@pytest.mark.parametrize("name", ["pinp", "rkhs"])
def test_who_asks_while_two_threads_fit_is_answered_refused_or_told_that_nothing_is_fitted(name):
    model, strange = FITTED[name]().fit(X, Y), []
    done = threading.Event()

    def watch(action, allowed):
        while not done.is_set():
            try:
                action()
            except allowed:
                pass
            except BaseException as error:
                strange.append(repr(error))

    def ask():
        model.predict(RNG.uniform(-0.5, 0.5, (1, 2)))

    fits = [threading.Thread(target=watch, args=(lambda: model.fit(X, Y), ())) for _ in range(2)]
    asks = [threading.Thread(target=watch, args=(ask, (NotFittedError, ReleaseError))) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in (*fits, *asks):
            thread.start()
        done.wait(2.0)
    finally:
        done.set()
        for thread in (*fits, *asks):
            thread.join(60)
        sys.setswitchinterval(before)
    assert strange == []


def test_a_value_that_stood_there_before_is_not_left_under_a_new_fit():
    first = dperm.OutputPerturbation(epsilon=2.0, **LABELS).fit(X, Y)
    second = dperm.OutputPerturbation(epsilon=0.1, **LABELS)
    for name in ("coef_", "intercept_", "classes_", "privacy_", "n_features_in_"):
        setattr(second, name, getattr(first, name))
    second.fit(X, Y)
    expected = dperm.OutputPerturbation(epsilon=0.1, **LABELS).fit(X, Y)
    np.testing.assert_array_equal(second.coef_, expected.coef_)
    assert second.privacy_.epsilon == 0.1
    with pytest.raises(ValueError):
        second.set_params(epsilon=-1.0).fit(X, Y)
    # The same number of features as before was nothing new.
    assert made(second) <= {"n_features_in_"}


def test_what_a_subclass_counts_outlives_its_fits():
    class Counts(dperm.OutputPerturbation):
        calls = 0

        def _release(self, *given):
            self.calls += 1
            return super()._release(*given)

    model = Counts(**LABELS)
    model.calls = 10
    assert model.fit(X, Y).fit(X, Y).calls == 12


def test_a_fit_that_fails_leaves_the_diagnostics_of_one_that_ended_meanwhile(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    model, release = dperm.OutputPerturbation(**LABELS), output.release
    failed = []

    def waits(*given, **named):
        found = release(*given, **named)
        if threading.current_thread() is slow:
            begun.set()
            assert go_on.wait(60)
            raise InvalidBudget("late")
        return found

    def fit():
        try:
            model.fit(X, Y)
        except InvalidBudget as error:
            failed.append(error)

    monkeypatch.setattr(output, "release", waits)
    slow = threading.Thread(target=fit)
    slow.start()
    assert begun.wait(60)
    before = dperm.diagnostics(model.fit(X, Y))
    go_on.set()
    slow.join(60)
    assert failed and dperm.diagnostics(model) is before and "coef_" in made(model)
