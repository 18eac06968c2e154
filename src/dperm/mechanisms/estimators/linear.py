"""The scikit-learn estimator around a batched core of a linear model."""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
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
from dperm.domain import Budget, Calibration, Domain, PrivacyStatement, bounded_rows, bounded_targets, one_of
from dperm.errors import DataError, NoGuaranteeWarning, PrivacyLeakWarning, ReleaseError, SolverError
from dperm.mechanisms.base import Release, bounds_everywhere

_EVENTS = {event.__name__: event for event in (dp_event.GaussianDpEvent, dp_event.ZCDpEvent, EpsilonDeltaDpEvent)}


def _is_classifier(estimator: "LinearEstimator") -> bool:
    return estimator._loss().targets == "binary"


def _has_probabilities(estimator: "LinearEstimator") -> bool:
    return estimator.loss == "logistic"


class LinearEstimator(BaseEstimator, metaclass=ABCMeta):
    """A private linear model; subclasses say how theta is released. Binary targets, or real ones, by the loss.

    Only `coef_` and `intercept_` are covered by the privacy statement: `certificate_`, and whether the solver
    converged, depend on the data.
    """

    source: ClassVar[str]
    # What brings the exact minimiser nearer, beside a coarser tolerance.
    _easing: ClassVar[str] = "`curvature` or `epsilon`"

    @abstractmethod
    def _release(
        self, X: np.ndarray, y: np.ndarray, loss: losses.Loss, domain: Domain, rng: np.random.Generator
    ) -> Release:
        """Run the batched core once."""

    def _check_bounds(self, loss: losses.Loss, domain: Domain) -> None:
        """Refuse a loss that is not bounded where theta is searched."""
        bounds_everywhere(loss, domain)

    @abstractmethod
    def _check_release(self) -> None:
        """Refuse `release=True` if this mechanism, or its other parameters, cannot keep what it says."""

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
            If a row is longer than `x_norm` and `clip` is False, or a bound or the loss is unfit.
        InvalidBudget
            If the budget is impossible, or too small for the curvature.
        ValueError
            If another parameter is not of its kind or outside its range; the message names it.
        ReleaseError
            If `release=True` cannot be kept: a seed, a mechanism or constants that it is refused for, OpenDP missing.
        SolverError
            If the solver did not reach its public target; nothing is released.
        """
        # What was declared wrongly is blamed before the rows are: budget, bounds, loss, labels.
        y_bound = getattr(self, "y_bound", None)
        budget, loss = Budget(self.epsilon, self.delta), self._loss()
        domain = Domain(x_norm=self.x_norm, y_bound=y_bound)
        one_of("calibration", self.calibration, Calibration)
        for name in ("fit_intercept", "clip", "release"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name}={getattr(self, name)!r} must be True or False")
        if self.release:
            if self.random_state is not None:
                raise ReleaseError("release=True draws from the operating system; leave random_state out (None)")
            self._check_release()
            if self.classes is None and _is_classifier(self):
                raise ReleaseError(
                    "release=True with labels taken from the data would publish what is private; pass "
                    "classes=(negative, positive), which are public"
                )
        self._check_bounds(loss, domain)
        classes = None if self.classes is None else _two_labels(self.classes)
        rng = _generator(self.random_state)
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=not _is_classifier(self))
        if _is_classifier(self):
            y = self._encoded(y, classes)
        else:
            y = bounded_targets(np.asarray(y, dtype=np.float64), y_bound, clip=self.clip)
        X = bounded_rows(X, self.x_norm, clip=self.clip)
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
            domain = Domain(x_norm=float(np.hypot(self.x_norm, 1.0)), y_bound=y_bound)
        release = self._release(X, y, loss, domain, rng)
        if not release.converged.all():
            raise SolverError(
                f"the solver stopped {release.certificate.max():.3g} from the minimiser, outside its target; "
                f"raise `tolerance` (now {self.tolerance}), {self._easing}"
            )
        theta = release.theta[0]
        weights, intercept = (theta[:-1], theta[-1]) if self.fit_intercept else (theta, 0.0)
        self.coef_ = weights[None, :] if _is_classifier(self) else weights
        self.intercept_ = np.array([intercept]) if _is_classifier(self) else float(intercept)
        self.certificate_ = float(release.certificate[0])
        self.privacy_ = self._statement(budget, release)
        return self

    def _encoded(self, y: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
        """Map the two labels `classes`, or without any those found in y, to -1 and +1."""
        check_classification_targets(y)
        if type_of_target(y, input_name="y", raise_unknown=True) != "binary":
            raise ValueError(
                f"Only binary classification is supported. The type of the target is {type_of_target(y)}; "
                "train one model for each class against the rest, and share the budget between them"
            )
        if classes is None:
            warnings.warn(
                "the two labels were taken from the data; pass classes=(negative, positive), which are public",
                PrivacyLeakWarning,
                stacklevel=3,
            )
            classes = np.unique(y)
            if len(classes) != 2:
                raise ValueError("y holds one class only; pass classes=(negative, positive), which are public")
        self.classes_ = classes
        if not np.isin(y, self.classes_).all():
            raise DataError(f"y holds a label that is none of classes={self.classes_.tolist()}")
        return np.where(y == self.classes_[1], 1.0, -1.0)

    def _statement(self, budget: Budget, release: Release) -> PrivacyStatement:
        if release.guarantee == "none":
            warnings.warn(
                f"{type(self).__name__}: calibration={self.calibration!r} with neighbours={self.neighbours!r} gives no "
                f"guarantee; {self._valid_form()}",
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
            release.mode,
        )

    def _valid_form(self) -> str:
        """Say what would have a guarantee."""
        return "take calibration='tight'"

    def _loss(self) -> losses.Loss:
        given = {} if self.loss_parameters is None else self.loss_parameters
        if not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
            raise ValueError(f"loss_parameters={given!r} must be a dict such as {{'knee': 0.5}}, or None")
        return losses.make(self.loss, **given)

    def _margin(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]

    @available_if(_is_classifier)
    def decision_function(self, X):
        """Return <x, theta> for each row; positive for `classes_[1]`.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        return self._margin(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Return the two classes' probabilities under the logistic model.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n, 2)
        """
        positive = special.expit(self._margin(X))
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        """Return labels (classification) or real predictions (regression).

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        margin = self._margin(X)
        return self.classes_[(margin > 0).astype(int)] if _is_classifier(self) else margin

    def score(self, X, y):
        """Return accuracy (classification) or R^2 (regression) on the given rows; not private.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)

        Returns
        -------
        float
        """
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


def _two_labels(classes: Any) -> np.ndarray:
    """Return the declared labels, shape (2,)."""
    try:
        labels = np.asarray(classes)
    except ValueError:  # ragged
        labels = np.empty(0)
    if labels.shape != (2,) or labels[0] == labels[1]:
        raise ValueError(f"classes={classes!r} must be two different labels: (negative, positive), such as (0, 1)")
    return labels


def _generator(random_state: Any) -> np.random.Generator:
    """Return a generator; None draws from the operating system."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=8, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer 0 or above, a Generator or a RandomState"
        ) from error
