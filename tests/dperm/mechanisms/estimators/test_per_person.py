"""Promises for persons: who is used, what a row may spend, the exact law for a person's rows, an audit."""

import itertools
import math
import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import together
from dp_accounting import dp_event
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.pipeline import make_pipeline

import dperm
from dperm import OutputPerturbation, PerPerson, PrivacySession, privacy_card
from dperm.accounting import shares
from dperm.accounting.adaptive import of_group
from dperm.accounting.gaussian import gaussian_ratio, hockey_stick
from dperm.audit import PrivacyViolation, assert_private, one_by_one
from dperm.audit.called.recording import RecordingGenerator
from dperm.domain import Budget
from dperm.errors import DataError, InvalidBudget, SolverError, SpentAgainWarning
from dperm.mechanisms.estimators.per_person import first_rows, owners_of

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (60, 3))
y = (X[:, 0] > 0).astype(int)
WHO = np.arange(60) // 4
LABELS = {"classes": (0, 1), "clip": True, "random_state": 0}


def test_nobody_else_s_rows_decide_which_rows_of_a_person_are_used():
    """All tables of up to six rows of three persons, against each of them without one person."""
    for n, k in itertools.product(range(7), (1, 2, 3)):
        for owners in itertools.product("abc", repeat=n):
            used = first_rows(owners, k)
            assert all(sum(owners[place] == one for place in used) == min(k, owners.count(one)) for one in "abc")
            rest = [place for place in range(n) if owners[place] != "a"]
            without = [rest[place] for place in first_rows([owners[place] for place in rest], k)]
            assert without == [place for place in used if owners[place] != "a"]


@together.over("k", [1, 2, 3, 7, 40])
@together.over("epsilon, delta", [(0.1, 1e-5), (1.0, 0.0), (3.0, 1e-6), (20.0, 1e-3)])
def test_a_row_s_share_against_the_chain(k, epsilon, delta):
    each = shares.of_member(Budget(epsilon, delta), k)
    grown, ratio = Fraction(0), Fraction(math.exp(each.epsilon))
    for _ in range(k):
        grown = grown * ratio + Fraction(each.delta)
    assert Fraction(each.epsilon) * k <= Fraction(epsilon) and each.epsilon * k == pytest.approx(epsilon, rel=1e-9)
    assert grown <= Fraction(delta) * (1 + Fraction(1, 10**11)) and float(grown) == pytest.approx(delta, rel=1e-7)


class Listening(RecordingGenerator):
    """It stays what it is in a clone."""

    def __deepcopy__(self, memo):
        return self


def theta(rows, owners, delta, k):
    """Fit on records (x, y) and one at 0; return the model's coefficient less its noise, the noise's law, the model."""
    listening = Listening(np.random.PCG64(1), [], [])
    inner = dperm.OutputPerturbation(loss="smoothed_hinge", curvature=200.0, classes=(0, 1), random_state=listening)
    records = np.array([*rows, (0.0, 0)])
    model = PerPerson(inner, rows=k, epsilon=1.0, delta=delta)
    model.fit(records[:, :1], records[:, 1].astype(int), groups=[*owners, "zero"])
    ((law, noise),) = listening.drawn
    return float(model.estimator_.coef_.ravel()[0] - noise.ravel()[0]), law, model


@together.over("k", [1, 3])
@together.over("delta", [0.0, 1e-6])
def test_the_exact_law_for_a_person_keeps_the_budget_and_attains_it(k, delta):
    others = [(-1.0, 1), (0.5, 0)]
    centre, law, model = theta(others, ["a", "b"], delta, k)
    # Any number of extreme rows, before, between and behind those of others.
    for many in (k, k + 9):
        rows = [(1.0, 1), *others, *[(1.0, 1)] * (many - 1)]
        moved, _, _ = theta(rows, ["p", "a", "b", *["p"] * (many - 1)], delta, k)
        ratio = abs(moved - centre) / law.scale
        spent = hockey_stick(1.0, ratio) / delta if delta else ratio
        assert 0.98 < spent <= 1 + 1e-9
    assert (model.privacy_.epsilon, model.privacy_.delta) == (1.0, delta)
    if delta:
        assert model.privacy_.event.noise_multiplier == pytest.approx(1 / gaussian_ratio(1.0, delta), rel=1e-4)


