r"""Threads that ask one interactive model at once: how many noises does it draw for one answer that was paid for?

Every mechanism that answers takes turns (`dperm.mechanisms.serving`); `SHARED` says of each how it is fitted, asked and
attacked. Threads meet (`concurrency`), and ask rows that are 1e-9 apart, so that all answers are about one number.

    rkhs_gaussian    one path: near-identical rows have one noise. k noises of scale sigma are worth one of
                     sigma/sqrt(k), attacked on the line.
    pinp             one update is paid for (B = 1): no second row is answered with noise. Eight would spend less than
                     the claim here (.54 of 1), so a second one is an error.
    the predictors   one row is paid for (queries=1). Asked by all, it has one answer; of rows that differ one is
                     answered, and all others are refused. k answers are k bits of known probability: how many are 1.

Probability of a bit: the uniform number that decides it is told to the model, and where its answer changes is found by
bisection. So is the law of an answer of several classes, which nobody asks twice (`classes`).

Neighbouring relation: each row's.
"""

import dataclasses
import threading
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from scipy import stats
from sklearn.neighbors import KNeighborsClassifier

from dperm import kernels
from dperm.audit import columns, exact
from dperm.audit.called import answers, brackets, concurrency, corners, dialogues, recording
from dperm.audit.called.brackets import BracketedLaw
from dperm.audit.called.concurrency import RendezvousKernel
from dperm.audit.called.recording import Recorded
from dperm.errors import BudgetExhausted, DataError
from dperm.mechanisms import queries
from dperm.mechanisms.estimators.averaged import AveragedPrediction
from dperm.mechanisms.estimators.exppw import ExpPW
from dperm.mechanisms.estimators.interactive import PINP
from dperm.mechanisms.estimators.rkhs import RKHSGaussian
from dperm.mechanisms.estimators.soft_majority import SoftMajority
from dperm.mechanisms.estimators.stable_erm import StableERM
from dperm.mechanisms.estimators.stable_sgd import StableSGD
from dperm.noise import Gaussian

# Threads, and the rows that each of them asks a path for.
THREADS, _BATCH = 8, 16
_APART = 1e-9
# Answers nearer than this share of the noise have one noise.
_SAME = 1e-3
# So much regularisation that no record is at its margin.
_C = 0.1
_BISECTIONS = 50
Records = list[tuple[float, float]]


class Voting(NamedTuple):
    """A predictor of labels, and two data sets between which its answer at x = 1 changes.

    `given` are its parameters, the budget, `queries` and `classes` aside. Both data sets have the `crowd`; `record`
    comes, and (replace-one) takes the place of `other`.
    """

    make: type
    given: dict[str, Any]
    crowd: Records
    record: tuple[float, float] = (1.0, 1)
    other: tuple[float, float] = (0.0, 0)


# A shard says what its nearest record says: one record turns one vote.
_VOTES = {"base": KNeighborsClassifier(1), "shards": 12}
SHARED: dict[str, type | Voting] = {
    "rkhs_gaussian": RKHSGaussian,
    "pinp": PINP,
    "soft_majority": Voting(SoftMajority, _VOTES, [(0.0, 0)] * 11),
    "averaged": Voting(AveragedPrediction, _VOTES, [(0.0, 0)] * 11),
    "stable_erm": Voting(StableERM, {"loss": "hinge", "total": 4.0}, [(0.0, 0)], other=(1.0, 0)),
    # Many short rows, so that few steps are taken.
    "stable_sgd": Voting(StableSGD, {"loss": "smoothed_hinge"}, [(0.0, 0)] * 100, other=(1.0, 0)),
    # As many steps down as T, the last of them right before the query, or up; enough records beyond it.
    "exppw": Voting(ExpPW, {}, [(0.0, 0)] * 5 + [(2.0, 0)] * 20, record=(0.5, 1), other=(0.5, 0)),
}
# Records beside the one that comes, and the weight of each: the model's first guess is wrong by far.
_BESIDE, _WEAK = 2_000, 1e-4


class Asked(NamedTuple):
    """What threads found: how many noises for one answer that was paid for, the model, and the attack's columns."""

    number: int
    model: Any
    attack: dict[str, Any]


