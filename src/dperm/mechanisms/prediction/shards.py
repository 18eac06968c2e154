r"""Shards: the records are split, a base learner is fitted on each part, and the parts vote.

One record is in one shard, so a change of one record changes one of the r fitted models, whatever the learner does:

    replace       n is public. A random permutation, drawn without a look at the records, is cut into r shards of
                  floor(n/r) records; the last n mod r records of it are dropped. r may depend on n;
    add_remove    n is private. Every record draws its shard uniformly, by itself. Given the draws of all other records,
                  two neighbours differ in the shard of the one record that only one of them has. r is a public number.

For the second relation a shard must have a model whatever is in it: without records it is the constant 0 (the negative
label), with one label alone the constant of that label; the base learner is not asked. The seeds of the shards'
learners are drawn beforehand, r of them, and so depend on no record; what draws from a generator of the whole process
is seeded by them as well (`dperm.mechanisms.prediction.draws`).

A model must be its shard's own: a base learner whose clones are one object, or hold one (FrozenEstimator), is refused.

An exception of a base learner is an output of its shard's records, outside every privacy statement (docs/privacy.md,
section 1). Its message gives no value of the data and, where n is private, no number of records; nor does the cause.
So that there is none, the learner must not fail on any shard, however small, neither in `fit` nor in `predict`; or
`total` puts the public constant 0 wherever it fails, which is its shard's own affair like any other answer; of a batch
for those rows alone that fail by themselves, because others' rows may stand in it. A failure in `predict` costs as much
as an answer: the predictors charge before they ask the models.

Sources: dwork2018, Sections 2.1, 4.1; the proof: docs/privacy.md, section 12.
"""

import contextlib
import math
import os
import re
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier

from dperm.domain import Neighbours, one_of
from dperm.errors import DataError
from dperm.mechanisms.prediction import draws

# Shards: each has a model, a seed and a vote.
_MOST = 10**8


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
    if r > _MOST:
        raise ValueError(f"shards must be at most {_MOST:,}: each of them needs records of its own")
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
      it named random_state (also of its parts, and of splitters) that is None gets a seed of the shard's own; one that
      is set stays. What has none and draws from `np.random` or `random` meets a state that the seed has made.
    - y: shape (n,); of a classifier 0 or 1 (of k classes 0 .. k - 1), else reals.
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
    """Return what each of r models says of each row, NaN too, (r, m); with `total` 0, in silence, where one fails.

    With `total` a row's answer is that of the row alone: where the batch fails, its parts are asked.
    """
    found = np.empty((len(models), X.shape[0]))
    for k, (model, (said, failure)) in enumerate(zip(models, _answers(models, X, total), strict=True)):
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
    return votes_of_classes(models, X, 2, total=total)[:, 1]


def votes_of_classes(
    models: list[Any], X: np.ndarray | sparse.csr_array, classes: int, *, total: bool = False
) -> np.ndarray:
    """Return for each row how many models say each of the classes 0 .. k - 1, (m, k); other votes as of `votes`."""
    said = predictions(models, X, total=total)
    known = np.isin(said, np.arange(classes))
    if not (total or known.all()):
        labels = "0 and 1" if classes == 2 else f"0 to {classes - 1}"
        raise DataError(
            f"a base learner votes for something else than the labels {labels}; take a classifier, or "
            "AveragedPrediction for predictions that are numbers"
        )
    said = np.where(known, said, 0.0)
    return np.stack([(said == k).sum(axis=0) for k in range(classes)], axis=1).astype(np.int64)


@contextlib.contextmanager
def quiet(total: bool) -> Iterator[None]:
    """Let a learner warn of nothing, where what it warns of would tell of its records."""
    if not total:
        yield
        return
    with np.errstate(all="ignore"), _SILENCE.for_a_fit():
        yield