def noisy_count(limit):
    """A count of rows with noise for two rows a person, of which `limit` says how many are counted."""

    def mechanism(owners, rng):
        return len(first_rows(list(owners), limit)) + rng.laplace(0, 2.0)

    return one_by_one(mechanism)


def test_an_audit_for_persons_passes_a_count_and_refutes_one_without_a_limit():
    owners = np.array([*"abc", *"ppppp"])
    given = {"epsilon": 1.0, "draws": 4_000, "rng": np.random.default_rng(0)}
    report = assert_private(noisy_count(2), owners, owners[:3], **given)
    assert report.audit.epsilon > 0.5
    with pytest.raises(PrivacyViolation):
        assert_private(noisy_count(9), owners, owners[:3], **given)


INNER = {
    "objective": dperm.ObjectivePerturbation(**LABELS),
    "descent": dperm.NoisyGradientDescent(**LABELS, fit_intercept=True),
    "preconditioned": dperm.PreconditionedGradientDescent(**LABELS),
    "rest": dperm.PrivateOneVsRest(dperm.OutputPerturbation(clip=True), classes=(0, 1, 2), random_state=0),
    "kernel": dperm.RKHSGaussian(**LABELS, neighbours="add_remove"),
    "votes": dperm.SoftMajority(**LABELS, neighbours="add_remove", shards=3, queries=9),
    "huber": dperm.ObjectivePerturbation(loss="huber", clip=True, random_state=0),
    "search": dperm.PrivateSearchCV(
        dperm.OutputPerturbation(classes=(0, 1), clip=True), {"curvature": [5.0]}, n_iter=2, random_state=0
    ),
}
GAUSSIAN = {"descent", "preconditioned", "rest"}


@pytest.mark.parametrize("name", INNER)
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_any_estimator_is_fitted_for_persons_and_a_session_agrees(name):
    model = PerPerson(INNER[name], rows=2, epsilon=2.0, delta=1e-6)
    with PrivacySession(epsilon=4.0, delta=1e-3, rows_per_person=2) as session:
        model.fit(X, y, groups=WHO)
        card = privacy_card(model, session)
    told, row = model.privacy_, model.estimator_.privacy_
    assert (told.epsilon, told.delta, told.unit) == (2.0, 1e-6, "person, of whose rows at most 2 are used")
    assert "removing one person, of whose rows" in str(told) and f"estimator_.{row.covers[0]}" in told.covers
    assert (card.unit_epsilon, card.unit_delta, card.unit) == (2.0, 1e-6, f"a {told.unit}")
    share, displacing = model.row_budget(2), model.row_budget()
    assert session.spent[:2] == (row.epsilon, row.delta) == (share.epsilon, share.delta)
    # Where a person may have more rows than are used, one more displaces another.
    assert (displacing.epsilon, displacing.delta) == of_group(row.epsilon, row.delta, 2)
    assert (model.row_privacy_.epsilon, model.row_privacy_.delta) == (displacing.epsilon, displacing.delta)
    persons = session.statement()
    assert (persons.person_epsilon, persons.person_delta) == of_group(row.epsilon, row.delta, 2)
    if name in GAUSSIAN:
        assert isinstance(told.event, dp_event.GaussianDpEvent)
        # Both say the same of one release: the curve of a Gaussian twice as far apart.
        assert hockey_stick(2.0, 1 / told.event.noise_multiplier) <= 1e-6 * (1 + 1e-6)
        assert 1 / told.event.noise_multiplier == pytest.approx(2 / row.event.noise_multiplier)
    else:
        assert persons.person_epsilon == pytest.approx(2.0) and persons.person_delta <= 1e-6
    used = first_rows(WHO.tolist(), 2)
    alone = clone(INNER[name]).set_params(epsilon=row.epsilon, delta=row.delta).fit(X[used], y[used])
    np.testing.assert_array_equal(model.predict(X[:3]), alone.predict(X[:3]))


