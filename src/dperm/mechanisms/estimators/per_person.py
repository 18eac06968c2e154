"""A person with several rows: any private estimator, with its promise made for persons."""

import dataclasses
from collections.abc import Iterable, Sequence, Sized
from typing import Any

import numpy as np
from dp_accounting import dp_event
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dperm.accounting import shares
from dperm.accounting.adaptive import of_group
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, PrivacyStatement, integer
from dperm.errors import DataError, InvalidBudget
from dperm.mechanisms import diagnostics
from dperm.mechanisms.estimators.gradient import DescentEstimator
from dperm.mechanisms.estimators.one_vs_rest import PrivateOneVsRest
from dperm.mechanisms.estimators.output import OutputPerturbation
from dperm.mechanisms.estimators.records import alone, shaped
from dperm.mechanisms.estimators.whole import one_fit, whole
from dperm.values import equal


def _answers(name: str):
    """Let a method be there where the estimator has it."""
    return available_if(lambda model: hasattr(model.estimator, name))


class PerPerson(MetaEstimatorMixin, BaseEstimator):
    r"""Any private estimator, whose promise is made for persons with several rows.

    Of each person the first `rows` rows are used, in the order in which that person's rows stand; which these are is
    decided by nobody else's rows. So a person more or less is at most k = `rows` rows more or less, and the estimator
    is fitted with a budget for one row whose k-fold group privacy is (epsilon, delta). Where a release is exactly
    Gaussian (descents, `OutputPerturbation` with delta > 0, `PrivateOneVsRest` over them) it has k times the noise of a
    fit in which a person has one row; else epsilon/k and delta (e^{epsilon/k} - 1)/(e^epsilon - 1) are left for each
    row (`dperm.accounting.shares`; docs/privacy.md, section 16).

    Parameters
    ----------
    estimator : estimator of dperm
        With neighbours="add_remove"; its epsilon and delta are set here. Under replace-one the number of rows is
        public, and a person with another number of rows changes it: refused.
    rows : int, default=1
        Most rows of one person that are used.
    epsilon, delta : float, default=1.0, 1e-6
        For persons: above 0, and in [0, 1).

    Attributes
    ----------
    estimator_ : estimator
        The fitted one; its own `privacy_` is the promise for one row.
    privacy_ : PrivacyStatement
        For persons, with any number of rows each.
    row_privacy_ : PrivacyStatement
        For one row more or less, of a person with any number of them: a row before the last that is used displaces
        another, so it is (2 e, (1 + exp(e)) d) where `estimator_` is (e, d)-DP.

    References
    ----------
    Vadhan 2017, Lemma 2.2; Dong, Roth & Su 2022, Theorem 2.14. The papers (kifer2012, jain2013, dwork2018, li2021) know
    one row a person.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation, PerPerson
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 500)
    >>> y = np.array([1, 1, 0, 0] * 500)
    >>> model = PerPerson(OutputPerturbation(classes=(0, 1), random_state=0), rows=2, epsilon=2.0)
    >>> model = model.fit(X, y, groups=np.arange(2_000) // 4)
    >>> model.privacy_.epsilon, model.privacy_.unit, model.score(X, y)
    (2.0, 'person, of whose rows at most 2 are used', 1.0)
    """

    def __init__(self, estimator, *, rows=1, epsilon=1.0, delta=1e-6):
        self.estimator = estimator
        self.rows = rows
        self.epsilon = epsilon
        self.delta = delta

    # How records come in, and whom the promise is for: as the estimator has it.
    clip = property(lambda self: bool(getattr(self.estimator, "clip", False)))
    neighbours = property(lambda self: _relation(self.estimator))

    def row_budget(self, most: int | None = None) -> Budget:
        """Return what the fit spends for one row more or less, which an open `PrivacySession` adds up.

        Parameters
        ----------
        most : int, optional
            How many rows a person has at most, if that is promised. Up to `rows` of them all are used, and a row
            displaces no other.

        Raises
        ------
        InvalidBudget
            If the budget is impossible.
        ValueError
            If another parameter is wrong.
        """
        share = self._share()
        if most is not None and most <= self.rows:
            return share
        return Budget(*of_group(share.epsilon, share.delta, 2))

    def _share(self) -> Budget:
        """Return the estimator's budget: what may be spent for one of the rows that are used."""
        budget, k = Budget(self.epsilon, self.delta), self.rows
        integer("rows", k, 1, "it is the most rows of a person that are used")
        if not (isinstance(self.estimator, BaseEstimator) and hasattr(self.estimator, "epsilon")):
            raise ValueError(f"estimator={self.estimator!r} must be a private estimator, such as OutputPerturbation()")
        if self.neighbours != "add_remove":
            raise ValueError(
                f"neighbours={self.neighbours!r}: under replace-one the number of rows is public, and a person with "
                "another number of rows changes it; give the estimator neighbours='add_remove', which promises "
                "(2 epsilon, (1 + e^epsilon) delta) for replacing a person too"
            )
        if not hasattr(self.estimator, "delta") and budget.delta:
            raise InvalidBudget(f"delta={budget.delta:g}: {type(self.estimator).__name__} has delta 0; pass delta=0")
        if budget.delta and _gaussian(self.estimator):
            # Their ratios add up k-fold, not as k releases' do: a/k is what k^2 releases may have.
            return shares.of_gaussians(budget, int(k) ** 2)
        return shares.of_member(budget, int(k))

    @whole
    def fit(self, X, y, groups=None):
        """Fit the estimator to at most `rows` rows of each person.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)
        groups : array_like, shape (n,) or (n, 1)
            Whose row it is: labels of persons. A row without one (None, NaN, what has no hash) is an error, and left
            out where the estimator clips.

        Returns
        -------
        self

        Raises
        ------
        InvalidBudget
            If the budget is impossible, or too small for so many rows.
        DataError
            If a row has no group, unless the estimator clips.
        ValueError
            If `groups` is missing or of another shape, or a parameter is wrong.
        DpermError
            As of the estimator's own `fit`.
        """
        share, k = self._share(), int(self.rows)
        if y is None:
            raise ValueError("y is missing: PerPerson requires y to be passed, the target of each row")
        if groups is None:
            raise ValueError("groups is missing: whose row each one is, such as fit(X, y, groups=table['person'])")
        owners = owners_of(groups)
        # A list has its shape from all of its rows: of those that are left there may be none.
        X = shaped(X, always=self.clip)
        if {_length(X), _length(y)} != {len(owners)}:
            raise ValueError("X, y and groups hold different numbers of records")
        places = np.array(first_rows(owners, k, clip=self.clip), dtype=int)
        given = {"epsilon": share.epsilon, **({"delta": share.delta} if hasattr(self.estimator, "delta") else {})}
        inner = clone(self.estimator).set_params(**given)
        try:
            # Of the sparse kinds some have no rows to choose.
            rows = X.tocsr() if sparse.issparse(X) else X
            inner.fit(_safe_indexing(rows, places), _safe_indexing(y, places))
        finally:
            diagnostics.move(inner, self)
        self.estimator_, self.row_privacy_ = inner, _displacing(inner.privacy_)
        self.privacy_ = self._for_persons(inner.privacy_, k)
        for name in ("classes_", "n_features_in_", "feature_names_in_"):
            if hasattr(inner, name):
                setattr(self, name, getattr(inner, name))
        return self

    def _for_persons(self, told: PrivacyStatement, k: int) -> PrivacyStatement:
        """Return the statement for persons of a fit whose own one, for rows, is given."""
        event = told.event
        if isinstance(event, dp_event.GaussianDpEvent) and self.delta:
            event = dp_event.GaussianDpEvent(event.noise_multiplier / k)
            if event.noise_multiplier * gaussian_ratio(self.epsilon, self.delta) < 1 - 1e-9:
                raise InvalidBudget(f"{self.estimator!r} has less noise than epsilon={self.epsilon} asks for persons")
        elif not isinstance(event, dp_event.NonPrivateDpEvent):
            event = EpsilonDeltaDpEvent(self.epsilon, self.delta)
        return dataclasses.replace(
            told, epsilon=self.epsilon, delta=self.delta, event=event,
            source=f"docs/privacy.md, section 16 (persons), over {told.source}",
            covers=tuple(f"estimator_.{name}" for name in told.covers),
            unit=f"person, of whose rows at most {k} are used",
        )  # fmt: skip

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_made")

    def _fitted(self):
        check_is_fitted(self)
        return one_fit(self).estimator_

    @_answers("predict")
    def predict(self, X):
        """Return what the fitted estimator predicts.

        Parameters
        ----------
        X : array_like, shape (m, p)

        Returns
        -------
        ndarray
        """
        return self._fitted().predict(X)

    @_answers("decision_function")
    def decision_function(self, X):
        """Return what the fitted estimator's method of this name does.

        Parameters
        ----------
        X : array_like, shape (m, p)

        Returns
        -------
        ndarray
        """
        return self._fitted().decision_function(X)

    @_answers("predict_proba")
    def predict_proba(self, X):
        """Return what the fitted estimator's method of this name does.

        Parameters
        ----------
        X : array_like, shape (m, p)

        Returns
        -------
        ndarray
        """
        return self._fitted().predict_proba(X)

    @_answers("transform")
    def transform(self, X):
        """Return what the fitted estimator's method of this name does.

        Parameters
        ----------
        X : array_like, shape (m, p)

        Returns
        -------
        ndarray
        """
        return self._fitted().transform(X)

    @_answers("score")
    def score(self, X, y):
        """Return the fitted estimator's score on the given rows; not private.

        Parameters
        ----------
        X : array_like, shape (m, p)
        y : array_like, shape (m,)

        Returns
        -------
        float
        """
        return self._fitted().score(X, y)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = self.estimator.__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags, tags.transformer_tags = inner.regressor_tags, inner.transformer_tags
        tags.target_tags.required, tags.input_tags.sparse = inner.target_tags.required, inner.input_tags.sparse
        return tags


