"""A private search over hyper-parameters, with the interface of scikit-learn's RandomizedSearchCV."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
from dp_accounting import dp_event
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dperm.accounting import stopping
from dperm.accounting.events import EpsilonDeltaDpEvent
from dperm.accounting.gaussian import gaussian_ratio
from dperm.domain import Budget, PrivacyStatement, number, tame_rows
from dperm.errors import ReleaseError
from dperm.mechanisms.estimators import held_out
from dperm.mechanisms.estimators.model import answering, declared, encoded, generator, told
from dperm.mechanisms.estimators.records import DECISIVE, covered, made_up, queried, total, validated
from dperm.mechanisms.estimators.whole import one_fit, whole
from dperm.mechanisms.prediction.shards import quiet

# What the search itself says to each trial, and what one statement has to hold for all of them; also of the estimator
# within one.
_SET = {"epsilon", "delta", "neighbours", "classes", "clip", "release", "random_state", "estimator"}
# Of words of a guarantee, the weaker comes later.
_STRENGTH = ("proved", "proved_exact", "claimed", "none")
_HELD = (
    "estimator={!r} answers queries from models that are not private, and a search would publish them; take one whose "
    "fitted model is published, such as ObjectivePerturbation()"
)
_COVERS = ("best_estimator_", "best_params_", "best_score_")


def _offers(method: str):
    return available_if(lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), method))


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):
    r"""Private search over hyper-parameters: the best of a random number of private trials, all of them paid for.

    Each record is put aside with probability `holdout`. A trial draws parameters, fits `estimator` with them on the
    records that are left, and adds noise to its score, a sum over those put aside. How many trials there are is drawn
    as well, and never told. The trial of the best noisy score is released; of the others nothing is. All together spend
    (epsilon, delta): `dperm.accounting.stopping` has the mathematics, docs/privacy.md, section 13, the proof.

    A trial that is a Gaussian release (`OutputPerturbation` with delta > 0) pays least: at n_iter=10 its noise is 1.5
    times that of a single fit. Of any other trial the search uses no more than its (epsilon, delta), which is about a
    third of the whole epsilon (about half with shape=0). There is no refit on all records: it would have to be paid
    for again. How long `fit` takes tells how many trials there were: keep that to yourself.

    Parameters
    ----------
    estimator : estimator of dperm
        A model that may be published, such as `ObjectivePerturbation`; of more than two classes `NoisyGradientDescent`,
        or `PrivateOneVsRest`, the parameters of whose model are named as in `estimator__curvature`. The relation
        `neighbours`, `clip` and the public `classes` are its own; its epsilon, delta and random_state are set by the
        search.
    param_distributions : dict or list of dicts
        As for RandomizedSearchCV: parameter to a list of values or a distribution with a method `rvs`. Public; every
        trial draws anew, and may draw what another has drawn.
    epsilon, delta : float, default=1.0, 0.0
        Of the whole search: above 0, and in [0, 1).
    n_iter : float, default=10
        Expected number of trials, in [1, 1e6].
    shape : float, default=1.0
        eta of the law of the number of trials: 1 is the geometric law. 0, the logarithmic one, costs less and more
        often has few trials.
    holdout : float, default=0.2
        Probability with which a record is put aside, in (0, 1). If all are, trials of an estimator without `clip=True`
        raise, as it does without records.
    scoring : {"accuracy", "squared_error", "absolute_error"}, optional
        What is summed over the records put aside: 1 for a right label; or 1 - (e/B)^2 or 1 - e/B with e = |y - f(x)|,
        at most B. By default "accuracy" of labels and "squared_error" of numbers.
    error_bound : float, optional
        B, public, from 1e-30 to 1e30; by default twice the estimator's `y_bound`, if it has one.
    random_state : int, Generator, RandomState or None, default=None
        None draws from the operating system. A seeded search is for science only.

    Attributes
    ----------
    best_estimator_ : estimator
        The released model; its `privacy_` is that of the whole search.
    best_params_ : dict
        The parameters that it drew.
    best_score_ : float
        Its noisy score, a sum over records: how many were put aside is private under add/remove.
    privacy_ : PrivacyStatement

    References
    ----------
    Liu & Talwar 2019; Papernot & Steinke 2022, Theorem 2 and Corollary 3; Koskela, Redberg & Wang 2024. Not of
    dwork2018, jain2013, kifer2012 or li2021: li2021, Section 3.4, recommends private tuning.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import OutputPerturbation, PrivateSearchCV
    >>> X = np.array([[0.6, 0.0], [0.0, 0.8], [-0.5, 0.1], [0.1, -0.7]] * 500)
    >>> y = np.array([1, 1, 0, 0] * 500)
    >>> model = OutputPerturbation(classes=(0, 1), clip=True)
    >>> grid = {"curvature": [1.0, 10.0, 100.0]}
    >>> search = PrivateSearchCV(model, grid, epsilon=1.0, delta=1e-6, random_state=0).fit(X, y)
    >>> search.privacy_.guarantee, search.score(X, y) > 0.9
    ('proved', True)
    """

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        epsilon=1.0,
        delta=0.0,
        n_iter=10,
        shape=1.0,
        holdout=0.2,
        scoring=None,
        error_bound=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.epsilon = epsilon
        self.delta = delta
        self.n_iter = n_iter
        self.shape = shape
        self.holdout = holdout
        self.scoring = scoring
        self.error_bound = error_bound
        self.random_state = random_state

    # Where records come in: as the estimator takes them.
    clip = property(lambda self: getattr(self.estimator, "clip", False))
    classes = property(lambda self: getattr(self.estimator, "classes", None))

    @whole
    def fit(self, X, y):
        """Search, and keep the best trial.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)

        Returns
        -------
        self

        Raises
        ------
        InvalidBudget
            If the budget is impossible, or too small for one of so many trials.
        ReleaseError
            If the estimator has release=True.
        ValueError
            If a parameter is not of its kind or outside its range, or the estimator is none that can be searched.
        """
        # What was declared wrongly is blamed before the rows are.
        budget, law = Budget(self.epsilon, self.delta), stopping.trials(self.n_iter, self.shape)
        number(
            "holdout", self.holdout, 0, 1, remedy="it is the share of records that trials are scored on; 0.2 is usual"
        )
        self._check_estimator()
        score = held_out.scorer(self.estimator, self.scoring, self.error_bound)
        self._check_names()
        rng = generator(self.random_state)
        X, y, classes = self._records(X, y)
        aside = rng.random(len(y)) < self.holdout
        left = X[~aside], y[~aside]
        held = tame_rows(X[aside]) if self.clip else X[aside], y[aside]
        base, statement = self._planned(budget, law, left[0], classes, self._drawn(rng))
        best = None
        for _ in range(law.draw(rng)):
            params = self._drawn(rng)
            model = self._trial(*left, params, base, classes, statement, rng)
            # Of equally good ones the first: which of K equal draws comes first does not depend on the records.
            with quiet(True):
                noisy = score(model, *held) + held_out.noise(base, rng)
            if best is None or noisy > best[0]:
                best = noisy, params, model
        self.best_score_, self.best_params_, self.best_estimator_ = best
        # A generator's state would tell how often it was asked.
        self.best_estimator_.set_params(random_state=self.estimator.random_state)
        self.best_estimator_.privacy_ = self.privacy_ = statement
        if classes is not None:
            self.classes_ = classes
        return self

    def _check_estimator(self) -> None:
        """Refuse what is no private estimator, or one whose models are not published."""
        an_object = hasattr(self.estimator, "get_params") and not isinstance(self.estimator, type)
        given = self.estimator.get_params(deep=False) if an_object else {}
        has = all(hasattr(self.estimator, name) for name in ("neighbours", "predict"))
        if not ({"epsilon", "delta", "random_state"} <= given.keys() and has):
            raise ValueError(
                f"estimator={self.estimator!r} must be a private model with epsilon, delta and neighbours that "
                "predicts, such as ObjectivePerturbation(): an object, not its class, and not what holds it"
            )
        if "queries" in given:
            raise ValueError(_HELD.format(self.estimator))
        if any(value for name, value in self.estimator.get_params().items() if name.rpartition("__")[2] == "release"):
            raise ReleaseError(
                "release=True of the estimator: the search draws its trials and their scores' noise in floating point, "
                "for science; leave release out, or release one model of fixed parameters"
            )

    def _check_names(self) -> None:
        """Refuse parameters that the estimator has not, or that are not the trials' to choose."""
        # Raises TypeError or ValueError of what is no set of distributions.
        ParameterSampler(self.param_distributions, n_iter=1)
        if not self._several():
            raise ValueError("param_distributions=[] holds nothing to draw from; give a dict, {} for no parameter")
        for name in sorted({name for each in self._several() for name in each}, key=str):
            if str(name).rpartition("__")[2] in _SET:
                raise ValueError(
                    f"param_distributions holds {name!r}, which is the same for all trials; give it to the "
                    "estimator (epsilon, delta and random_state: to the search)"
                )
            if name not in self.estimator.get_params():
                raise ValueError(f"param_distributions holds {name!r}, no parameter of {type(self.estimator).__name__}")

    def _several(self) -> list[dict]:
        """Return the distributions, of which each trial takes one."""
        given = self.param_distributions
        return [given] if isinstance(given, Mapping) else list(given)

    def _records(self, X: Any, y: Any) -> tuple[Any, np.ndarray, np.ndarray | None]:
        """Return rows, targets, and the classes if these are labels."""
        labels = is_classifier(self.estimator)
        several = labels and get_tags(self.estimator).classifier_tags.multi_class
        classes = declared(self.classes, several=several) if labels and self.classes is not None else None
        X, y = validated(self, X, y, numeric=not labels, **self._sparse())
        if not labels:
            return X, y, None
        return X, y, encoded(y, classes, clip=self.clip, stacklevel=5, several=several)[0]

    def _sparse(self) -> dict[str, str | bool]:
        """Return how scikit-learn's checks are told that X may be sparse: by rows, which are put aside."""
        return {"accept_sparse": "csr" if get_tags(self.estimator).input_tags.sparse else False}

    def _planned(
        self, budget: Budget, law: stopping.Trials, X: Any, classes: np.ndarray | None, params: dict
    ) -> tuple[Budget, PrivacyStatement]:
        """Return the budget of a trial and the statement of the search, from public values alone.

        What kind of release a trial is, the statement of one tells that is fitted on made-up records.
        """
        rows, targets = made_up(X, classes, known=self.estimator.neighbours == "replace")
        base = stopping.base_budget(budget, law, stopping.worst)
        with quiet(True):
            made = self._unfitted(params, base, classes, 0).fit(rows, targets).privacy_
        if not isinstance(made, PrivacyStatement) or set(made.covers) & set(answering(self.estimator)):
            raise ValueError(_HELD.format(self.estimator))
        event: dp_event.DpEvent = EpsilonDeltaDpEvent(budget.epsilon, budget.delta)
        if isinstance(made.event, dp_event.GaussianDpEvent) and budget.delta:
            base = stopping.base_budget(budget, law, stopping.gaussian)
            # What is charged: a little less noise than a trial has.
            trial = dp_event.GaussianDpEvent(1 / gaussian_ratio(base.epsilon, budget.delta / law.mean))
            event = dp_event.RepeatAndSelectDpEvent(trial, law.mean, law.shape)
        guarantee, reason = made.guarantee, made.reason
        if classes is not None and self.classes is None:
            guarantee, event, reason = told(guarantee, event, reason, leaked=True)
        statement = dataclasses.replace(
            made, epsilon=budget.epsilon, delta=budget.delta, guarantee=guarantee, reason=reason, event=event,
            seeded=self.random_state is not None, mode="science", covers=_COVERS,
            source=f"Papernot & Steinke 2022 over {made.source}",
            total=total(self, numeric=classes is None) and self._covered(),
        )  # fmt: skip
        return base, statement

    def _covered(self) -> bool:
        """Return whether tests cover the solver of every trial that may be drawn."""
        for each in self._several():
            decisive = {name: values for name, values in each.items() if name.rpartition("__")[2] in DECISIVE}
            # What a distribution may give nobody can list.
            if any(hasattr(values, "rvs") for values in decisive.values()):
                return False
            if not all(covered(clone(self.estimator).set_params(**given)) for given in ParameterGrid(decisive)):
                return False
        return True

    def _unfitted(self, params: dict, base: Budget, classes: np.ndarray | None, random_state: Any) -> Any:
        """Return an estimator with these parameters, not fitted."""
        given = {**params, "epsilon": base.epsilon, "delta": base.delta, "random_state": random_state}
        if classes is not None:
            given["classes"] = tuple(classes)
        model = clone(self.estimator).set_params(**given)
        if is_classifier(model) != is_classifier(self.estimator):
            raise ValueError(f"a trial with {params!r} makes another kind of model than the estimator; leave it out")
        return model

    def _drawn(self, rng: np.random.Generator) -> dict:
        """Return parameters."""
        seed = np.random.RandomState(rng.integers(2**32))
        return next(iter(ParameterSampler(self._several(), n_iter=1, random_state=seed)))

    def _trial(self, X, y, params: dict, base: Budget, classes, promised: PrivacyStatement, rng) -> Any:
        """Fit a model; refuse one that promises less than the statement of the search."""
        model = self._unfitted(params, base, classes, None if self.random_state is None else rng)
        # One warning for each trial would tell how many there are.
        with quiet(True):
            model.fit(X, y)
        made = model.privacy_
        weaker = _STRENGTH.index(made.guarantee) > _STRENGTH.index(promised.guarantee)
        if isinstance(promised.event, dp_event.RepeatAndSelectDpEvent):
            weaker |= not _narrower(made.event, promised.event.event)
        if weaker:
            raise ValueError(
                f"a trial with {params!r} promises less than others; leave such values out of param_distributions"
            )
        return model

    def __sklearn_is_fitted__(self) -> bool:
        # What `fit` sets last.
        return hasattr(self, "_made")

    def _best(self, X):
        view = one_fit(self)
        check_is_fitted(view)
        return view.best_estimator_, queried(view, X, **self._sparse())

    def predict(self, X):
        """Return what the best model predicts.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,)
        """
        model, X = self._best(X)
        return model.predict(X)

    @_offers("decision_function")
    def decision_function(self, X):
        """Return the best model's margins.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n,), of k > 2 classes (n, k)
        """
        model, X = self._best(X)
        return model.decision_function(X)

    @_offers("predict_proba")
    def predict_proba(self, X):
        """Return the best model's probabilities.

        Parameters
        ----------
        X : array_like, shape (n, p)

        Returns
        -------
        ndarray, shape (n, k), k classes
        """
        model, X = self._best(X)
        return model.predict_proba(X)

    def score(self, X, y):
        """Return the best model's own score on the given rows, accuracy or R^2; not private of these.

        Parameters
        ----------
        X : array_like, shape (n, p)
        y : array_like, shape (n,)

        Returns
        -------
        float
        """
        model, X = self._best(X)
        return model.score(X, y)

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(own, name))
        tags.input_tags.sparse = own.input_tags.sparse
        tags.non_deterministic = self.random_state is None
        return tags


def _narrower(event: Any, other: dp_event.GaussianDpEvent) -> bool:
    """Return whether a release is a Gaussian one with no less noise than another."""
    return isinstance(event, dp_event.GaussianDpEvent) and event.noise_multiplier >= other.noise_multiplier
