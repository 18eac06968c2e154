"""What `dperm audit` attacks: a mechanism, two neighbouring data sets and the claim; also for foreign code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.audit.events import Event


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


def one_by_one(function: Callable[[Any, np.random.Generator], Any]) -> Callable:
    """Turn a function that gives one output into a mechanism that gives many.

    Parameters
    ----------
    function : callable
        (data, rng) -> a number or a flat array. Code with a random source of its own may leave `rng` aside.

    Returns
    -------
    callable
        (data, repeats, rng) -> ndarray, shape (repeats,) or (repeats, p).
    """

    def mechanism(data: Any, repeats: int, rng: np.random.Generator) -> np.ndarray:
        outputs = [np.asarray(function(data, rng), dtype=float) for _ in range(repeats)]
        shapes = {output.shape for output in outputs}
        if len(shapes) > 1:
            raise ValueError(f"function gave outputs of the shapes {sorted(shapes)}: they must have one shape")
        return np.array(outputs)

    return mechanism