def attack(mechanism: str, neighbours: str, epsilon: float, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the attack on a mechanism of `SHARED`, as columns of an attack.

    DataError if a thread got another error than its due, for then nothing is known of what it would have been told.
    """
    budget = {"neighbours": neighbours, "epsilon": epsilon, "delta": delta}
    found = _ATTACKS.get(mechanism, _on_votes)(mechanism, budget, rng)
    name = type(found.model).__name__
    return {
        "guarantee": found.model.privacy_.guarantee,
        "loss": getattr(found.model, "loss", None),
        "pair_words": f"{name} asked by {THREADS} threads at once: noises for one answer: {found.number}",
        **found.attack,
    }


# A path.


def fit(
    y: float, rng: np.random.Generator, make: type = RKHSGaussian, **given: Any
) -> tuple[Recorded, RendezvousKernel]:
    """Fit a path (`make`: RKHSGaussian, or a class made of it) on a record that holds nothing and one at x = 1.

    The latter has the label y; with y = 0 it is not there.
    """
    kernel = RendezvousKernel()
    # It is the linear one, so that it is a kernel is nobody's word.
    known = dataclasses.replace(kernels.custom(kernel, 1.0), definite=True)
    model = make(kernel=known, classes=(-1, 1), C=_C, tolerance=1e-3, **given)
    X, labels = np.zeros((1, 1)), np.array([1])
    if y:
        X, labels = np.array([[0.0], [1.0]]), np.array([1, int(y)])
    return recording.fit(model, answers.KINDS["rkhs_gaussian"].step, X, labels, int(rng.integers(2**63))), kernel


def noises(model: Any, kernel: RendezvousKernel, scale: float) -> int:
    """Return how many different noises of this scale the answers to one question had, all rows of all threads counted.

    DataError if a thread got no answer.
    """
    rows = 1 - _APART * np.arange(THREADS * _BATCH).reshape(THREADS, _BATCH, 1)
    told = np.sort(_answered(kernel.ask(model.decision_function, list(rows))), axis=None)
    return 1 + int((np.diff(told) > _SAME * scale).sum())


def sigma(rng: np.random.Generator, **given: Any) -> float:
    """Return the scale of the noise of an answer of a path, of a fit that is made to be overheard."""
    return answers.of_one_draw(fit(1, rng, **given)[0], np.array([[1.0]]))[2]


def _on_path(_: str, budget: dict[str, Any], rng: np.random.Generator) -> Asked:
    fits = [fit(y, rng, **budget) for y in (1, 0 if budget["neighbours"] == "add_remove" else -1)]
    scale = sigma(rng, **budget)
    number = max(noises(one.model, kernel, scale) for one, kernel in fits)
    centres = [answers.path_centre(one, np.array([[1.0]])) for one, _ in fits]
    scale /= np.sqrt(number)
    lines = [BracketedLaw(lambda t, c=centre: (t - c) / scale, Gaussian, 1e-12 * scale) for centre in centres]
    return Asked(number, fits[0][0].model, columns.of_bracket(brackets.attack(*lines, delta=budget["delta"])))


# A dialogue.


def _on_dialogue(_: str, budget: dict[str, Any], rng: np.random.Generator) -> Asked:
    def fitted(*records):
        model = PINP(kernel="linear", classes=(-1, 1), C=_WEAK, queries=1, radius=1.0, tolerance=1e-3, **budget)
        x, y = np.array([*records, *[(1.0, 1)] * _BESIDE]).T
        return recording.fit(model, dialogues.STEP, x[:, None], y.astype(int), int(rng.integers(2**63)))

    sides = [((1.0, 1),), () if budget["neighbours"] == "add_remove" else ((1.0, -1),)]
    known = [dialogues.answer(fitted(*side), np.array([[1.0]])) for side in sides]
    model = fitted(*sides[0]).model
    told = _answered(concurrency.in_step(lambda rows: model.predict_details(rows).updated, _rows(apart=True)))
    number, paid = int(np.sum(told)), model.constants_.updates
    if not number == paid == 1 or known[0].scale is None:
        raise DataError(f"PINP: of {THREADS} rows {number} were answered with noise, and {paid} were to be")
    scale = known[0].scale
    chances = [dialogues.outcomes(one, scale, number, dialogues.bins(known, scale)) for one in known]
    found = exact.exact(chances.__getitem__, [(0, 1)], delta=budget["delta"])
    return Asked(number, model, columns.of_finite(found))


# Predictors.


class _ScriptedBits(np.random.Generator):
    """A generator whose first bits are those of a number that it is told, and all others 0."""

    def __init__(self, u: float):
        super().__init__(np.random.PCG64(0))
        self._u = u

    def bytes(self, length):
        """Return them."""
        word, self._u = int(self._u * 2.0 ** (8 * length)), 0.0
        return word.to_bytes(length, "little")


def predictor(mechanism: str, budget: Mapping[str, Any], rng: np.random.Generator, *, record: bool) -> Any:
    """Fit a predictor with a `Voting` in `SHARED` for one answer, on its data set with the record or without."""
    make, given, crowd, one, other = SHARED[mechanism]
    first = [one] if record else [] if budget["neighbours"] == "add_remove" else [other]
    # The first record of a list counts most for stable SGD, the last one for nobody.
    x, y = np.array([*first, *crowd]).T
    model = make(**given, **budget, queries=1, classes=(0, 1), random_state=int(rng.integers(2**31)))
    return model.fit(x[:, None], y.astype(int))


def chance(model: Any, least: int = 1) -> float:
    """Return the probability of an answer from `least` on at x = 1, by bisection of the uniform number that decides."""
    rows, (low, high) = model._rows(np.array([[1.0]])), (0.0, 1.0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if model._answer(rows, [_ScriptedBits(middle)])[0] >= least else (low, middle)
    return 0.5 * (low + high)


def classes(neighbours: str, epsilon: float, delta: float, rng: np.random.Generator, make: type = SoftMajority) -> Any:
    """Return the attack on one answer of a soft majority (`make`) of three classes, as columns of an attack.

    All shards but one hold the class 0; the record comes, or takes another one's place, and says 1 or 2.
    """
    budget = {"neighbours": neighbours, "epsilon": epsilon, "delta": delta}
    laws, models = {}, {}
    for label in (None, 1, 2) if neighbours == "add_remove" else (0, 1, 2):
        crowd, seed = SHARED["soft_majority"].crowd, int(rng.integers(2**31))
        x, y = np.array([*([(1.0, label)] if label is not None else []), *crowd]).T
        model = make(**_VOTES, **budget, queries=1, classes=(0, 1, 2), random_state=seed)
        models[label] = model.fit(x[:, None], y.astype(int))
        laws[label] = -np.diff([1.0, chance(model, 1), chance(model, 2), 0.0])
    one = next(iter(laws))
    found = exact.exact(laws.__getitem__, [(one, 1), (one, 2), (1, 2)][: 2 if one is None else 3], delta=delta)
    return {
        "guarantee": models[one].privacy_.guarantee,
        "loss": None,
        "pair_words": f"{make.__name__}, three classes, {_VOTES['shards']} shards: a record of class "
        + corners.change(*found.pair),
        **columns.of_finite(found),
    }


def answered(make: Callable[[], Any]) -> int:
    """Return how many answers threads get for one that is paid for, `make` giving a fitted predictor for one row.

    DataError if a thread got another error than that the budget is exhausted, or where all asked the same row any.
    """
    drawn: list[bytes] = []
    of, lock = queries.Noise.of, threading.Lock()

    def listening(self, key):
        with lock:
            drawn.append(key)
        return of(self, key)

    most = 0
    for apart in (False, True):
        drawn.clear()
        with mock.patch.object(queries.Noise, "of", listening):
            told = concurrency.in_step(make().predict, _rows(apart=apart))
        _answered([one for one in told if not (apart and isinstance(one, BudgetExhausted))])
        most = max(most, len(drawn))
    return most


def bits(probability: float, number: int) -> np.ndarray:
    """Return the law of how many of so many answers to one question are 1 (probability: of one)."""
    return stats.binom.pmf(np.arange(number + 1), number, probability)


def _on_votes(mechanism: str, budget: dict[str, Any], rng: np.random.Generator) -> Asked:
    models = [predictor(mechanism, budget, rng, record=record) for record in (True, False)]
    number = answered(lambda: predictor(mechanism, budget, rng, record=True))
    chances = [bits(chance(model), number) for model in models]
    found = exact.exact(chances.__getitem__, [(0, 1)], delta=budget["delta"])
    return Asked(number, models[0], columns.of_finite(found))


_ATTACKS = {"rkhs_gaussian": _on_path, "pinp": _on_dialogue}


def _rows(*, apart: bool) -> list[np.ndarray]:
    """Return a row for each thread, all the same or each a little beside the others."""
    return [np.array([[1 - apart * _APART * i]]) for i in range(THREADS)]


def _answered(told: list[Any]) -> np.ndarray:
    """Return the answers of threads, or refuse an error among them, or that there is none."""
    errors = [one for one in told if isinstance(one, BaseException)]
    if errors:
        raise DataError(f"{len(errors)} of {len(told)} threads got no answer: {errors[0]!r}") from errors[0]
    if not told:
        raise DataError("no thread got an answer")
    return np.array(told)
