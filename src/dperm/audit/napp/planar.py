r"""VS within an orthant with two features: an entry of theta^(1) that is 0 stays 0, and tells of a record (li2021, N3).

Theta = [0, h]^2, the squared loss, no MOOR. Step t = 1 is min over Theta of sum l + b'theta + Lambda0 ||theta||^2.
Where theta^(1)_j = 0, the next step has the noise b_j sgn(0) = 0 and the weight Lambda/0: theta_j is 0 for ever.
Elsewhere the sign is 1, and the fixed point is that of NAPP-ERM. So let theta lie inside (0, h)^2. It came from

    b = -(sum_i x_i l'(<x_i, theta>, y_i) + 2 Lambda 1 + 2 Lambda0 theta),

and b gives theta^(1), which had both entries above 0. Data under which that b sends an entry of theta^(1) to 0 cannot
release this theta. The two problems have different minimisers, so the set of such theta changes with every record.
The infinite weight alone does it: NAPP-ERM by Algorithm 1's steps would release the same theta. What its claims
(N-c17, N-c18) are tested on is the minimiser.

Neighbouring relation: add/remove.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dperm.audit import columns
from dperm.audit.events import Event
from dperm.audit.linear_targets import LinearData
from dperm.audit.napp import cases
from dperm.audit.napp import problem as line
from dperm.audit.napp.problem import Problem
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.mechanisms.napp import limit

# Found by a search: many correlated records and a Lambda that moves theta far between t = 1 and the end.
STRENGTH, TOP = 5.0, 8.0
_COUNT, _ROW, _RECORD = 300, (0.4, 0.916), (0.7, -0.7)
_MOST_DRAWS = 20_000
WORDS = "orthant, 2 features: what b a theta inside came from, and whether that b leaves theta^(1) above 0; (0.7, -0.7)"


def problem(budget: Budget, calibration: str) -> Problem:
    """Return VS without MOOR in Theta = [0, 8]^2."""
    made = cases.wide(budget, calibration, variant="vs", strength=STRENGTH)
    return replace(made, box=(0.0, TOP))


def neighbours() -> tuple[LinearData, LinearData]:
    """Return 300 equal records, and these with one more."""
    X, y = np.tile(_ROW, (_COUNT, 1)), np.ones(_COUNT)
    return (X, y), (np.vstack([X, _RECORD]), np.append(y, -1.0))


def impossible(made: Problem, data: LinearData, theta: np.ndarray) -> np.ndarray:
    """Return whether `data` can never release theta (shape (m, 2)); shape (m,)."""
    X, y = data
    inside = ((theta > 0) & (theta < TOP)).all(axis=1)
    found = np.zeros(len(theta), dtype=bool)
    if inside.any():
        at = theta[inside]
        slopes = np.clip(at @ X.T, -made.eta_bound, made.eta_bound) - y
        b = -(slopes @ X + 2 * made.strength + 2 * made.floor * at)
        found[inside] = (_first(made, data, b) <= 0).any(axis=1)
    return found


def drawn(
    row: Mapping[str, Any], calibration: str, draws: int, confidence: float, rng: np.random.Generator
) -> dict[str, Any]:
    """Return the attack by sampling the mechanism's own code, as `columns.sampled`."""
    made = problem(Budget(row["epsilon"], row["delta"]), calibration)
    data, neighbour = neighbours()

    def draw(data, repeats, rng):
        return made.released(*data, repeats, rng)

    event = Event("1 if theta cannot be without the record, else 0:", lambda theta: 1.0 * impossible(made, data, theta))
    return columns.sampled(
        Target(draw=draw), data, neighbour, delta=row["delta"],
        draws=min(draws, _MOST_DRAWS), confidence=confidence, rng=rng, events=(event,),
    )  # fmt: skip


def guaranteed(row: Mapping[str, Any], calibration: str) -> str:
    """Return what the mechanism states with two features."""
    return line.stated(problem(Budget(row["epsilon"], row["delta"]), calibration).plan(2))


def _first(made: Problem, data: LinearData, b: np.ndarray) -> np.ndarray:
    """Return theta^(1) for each noise b (shape (m, 2))."""
    X, y = data
    known = limit.problems(made.loss, X[None], y[None], made.eta_bound)
    strengths = np.array([made.strength])
    return limit.reweighted(known, b, made.scheme, strengths, variant="vs", steps=1, box=made.box).theta[:, 0]
