r"""Shards: the records are split, a base learner is fitted on each part, and the parts vote.

One record is in one shard, so a change of one record changes one of the r fitted models, whatever the learner does:

    replace       n is public. A random permutation, drawn without a look at the records, is cut into r shards of
                  floor(n/r) records; the last n mod r records of it are dropped. r may depend on n;
    add_remove    n is private. Every record draws its shard uniformly, by itself. Given the draws of all other records,
                  two neighbours differ in the shard of the one record that only one of them has. r is a public number.

For the second relation a shard must have a model whatever is in it: without records it is the constant 0 (the negative
label), with one label alone the constant of that label; the base learner is not asked. The seeds of the shards'
learners are drawn beforehand, r of them, and so depend on no record.

A model must be its shard's own: a base learner whose clones are one object, or hold one (FrozenEstimator), is refused.

An exception of a base learner is an output of its shard's records, outside every privacy statement (docs/privacy.md,
section 1). Its message gives no value of the data and, where n is private, no number of records; nor does the cause.
So that there is none, the learner must not fail on any shard, however small, neither in `fit` nor in `predict`; or
`total` puts the public constant 0 wherever it fails, which is its shard's own affair like any other answer. A failure
in `predict` costs as much as an answer: the predictors charge before they ask the models.

Sources: dwork2018, Sections 2.1, 4.1; the proof: docs/privacy.md, section 12.
"""

import contextlib
import math
import os
import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from dperm.domain import Neighbours, one_of
from dperm.errors import DataError


@dataclass(frozen=True)
class Constant:
    """The model of a shard without records, or with one label alone."""

    value: float

    def predict(self, X: np.ndarray | sparse.csr_array) -> np.ndarray:
        """Return the value for each row (X (m, d); the result (m,))."""
        return np.full(X.shape[0], self.value)


def counted(r: Any) -> int:
    """Return the number of shards, or refuse it (r: 2 or above)."""
    real = isinstance(r, Real) and not isinstance(r, bool)
    if not (real and 2 <= r < math.inf and int(r) == r):
        raise ValueError(
            f"shards={r if real else repr(r)} must be an integer, 2 or above: it is the number of parts of the data, "
            "and fewer are no vote; take 2 or more, or one private model"
        )
    return int(r)


def assign(n: int, r: int, *, neighbours: Neighbours, rng: np.random.Generator) -> list[np.ndarray]:
    """Return the records of each shard.

    - n: number of records; public under "replace", private under "add_remove".
    - r: number of shards, at least 2; public under "add_remove".
    - rng: makes the assignment; nothing of the records enters.
    - Returns: list of r ndarrays of int; disjoint indices. "replace": n//r each. "add_remove": any number, also none.
    """
    one_of("neighbours", neighbours, Neighbours)
    r = counted(r)
    if neighbours == "add_remove":
        drawn = rng.integers(r, size=n)
        order = np.argsort(drawn, kind="stable")
        return np.split(order, np.searchsorted(drawn[order], np.arange(1, r)))
    if n < r:
        raise DataError(
            f"shards={r} is more than the n_samples={n} records: a shard without records has nothing to learn from; "
            "take fewer shards (a larger epsilon or alpha needs fewer), or more records"
        )
    each = n // r
    return list(rng.permutation(n)[: r * each].reshape(r, each))


def fit_shards(
    base: Any,
    X: np.ndarray | sparse.csr_array,
    y: np.ndarray,
    shards: list[np.ndarray],
    *,
    neighbours: Neighbours = "add_remove",
    rng: np.random.Generator,
    total: bool = False,
) -> list[Any]:
    """Return a model for each shard: `base` cloned, seeded and fitted on its records.

    - base: scikit-learn estimator; left as it is; a model is a function of its shard and seed alone. Every parameter of
      it named random_state (also of its parts) that is None gets a seed of the shard's own; one that is set stays.
    - y: shape (n,); of a classifier 0 or 1, else reals.
    - neighbours: whether a failure may say how many records its shard has: under replace-one alone.
    - total: `Constant(0)` for a shard on which the base learner fails, and no warning, instead of an error: the model
      stays a function of its shard alone.
    - Returns: list of models with `predict`; `Constant` for a shard without records and, of a classifier, for one with
      one label alone.
    - Raises ValueError: if clones of the base learner share what is fitted; whatever the data are.
    """
    one_of("neighbours", neighbours, Neighbours)
    _check_separate(base)
    seeds = rng.integers(2**31, size=len(shards))
    public = neighbours == "replace"
    with quiet(total):
        return [_fitted(base, X, y, records, k, int(seeds[k]), public, total) for k, records in enumerate(shards)]


def predictions(models: list[Any], X: np.ndarray | sparse.csr_array, *, total: bool = False) -> np.ndarray:
    """Return what each of r models says of each row, NaN too, (r, m); with `total` 0, in silence, where one fails."""
    found = np.empty((len(models), X.shape[0]))
    for k, model in enumerate(models):
        with quiet(total):
            said, failure = _said(model, X)
        if total:
            found[k] = said if not failure and said.shape == found[k].shape else 0.0
            continue
        if failure:
            raise DataError(
                f"{type(model).__name__} of shard {k} fails to predict ({failure}); take fewer shards, so that each "
                "has more records, or a base learner that predicts whatever few records it was fitted on"
            )
        if said.shape != found[k].shape:
            raise DataError(
                f"the base learner of shard {k} predicts another shape than {found[k].shape}; take one that returns "
                "one number a row"
            )
        found[k] = said
    return found


