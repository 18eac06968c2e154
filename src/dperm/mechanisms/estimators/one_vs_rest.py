"""Several classes by one linear model for each against the rest, all of them for one budget."""

import dataclasses
from typing import Any

import numpy as np
from dp_accounting import dp_event
from scipy import special
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dperm.accounting import shares
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, PrivacyStatement
from dperm.errors import InvalidBudget, ReleaseError
from dperm.mechanisms.estimators.linear import LinearEstimator
from dperm.mechanisms.estimators.model import UNDECLARED, PrivateModel, classifies, declared, generator, tagged, told
from dperm.mechanisms.estimators.records import queried, validated
from dperm.mechanisms.estimators.whole import one_fit, whole
from dperm.mechanisms.prediction.shards import quiet

# Of words of a guarantee, the weaker comes later.
_STRENGTH = ("proved", "proved_exact", "claimed", "none")


def _logistic(model: Any) -> bool:
    return getattr(model.estimator, "loss", None) == "logistic"


class PrivateOneVsRest(MetaEstimatorMixin, PrivateModel):
    r"""Classifier of several classes: one private linear model for each class against the rest, within one budget.

    Every record is in all k models, as a positive one of one of them and a negative one of the others, so that the
    k releases compose: (epsilon, delta) is that of all together, under the estimator's own `neighbours`. Gaussian
    releases (`OutputPerturbation` with delta > 0, and descents) compose exactly: each has sqrt(k) times the noise that
    it would have alone. Of any other model its (epsilon, delta) is composed by the optimal theorem, which with delta =
    0 is epsilon/k for each (`dperm.accounting.shares`; the proof: docs/privacy.md, section 9). Two classes are one
    model.

    Where a descent will do, `NoisyGradientDescent` with `classes` is better: its multinomial loss has one gradient a
    record, and its noise does not grow with k.

    Parameters
    ----------
    estimator : estimator of dperm
        A linear model of labels whose coefficients are released, such as `OutputPerturbation`. Its epsilon, delta,
        classes and random_state are set here; all else, `neighbours` and `clip` among it, is its own.
    epsilon, delta : float, default=1.0, 1e-6
        Of all models together: above 0, and in [0, 1).
    classes : tuple of labels, optional
        Public labels. Left out, they are taken from y with a `PrivacyLeakWarning`.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded release is for science only.

    Attributes
    ----------
    coef_, intercept_
        Of the shapes (k, p) and (k,), a row for each class; of two classes (1, p) and (1,), as in scikit-learn.
    epsilon_each_, delta_each_ : float
        What each model was fitted with.
    privacy_ : PrivacyStatement
        Of all models together.

    References
    ----------
    Dong, Roth & Su 2022, Corollary 3.3; Kairouz, Oh & Viswanath 2015, Theorem 3.3. The models are those of kifer2012.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation, PrivateOneVsRest
    >>> X = np.array([[0.9, 0.0], [-0.5, 0.8], [-0.5, -0.8]] * 500)
    >>> y = np.array(["a", "b", "c"] * 500)
    >>> model = PrivateOneVsRest(OutputPerturbation(), classes=("a", "b", "c"), random_state=0).fit(X, y)
    >>> model.coef_.shape, model.privacy_.epsilon, model.privacy_.guarantee, model.score(X, y)
    ((3, 2), 1.0, 'proved', 1.0)
    """

    def __init__(self, estimator, *, epsilon=1.0, delta=1e-6, classes=None, random_state=None):
        self.estimator = estimator
        self.epsilon = epsilon
        self.delta = delta
        self.classes = classes
        self.random_state = random_state

    # Where records come in: as the estimator takes them.
    clip = property(lambda self: getattr(self.estimator, "clip", False))
    neighbours = property(lambda self: self.estimator.neighbours)

    def _loss(self):
        return self.estimator._loss()

    def _several(self):
        return True

    def _covers(self):
        return "coef_", "intercept_"

    @whole
    def fit(self, X, y):
        """Fit a model for each class against the rest.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
            Labels.

        Returns
        -------
        self

        Raises
        ------
        InvalidBudget
            If the budget is impossible, or too small for so many models.
        ValueError, ReleaseError, SolverError
            As of the estimator's own `fit`; nothing is released then.
        """
        # What was declared wrongly is blamed before the rows are.
        budget = Budget(self.epsilon, self.delta)
        if not (isinstance(self.estimator, LinearEstimator) and classifies(self.estimator)):
            raise ValueError(
                f"estimator={self.estimator!r} must be a private linear model of labels, such as OutputPerturbation(): "
                "an object, not its class, whose loss is 'logistic' or 'smoothed_hinge'"
            )
        # Each model has labels of its own, 0 and 1, so that its `fit` cannot know.
        if self.classes is None and getattr(self.estimator, "release", False):
            raise ReleaseError(f"release=True with {UNDECLARED}")
        classes = None if self.classes is None else declared(self.classes, several=True)
        rng = generator(self.random_state)
        X, y = validated(self, X, y, numeric=False, **self.estimator._sparse())
        numbered = self._encoded(y, classes)
        several = len(self.classes_) > 2
        positive = [numbered == place for place in range(len(self.classes_))] if several else [numbered > 0]
        share = self._share(budget, len(positive), X.shape[1])
        models = [self._unfitted(share, rng).fit(X, one.astype(int)) for one in positive]
        self.coef_ = np.concatenate([model.coef_ for model in models])
        self.intercept_ = np.concatenate([model.intercept_ for model in models])
        self.epsilon_each_, self.delta_each_ = share.epsilon, share.delta
        self.privacy_ = self._composed(budget, [model.privacy_ for model in models])
        return self

    def _unfitted(self, share: Budget, rng: np.random.Generator | int) -> LinearEstimator:
        """Return the model of one class, not fitted."""
        given = {"epsilon": share.epsilon, "delta": share.delta, "classes": (0, 1)}
        return clone(self.estimator).set_params(**given, random_state=None if self.random_state is None else rng)

    def _share(self, budget: Budget, k: int, columns: int) -> Budget:
        """Return what each of k models may spend, from public values alone.

        What kind of release one is, the statement of a model tells that is fitted on two made-up records.
        """
        share = shares.of_any(budget, k)
        with quiet(True):
            made = self._unfitted(share, 0).fit(np.zeros((2, columns)), [0, 1]).privacy_
        gaussian = isinstance(made.event, dp_event.GaussianDpEvent) and budget.delta
        return shares.of_gaussians(budget, k) if gaussian else share

    def _composed(self, budget: Budget, made: list[PrivacyStatement]) -> PrivacyStatement:
        """Return the statement of all models; each was made for its share, and Gaussian ones are added up again."""
        weakest = max(made, key=lambda one: _STRENGTH.index(one.guarantee))
        event: dp_event.DpEvent = EpsilonDeltaDpEvent(budget.epsilon, budget.delta)
        if budget.delta and all(isinstance(one.event, dp_event.GaussianDpEvent) for one in made):
            event = dp_event.GaussianDpEvent(shares.together([one.event.noise_multiplier for one in made]))
            enough = event.noise_multiplier * gaussian_ratio(budget.epsilon, budget.delta) >= 1 - 1e-9
            if weakest.guarantee != "none" and not enough:
                raise InvalidBudget(
                    f"the models of {self.estimator!r} have less noise than epsilon={budget.epsilon} asks"
                )
        guarantee, event, reason = told(weakest.guarantee, event, weakest.reason, leaked=self.classes is None)
        return dataclasses.replace(
            weakest, epsilon=budget.epsilon, delta=budget.delta, guarantee=guarantee, reason=reason, event=event,
            source=f"docs/privacy.md, section 9 (one against the rest), over {weakest.source}", covers=self._covers(),
            total=self._total(),
        )  # fmt: skip

    def _margin(self, X):
        check_is_fitted(self)
        X = queried(self, X, **self.estimator._sparse())
        margins = X @ self.coef_.T + self.intercept_
        return margins if len(self.coef_) > 1 else margins[:, 0]

    @available_if(_logistic)
    def predict_proba(self, X):
        """Return the models' probabilities, of several classes divided by their sum.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n, k)
        """
        margins = one_fit(self)._margin(X)
        if margins.ndim == 1:
            margins = np.column_stack([-margins, margins])
        # Their logarithms, so that no sum is 0.
        return special.softmax(special.log_expit(margins), axis=1)

    def __sklearn_tags__(self):
        # Of labels whatever the estimator is: which it may be, `fit` says.
        tags = tagged(self, BaseEstimator.__sklearn_tags__(self), classifier=True)
        tags.input_tags.sparse = getattr(self.estimator, "_takes_sparse", False)
        return tags
