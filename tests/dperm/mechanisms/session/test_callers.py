"""Who calls a fit: what chooses or learns around it is refused inside a session, and warned of outside."""

import contextlib
import re
import warnings

import numpy as np
import pandas
import pytest
import together
from designs import on_sphere
from joblib import Parallel, delayed, parallel_config
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.kernel_approximation import PolynomialCountSketch, RBFSampler
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV, validation_curve
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
    scale,
)
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

import dperm
from dperm import OutputPerturbation, PrivacySession
from dperm.errors import PrivacyLeakWarning, SessionError

X = on_sphere(np.random.default_rng(0), 60, 3)
y = (X[:, 0] > 0).astype(int)


def model(**given):
    return OutputPerturbation(epsilon=0.5, delta=1e-6, classes=(0, 1), **given)


def spent(session):
    return round(session.spent.epsilon, 9)


def declared(func):
    func.learns_nothing = True
    return func


@pytest.mark.parametrize(
    ("step", "named"),
    [
        (StandardScaler(), r"standardscaler \(StandardScaler\)"),
        (make_column_transformer((PCA(1), [0, 1]), remainder="passthrough"), r"pca \(PCA\)"),
        (make_column_transformer(("passthrough", [0]), remainder=PCA(1)), r"remainder \(PCA\)"),
        (make_column_transformer((Normalizer(), lambda X: [int(X.var(axis=0).argmax())])), "normalizer .*picks"),
        (make_pipeline(Normalizer(), PCA(2)), r"pca \(PCA\)"),
        (RBFSampler(gamma="scale"), "RBFSampler"),
        (RBFSampler(gamma=1.0), None),
        (FunctionTransformer(scale), "FunctionTransformer.*learns_nothing = True"),
        (FunctionTransformer(), None),
        (FunctionTransformer(np.tanh), None),
        (FunctionTransformer(declared(lambda X: X / 2)), None),
        (make_pipeline(PolynomialCountSketch(n_components=200), GaussianRandomProjection(eps=0.99)), "GaussianRandom"),
        (make_pipeline(PolynomialCountSketch(n_components=200), SparseRandomProjection(eps=0.99)), "SparseRandom"),
        (SparseRandomProjection(n_components=2), None),
        (OneHotEncoder(categories=[[0]] * 3, sparse_output=False, min_frequency=10), "OneHotEncoder"),
        (OneHotEncoder(categories=[[0]] * 3, sparse_output=False, max_categories=1), "OneHotEncoder"),
        (OrdinalEncoder(categories=[[0]] * 3, min_frequency=10), "OrdinalEncoder"),
        (SimpleImputer(strategy="constant", keep_empty_features=True, add_indicator=True), "SimpleImputer"),
        (SimpleImputer(strategy="constant"), "SimpleImputer"),
        (SimpleImputer(strategy="constant", keep_empty_features=True), None),
        (Normalizer(), None),
        (type("Normalizer", (StandardScaler,), {})(), r"normalizer \(Normalizer\)"),
        (FrozenEstimator(StandardScaler().fit(np.ones((2, 3)))), None),
        (make_column_transformer((OneHotEncoder(categories=[[0]]), [0]), sparse_threshold=0), None),
        (make_column_transformer((OneHotEncoder(categories=[[0]], sparse_output=False), [0])), None),
        (make_column_transformer((FrozenEstimator(StandardScaler().fit(np.ones((2, 1)))), [0])), None),
    ],
)
def test_a_step_that_learns_is_refused_inside_and_warned_of_outside(step, named):
    # A row beside zeros, for encoders.
    given = np.zeros((60, 3)) if named is None or "Encoder" in named else X
    chain = make_pipeline(step, model(clip=True))
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        if named is None:
            chain.fit(given, y)
            return
        with pytest.raises(SessionError, match=named):
            chain.fit(given, y)
    assert spent(session) == 0
    with pytest.warns(PrivacyLeakWarning, match=named):
        chain.fit(given, y)


CHOOSES, LEARNS = r" would choose by scores.*PrivateSearchCV", r"learn from the records without privacy: .*"