def within(said: np.ndarray, low: float, high: float) -> np.ndarray:
    """Return answers within a public range: each moved to its nearest end, NaN to `low` (of the same shape)."""
    return np.clip(np.where(np.isnan(said), low, said), low, high)


def votes(models: list[Any], X: np.ndarray | sparse.csr_array, *, total: bool = False) -> np.ndarray:
    """Return for each row how many models say 1; what is neither 0 nor 1 counts as 0 with `total`, and raises else."""
    said = predictions(models, X, total=total)
    if total:
        return (said == 1).sum(axis=0).astype(np.int64)
    if not np.isin(said, (0.0, 1.0)).all():
        raise DataError(
            "a base learner votes for something else than the labels 0 and 1; take a classifier, or AveragedPrediction "
            "for predictions that are numbers"
        )
    return said.sum(axis=0).astype(np.int64)


@contextlib.contextmanager
def quiet(total: bool) -> Iterator[None]:
    """Let a learner warn of nothing, where what it warns of would tell of its records."""
    if not total:
        yield
        return
    _SILENCE.begin()
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _SILENCE.end()


class _Silence:
    """Shows no warning of the process as long as some thread wants none: filters are of all threads together."""

    def __init__(self):
        # Reentrant: a signal's handler may fork in the middle of a change.
        self._lock, self._own = threading.RLock(), threading.local()
        self._wanted, self._filters = 0, warnings.catch_warnings(action="ignore")

    def begin(self) -> None:
        with self._lock:
            self._own.wanted = self._by_this_thread() + 1
            self._change(self._wanted + 1)

    def end(self) -> None:
        with self._lock:
            self._own.wanted -= 1
            self._change(self._wanted - 1)

    def hold(self) -> None:
        """Before a fork: let no thread be in the middle of a change, which the child would never see ended."""
        self._lock.acquire()

    def go_on(self) -> None:
        """After a fork, in the parent."""
        self._lock.release()

    def renew(self) -> None:
        """After a fork, in the child: only the thread that forked goes on, so the others want nothing any more."""
        self._lock = threading.RLock()
        self._change(self._by_this_thread())

    def _by_this_thread(self) -> int:
        return getattr(self._own, "wanted", 0)

    def _change(self, wanted: int) -> None:
        if wanted and not self._wanted:
            self._filters = warnings.catch_warnings(action="ignore")
            self._filters.__enter__()
        if self._wanted and not wanted:
            self._filters.__exit__(None, None, None)
        self._wanted = wanted


_SILENCE = _Silence()
os.register_at_fork(before=_SILENCE.hold, after_in_parent=_SILENCE.go_on, after_in_child=_SILENCE.renew)


def _check_separate(base: Any) -> None:
    """Refuse a learner of which one fitted object would serve several shards."""
    clones = [clone(base), clone(base)]
    parts = [{id(part) for part in _learners(one)} for one in (base, *clones)]
    if parts[0] & parts[1] or parts[0] & parts[2] or parts[1] & parts[2]:
        raise ValueError(
            f"base={type(base).__name__}: its clones share a learner (FrozenEstimator, or a __sklearn_clone__ of its "
            "own), so that one record would move several votes; take one whose clones are new and not fitted; "
            "what was fitted on public data belongs before: apply it to the rows of fit and of predict"
        )


def _learners(model: Any) -> list[Any]:
    """The model and all learners among its parameters."""
    return [
        part for part in (model, *model.get_params().values()) if hasattr(part, "fit") and not isinstance(part, type)
    ]


def _said(model: Any, X: Any) -> tuple[np.ndarray, str]:
    """Predictions and, if there are none, the type of the exception: its text may hold sizes or values of the data."""
    try:
        return np.asarray(model.predict(X), dtype=float), ""
    except Exception as error:
        return np.empty(0), type(error).__name__


def _fitted(base: Any, X: Any, y: np.ndarray, records: np.ndarray, k: int, seed: int, public: bool, total: bool) -> Any:
    labels = y[records]
    if len(records) == 0:
        return Constant(0.0)
    if is_classifier(base) and (labels == labels[0]).all():
        return Constant(float(labels[0]))
    model = clone(base)
    own = np.random.default_rng(seed)
    free = [name for name, value in model.get_params().items() if name.endswith("random_state") and value is None]
    model.set_params(**{name: int(own.integers(2**31)) for name in sorted(free)})
    try:
        # What `fit` returns may be anyone's.
        model.fit(X[records], labels)
        return model
    except Exception as error:
        failure = error
    if total:
        return Constant(0.0)
    # The cause is shown as Python shows causes, if sizes are public; the message itself must not repeat values.
    size = f" of {len(records)} records" if public else ""
    raise DataError(
        f"{type(base).__name__} fails on shard {k}{size} ({type(failure).__name__}); take fewer shards, so that each "
        "has more records, or a base learner that can be fitted on so few"
    ) from (failure if public else None)
