r"""Test errors of every linear classifier with nothing set, on public rows, or on private ones for a price.

Public rows: errors are what they are, beside those of the most frequent label and of logistic regression without
privacy.

Private rows: a coin for each record says whether it is trained or tested on, in each repeat. What is released of a fit
is the model, (epsilon, delta)-private for the records trained on, and two counts over those tested on, of right and of
wrong answers, each with discrete Laplace noise:

    one record changes the two counts by 1 together (add/remove), by 2 (replace-one): scale 1/epsilon, 2/epsilon.

No record is in both parts, so that fit and counts together are (epsilon, delta)-private whatever the coins are
(parallel composition), and so on average over coins that nobody sees; one charge pays for both. The most frequent label
is told by such counts of all labels, for a charge of their own. What a model without privacy errs nobody can say for a
price: it is left out.

Neighbouring relation: the session's. The fits' proofs are those of kifer2012 and the others (docs/privacy.md).
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import dperm
from dperm.comparing.table import Table, parts
from dperm.domain import Neighbours, changed_gradients
from dperm.errors import SolverError, VacuousWarning
from dperm.planning import noise

# Of the records tested on; the logistic regression's C, nearly none.
TESTED, _FREE = 1 / 3, 100.0


class Error(NamedTuple):
    """A method's share of wrong labels on one split; epsilon is infinite of what is not private."""

    method: str
    epsilon: float
    repeat: int
    error: float


def served(classes: int, neighbours: Neighbours, delta: float) -> dict[str, Callable[..., Any]]:
    """Return what makes each method that serves so many classes, this relation and this delta, by how it is called."""
    kinds = {
        name: method
        for name, method in noise.methods(classes).items()
        if neighbours in method.relations and (delta > 0 or method.pure)
    }
    return {method.call: _maker(method.call, neighbours) for method in kinds.values()}


def _maker(call: str, neighbours: Neighbours) -> Callable[..., Any]:
    kind, _, inner = call.partition("(")
    if kind == "PrivateOneVsRest":
        one = getattr(dperm, inner.partition("(")[0])
        return lambda **given: dperm.PrivateOneVsRest(one(neighbours=neighbours, clip=True), **given)
    more = {"answers": "model"} if inner else {}
    return lambda **given: getattr(dperm, kind)(neighbours=neighbours, clip=True, **more, **given)


def public(
    table: Table, epsilons: list[float], delta: float, neighbours: Neighbours, repeats: int, seed: int
) -> Iterator[Error]:
    """Give the errors on rows that are public, nothing of which is protected."""
    for repeat, test in enumerate(parts(len(table.y), repeats, TESTED, np.random.default_rng([seed, 0]))):
        X, y, Q, target = table.X[~test], table.y[~test], table.X[test], table.y[test]
        labels, counts = np.unique(y, return_counts=True)
        yield Error("the most frequent label", np.inf, repeat, float(np.mean(labels[counts.argmax()] != target)))
        plain = LogisticRegression(C=_FREE, fit_intercept=False, max_iter=2000).fit(X, y)
        yield Error("logistic regression, not private", np.inf, repeat, float(np.mean(plain.predict(Q) != target)))
        for call, epsilon, model in _models(table, epsilons, delta, neighbours, [seed, 1, repeat]):
            try:
                error = float(np.mean(_answers(model, X, y, Q) != target))
            except SolverError:
                error = np.nan
            yield Error(call, epsilon, repeat, error)


def private(
    table: Table, epsilons: list[float], delta: float, repeats: int, session: dperm.PrivacySession
) -> Iterator[Error]:
    """Give the errors on private rows; every fit and count is charged to the session, which is open."""
    rng, moved = np.random.default_rng(), changed_gradients(session.neighbours)
    cheapest = min(epsilons)
    session.charge(cheapest, words="how many records have each label")
    labels = counted([int((table.y == label).sum()) for label in table.classes], cheapest / moved, rng)
    yield Error("the most frequent label", np.inf, 0, 1 - labels.max() / labels.sum())
    for repeat, test in enumerate(parts(len(table.y), repeats, TESTED, rng)):
        X, y, Q, target = table.X[~test], table.y[~test], table.X[test], table.y[test]
        for call, epsilon, model in _models(table, epsilons, delta, session.neighbours, None):
            # A solver that gives up ends the comparison: no budget covers that the records made it do so.
            found = _answers(model, X, y, Q)
            wrong = int((found != target).sum())
            right, wrong = counted([len(target) - wrong, wrong], epsilon / moved, rng)
            yield Error(call, epsilon, repeat, float(wrong / (right + wrong)))


def counted(counts: list[int], epsilon: float, rng: np.random.Generator) -> np.ndarray:
    """Return counts with discrete Laplace noise, P(k) proportional to e^{-epsilon |k|}, none below 0.5."""
    stop = -np.expm1(-epsilon)
    noisy = np.array(counts) + rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))
    return np.maximum(noisy, 0.5)


def price(
    table: Table, epsilons: list[float], delta: float, neighbours: Neighbours, repeats: int
) -> tuple[float, float]:
    """Return the epsilon and delta that `private` charges in all, added up."""
    methods = len(served(len(table.classes), neighbours, delta))
    return methods * repeats * sum(epsilons) + min(epsilons), methods * repeats * len(epsilons) * delta


def _models(
    table: Table, epsilons: list[float], delta: float, neighbours: Neighbours, seed: list[int] | None
) -> Iterator[tuple[str, float, Any]]:
    for place, (call, make) in enumerate(served(len(table.classes), neighbours, delta).items()):
        for k, epsilon in enumerate(epsilons):
            state = None if seed is None else np.random.default_rng([*seed, place, k])
            yield call, epsilon, make(epsilon=epsilon, delta=delta, classes=table.classes, random_state=state)


def _answers(model: Any, X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the labels of the rows Q; where noise drowns the rows, errors show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        return model.fit(X, y).predict(Q)
