"""What every private scikit-learn estimator of margins shares: labels, the statement, predictions.

An estimator's parameters are the fields of a dataclass, from whose signature scikit-learn reads them. It makes neither
`__eq__` nor `__repr__`: two estimators are one only if they are the same object, and scikit-learn shows them.
"""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Mapping
from numbers import Number
from typing import Any, ClassVar

import numpy as np
from dp_accounting import dp_event
from scipy import special
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from dperm import losses
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.domain import Budget, Guarantee, PrivacyStatement
from dperm.errors import DataError, NoGuaranteeWarning, PrivacyLeakWarning
from dperm.mechanisms.estimators.records import equal, places, signs, stated
from dperm.mechanisms.estimators.whole import one_fit

# What a statement says where the labels were not declared.
LABELS_LEAKED = "the labels were taken from the data; pass classes=(negative, positive), which are public"
# What an error of release=True says of that.
UNDECLARED = "labels taken from the data would publish what is private; pass `classes`, which are public"
# What serves more than two classes.
SEVERAL = (
    "for more than two classes take NoisyGradientDescent or PreconditionedGradientDescent with the logistic loss, "
    "PrivateOneVsRest around any other linear model, or SoftMajority, each with the public classes=(0, 1, 2): "
    "one budget pays for all classes"
)
# By name, as a core's `Release` has it.
EVENTS = {event.__name__: event for event in (dp_event.GaussianDpEvent, dp_event.ZCDpEvent, EpsilonDeltaDpEvent)}


def classifies(estimator: "PrivateModel") -> bool:
    """Return whether the loss is one of labels."""
    return estimator._loss().targets == "binary"


def _has_probabilities(estimator: "PrivateModel") -> bool:
    return estimator.loss == "logistic"


class PrivateModel(BaseEstimator, metaclass=ABCMeta):
    """A private model that predicts by a real margin a row, or one for each of several classes.

    Subclasses say how it is fitted and evaluated.
    """

    source: ClassVar[str]
    # Why this mechanism has no guarantee, where it has none.
    unproved: ClassVar[str] = ""
    # Whether all that is released is a function of Gaussian noise, whatever is set: so a session knows before a fit.
    gaussian: ClassVar[bool] = False

    @abstractmethod
    def _covers(self) -> tuple[str, ...]:
        """Return the attributes or methods whose values are released."""

    @abstractmethod
    def _margin(self, X) -> np.ndarray:
        """Return the released margin of each row of X, shape (n,); with more than two classes (n, k)."""

    def _several(self) -> bool:
        """Return whether there may be more than two classes."""
        return False

    def _encoded(self, y: np.ndarray, classes: np.ndarray | None, stacklevel: int = 5) -> np.ndarray:
        """Map the labels `classes`, or without any those found in y, to -1 and +1; more than two to their places."""
        self.classes_, encodings = encoded(y, classes, clip=self.clip, stacklevel=stacklevel, several=self._several())
        return encodings

    def _statement(self, budget: Budget, release: Any, stacklevel: int = 4) -> PrivacyStatement:
        if release.guarantee == "none":
            warn_unproved(self, self._valid_form(), stacklevel)
        name, arguments = release.event
        reason = self.unproved if release.guarantee == "none" else ""
        guarantee, event, reason = told(
            release.guarantee, EVENTS[name](**arguments), reason, leaked=classifies(self) and self.classes is None
        )
        return PrivacyStatement(
            budget.epsilon,
            budget.delta,
            self.neighbours,
            self.calibration,
            guarantee,
            self.random_state is not None,
            event,
            self.source,
            release.mode,
            covers=self._covers(),
            reason=reason,
            total=self._total(),
        )

    def _total(self) -> bool:
        """Return whether no record can make `fit` fail or warn."""
        return stated(self, numeric=not classifies(self))

    def _valid_form(self) -> str:
        """Say what would have a guarantee."""
        return "take calibration='tight'"

    def _loss(self) -> losses.Loss:
        return declared_loss(self.loss, self.loss_parameters)

    def __sklearn_is_fitted__(self) -> bool:
        # What `fit` sets last.
        return hasattr(self, "_made")

    @available_if(classifies)
    def decision_function(self, X):
        """Return <x, theta> for each row; positive for `classes_[1]`, or of more than two classes one for each.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,), or (n, k) with k > 2 classes
        """
        return one_fit(self)._margin(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X):
        """Return the classes' probabilities under the logistic model.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n, k)
        """
        margin = one_fit(self)._margin(X)
        if margin.ndim == 2:
            return special.softmax(margin, axis=1)
        positive = special.expit(margin)
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
        view = one_fit(self)
        margin = view._margin(X)
        if not classifies(view):
            return margin
        return view.classes_[margin.argmax(axis=1) if margin.ndim == 2 else (margin > 0).astype(int)]

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
        return (accuracy_score if classifies(self) else r2_score)(y, self.predict(X))

    def __sklearn_tags__(self):
        return tagged(self, super().__sklearn_tags__(), classifier=classifies(self))


