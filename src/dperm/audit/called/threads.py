r"""Threads that ask one interactive model near-identical rows at once: how many noises does it draw for one question?

The kernel is the user's own, as RKHSGaussian allows, and waits in each evaluation until all threads have come there (or
a tenth of a second is over): whoever reads the path before another one has written to it is caught in that moment, not
by chance. Rows are 1e-9 apart, so one noise gives one answer to all of them. k noises for one question of sensitivity s
and noise sigma are worth their mean, N(0, sigma^2/k): attacked exactly, with the sigma of a fit that is overheard.

Neighbouring relation: each row's.
"""

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from dperm.audit import attempts
from dperm.audit.called import answers, heard, laws
from dperm.audit.called.answers import KINDS
from dperm.audit.called.laws import Line
from dperm.errors import DataError
from dperm.mechanisms.estimators.rkhs import RKHSGaussian
from dperm.noise import Gaussian

# Threads, and the rows that each of them asks for.
THREADS, _BATCH = 8, 16
_APART = 1e-9
# How long a thread waits for the others.
_PATIENCE = 0.1
# Answers nearer than this share of the noise have one noise.
_SAME = 1e-3
# So much regularisation that no record is at its margin.
_C = 0.1


class Meeting:
    """A linear kernel at which threads wait for each other."""

    def __init__(self):
        self._barrier = None

    def __call__(self, X: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return <x, v>, once all threads ask for it or have waited long enough."""
        if self._barrier is not None:
            # If somebody is kept out nobody waits from then on.
            with contextlib.suppress(threading.BrokenBarrierError):
                self._barrier.wait(_PATIENCE)
        return np.asarray(X) @ np.asarray(V).T

    def ask(self, model: Any, batches: list[np.ndarray]) -> np.ndarray:
        """Return the answers to all batches, each asked by a thread of its own, all at once.

        Parameters
        ----------
        model : RKHSGaussian
            Fitted with this kernel.
        batches : list of ndarray, shape (rows, d)

        Returns
        -------
        ndarray, shape (batches, rows)

        Raises
        ------
        DataError
            If a thread got an error instead of answers, for then nothing is known of what it would have been told.
        """
        self._barrier = threading.Barrier(len(batches))
        try:
            with ThreadPoolExecutor(len(batches)) as pool:
                asked = [pool.submit(model.decision_function, rows) for rows in batches]
        finally:
            self._barrier = None
        errors = [one.exception() for one in asked if one.exception() is not None]
        if errors:
            raise DataError(f"{len(errors)} of {len(batches)} threads got no answer: {errors[0]!r}") from errors[0]
        return np.array([one.result() for one in asked])


def fit(y: float, rng: np.random.Generator, make: type = RKHSGaussian, **given: Any) -> tuple[heard.Heard, Meeting]:
    """Fit a model on one record at x = 1, or on one that holds nothing.

    Parameters
    ----------
    y : {-1, 0, 1}
        The record's label; 0: there is none.
    rng : Generator
        For the seed.
    make : type
        RKHSGaussian, or a class made of it.
    **given
        Parameters of the estimator.

    Returns
    -------
    fit : Heard
    kernel : Meeting
    """
    kernel = Meeting()
    model = make(kernel=kernel, feature_norm=1.0, classes=(-1, 1), C=_C, tolerance=1e-3, **given)
    X, labels = np.zeros((1, 1)), np.array([1])
    if y:
        X, labels = np.array([[0.0], [1.0]]), np.array([1, int(y)])
    return heard.fit(model, KINDS["rkhs_gaussian"].step, X, labels, int(rng.integers(2**63))), kernel


def noises(model: Any, kernel: Meeting, scale: float) -> int:
    """Return how many different noises the answers to one question had, all rows of all threads counted.

    Parameters
    ----------
    model : RKHSGaussian
    kernel : Meeting
    scale : float
        Of the noise of an answer.

    Returns
    -------
    int

    Raises
    ------
    DataError
        If a thread got no answer.
    """
    rows = 1 - _APART * np.arange(THREADS * _BATCH).reshape(THREADS, _BATCH, 1)
    told = np.sort(kernel.ask(model, list(rows)), axis=None)
    return 1 + int((np.diff(told) > _SAME * scale).sum())


def sigma(rng: np.random.Generator, **given: Any) -> float:
    """Return the scale of the noise of an answer, of a fit that is made to be overheard.

    Parameters
    ----------
    rng, **given
        As of `fit`.

    Returns
    -------
    float
    """
    return answers.noise(KINDS["rkhs_gaussian"], fit(1, rng, **given)[0], np.array([[1.0]]))[1]


def attack(neighbours: str, epsilon: float, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the attack, as columns of `dperm.audit.attacks.ATTACKS`.

    Parameters
    ----------
    neighbours : {"add_remove", "replace"}
    epsilon, delta : float
    rng : Generator

    Returns
    -------
    dict

    Raises
    ------
    DataError
        If a thread got no answer.
    """
    kind, asked = KINDS["rkhs_gaussian"], np.array([[1.0]])
    given = {"neighbours": neighbours, "epsilon": epsilon, "delta": delta}
    fits = [fit(y, rng, **given) for y in (1, 0 if neighbours == "add_remove" else -1)]
    scale = sigma(rng, **given)
    number = max(noises(one.model, kernel, scale) for one, kernel in fits)
    centres = [kind.centre(one, asked) for one, _ in fits]
    scale /= np.sqrt(number)
    lines = [Line(lambda t, c=centre: (t - c) / scale, Gaussian, 1e-12 * scale) for centre in centres]
    found = attempts.of_bracket(laws.attack(*lines, delta=delta))
    return {
        "guarantee": fits[0][0].model.privacy_.guarantee,
        "loss": "hinge",
        "pair_words": f"RKHSGaussian asked by {THREADS} threads at once: noises for one question: {number}",
        "white_box_p": None,
        **found,
    }