def test_it_is_an_estimator_like_others():
    model = PerPerson(dperm.OutputPerturbation(classes=(0, 1)), rows=2)
    assert is_classifier(model) and is_regressor(PerPerson(INNER["huber"])) and not hasattr(model, "transform")
    assert clone(model).set_params(estimator__x_norm=2.0).estimator.x_norm == 2.0
    frame = pd.DataFrame(X, columns=list("abc"))
    chain = make_pipeline(dperm.PublicEncoder({"*": {"range": [-1, 1]}}), model)
    chain.fit(frame, y, perperson__groups=pd.Series(WHO, index=WHO))
    again = pickle.loads(pickle.dumps(chain))
    assert (again.predict(frame) == chain.predict(frame)).all() and model.classes_.tolist() == [0, 1]
    assert dperm.diagnostics(model).converged and again[-1].score(X, y) <= 1
    thin = PerPerson(INNER["descent"]).fit(sparse.csr_array(X), y.tolist(), groups=WHO.tolist())
    assert thin.decision_function(X).shape == (60,) and thin.predict_proba(X).shape == (60, 2)
    features = PerPerson(dperm.ExpMechSupport(y_bound=1.0, size=1, random_state=0), delta=0.0)
    assert features.fit(X, X[:, 0], groups=WHO).transform(X).shape == (60, 1)


@together.over(
    "groups",
    [
        WHO[:, None], WHO[:, None].astype(object), WHO[:, None].tolist(), pd.DataFrame(WHO), pd.DataFrame({"who": WHO}),
        pa.table({"who": WHO}), pa.chunked_array([WHO]), pd.Series(WHO, dtype="Int64"),
    ],
)  # fmt: skip
def test_groups_as_one_column_are_groups(groups):
    assert owners_of(groups) == WHO.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpentAgainWarning)
        found, usual = (PerPerson(INNER["descent"], rows=2).fit(X, y, groups=who) for who in (groups, WHO))
    np.testing.assert_array_equal(found.estimator_.coef_, usual.estimator_.coef_)


@together.over(
    "model, groups, error, words",
    [
        (PerPerson(INNER["descent"]), None, ValueError, "groups is missing"),
        (PerPerson(INNER["descent"]), WHO[:-1], ValueError, "^X, y and groups hold different numbers of records$"),
        (PerPerson(INNER["descent"]), np.stack([WHO, WHO], axis=1), ValueError, "2 dimensions and 2 columns: give one"),
        (PerPerson(INNER["descent"]), sparse.csr_array(WHO[:, None]), ValueError, "groups is a csr_array"),
        (PerPerson(INNER["descent"]), WHO[:, None, None], ValueError, "3 dimensions: give one label"),
        (PerPerson(INNER["descent"], rows=0), WHO, ValueError, "rows=0"),
        (PerPerson(INNER["descent"], rows=True), WHO, ValueError, "rows=True"),
        (PerPerson(dperm.Student(None)), WHO, ValueError, "must be a private estimator"),
        (PerPerson(dperm.StableSGD(**LABELS)), WHO, ValueError, "'replace'.*number of rows is public"),
        (PerPerson(dperm.ExpMechSupport(y_bound=1.0)), WHO, InvalidBudget, "pass delta=0"),
        (PerPerson(INNER["objective"], epsilon=900.0, rows=9), WHO, InvalidBudget, "leave no delta"),
        (PerPerson(dperm.OutputPerturbation(classes=(0, 1))), [*WHO[:-1], None], DataError, "nobody's"),
        (PerPerson(dperm.OutputPerturbation(classes=(0, 1))), [*WHO[:-1], []], DataError, "nobody's"),
    ],
)  # fmt: skip
def test_what_it_refuses(model, groups, error, words):
    with PrivacySession(epsilon=1e3, delta=1e-3) as session, pytest.raises(error, match=words):
        model.fit(X, y, groups=groups)
    assert session.spent.epsilon == 0 and not hasattr(model, "privacy_") and issubclass(SolverError, Exception)