@pytest.mark.parametrize(
    ("made", "named"),
    [
        (lambda: GridSearchCV(model(), {"epsilon": [0.1, 0.2]}, cv=2, error_score="raise"), f"GridSearchCV{CHOOSES}"),
        (lambda: RFECV(model(), cv=2), f"RFECV{CHOOSES}"),
        (
            lambda: make_pipeline(SequentialFeatureSelector(model(), cv=2), model()),
            f"SequentialFeatureSelector{CHOOSES}",
        ),
        (lambda: TunedThresholdClassifierCV(model(), cv=2), f"TunedThresholdClassifierCV{CHOOSES}"),
        (lambda: StackingClassifier([("a", model())]), f"{LEARNS}StackingClassifier"),
        (lambda: VotingClassifier([("a", model()), ("b", LogisticRegression())]), f"{LEARNS}VotingClassifier"),
        (lambda: CalibratedClassifierCV(model(), cv=2), f"{LEARNS}CalibratedClassifierCV"),
        (lambda: BaggingClassifier(model(), 2), f"{LEARNS}BaggingClassifier"),
        (lambda: OneVsRestClassifier(model()), f"{LEARNS}OneVsRestClassifier"),
        (
            lambda: TransformedTargetRegressor(dperm.SparseRegression(size=1), transformer=StandardScaler()),
            f"{LEARNS}TransformedTargetRegressor",
        ),
        (lambda: FeatureUnion([("a", dperm.SampAggSupport(size=1, blocks=3)), ("b", PCA(1))]), rf"{LEARNS}b \(PCA\)"),
        (lambda: MultiOutputClassifier(model()), None),
        (lambda: make_pipeline(Normalizer(), MultiOutputClassifier(model())), None),
    ],
)
def test_what_chooses_or_learns_around_a_private_fit_is_refused_inside_and_warned_of_outside(made, named):
    labels = y if named else np.column_stack([y, 1 - y])
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        if named is None:
            made().fit(X, labels)
            assert spent(session) == 1.0
            return
        # cross_val_score makes a ValueError of its own of it.
        with warnings.catch_warnings(), pytest.raises(ValueError, match=named):
            warnings.simplefilter("ignore", FitFailedWarning)
            made().fit(X, labels)
        assert spent(session) == 0
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with contextlib.suppress(ValueError):
            made().fit(X, labels)
    assert any(re.search(named, str(one.message)) for one in seen if one.category is PrivacyLeakWarning)


@together.over(
    "steps, records",
    [
        ([make_column_transformer((OneHotEncoder(categories=[[0]]), [0]))], np.zeros((60, 3))),
        ([OneHotEncoder(categories=[[0]] * 3), make_column_transformer(("passthrough", [0]))], np.zeros((60, 3))),
        ([make_column_transformer((dperm.PublicEncoder({"a": {"range": [-1, 1]}}, clip=True, sparse=True), [0]))], X),
        ([make_column_transformer((Normalizer(), [0, 1]))], sparse.csr_array(X)),
        (
            [make_column_transformer((Normalizer(), ["a"]))],
            pandas.DataFrame({"a": pandas.arrays.SparseArray(X[:, 0], fill_value=0.0)}),
        ),
    ],
)
def test_a_column_transformer_of_sparse_columns_compares_all_records(steps, records):
    """How many entries are not 0 decides what it gives: one record may decide whether the fit is refused."""
    chain = make_pipeline(*steps, model(clip=True))
    with PrivacySession(epsilon=1.0, delta=1e-5) as session:
        with pytest.raises(SessionError, match="its sparse_threshold looks at all records; set it to 0"):
            chain.fit(records, y)
        assert spent(session) == 0


@together.over(
    "around",
    [
        lambda: VotingClassifier([("a", model()), ("b", model())], n_jobs=2),
        lambda: make_pipeline(StandardScaler(), MultiOutputClassifier(model(), n_jobs=2)),
        lambda: GridSearchCV(MultiOutputClassifier(model(), n_jobs=2), {"estimator__epsilon": [0.1, 0.2]}, cv=2),
        lambda: FeatureUnion([("a", dperm.SampAggSupport(size=1, blocks=3)), ("b", PCA(1))], n_jobs=2),
        lambda: ColumnTransformer([("a", dperm.SampAggSupport(size=1, blocks=3), [0]), ("b", PCA(1), [1])], n_jobs=2),
    ],
)
@together.over("where", ["threading", "loky"])
def test_what_runs_away_from_its_caller_is_refused_for_nobody_sees_it(around, where, tmp_path):
    """Of threads and processes alike: there is no telling whether a scaler stands beside the fit."""
    labels = y if isinstance(around(), VotingClassifier | FeatureUnion | ColumnTransformer) else np.c_[y, 1 - y]
    session = PrivacySession(epsilon=1.0, delta=1e-5, ledger=tmp_path / "of.journal")
    with session, parallel_config(where), warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        with pytest.raises(ValueError, match=r"runs this fit of .* in another thread or process"):
            around().fit(X, labels)
    assert spent(session) == 0


def test_threads_of_the_users_own_are_charged_fit_by_fit():
    with PrivacySession(epsilon=1.0, delta=1e-5) as session, parallel_config("threading"):
        Parallel(n_jobs=2)(delayed(model().fit)(X.copy(), y) for _ in range(2))
        assert spent(session) == 1.0


def test_a_refusal_that_a_caller_turns_into_a_score_is_heard():
    """validation_curve says nothing of fits that fail."""
    with PrivacySession(epsilon=1.0, delta=1e-5), pytest.warns(FitFailedWarning, match="take PrivateSearchCV"):
        scores = validation_curve(model(), X, y, param_name="epsilon", param_range=[0.1, 0.2], cv=2)
    assert np.isnan(scores).all()


def test_a_model_without_privacy_after_a_private_step_is_refused():
    chain = make_pipeline(dperm.SampAggSupport(epsilon=0.5, size=1, blocks=3), LinearRegression())
    found = pytest.raises(SessionError, match="LinearRegression")
    with PrivacySession(epsilon=1.0) as session, found:
        chain.fit(X, X[:, 0])
    assert spent(session) == 0