class _Silence:
    """A filter of Python's warnings that hides those of one fit, and no others.

    `warnings.catch_warnings` would not do: it puts back the filters that it found, and of two threads the one that
    leaves last puts back what the other one had for a while.
    """

    def __init__(self):
        # Of each fit that is going on: who fits, and the threads that were there before, which do other things.
        self._fits: dict[object, tuple[threading.Thread, set[threading.Thread]]] = {}
        self._filter = ("ignore", self, Warning, None, 0)

    @contextlib.contextmanager
    def for_a_fit(self) -> Iterator[None]:
        """Hide the warnings of this thread and of those that it starts."""
        fit, own = object(), threading.current_thread()
        self._fits[fit] = own, {thread for thread in threading.enumerate() if thread is not own}
        # First in line, whatever was put there since the last fit.
        if warnings.filters[:1] != [self._filter]:
            warnings.filters.insert(0, self._filter)
            # Further back it is of no use, and there would be one more for each fit.
            for place in range(len(warnings.filters) - 1, 0, -1):
                if warnings.filters[place] is self._filter:
                    del warnings.filters[place]
        try:
            yield
        finally:
            self._fits.pop(fit, None)

    def match(self, text: str) -> bool:
        """Return whether this thread's warnings are hidden; Python asks, of the filter's pattern for the text."""
        return any(threading.current_thread() not in others for _, others in list(self._fits.values()))

    @property
    def pattern(self) -> str:
        """Return what hides the same in another thread or process: scikit-learn takes the filters along to its own."""
        return "" if self.match("") else "(?!)"

    def __reduce__(self):
        return re.compile, (self.pattern,)

    def begin_in_child(self) -> None:
        """Forget the fits of threads that a fork has left behind."""
        own = threading.current_thread()
        self._fits = {fit: (who, others) for fit, (who, others) in self._fits.items() if who is own}


_SILENCE = _Silence()
os.register_at_fork(after_in_child=_SILENCE.begin_in_child)


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


def _answers(models: list[Any], X: Any, total: bool) -> list[tuple[np.ndarray, str]]:
    """Of each model what `_said` returns."""
    answers = []
    with draws.apart() as begin, quiet(total):
        for k, model in enumerate(models):
            # The number of a shard is public, and as good a seed as any.
            begin(k)
            answers.append(_said(model, X))
            if total and (answers[-1][1] or answers[-1][0].shape != (X.shape[0],)):
                answers[-1] = _apart(model, X, lambda k=k: begin(k)), ""
    return answers


def _apart(model: Any, X: Any, begin: Callable[[], None]) -> np.ndarray:
    """Predictions of rows that fail together: 0 for those that fail alone as well, so that none spoils another's.

    By halves: of m rows among which one fails, 2 log2(m) calls.
    """
    if X.shape[0] <= 1:
        return np.zeros(X.shape[0])
    found = []
    for part in (X[: X.shape[0] // 2], X[X.shape[0] // 2 :]):
        begin()
        said, failure = _said(model, part)
        whole = not failure and said.shape == (part.shape[0],)
        found.append(said if whole else _apart(model, part, begin))
    return np.concatenate(found)


def _said(model: Any, X: Any) -> tuple[np.ndarray, str]:
    """Predictions and, if there are none, the type of the exception: its text may hold sizes or values of the data."""
    try:
        return np.asarray(model.predict(X), dtype=float), ""
    except Exception as error:
        return np.empty(0), type(error).__name__


def _seeded(model: Any, seed: int) -> Any:
    """Give a clone's parts, and what it holds beside learners (splitters), seeds where they have none."""
    own, parameters = np.random.default_rng(seed), sorted(model.get_params().items())
    free = [name for name, value in parameters if name.endswith("random_state") and value is None]
    model.set_params(**{name: int(own.integers(2**31)) for name in free})
    for _, part in parameters:
        if not hasattr(part, "get_params") and not isinstance(part, type) and getattr(part, "random_state", 0) is None:
            # What cannot be set draws from the generators of the process, which are the shard's meanwhile.
            with contextlib.suppress(AttributeError):
                part.random_state = int(own.integers(2**31))
    return model


def _fitted(base: Any, X: Any, y: np.ndarray, records: np.ndarray, k: int, seed: int, public: bool, total: bool) -> Any:
    labels = y[records]
    if len(records) == 0:
        return Constant(0.0)
    if is_classifier(base) and (labels == labels[0]).all():
        return Constant(float(labels[0]))
    with draws.apart() as begin:
        begin(seed)
        model = _seeded(clone(base), seed)
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
