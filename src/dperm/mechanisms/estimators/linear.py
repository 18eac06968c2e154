"""The scikit-learn estimator around a batched core of a linear model."""

import warnings
from typing import Any, ClassVar

import numpy as np
from dp_accounting import dp_event
from scipy import special
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm import losses
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.domain import Budget, Calibration, Domain, PrivacyStatement, bounded_rows, one_of
from dperm.errors import DataError, NoGuaranteeWarning, PrivacyLeakWarning, SolverError
from dperm.mechanisms.base import Release

_EVENTS = {event.__name__: event for event in (dp_event.GaussianDpEvent, EpsilonDeltaDpEvent)}


def _is_classifier(estimator: "LinearEstimator") -> bool:
    return estimator._loss().targets == "binary"


def _has_probabilities(estimator: "LinearEstimator") -> bool:
    return estimator.loss == "logistic"


class LinearEstimator(BaseEstimator):
    """A private linear model; subclasses say how theta is released. Binary targets, or real ones, by the loss.

    Only `coef_` and `intercept_` are covered by the privacy statement: `certificate_`, and whether the solver
    converged, depend on the data.
    """

    source: ClassVar[str]

    def _release(self, X: np.ndarray, y: np.ndarray, domain: Domain, rng: np.random.Generator) -> Release:
        """Run the batched core once."""
        raise NotImplementedError

    def fit(self, X, y):
        """Fit the private model.

        Parameters
        ----------
        X : array_like, shape (n, p)
            Rows with ||x||_2 <= `x_norm`.
        y : array_like, shape (n,)
            Two labels for a classification loss, real numbers for a regression loss.

        Returns
        -------
        self

        Raises
        ------
        DomainViolation
            If a row is longer than `x_norm` and `clip` is False.
        InvalidBudget
            If the budget is impossible, or too small for the curvature.
        SolverError
            If the solver did not reach its public target; nothing is released.
        """
        budget = Budget(self.epsilon, self.delta)
        one_of("calibration", self.calibration, Calibration)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=not _is_classifier(self))
        y = self._encoded(y) if _is_classifier(self) else np.asarray(y, dtype=np.float64)
        X = bounded_rows(X, self.x_norm, clip=self.clip)
        domain = Domain(x_norm=self.x_norm)
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
            domain = Domain(x_norm=float(np.hypot(self.x_norm, 1.0)))
        release = self._release(X, y, domain, _generator(self.random_state))
        if not release.converged.all():
            raise SolverError(
                f"the solver stopped {release.certificate.max():.3g} from the minimiser, outside its target; "
                f"raise `curvature` or `tolerance` (now {self.tolerance:g})"
            )
        theta = release.theta[0]
        weights, intercept = (theta[:-1], theta[-1]) if self.fit_intercept else (theta, 0.0)
        self.coef_ = weights[None, :] if _is_classifier(self) else weights
        self.intercept_ = np.array([intercept]) if _is_classifier(self) else float(intercept)
        self.certificate_ = float(release.certificate[0])
        self.privacy_ = self._statement(budget, release)
        return self

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        """Map two labels to -1 and +1."""
        check_classification_targets(y)
        if type_of_target(y, input_name="y", raise_unknown=True) != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}; "
                "train one model for each class against the rest, and share the budget between them"
            )
        if self.classes is None:
            warnings.warn(
                "the two labels were taken from the data; pass classes=(negative, positive), which are public",
                PrivacyLeakWarning,
                stacklevel=3,
            )
            self.classes_ = np.unique(y)
        else:
            self.classes_ = np.asarray(self.classes)
        if len(self.classes_) != 2:
            raise ValueError(f"classes={self.classes_.tolist()} must be two labels: the data may hold one class only")
        if not np.isin(y, self.classes_).all():
            raise DataError(f"y holds a label that is none of classes={self.classes_.tolist()}")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _statement(self, budget: Budget, release: Release) -> PrivacyStatement:
        if release.guarantee == "none":
            warnings.warn(
                f"{type(self).__name__}: calibration={self.calibration!r} with neighbours={self.neighbours!r} gives no "
                "guarantee; take calibration='tight'",
                NoGuaranteeWarning,
                stacklevel=3,
            )
        name, arguments = release.event
        event = _EVENTS[name](**arguments)
        return PrivacyStatement(
            budget.epsilon,
            budget.delta,
            self.neighbours,
            self.calibration,
            release.guarantee,
            self.random_state is not None,
            event,
            self.source,
        )

    def _loss(self) -> losses.Loss:
        return losses.make(self.loss, **(self.loss_parameters or {}))

    def _margin(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]

    @available_if(_is_classifier)
    def decision_function(self, X):
        """Return <x, theta> for each row, shape (n,); positive for `classes_[1]`."""
        return self._margin(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Return the two classes' probabilities under the logistic model, shape (n, 2)."""
        positive = special.expit(self._margin(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        """Return labels (classification) or real predictions (regression), shape (n,)."""
        margin = self._margin(X)
        return self.classes_[(margin > 0).astype(int)] if _is_classifier(self) else margin

    def score(self, X, y):
        """Return accuracy (classification) or R^2 (regression) on the given rows; not private."""
        return (accuracy_score if _is_classifier(self) else r2_score)(y, self.predict(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.non_deterministic = self.random_state is None
        # Noise at a small budget may drown any signal: accuracy is not a property of correct code here.
        if _is_classifier(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False, poor_score=True)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags(poor_score=True)
        return tags


def _generator(random_state: Any) -> np.random.Generator:
    """Return a generator; None draws from the operating system."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=8, dtype=np.uint64))
    return np.random.default_rng(random_state)
