"""The scikit-learn estimator around a batched core of a linear model."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dperm import losses
from dperm.domain import Budget, Calibration, Domain, bounded_rows, one_of
from dperm.errors import ReleaseError, SolverError
from dperm.mechanisms import vacuous
from dperm.mechanisms.base import Release, bounds_everywhere
from dperm.mechanisms.diagnostics import Diagnostics, keep
from dperm.mechanisms.estimators.model import UNDECLARED, PrivateModel, classifies, declared, generator
from dperm.mechanisms.estimators.records import check_flags, queried, validated
from dperm.mechanisms.estimators.whole import whole
from dperm.mechanisms.multinomial import Multinomial


@dataclass(eq=False, repr=False, kw_only=True)
class LinearEstimator(PrivateModel):
    """A private linear model; subclasses say how theta is released. Binary targets, or real ones, by the loss.

    The parameters that all have are fields here, and described where users look, at each subclass.

    Only `coef_` and `intercept_` are covered by the privacy statement. What else `fit` knows of the data, the solver's
    certificate, is not on the object: `dperm.diagnostics` has it.
    """

    # What brings the exact minimiser nearer, beside a coarser tolerance.
    _easing: ClassVar[str] = "`curvature` or `epsilon`"
    # The parameter that says how near the solver has to come.
    _target: ClassVar[str] = "tolerance"
    # Whether the core takes CSR matrices.
    _takes_sparse: ClassVar[bool] = False

    epsilon: float = 1.0
    delta: float = 0.0
    loss: str = "logistic"
    calibration: str = "tight"
    neighbours: str = "add_remove"
    x_norm: float = 1.0
    fit_intercept: bool = False
    clip: bool = False
    classes: Sequence[Any] | None = None
    release: bool = False
    random_state: Any = None

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

    def _covers(self):
        return "coef_", "intercept_"

    @whole
    def fit(self, X, y):
        """Fit the private model.

        Parameters
        ----------
        X : array_like, shape (n, p)
            Rows with ||x||_2 <= `x_norm`.
        y : array_like, shape (n,)
            Labels for a classification loss, real numbers for a regression loss.

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
        return self._fit(X, y)

    def _fit(self, X, y, sample_weight=None):
        # What was declared wrongly is blamed before the rows are: budget, bounds, loss, labels.
        y_bound = getattr(self, "y_bound", None)
        budget, loss = Budget(self.epsilon, self.delta), self._loss()
        domain = Domain(x_norm=self.x_norm, y_bound=y_bound)
        one_of("calibration", self.calibration, Calibration)
        check_flags(self, "fit_intercept", "clip", "release")
        if self.release:
            if self.random_state is not None:
                raise ReleaseError("release=True draws from the operating system; leave random_state out (None)")
            self._check_release()
            if self.classes is None and classifies(self):
                raise ReleaseError(f"release=True with {UNDECLARED}")
        self._check_bounds(loss, domain)
        classes = None if self.classes is None else declared(self.classes, several=self._several())
        rng = generator(self.random_state)
        X, y = validated(self, X, y, numeric=not classifies(self), **self._sparse())
        y = self._encoded(y, classes, stacklevel=6) if classifies(self) else loss.targets_of(y, domain, clip=self.clip)
        several = classifies(self) and len(self.classes_) > 2
        loss = Multinomial(len(self.classes_)) if several else loss
        X = bounded_rows(X, self.x_norm, clip=self.clip)
        if self.fit_intercept:
            X = with_ones(X)
            domain = Domain(x_norm=float(np.hypot(self.x_norm, 1.0)), y_bound=y_bound)
        weighted = {} if sample_weight is None else {"weights": self._weights(sample_weight, X.shape[0])}
        release = self._release(X, y, loss, domain, rng, **weighted)
        keep(self, self._known(release))
        if not release.converged.all():
            target = getattr(self, self._target)
            now = "left out" if target is None else f"now {target}"
            raise SolverError(
                f"the solver did not reach its public target; raise `{self._target}` ({now}), {self._easing} "
                "(how near it came is not public: dperm.diagnostics of this object)"
            )
        vacuous.warn(self, release.noise, X.shape[0], stacklevel=5)
        theta = release.theta.reshape(len(self.classes_) if several else 1, X.shape[1])
        weights, intercept = (theta[:, :-1], theta[:, -1]) if self.fit_intercept else (theta, np.zeros(len(theta)))
        self.coef_ = weights if classifies(self) else weights[0]
        self.intercept_ = intercept if classifies(self) else float(intercept[0])
        self.privacy_ = self._statement(budget, release, stacklevel=5)
        return self

    def _sparse(self) -> dict[str, str]:
        """Return how scikit-learn's checks are told that X may be sparse."""
        return {"accept_sparse": "csr"} if self._takes_sparse else {}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._takes_sparse
        return tags

    def _known(self, release: Release) -> Diagnostics:
        """Return what is true of the fit and not private."""
        return Diagnostics(float(release.certificate[0]), bool(release.converged.all()))

    def _margin(self, X) -> np.ndarray:
        check_is_fitted(self)
        X = queried(self, X, **self._sparse())
        if np.ndim(self.coef_) == 2 and len(self.coef_) > 1:
            return X @ self.coef_.T + self.intercept_
        return X @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0]


def with_ones(X: Any) -> Any:
    """Return X (array or CSR) with a column of ones at its end."""
    if sparse.issparse(X):
        return sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    return np.column_stack([X, np.ones(len(X))])
