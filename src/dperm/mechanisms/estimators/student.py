"""A model trained on public rows that a private predictor labelled: it answers any number of queries at no charge."""

import dataclasses
import warnings

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.domain import PrivacyStatement
from dperm.errors import DataError, VacuousWarning
from dperm.mechanisms.estimators.records import queried
from dperm.mechanisms.estimators.whole import whole


def _scores(student: "Student") -> bool:
    return hasattr(student.learner_, "predict_proba")


class Student(MetaEstimatorMixin, BaseEstimator):
    """Asks a fitted private predictor about public rows, once, and learns from its answers.

    The student is a function of the public rows and of the answers, which the teacher's ledger has charged: so it has
    the teacher's privacy statement, whatever it is asked. (Closure under post-processing.) So are its errors and its
    warnings: they tell nothing beyond the answers. The rows must be public: the statement does not protect them.

    The teacher holds the private data, or models of it, and stays in the house: a pickle or a copy of the student has
    teacher=None. So the pickle of a fitted student can be published: it is the trained learner and the statement.

    Parameters
    ----------
    teacher : PrivatePredictor
        Fitted; `fit` asks it about every row, and it must have that many answers left. None in a copy, which cannot be
        fitted.
    learner : scikit-learn estimator, optional
        Trained on the answers: a classifier for a teacher that gives labels, a regressor for one that gives numbers.
        By default `LogisticRegression()` or `LinearRegression()`.

    Attributes
    ----------
    learner_ : estimator
        The trained learner.
    privacy_ : PrivacyStatement
        The teacher's; it covers the learner.

    References
    ----------
    dwork2018, Section 1 (a private predictor can label data for a learner); Papernot et al. 2017.
    """

    def __init__(self, teacher, learner=None):
        self.teacher = teacher
        self.learner = learner

    @whole
    def fit(self, X, y=None):
        """Let the teacher label public rows, and learn from that.

        Parameters
        ----------
        X : array_like, shape (m, d)
            Public rows.
        y : None
            Ignored: the labels are the teacher's.

        Returns
        -------
        self

        Raises
        ------
        BudgetExhausted
            If the teacher has fewer answers left than there are new rows; nothing was charged then.
        DataError
            If the learner fails on the answers, which stay charged and are kept by the teacher: another learner gets
            them for nothing.
        ValueError
            If the teacher is not fitted, has no privacy statement, or stayed behind when the student was copied, or the
            learner is none or one of the other kind; nothing was charged then.
        """
        if self.teacher is None:
            raise ValueError(
                "teacher=None: the teacher stays behind when a student is pickled or copied; make a Student of a "
                "fitted private predictor"
            )
        if isinstance(self.teacher, type) or not (hasattr(self.teacher, "fit") and hasattr(self.teacher, "predict")):
            raise ValueError(f"teacher={self.teacher!r} must be a fitted private predictor, an object")
        check_is_fitted(self.teacher)
        labels = getattr(self.teacher, "classes_", None)
        # Whatever can be refused is refused before an answer is charged.
        learner = self._untrained(labels is not None)
        X = validate_data(self, X, dtype=np.float64)
        statement = self._promised()
        answers = self.teacher.predict(X)
        if labels is not None and len(np.unique(answers)) < 2:
            warnings.warn(
                f"the teacher gave all {len(X)} public rows the same label, so the student is that constant; raise "
                "epsilon, or ask about other rows",
                VacuousWarning,
                stacklevel=3,
            )
            learner = DummyClassifier(strategy="most_frequent")
        try:
            self.learner_ = learner.fit(X, answers)
        except Exception as error:
            raise DataError(
                f"{type(learner).__name__} fails on the {len(X)} labelled rows; the answers stay charged, and "
                "the teacher keeps them: fit another learner on the same rows"
            ) from error
        if labels is not None:
            self.classes_ = labels
        self.privacy_ = dataclasses.replace(statement, covers=("learner_",))
        return self

    def _promised(self) -> PrivacyStatement:
        """Return the teacher's statement, or refuse a teacher that has none."""
        statement = getattr(self.teacher, "privacy_", None)
        if not isinstance(statement, PrivacyStatement):
            raise ValueError(
                f"teacher={type(self.teacher).__name__} has no privacy statement (`privacy_`), which the student "
                "needs; give the private predictor itself, not what holds it (of a Pipeline its last step, and rows as "
                "that step sees them); nothing was asked or charged"
            )
        return statement

    def _untrained(self, labelled: bool):
        """Return a new learner, of the kind that the answers need."""
        if self.learner is None:
            return LogisticRegression() if labelled else LinearRegression()
        wanted, other = ("classifier", is_regressor) if labelled else ("regressor", is_classifier)
        if not hasattr(self.learner, "fit") or isinstance(self.learner, type) or other(self.learner):
            raise ValueError(
                f"learner={self.learner!r} must be a scikit-learn {wanted} (an object, not its class): the teacher "
                f"gives {'labels' if labelled else 'numbers'}; nothing was asked or charged"
            )
        return clone(self.learner)

    def __getstate__(self):
        # No clone of the teacher either: its parameters may hold a seed, or an object that was fitted on private data.
        return {**super().__getstate__(), "teacher": None}

    def predict(self, X):
        """Return the learner's predictions; nothing is charged.

        Parameters
        ----------
        X : array_like, shape (n, d)

        Returns
        -------
        ndarray, shape (n,)
        """
        check_is_fitted(self)
        return self.learner_.predict(queried(self, X))

    @available_if(_scores)
    def predict_proba(self, X):
        """Return the learner's probabilities, if it has any.

        Parameters
        ----------
        X : array_like, shape (n, d)

        Returns
        -------
        ndarray, shape (n, 2)
        """
        check_is_fitted(self)
        return self.learner_.predict_proba(queried(self, X))

    def score(self, X, y):
        """Return the learner's score on the given rows; not private of these.

        Parameters
        ----------
        X : array_like, shape (n, d)
        y : array_like, shape (n,)

        Returns
        -------
        float
        """
        check_is_fitted(self)
        return self.learner_.score(queried(self, X), y)