def declared_loss(name: str, parameters: Any) -> losses.Loss:
    """Return the loss of this name, or refuse its parameters."""
    given = {} if parameters is None else parameters
    if not (isinstance(given, Mapping) and all(isinstance(key, str) for key in given)):
        raise ValueError(f"loss_parameters={given!r} must be a dict such as {{'knee': 0.5}}, or None")
    return losses.make(name, **given)


def tagged(estimator: Any, tags: Tags, *, classifier: bool) -> Tags:
    """Return scikit-learn's tags of a private classifier or regressor."""
    tags.target_tags.required = True
    tags.non_deterministic = estimator.random_state is None
    # Noise at a small budget may drown any signal: accuracy is not a property of correct code here.
    if classifier:
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=estimator._several(), poor_score=True)
    else:
        tags.estimator_type = "regressor"
        tags.regressor_tags = RegressorTags(poor_score=True)
    return tags


def warn_unproved(estimator: Any, remedy: str, stacklevel: int) -> None:
    """Warn that an estimator's constants give no guarantee; `stacklevel`: as of a warning by the caller itself."""
    warnings.warn(
        f"{type(estimator).__name__}: calibration={estimator.calibration!r} with neighbours={estimator.neighbours!r} "
        f"gives no guarantee; {remedy}",
        NoGuaranteeWarning,
        stacklevel=stacklevel + 1,
    )


def told(
    guarantee: Guarantee, event: dp_event.DpEvent, reason: str, *, leaked: bool
) -> tuple[Guarantee, dp_event.DpEvent, str]:
    """Return guarantee, event and reason of a statement: none of a budget if the labels leaked from the data."""
    if not leaked:
        return guarantee, event, reason
    return "none", dp_event.NonPrivateDpEvent(), "; ".join(filter(None, [reason, LABELS_LEAKED]))


def answering(model: Any) -> tuple[str, ...]:
    """Return the methods by which a model answers queries."""
    methods = ("predict", "decision_function", "predict_proba", "predict_details")
    return tuple(name for name in methods if hasattr(model, name))


def encoded(
    y: np.ndarray, classes: np.ndarray | None, *, clip: bool, stacklevel: int, several: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels, or (with a `PrivacyLeakWarning`) those of y, and y as -1 and +1; of more than two as places.

    With `clip` and `classes` every other label is the first one, instead of a DataError.
    """
    leaked = classes is None
    if clip and not leaked:
        return classes, _numbered(y, classes)
    whole = not leaked and classes.dtype.kind in "biu" and y.dtype.kind in "biuf"
    if whole and np.isin(y, classes).all():
        # Labels by what they are; scikit-learn takes long to find that out.
        return classes, _numbered(y, classes)
    kind = type_of_target(y, input_name="y")
    if kind.startswith("continuous"):
        raise ValueError(
            f"Unknown label type: {kind}, and labels are asked for; of real targets take loss='huber' where the model "
            "has a loss, or AveragedPrediction around a regressor"
        )
    if kind != "binary" and not (several and kind == "multiclass"):
        check_classification_targets(y)
        raise ValueError(f"Only binary classification is supported. The type of the target is {kind}; {SEVERAL}")
    if leaked:
        warnings.warn(LABELS_LEAKED, PrivacyLeakWarning, stacklevel=stacklevel)
        classes = np.unique(y)
        if len(classes) < 2:
            raise ValueError("y holds one class only; pass classes=(negative, positive), which are public")
    if not np.isin(y, classes).all():
        if leaked:
            raise DataError(
                "y holds a label that is not even equal to itself, such as a missing date; drop such records"
            )
        raise DataError(
            f"y holds a label that is not in classes={classes.tolist()}; declare it, drop such records, or pass "
            "clip=True, which takes it as the first of them"
        )
    return classes, _numbered(y, classes)


def _numbered(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    return signs(y, classes) if len(classes) == 2 else places(y, classes)


def declared(classes: Any, *, several: bool = False) -> np.ndarray:
    """Return the declared labels; raise ValueError unless they are two different ones of one type, neither NaN.

    With `several` there may be more.
    """
    try:
        labels = np.array(classes)
    except ValueError:  # ragged
        labels = np.empty(0)
    # As they were given: of "no" and 1 NumPy has made two texts, and no record's 1 would be one of them.
    some = labels.ndim == 1 and (len(labels) == 2 or (several and len(labels) > 2))
    given = list(classes) if some else []
    alike = len({_kind(label) for label in given}) == 1 and all(equal(label, label) for label in given)
    if not alike or len(np.unique(labels)) < len(labels):
        more = ", or more than two, such as (0, 1, 2)" if several else ""
        advice = f"; {SEVERAL}" if labels.ndim == 1 and len(labels) > 2 and not several else ""
        raise ValueError(
            f"classes={classes!r} must be two different labels: (negative, positive), such as (0, 1){more}; all "
            f"numbers or all text, and none of them NaN{advice}"
        )
    return labels


def _kind(label: Any) -> type:
    """Return what labels must share to be compared."""
    if isinstance(label, Number | np.bool_):
        return Number
    return str if isinstance(label, str) else type(label)


def generator(random_state: Any) -> np.random.Generator:
    """Return a generator from what scikit-learn's estimators take; None draws from the operating system."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=8, dtype=np.uint64))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state={random_state!r} must be None, an integer 0 or above, a Generator or a RandomState"
        ) from error
