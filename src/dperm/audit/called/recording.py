"""A recorded fit: what its core was handed, the noise that it drew, and what it returned; and a recorded answer.

The estimator is given a `Generator` that records the laws and draws of its noise, and the method that hands the checked
records to the core is wrapped to record its arguments and result. The fit itself is not changed.
"""

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

from dperm import grid
from dperm.errors import DataError
from dperm.mechanisms import queries
from dperm.noise import Gaussian, Laplace, SphericalLaplace


class RecordingGenerator(np.random.Generator):
    """A generator of NumPy's that keeps the vectors drawn from it, each with its law, and single draws at scale 1."""

    def __init__(self, bits: np.random.BitGenerator, units: list[float], drawn: list[tuple]):
        super().__init__(bits)
        self.units, self.drawn = units, drawn
        self._direction = None

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Draw as NumPy does, and keep it."""
        values = super().normal(loc, scale, size)
        self.drawn.append((Gaussian(float(scale)), np.ravel(values - loc)))
        return values

    def standard_normal(self, *args, **options):
        """Draw as NumPy does, and keep it for the length that follows."""
        given = super().standard_normal(*args, **options)
        # A copy, because the caller may change the array in place.
        self._direction = np.array(given)
        self.units += np.ravel(self._direction).tolist()
        return given

    def laplace(self, loc=0.0, scale=1.0, size=None):
        """Draw as NumPy does, and keep it, and at scale 1."""
        values = super().laplace(loc, scale, size)
        self.drawn.append((Laplace(float(scale)), np.ravel(values - loc)))
        self.units += np.ravel((values - loc) / scale).tolist()
        return values

    def gamma(self, shape, scale=1.0, size=None):
        """Draw as NumPy does, and keep the vector whose length it is."""
        length = super().gamma(shape, scale, size)
        direction = np.ravel(self._direction)
        vector = float(np.ravel(length)[0]) * direction / np.linalg.norm(direction)
        self.drawn.append((SphericalLaplace(float(scale)), vector))
        return length


class Recorded(NamedTuple):
    """One fit: what its step to the core was given, by name, the model aside (`handed`), and returned (`made`).

    `drawn` holds (law, vector) of each noise, in order; of noise from the operating system vectors without it,
    `GridRelease`. `units` are draws of `standard_normal` and `laplace`, divided by the scale that the generator was
    asked for.
    """

    model: Any
    handed: dict[str, Any]
    made: Any
    drawn: list
    units: list[float]


def fit(
    model: Any,
    step: str,
    X: np.ndarray,
    y: np.ndarray,
    seed: int,
    make: Callable[..., RecordingGenerator] = RecordingGenerator,
    **weights: np.ndarray,
) -> Recorded:
    """Fit a model, and listen to the method `step` that takes checked records to the core.

    The model's `random_state` is ignored, but where `release` is set. `make` makes the generator that is listened to: a
    class made of `RecordingGenerator`; `weights` is a `sample_weight`, or nothing.
    """
    calls: list[tuple] = []
    of, rng = _listening(type(model), step), make(np.random.PCG64(seed), [], [])
    # Parameters alone, of a model that is not fitted; `get_params` would read its signature, thousands of times.
    given = vars(model)
    # What is released draws from the operating system: the grid is listened to.
    released = bool(given.get("release"))
    of.heard = calls
    if not released:
        return Recorded(of(**{**given, "random_state": rng}).fit(X, y, **weights), *calls[-1], rng.drawn, rng.units)
    drawn: list[tuple] = []
    add = grid.add_noise

    def adding(vectors, **fixed):
        drawn.append((vectors, add(vectors, **fixed)))
        return drawn[-1][1]

    with mock.patch.object(grid, "add_noise", adding):
        return Recorded(of(**given).fit(X, y, **weights), *calls[-1], drawn, rng.units)


@functools.cache
def _listening(public: type, step: str) -> type:
    """Return a class of the same name and parameters, for messages and for `get_params`, that `heard` what step did.

    Made once: a search fits thousands of models, and scikit-learn reads the signatures of each new class.
    """
    parameters = inspect.signature(getattr(public, step)).parameters.values()
    # Weights have a default, and are given by their name.
    names = [one.name for one in parameters if one.default is one.empty][1:]

    def listening(self, *args, **weights):
        made = getattr(public, step)(self, *args, **weights)
        of.heard.append((dict(zip(names, args, strict=True)) | weights, made))
        return made

    of = type(public.__name__, (public,), {step: listening, "__init__": public.__init__})
    return of


def value(model: Any, asked: np.ndarray) -> np.ndarray:
    """Return what a fitted model answers to each row, as a number each."""
    return getattr(model, "decision_function", model.predict)(asked)


def answer(
    one: Recorded, asked: np.ndarray, ask: Callable[[Any, np.ndarray], np.ndarray] = value
) -> tuple[float, float]:
    """Ask a model that nobody has asked yet for one number, and listen to the generator that draws its noise.

    Return the answer as a user sees it, and the one draw that it was made of, at scale 1: by the fit, or by the answer.
    DataError if it was made of no draw, or of several.
    """
    with generators(one):
        told = float(ask(one.model, asked)[0])
    if len(one.units) != 1:
        raise DataError(
            f"{type(one.model).__name__}: an answer was made of {len(one.units)} draws; its law is known of one"
        )
    return told, one.units[0]


@contextlib.contextmanager
def generators(one: Recorded) -> Iterator[None]:
    """Let a fit's lists go on with what the generators of its queries draw."""
    of = queries.Noise.of

    def listening(self, key):
        return RecordingGenerator(of(self, key).bit_generator, one.units, one.drawn)

    with mock.patch.object(queries.Noise, "of", listening):
        yield