def owners_of(groups: Any) -> list[Any]:
    """Return whose row each is, of an array, a list, a column or a table of one column; ValueError for other shapes."""
    shape = getattr(groups, "shape", None)
    unfit = sparse.issparse(groups) or (shape is not None and (len(shape) not in (1, 2) or [*shape[1:], 1][0] != 1))
    if unfit or (shape is None and not isinstance(groups, Iterable)):
        columns = f" and {shape[1]} columns" if shape and len(shape) == 2 else ""
        raise ValueError(
            f"groups is a {type(groups).__name__} with {len(shape or ())} dimensions{columns}: give one label for each "
            "row, as an array of shape (n,) or (n, 1), a list, or one column"
        )
    if shape is not None and len(shape) == 2:
        named = getattr(groups, "column_names", getattr(groups, "columns", None))
        groups = groups.reshape(-1) if named is None else groups[named[0]]
    for listing in ("tolist", "to_list", "to_pylist"):
        if hasattr(groups, listing):
            return getattr(groups, listing)()
    return alone(list(groups))


def first_rows(groups: Sequence[Any], k: int, *, clip: bool = False) -> list[int]:
    """Return the places of the first k rows of each person: which of a person's rows, no other person's rows decide.

    - groups: whose row each is. A person is what is equal and has a hash; a row of nobody (None, NaN) raises a
      DataError, and is left out with `clip`.
    """
    seen: dict[Any, int] = {}
    kept = []
    for place, owner in enumerate(groups):
        try:
            found = seen.get(owner, 0) if owner is not None and equal(owner, owner) else None
        except Exception:
            found = None
        if found is None:
            if not clip:
                raise DataError(
                    "groups has a row that is nobody's (None, NaN, or a value without a hash); give each row a label, "
                    "or let the estimator clip, which leaves such rows out"
                )
            continue
        seen[owner] = found + 1
        if found < k:
            kept.append(place)
    return kept


