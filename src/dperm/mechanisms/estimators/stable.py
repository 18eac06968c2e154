"""What the stable predictors share: bounds, labels, and one noisy linear answer a row."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np

from dperm import losses
from dperm.domain import Domain, bounded_rows
from dperm.mechanisms.estimators.prediction import PrivatePredictor
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.mechanisms.prediction.stable_erm import slope


class StablePredictor(PrivatePredictor):
    """Answers <w, x> + Laplace noise, of a classifier the sign of that; subclasses say how w is made."""

    @abstractmethod
    def _learn(self, X: np.ndarray, y: np.ndarray, loss: losses.Loss, domain: Domain, each: float) -> NoisyLinear:
        """Return the predictor; y in {-1, 1} of a loss of labels."""

    def _prepare(self, X, y, each, rng):
        loss = self._loss()
        y = 2 * y - 1 if self._classifies() else loss.targets_of(y, self._domain(), clip=self.clip)
        self._predictor = self._learn(X, y, loss, self._domain(), each)

    def _answer(self, X, rngs):
        return (self._predictor.labels if self._fixed.classifies else self._predictor.answer)(X, rngs)

    def _check_declared(self):
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise ValueError(f"fit_intercept={self.fit_intercept!r} must be True or False")
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
        given = {} if self.loss_parameters is None else self.loss_parameters
        if not (isinstance(given, Mapping) and all(isinstance(name, str) for name in given)):
            raise ValueError(f"loss_parameters={given!r} must be a dict such as {{'knee': 0.5}}, or None")
        return losses.make(self.loss, **given)
