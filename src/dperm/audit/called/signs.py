r"""The sign of a first step, as a user calls it: it tells one side of one noisy sum.

With one feature and `steps=1` preconditioned descent releases a falling function of m + z, where m is the sum of
clipped gradients and z the noise of the step, whatever the noisy Gram matrix is. Looked at is its sign. The
law is read off `fit`: z is told to the generator, and where the sign of theta changes is sought, which is
-m in the scale that the generator was asked for, whatever the fit made of the records. So no formula of
the mechanism is used. At what is left of epsilon once the Gram matrix has its share the best event of a Gaussian
noise is one side of a point, and a crowd that pulls one way puts 0 there.

Of k classes theta has k numbers, and the step's direction is that of m + z in R^k. Looked at is the coordinate of theta
along the crowd's m, told z = t times that unit vector: again the sign of a sum of one number and a Gaussian one.

Records are the corners of `corners`. No intercept: then theta has two coordinates, and the Gram matrix counts.

Neighbouring relation: each row's.
"""

import functools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize, special

from dperm.audit import columns, exact
from dperm.audit.called import corners, descents, linear
from dperm.audit.called.brackets import first_of_best
from dperm.audit.called.corners import Call, Corner
from dperm.audit.called.recording import Recorded, RecordingGenerator
from dperm.errors import DataError

# In scales of the noise: where the sign changes lies between, how finely it is found, and how near a guess has to be.
_REACH, _WIDTH, _NEAR = 30.0, 60 * 2.0**-48, 1e-12


class ToldGenerator(RecordingGenerator):
    """A recording generator whose last of two normal draws is what it is told (in the scale asked for)."""

    def __init__(self, told: np.ndarray, *given):
        super().__init__(*given)
        self.told = told

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Draw as NumPy does, but for what is told."""
        values = super().normal(loc, scale, size)
        if len(self.drawn) > 1:
            values[...] = loc + scale * self.told
        return values


def attack(call: Call, neighbours: str, delta: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the strongest attack on one estimator with `steps=1`, as columns of an attack.

    DataError if the law of the noise depends on the records, or no sign changes.
    """
    fits, _ = corners.fits(call, linear.STEP, 0, rng)
    kinds = {tuple((type(law), law.scale, vector.shape) for law, vector in one.drawn) for one in fits.values()}
    if len(kinds) > 1:
        raise DataError(f"{call.words}: the law of the noise depends on the records: {sorted(map(str, kinds))}")
    line, turns = along(call), {}
    for corner in fits:
        # Corners pull as hard as each other, one way or the other.
        mirrored = [2 * turns[None] - turn for turn in turns.values()]
        turns[corner] = turning(call, corner, line, [*turns.values(), *mirrored])
    chances = {corner: special.ndtr(turn) for corner, turn in turns.items()}
    laws = {corner: np.array([chance, 1 - chance]) for corner, chance in chances.items()}
    tried = [exact.exact(laws.__getitem__, [pair], delta=delta) for pair in corners.pairs(laws, neighbours)]
    best = first_of_best(tried, lambda found: found.epsilon)
    some = fits[None]
    return {
        "guarantee": some.model.privacy_.guarantee,
        "loss": some.handed["loss"].name,
        "pair_words": corners.words(call, *best.pair),
        **columns.of_finite(best),
    }


def along(call: Call) -> np.ndarray:
    """Return the unit vector that is looked along: of k classes where the crowd pulls, of two 1."""
    still = descents.numbers(_told(call, None, np.zeros(1)))
    if len(still) == 1:
        return np.ones(1)
    if not still.any():
        raise DataError(f"{call.words}: the crowd pulls nowhere")
    return -still / np.linalg.norm(still)


def turning(call: Call, corner: Corner, line: np.ndarray, guesses: Sequence[float] = ()) -> float:
    """Return the noise of the step along a line, in its scale, at which theta changes its side there.

    A guess is looked at from both sides: a right one spares most fits, a wrong one narrows the bracket.
    """

    @functools.cache
    def theta(told: float) -> float:
        return float(descents.numbers(_told(call, corner, told * line)) @ line)

    def narrowed(low: float, high: float, guess: float) -> tuple[float, float]:
        for told in (guess - _NEAR, guess + _NEAR):
            if low < told < high:
                low, high = (told, high) if theta(told) > 0 else (low, told)
        return low, high

    low, high = -_REACH, _REACH
    if not theta(low) > 0 >= theta(high):
        raise DataError(f"{call.words}: the sign of theta hangs on more than the noise of its step")
    for guess in guesses:
        low, high = narrowed(low, high, guess)
    # By Brent's method a guess takes ten fits, and bisection, with what its two sides tell, hardly any more.
    above, below = narrowed(low, high, optimize.brentq(theta, low, high, xtol=_NEAR) if high - low > 4 * _NEAR else low)
    while high - low > _WIDTH:
        middle = 0.5 * (low + high)
        right = middle <= above or (middle < below and theta(middle) > 0)
        low, high = (middle, high) if right else (low, middle)
    return 0.5 * (low + high)


def _told(call: Call, corner: Corner, noise: np.ndarray) -> Recorded:
    return corners.again(call, linear.STEP, corner, partial(ToldGenerator, noise))
