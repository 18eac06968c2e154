"""Exact learners of small classes, as scikit-learn classifiers: what soft majority and averages take on a shard.

None of them is private; a shard's model is never released.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.domain import number, one_of
from dperm.solvers import boxes, intervals, stumps, thresholds

Rule = Literal["erm", "least_positive"]


class _Learner(ClassifierMixin, BaseEstimator):
    """Two labels, or one, of which the second in order counts as 1; subclasses fit and answer in 0 and 1."""

    # Whether the class is too small for most data: scikit-learn's checks then ask for no accuracy.
    _narrow: ClassVar[bool] = False

    def fit(self, X: Any, y: Any):
        """Fit.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)
            At most two different labels; 0 and 1 keep their meaning, of others the second in order counts as 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If there are more than two labels, or a parameter is not allowed.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_ = np.unique(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"Only binary classification is supported: y holds {len(self.classes_)} labels; fit one learner for "
                "each class against the rest"
            )
        # A sample of one label says nothing of the other one.
        ones = np.zeros(len(y), int) if len(self.classes_) < 2 else (y == self.classes_[1]).astype(int)
        self._fit(X, ones)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return a label for each row.

        Parameters
        ----------
        X : array_like, shape (m, d)

        Returns
        -------
        ndarray, shape (m,)
        """
        check_is_fitted(self, "classes_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self.classes_[np.minimum(self._predict(X), len(self.classes_) - 1)]

    @abstractmethod
    def _fit(self, X: np.ndarray, ones: np.ndarray) -> None:
        """Learn from labels 0 and 1."""

    @abstractmethod
    def _predict(self, X: np.ndarray) -> np.ndarray:
        """Return 0 or 1 for each row."""

    def _column(self, X: np.ndarray) -> np.ndarray:
        remedy = f"the rows have {X.shape[1]} features, counted from 0"
        feature = number("feature", self.feature, 0, X.shape[1] - 1, ends="[]", remedy=remedy)
        if feature != int(feature):
            raise ValueError(f"feature={self.feature} is no whole number; {remedy}")
        return X[:, int(feature)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = self._narrow
        return tags


class ThresholdLearner(_Learner):
    """1[x_feature >= a].

    Parameters
    ----------
    feature : int
        Which column, named in advance.
    rule : {"erm", "least_positive"}
        "erm": the fewest errors. "least_positive": a is the least point with label 1, consistent wherever a threshold
        is; one wrong label can move it anywhere.

    Attributes
    ----------
    threshold_ : float
        a; infinity for the constant 0.

    References
    ----------
    dwork2018, Sections 2.1 and 4.1: non-private learners of thresholds.
    """

    _narrow = True

    def __init__(self, feature: int = 0, rule: Rule = "erm"):
        self.feature = feature
        self.rule = rule

    def _fit(self, X, ones):
        one_of("rule", self.rule, Rule)
        x = self._column(X)
        if self.rule == "erm":
            self.threshold_ = float(thresholds.minimise(x[None], ones[None])[0][0])
        else:
            self.threshold_ = float(thresholds.least_positive(x, ones))

    def _predict(self, X):
        return (self._column(X) >= self.threshold_).astype(int)


class IntervalsLearner(_Learner):
    """A union of intervals with at most k ends on one feature, with the fewest errors.

    Parameters
    ----------
    feature : int
        Which column, named in advance.
    k : int
        Most ends, 0 or more; 1 is a threshold, 2 an interval.

    Attributes
    ----------
    ends_ : ndarray, shape (at most k,)

    References
    ----------
    dwork2018, Section 5: the class that ExpPW is compared with.
    """

    _narrow = True

    def __init__(self, feature: int = 0, k: int = 2):
        self.feature = feature
        self.k = k

    def _fit(self, X, ones):
        remedy = "it is the number of ends: 1 for a threshold, 2 for an interval"
        k = number("k", self.k, 0, math.inf, ends="[)", remedy=remedy)
        if k != int(k):
            raise ValueError(f"k={self.k} is no whole number; {remedy}")
        self.ends_ = intervals.minimise(self._column(X), ones, int(k))[0]

    def _predict(self, X):
        return intervals.inside(self._column(X), self.ends_).astype(int)


class StumpLearner(_Learner):
    """The comparison of one feature, chosen on the sample, with the fewest errors.

    Attributes
    ----------
    stump_ : Stump

    References
    ----------
    dwork2018, Section 4: aggregation takes any non-private learner.
    """

    def _fit(self, X, ones):
        self.stump_ = stumps.minimise(X, ones)

    def _predict(self, X):
        return stumps.predict(self.stump_, X)


class BoxLearner(_Learner):
    """The smallest axis-parallel box around all records with label 1.

    Consistent wherever a box is. On noisy labels it minimises nothing: it is stretched to every record with label 1,
    wrong ones too.

    Attributes
    ----------
    low_, high_ : ndarray, shape (d,)

    References
    ----------
    dwork2018, Section 4.1: aggregation takes any consistent learner.
    """

    def _fit(self, X, ones):
        self.low_, self.high_ = boxes.smallest(X, ones)

    def _predict(self, X):
        return boxes.inside(X, self.low_, self.high_)
