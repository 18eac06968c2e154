r"""A linear predictor z -> <w, z> whose answers carry Laplace noise: what stable learning releases (Lemma 4.5).

If w is made from the records so that |<w_S - w_S', z>| <= rate for all neighbours S, S' and all z with ||z|| <= L_f,

    <w, z> + Laplace(rate/epsilon)

is epsilon-differentially private for every single query z (dwork2018, Lemma 4.5 with the scale of erratum D3). Each
answer spends epsilon; the predictor itself is not private. Neighbouring relation: that of the rate.

Sources: dwork2018, Definition 4.4 and Lemma 4.5; erratum D3.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dperm import grid
from dperm.domain import Budget, Guarantee
from dperm.mechanisms.base import representable

# So few labels are faster one by one.
_FEW = 4


@dataclass(frozen=True)
class NoisyLinear:
    """A predictor and the noise of its answers.

    - w: shape (p,); not private.
    - rate: what the noise is made for, in units of an answer; 0 or above.
    - guarantee: of one answer.
    - certificate: upper bound on the distance of w from the point that the proof speaks of. Not private.
    """

    w: np.ndarray
    rate: float
    epsilon: float
    guarantee: Guarantee
    certificate: float = 0.0

    def __post_init__(self):
        _ = self.scale

    @property
    def scale(self) -> float:
        """rate/epsilon: the scale of the Laplace noise of an answer."""
        budget = Budget(self.epsilon)
        return representable(self.rate / self.epsilon, budget)

    def answer(self, Z: np.ndarray, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Return an answer a row, each with its own generator and at epsilon; that ||z|| <= L_f is not checked."""
        noise = np.array([rng.laplace(0.0, self.scale) for rng in rngs])
        return Z @ self.w + noise.reshape(len(Z))

    def labels(self, Z: np.ndarray, rngs: Sequence[np.random.Generator]) -> np.ndarray:
        """Return whether the answers are above 0, one a row, each drawn exactly by a generator of its own.

        A function of an answer, so as private; but of the noise its sign alone is drawn, and no label is impossible.
        """
        values, scale = Z @ self.w, Fraction(self.scale)
        if not scale:
            return values > 0
        # A quotient below 31 that was rounded once is right to 2^-48.
        with np.errstate(over="ignore"):
            rough = grid.aboves(values / self.scale) if len(values) > _FEW else None
        return grid.bits(lambda value, k: grid.above(Fraction(value) / scale, k), values.tolist(), rngs, rough)

    def release(self, Z: np.ndarray, *, rng: np.random.Generator, repeats: int = 1) -> np.ndarray:
        """Return answers to every row, `repeats` times with fresh noise; each entry spends epsilon."""
        return Z @ self.w + rng.laplace(0.0, self.scale, (repeats, len(Z)))