@together.over(
    "targets, groups, words",
    [
        (None, WHO, "^y is missing"), (3, WHO, "^X, y and groups hold different numbers of records$"),
        (np.array(3), WHO, "^X, y and groups hold different numbers of records$"),
        (y, 3, "^groups is a int with 0 dimensions: give one label for each row"),
    ],
)  # fmt: skip
def test_what_is_no_column_is_named(targets, groups, words):
    with pytest.raises(ValueError, match=words):
        PerPerson(INNER["descent"]).fit(X, targets, groups=groups)


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.dia_array, sparse.bsr_array, sparse.coo_matrix])
def test_sparse_rows_of_any_kind_are_a_persons(kind):
    X, y = np.eye(3)[np.arange(60) % 3], np.arange(60) % 2
    models = [PerPerson(INNER["objective"], rows=1).fit(rows, y, groups=np.arange(60) // 2) for rows in (kind(X), X)]
    np.testing.assert_allclose(models[0].estimator_.coef_, models[1].estimator_.coef_, atol=1e-8)


def test_with_clip_no_row_and_no_group_raises_or_warns():
    odd = [None, math.nan, [], {}, pd.NA, "a", 7, (1, [2]), object(), np.array([1, 2])]
    wild = X.copy()
    wild[0], wild[1, 0] = math.inf, 1e308
    for name in ("objective", "descent"):
        model = PerPerson(INNER[name], rows=1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(wild, y, groups=[*odd, *["a"] * 50])
            assert model.estimator_.n_features_in_ == 3 and model.privacy_.total
            # "a", 7 and the object: three rows are somebody's. Nobody at all is a table too.
            used = [5, 6, 8]
            alone = clone(INNER[name]).set_params(epsilon=1.0, delta=1e-6).fit(wild[used], y[used])
            np.testing.assert_array_equal(model.estimator_.coef_, alone.coef_)
            model.fit(X, y, groups=[None] * 60)
            nobody = model.estimator_.coef_
            # As lists, whose shape nobody's rows tell as well: before, these raised, and one row of somebody did not.
            for who in ([None] * 60, ["a", *[None] * 59]):
                model.fit(X.tolist(), y.tolist(), groups=who)
                assert model.estimator_.n_features_in_ == 3
            np.testing.assert_array_equal(
                model.fit(X.tolist(), y.tolist(), groups=[None] * 60).estimator_.coef_, nobody
            )


@pytest.mark.parametrize(("rows", "declared"), [(1, 1), (1, 2), (2, 3), (2, 2)])
def test_a_row_that_displaces_another_is_charged_as_two(rows, declared):
    """Output perturbation on a line, exactly: one row more, before those of its person, against what is charged."""

    def fitted(more):
        first = [(1.0, 0, 7)] if more else []
        X, labels, who = zip(*first, *[(1.0, 1, 7)] * rows, (0.0, 1, 8), strict=True)
        inner = OutputPerturbation(
            loss="smoothed_hinge", curvature=1000.0, delta=0.0, classes=(0, 1), clip=True, random_state=5
        )
        with PrivacySession(epsilon=4.0, rows_per_person=declared) as session, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = PerPerson(inner, rows=rows, epsilon=1.0, delta=0.0)
            model.fit(np.array(X)[:, None], np.array(labels), groups=np.array(who))
        return model, session.spent.epsilon

    (one, charged), (other, same) = fitted(False), fitted(True)
    # The same draw in both; Laplace noise of scale S/e.
    e, sensitivity = one.estimator_.privacy_.epsilon, (1 + 2e-6) / 1000
    loss = np.abs(one.estimator_.coef_ - other.estimator_.coef_).sum() / (sensitivity / e)
    assert charged == same == (e if 1 < declared <= rows else 2 * e)
    # With more rows than are used the loss attains it; within the promise nothing is displaced, and this pair is none.
    assert loss == pytest.approx(2 * e, rel=1e-3)
    assert (loss <= charged * (1 + 1e-6)) == (charged == 2 * e)
