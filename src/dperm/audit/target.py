"""A mechanism under audit: how it is drawn from, what is known of its output's law, and what it claims of a pair."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.audit.events import Event
from dperm.noise import Gaussian, Laplace, SphericalLaplace

# Whatever the mechanism takes: for the linear models of this library (X, y).
Data = Any
# (points, data) -> P(at or below), P(above) each of the points.
Tails = Callable[[np.ndarray, Data], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Target:
    """A mechanism under audit; every part but `draw` is optional and makes the attack sharper.

    No part is trusted with the verdict: a wrong `log_density` chooses a poor event, and the event is still certified on
    draws of its own. (`cdf` and `sf` alone are taken at their word, by `dperm.audit.line`, which
    draws nothing.)

    Parameters
    ----------
    draw : callable
        (data, repeats, rng) -> ndarray, shape (repeats,) or (repeats, p): independent outputs.
    log_density : callable, optional
        (outputs, data) -> ndarray, shape (repeats,): log-density of the output, up to a constant that is the same for
        both data sets of a pair.
    centre : callable, optional
        (data) -> ndarray, shape (p,): the output without noise.
    noise : callable, optional
        (outputs, data) -> ndarray, shape (repeats, p): the noise that made these outputs.
    law : Laplace, SphericalLaplace or Gaussian, optional
        What `noise` is said to be drawn from.
    cdf : callable, optional
        (points, data) -> ndarray: probability of an output at or below each point, for outputs on a line. Accurate
        relative to itself, however small.
    sf : callable, optional
        (points, data) -> ndarray: probability of an output above each point, accurate likewise. Without it 1 - cdf has
        to do, which tells nothing of upper tails below 1e-12.
    atoms : tuple of float
        Outputs on a line that have a probability of their own, for either data set: a lasso's 0, the ends of a box.
    """

    draw: Callable[[Data, int, np.random.Generator], np.ndarray]
    log_density: Callable[[np.ndarray, Data], np.ndarray] | None = None
    centre: Callable[[Data], np.ndarray] | None = None
    noise: Callable[[np.ndarray, Data], np.ndarray] | None = None
    law: Gaussian | SphericalLaplace | Laplace | None = None
    cdf: Callable[[np.ndarray, Data], np.ndarray] | None = None
    sf: Callable[[np.ndarray, Data], np.ndarray] | None = None
    atoms: tuple[float, ...] = ()

    def __call__(self, data: Data, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Draw outputs.

        Parameters
        ----------
        data : object
        repeats : int
        rng : Generator

        Returns
        -------
        ndarray, shape (repeats,) or (repeats, p)
        """
        return self.draw(data, repeats, rng)


def halves(tails: Tails) -> tuple[Callable, Callable]:
    """Return `cdf` and `sf` of a target whose law gives both at once.

    - tails: (points, data) -> probabilities at or below, and above, each of the points. Where both are asked for the
      same arrays one after the other, it is called once.
    """
    last: tuple = (None, None, None)

    def both(points, data):
        nonlocal last
        known = last
        if points is not known[0] or data is not known[1]:
            known = last = points, data, tails(points, data)
        return known[2]

    return lambda points, data: both(points, data)[0], lambda points, data: both(points, data)[1]


@dataclass(frozen=True)
class Subject:
    """A mechanism under audit with its pair and its claim.

    Parameters
    ----------
    mechanism : callable
        (data, repeats, rng) -> ndarray, shape (repeats,) or (repeats, p); see `one_by_one` for one output at a time.
    data, neighbour : object
        Neighbouring data sets, under the relation of the claim.
    epsilon : float, optional
        What is claimed; without it the audit only measures.
    delta : float
        In [0, 1).
    events : sequence of Event
        Scores to be tried besides the auditor's own.
    words : str
        What is attacked, for the report.
    """

    mechanism: Callable[[Any, int, np.random.Generator], np.ndarray]
    data: Any
    neighbour: Any
    epsilon: float | None = None
    delta: float = 0.0
    events: Sequence[Event] = ()
    words: str = ""