def _displacing(told: PrivacyStatement) -> PrivacyStatement:
    """Return the statement for a row more or less that may take another's place, of one for a row that is used."""
    epsilon, delta = of_group(told.epsilon, told.delta, 2)
    if not isinstance(told.event, dp_event.NonPrivateDpEvent):
        told = dataclasses.replace(told, event=EpsilonDeltaDpEvent(epsilon, delta))
    return dataclasses.replace(
        told, epsilon=epsilon, delta=delta, source=f"docs/privacy.md, section 16, over {told.source}"
    )


def _relation(estimator: Any) -> str | None:
    return getattr(estimator, "neighbours", getattr(getattr(estimator, "estimator", None), "neighbours", None))


def _gaussian(estimator: Any) -> bool:
    """Return whether what is released with a delta above 0 is exactly one Gaussian mechanism."""
    if isinstance(estimator, PrivateOneVsRest):
        return _gaussian(estimator.estimator)
    plain = isinstance(estimator, OutputPerturbation) and not estimator.release
    return plain or isinstance(estimator, DescentEstimator)


def _length(values: Any) -> int:
    """Return how many records there are; none of what is no array or list of them."""
    if hasattr(values, "shape"):
        return values.shape[0] if values.shape else 0
    return len(values) if isinstance(values, Sized) else 0
