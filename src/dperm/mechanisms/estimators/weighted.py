"""Linear models whose records may have weights, private as the records are, up to a public bound."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm.domain import LEAST, MOST, number
from dperm.losses import Loss
from dperm.mechanisms.estimators.linear import LinearEstimator
from dperm.mechanisms.estimators.records import weighed
from dperm.mechanisms.estimators.whole import whole


@dataclass(eq=False, repr=False, kw_only=True)
class WeightedEstimator(LinearEstimator):
    """A linear model whose `fit` takes `sample_weight`."""

    loss_parameters: dict[str, Any] | None = None
    weight_bound: float | None = None

    @whole
    def fit(self, X, y, sample_weight=None):
        """Fit the private model.

        Parameters
        ----------
        X : array_like, shape (n, p)
            Rows with ||x||_2 <= `x_norm`.
        y : array_like, shape (n,)
            Labels for a classification loss, real numbers for a regression loss.
        sample_weight : array_like, shape (n,), optional
            Weights in [0, `weight_bound`] of the records' losses, as private as the records that they belong to; the
            bound must be declared.

        Returns
        -------
        self

        Raises
        ------
        DomainViolation
            If a row is longer than `x_norm` or a weight outside its bounds and `clip` is False, or a bound or the loss
            is unfit.
        InvalidBudget
            If the budget is impossible, or too small for the curvature.
        ValueError
            If another parameter is not of its kind or outside its range; the message names it.
        ReleaseError
            If `release=True` cannot be kept: a seed, a mechanism or constants that it is refused for, OpenDP missing.
        SolverError
            If the solver did not reach its public target, or the theta of a descent overflowed, because of a step size
            too large; nothing is released.
        """
        self._weight_bound()
        if sample_weight is not None and self.weight_bound is None:
            raise ValueError(
                "sample_weight is given and weight_bound=None: declare the largest weight that any record may have, "
                "which is public, such as weight_bound=1.0"
            )
        return self._fit(X, y, sample_weight)

    def _weights(self, sample_weight: Any, n: int) -> np.ndarray:
        return weighed(sample_weight, n, self._weight_bound(), clip=self.clip)

    def _weight_bound(self) -> float:
        if self.weight_bound is None:
            # Records without weights count once.
            return 1.0
        return number("weight_bound", self.weight_bound, LEAST, MOST, ends="[]", remedy="no weight is above it")

    def _weighing(self, loss: Loss) -> Loss:
        """Return the loss with the bounds of a record of the largest weight."""
        bound = self._weight_bound()
        return loss if bound == 1 else replace(loss, weight_bound=bound)
