"""What the stable predictors share: bounds, labels, and one noisy linear answer a row, or one noisy model for all."""

from abc import abstractmethod
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from scipy import special
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dperm import losses
from dperm.domain import Budget, Domain, bounded_rows, one_of
from dperm.mechanisms import vacuous
from dperm.mechanisms.base import Release
from dperm.mechanisms.estimators.model import EVENTS, declared_loss
from dperm.mechanisms.estimators.prediction import PrivatePredictor
from dperm.mechanisms.estimators.records import check_flags, queried
from dperm.mechanisms.estimators.whole import one_fit
from dperm.mechanisms.prediction import stable_model
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.mechanisms.prediction.stable_erm import slope

Answers = Literal["each", "model"]


def _given(estimator: "StablePredictor") -> SimpleNamespace:
    """Return the parameters as they were at `fit`, of an unfitted estimator as they are."""
    if hasattr(estimator, "_fixed"):
        return estimator._fixed
    return SimpleNamespace(answers=estimator.answers, loss=estimator.loss, classifies=estimator._classifies())


def _scores(estimator: "StablePredictor") -> bool:
    given = _given(estimator)
    return given.answers == "model" and given.classifies


def _has_probabilities(estimator: "StablePredictor") -> bool:
    return _scores(estimator) and _given(estimator).loss == "logistic"


@dataclass(eq=False, repr=False, kw_only=True)
class StablePredictor(PrivatePredictor):
    """Answers <w, x> + Laplace noise, or <w + noise, x>, of a classifier the sign; subclasses say how w is made.

    The parameters that both have are fields here, and described where users look, at each subclass.
    """

    answers: str = "each"
    loss: str = "logistic"
    loss_parameters: dict[str, Any] | None = None
    radius: float = 1.0
    x_norm: float = 1.0
    y_bound: float | None = None
    fit_intercept: bool = False

    @abstractmethod
    def _learn(self, X: np.ndarray, y: np.ndarray, loss: losses.Loss, domain: Domain, each: float) -> NoisyLinear:
        """Return the predictor; y in {-1, 1} of a loss of labels."""

    def _begin(self, X, y, rng):
        if self.answers == "each":
            super()._begin(X, y, rng)
            return
        release = self._release(X, self._targets(y), self._loss(), self._domain(), rng)
        vacuous.warn(self, release.noise, len(y), stacklevel=5)
        theta = release.theta[0]
        weights, intercept = (theta[:-1], theta[-1]) if self.fit_intercept else (theta, 0.0)
        self.coef_ = weights[None, :] if self._classifies() else weights
        self.intercept_ = np.array([intercept]) if self._classifies() else float(intercept)
        name, arguments = release.event
        self._released = EVENTS[name](**arguments)
        self.privacy_ = self._statement()

    def _release(
        self, X: np.ndarray, y: np.ndarray, loss: losses.Loss, domain: Domain, rng: np.random.Generator
    ) -> Release:
        """Release the model once."""
        budget = Budget(self.epsilon, self.delta)
        predictor = self._learn(X, y, loss, domain, self.epsilon)
        return stable_model.release(predictor, domain=domain, budget=budget, rng=rng)

    def _prepare(self, X, y, each, rng):
        self._predictor = self._learn(X, self._targets(y), self._loss(), self._domain(), each)

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Return the targets as the loss has them."""
        return 2 * y - 1 if self._classifies() else self._loss().targets_of(y, self._domain(), clip=self.clip)

    def _answer(self, X, rngs):
        return (self._predictor.labels if self._fixed.classifies else self._predictor.answer)(X, rngs)

    def _answered(self, X):
        if _given(self).answers == "each":
            return super()._answered(X)
        margins = self._margins(X)
        return self.classes_[(margins > 0).astype(int)] if self._fixed.classifies else margins

    def _margins(self, X) -> np.ndarray:
        """Return what the released model says to each row, which may be of any length."""
        check_is_fitted(self)
        return queried(self, X) @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]

    @available_if(_scores)
    def decision_function(self, X):
        """Return the released model's score of each row, positive for `classes_[1]`; with `answers="model"` only.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        return one_fit(self)._margins(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Return both classes' probabilities under the released logistic model; with `answers="model"` only.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n, 2)
        """
        positive = special.expit(one_fit(self)._margins(X))
        return np.column_stack([1 - positive, positive])

    def _covers(self):
        return ("predict",) if self.answers == "each" else ("coef_", "intercept_")

    def _event(self, guarantee):
        return super()._event(guarantee) if self.answers == "each" else self._released

    def _check_declared(self):
        check_flags(self, "fit_intercept")
        one_of("answers", self.answers, Answers)
        if self.answers == "model" and self.calibration != "tight":
            raise ValueError(
                f"calibration={self.calibration!r} with answers='model': the paper puts noise on each answer, and has "
                "no constants for a model; take calibration='tight', or answers='each'"
            )
        if self.answers == "model" and self.state is not None:
            raise ValueError(
                f"state={self.state!r} with answers='model': the model is released once and no answer is counted, so "
                "that a journal would hold nothing; leave state out"
            )
        slope(self._loss(), self._domain())

    def _rows(self, X):
        X = bounded_rows(X, self._fixed.x_norm, clip=self._fixed.clip)
        return np.column_stack([X, np.ones(len(X))]) if self._fixed.fit_intercept else X

    def _classifies(self):
        return self._loss().targets == "binary"

    def _domain(self) -> Domain:
        """Return the public bounds, with those of the constant feature of the intercept."""
        declared = Domain(x_norm=self.x_norm, y_bound=self.y_bound, theta_norm=self.radius)
        if not self.fit_intercept:
            return declared
        return Domain(float(np.hypot(declared.x_norm, 1.0)), declared.y_bound, declared.theta_norm)

    def _loss(self) -> losses.Loss:
        return declared_loss(self.loss, self.loss_parameters)
