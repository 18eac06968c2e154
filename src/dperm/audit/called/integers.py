r"""What leaves the house as a user releases it: integer noise on a public grid, its law exact.

With release=True a number is g (k + Z), k = round(u/g) of the minimiser u, Z discrete Laplace or Gaussian noise of a
scale of some thousand steps. Grid and scale are those that each fit used (`recording`), k is what it rounded to. All
integers within `_REACH` scales of either k are outcomes, and what lies beyond is left out of every event.

Neighbouring relation: each row's.
"""

from typing import Any

import numpy as np

from dperm.audit import columns
from dperm.audit.called import brackets, corners
from dperm.audit.called.corners import Call
from dperm.audit.called.recording import Recorded
from dperm.audit.exact import ExactAudit
from dperm.errors import DataError
from dperm.laws.finite import best_event
from dperm.noise import Gaussian, Laplace

STEP = "_release"
_REACH = 20.0


def attack(call: Call, neighbours: str, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the strongest attack on one release, as columns of an attack.

    DataError if the grid or the noise depends on the records, or something else was released.
    """
    kind = Gaussian if delta else Laplace
    fits, _ = corners.fits(call, STEP, 0, rng)
    scales = {_law(one) for one in fits.values()}
    if len(scales) > 1:
        raise DataError(f"{call.words}: grid and noise depend on the records: {sorted(scales)}")
    _, scale = scales.pop()
    places = {corner: _rounded(one) for corner, one in fits.items()}
    first, second = brackets.first_of_best(
        corners.pairs(places, neighbours), lambda pair: abs(places[pair[0]] - places[pair[1]])
    )
    return {
        "guarantee": fits[None].model.privacy_.guarantee,
        "loss": call.make().loss,
        "pair_words": corners.words(call, first, second),
        # Its noise is not tested: it comes from the operating system, and no row may depend on it.
        **columns.of_finite(on_integers(places[first], places[second], kind(scale), delta)),
    }


def on_integers(first: int, second: int, law: Gaussian | Laplace, delta: float) -> ExactAudit:
    """Return the exact audit of integer noise on two integers (law: its discrete form); its outcomes are left empty."""
    reach = int(_REACH * law.scale)
    values = np.arange(min(first, second) - reach, max(first, second) + reach + 1)
    sides = [_masses(values - place, law) for place in (first, second)]
    found = []
    for side, (p, q) in (("data", sides), ("neighbour", sides[::-1])):
        epsilon, chosen = best_event(p, q, delta)
        low, high = (int(values[end]) for end in (chosen[0], chosen[-1])) if len(chosen) else (0, 0)
        words = f"output among {len(chosen):,} integers of [{low}, {high}] steps"
        found.append(ExactAudit(epsilon, delta, (), side, words, (), float(p[chosen].sum()), float(q[chosen].sum())))
    return brackets.first_of_best(found, lambda audit: audit.epsilon)


def _masses(z: np.ndarray, law: Gaussian | Laplace) -> np.ndarray:
    """Return the probabilities of integers; the sum over all integers is taken as far as doubles see it."""
    far = np.arange(1, int(45 * law.scale))
    return _weight(z, law) / (1 + 2 * _weight(far, law).sum())


def _weight(z: np.ndarray, law: Gaussian | Laplace) -> np.ndarray:
    z = np.abs(z) / law.scale
    return np.exp(-(z**2) / 2 if isinstance(law, Gaussian) else -z)


def _law(one: Recorded) -> tuple[float, float]:
    _, released = one.drawn[-1]
    return released.step, released.scale


def _rounded(one: Recorded) -> int:
    """Return k of the number that was released."""
    vectors, released = one.drawn[-1]
    if not np.array_equal(np.ravel(one.model.coef_), np.ravel(released.values)):
        raise DataError(f"{type(one.model).__name__} released another number than its grid gave")
    return int(np.rint(float(np.ravel(vectors)[0]) / released.step))
