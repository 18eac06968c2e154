r"""Test errors of every linear method that serves the target, on public rows, or on private ones for a price.

Public rows: errors are what they are, beside levels and models without privacy (`dperm.comparing.tasks`).

Private rows: a coin for each record says whether it is trained or tested on, in each repeat. What is released of a fit
is the model, (epsilon, delta)-private for the records trained on, and sums over those tested on, of shares that are
not negative and add up to 1 for each record whatever it holds:

    labels     wrong, right;
    numbers    a^2, a - a^2, 1 - a,     with a = |error|/(high - low) in [0, 1].

Each sum has discrete Laplace noise: one record changes the sums by 1 together (add/remove), by 2 (replace-one), which
makes the scale 1/epsilon, 2/epsilon.

No record is in both parts, so that fit and sums together are (epsilon, delta)-private whatever the coins are (parallel
composition), and so on average over coins that nobody sees; one charge pays for both. The level that looks at no row is
told by such sums over all records, for a charge of its own. What a model without privacy errs nobody can say for a
price: it is left out.

Neighbouring relation: the session's. The fits' proofs are those of kifer2012 and the others (docs/privacy.md).
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import dperm
from dperm.comparing.table import Table, parts
from dperm.comparing.tasks import Task
from dperm.domain import Neighbours, changed_gradients
from dperm.errors import DataError, SolverError, VacuousWarning

# Of the records tested on.
TESTED = 1 / 3
# Streams of the seed. Not 0: [seed, 0] is the stream of the seed itself, of which simulated rows may be made.
_FITS, _SPLITS = 1, 2


class Error(NamedTuple):
    """What a method errs on one split, by one measure in its unit; epsilon is infinite of what is not private."""

    method: str
    epsilon: float
    repeat: int
    measure: str
    unit: str
    error: float


def public(
    table: Table, epsilons: list[float], delta: float, neighbours: Neighbours, repeats: int, seed: int
) -> Iterator[Error]:
    """Give the errors on rows that are public, nothing of which is protected."""
    task = table.task

    def exact(found: np.ndarray, target: np.ndarray) -> Sequence[float]:
        return task.errors(task.shares(task.answers(found), target).sum(axis=0))

    for repeat, test in enumerate(parts(len(table.y), repeats, TESTED, np.random.default_rng([seed, _SPLITS]))):
        if test.all() or not test.any():
            raise DataError(f"of {len(test)} rows a random split leaves none to train on or none to test on; give more")
        X, y, Q, target = table.X[~test], task.learnt(table.y[~test]), table.X[test], table.y[test]
        for name, found in task.levels(X, y, Q).items():
            yield from _each(task, name, math.inf, repeat, exact(found, target))
        for call, epsilon, model in _models(task, epsilons, delta, neighbours, [seed, _FITS, repeat]):
            try:
                errors = exact(_answers(model, X, y, Q), target)
            except SolverError:
                errors = [math.nan] * len(task.measures)
            yield from _each(task, call, epsilon, repeat, errors)


def private(
    table: Table, epsilons: list[float], delta: float, repeats: int, session: dperm.PrivacySession
) -> Iterator[Error]:
    """Give the errors on private rows; every fit and sum is charged to the session, which is open."""
    task, rng, moved = table.task, np.random.default_rng(), changed_gradients(session.neighbours)

    def noisy(counts: np.ndarray, epsilon: float) -> np.ndarray:
        return counted(counts, epsilon / moved, rng, grid=task.grid)

    cheapest, level = min(epsilons), task.level(table.y)
    session.charge(cheapest, words=level.charged)
    yield from _each(task, level.name, math.inf, 0, level.errors(noisy(level.counts, cheapest)))
    for repeat, test in enumerate(parts(len(table.y), repeats, TESTED, rng)):
        X, y, Q, target = table.X[~test], task.learnt(table.y[~test]), table.X[test], table.y[test]
        for call, epsilon, model in _models(task, epsilons, delta, session.neighbours, None):
            # A solver that gives up ends the comparison: no budget covers that the records made it do so.
            found = task.answers(_answers(model, X, y, Q))
            yield from _each(task, call, epsilon, repeat, task.errors(noisy(task.counts(found, target), epsilon)))


def counted(counts: Any, epsilon: float, rng: np.random.Generator, *, grid: int = 1) -> np.ndarray:
    """Return whole numbers of 1/grid with discrete Laplace noise, none below half a record.

    The noise is k with P(k) proportional to e^{-epsilon |k|/grid}.
    """
    stop = -np.expm1(-epsilon / grid)
    noisy = np.array(counts) + rng.geometric(stop, len(counts)) - rng.geometric(stop, len(counts))
    return np.maximum(noisy, grid / 2)


def price(
    table: Table, epsilons: list[float], delta: float, neighbours: Neighbours, repeats: int
) -> tuple[float, float]:
    """Return the epsilon and delta that `private` charges in all, added up."""
    methods = len(table.task.served(neighbours, delta))
    return methods * repeats * sum(epsilons) + min(epsilons), methods * repeats * len(epsilons) * delta


def _each(task: Task, method: str, epsilon: float, repeat: int, errors: Sequence[float]) -> Iterator[Error]:
    for measure, error in zip(task.measures, errors, strict=True):
        yield Error(method, epsilon, repeat, measure.name, measure.unit, error)


def _models(
    task: Task, epsilons: list[float], delta: float, neighbours: Neighbours, seed: list[int] | None
) -> Iterator[tuple[str, float, Any]]:
    for place, (call, make) in enumerate(task.served(neighbours, delta).items()):
        for k, epsilon in enumerate(epsilons):
            state = None if seed is None else np.random.default_rng([*seed, place, k])
            yield call, epsilon, make(epsilon=epsilon, delta=delta, **task.given, random_state=state)


def _answers(model: Any, X: np.ndarray, y: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return the answers on the rows Q; where noise drowns the rows, errors show it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        model.fit(X, y)
    # Of no rows no model answers; an error would tell that there are few.
    return model.predict(Q) if len(Q) else y[:0]
