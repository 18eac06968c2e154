r"""Privacy loss distributions: the law of log dP/dQ under P on a grid, rounded down, composed by convolution.

For one pair of inputs an outcome o has the loss l(o) = log P(o)/Q(o). Let p(l) be the law of the loss under P; then
Q{l >= t} = sum_{l >= t} p(l) e^-l, and every event {l >= t} proves

    epsilon >= log((P{l >= t} - delta)/Q{l >= t}).

Independent rounds add their losses: p is a convolution. Nothing that is done here can make the bound too large: a loss
that is rounded down only raises Q; outcomes left out only lower P (and a transcript that holds one is left out too);
outcomes put together are a post-processing. So is an infinite loss taken for a large one.

T aligned Laplace shifts. Noise Lap(nu) moved by s, a = s/nu, spends a below both
centres, -a above them, and a - 2x in between, x in units of nu from the first. Cut into k pieces of width h = a/k the
loss of a piece is its middle's *exactly*: e^-x integrated over a piece against e^x over the same has the ratio
e^{a - 2x}. All losses are then multiples of h, and T-fold convolution is exact but for how finely (0, a) is cut.

A derivation of its own beside `finite`: the tests hold either against the other, and both against dp_accounting.
"""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import signal

from dperm.laws.tails import between
from dperm.noise import Gaussian

# A loss beyond this is taken to be this: e^-60 is nothing beside any delta.
_MOST = 60.0
# Standard deviations of a Gaussian that are told apart.
_TAIL = 12
# A multiple of the width stays that multiple whatever its last digits.
_DIGITS = 1e-9
# What a convolution by FFT, or a difference of probabilities, may miss; below the other nothing is known of one.
_ERROR, _KNOWN = 1e-16, 1e-13
# Most values that a law may have: a convolution of so many takes milliseconds.
_LARGEST = 1 << 18


class Bound(NamedTuple):
    """What the event {loss >= least} proves: its probability is rounded down under P, and up under Q."""

    epsilon: float
    least: float
    probability: float
    other_probability: float


@dataclass(frozen=True)
class PrivacyLoss:
    """The law of a loss under P: masses of (low + i) width, some of its outcomes left out."""

    masses: np.ndarray
    low: int
    width: float

    @property
    def losses(self) -> np.ndarray:
        """Return the losses, shape (m,)."""
        return (self.low + np.arange(len(self.masses))) * self.width

    def compose(self, other: "PrivacyLoss") -> "PrivacyLoss":
        """Return the loss of this and another, independent release; both of the same width."""
        masses = np.maximum(signal.fftconvolve(self.masses, other.masses), 0.0)
        return _trimmed(PrivacyLoss(masses, self.low + other.low, self.width))

    def self_compose(self, number: int) -> "PrivacyLoss":
        """Return the loss of so many independent releases alike, 0 or more."""
        total, power = PrivacyLoss(np.ones(1), 0, self.width), self
        # By squaring: the binary digits of the number say which powers are taken.
        while number:
            if number & 1:
                total = total.compose(power)
            number >>= 1
            power = power.compose(power) if number else power
        return total

    def union(self, other: "PrivacyLoss") -> "PrivacyLoss":
        """Return the loss of outcomes that exclude each other: masses of equal losses are added."""
        low = min(self.low, other.low)
        high = max(self.low + len(self.masses), other.low + len(other.masses))
        masses = np.zeros(high - low)
        for part in (self, other):
            masses[part.low - low : part.low - low + len(part.masses)] += part.masses
        return PrivacyLoss(masses, low, self.width)

    def epsilon(self, delta: float) -> Bound:
        """Return the best bound; delta well above 1e-11, the convolution's error."""
        # For a power of two of values: how many are told from 0 at the ends is a matter of rounding.
        losses, error = self.losses, _ERROR * 2 ** math.ceil(math.log2(len(self.masses)))
        above = np.maximum(np.cumsum(self.masses[::-1])[::-1] - error, 0.0)
        with np.errstate(over="ignore"):
            below = np.cumsum((self.masses * np.exp(-losses))[::-1])[::-1] * (1 + 1e-12) + error
            value = np.where((above > delta) & (losses > 0), (above - delta) / below, 0.0)
        best = int(value.argmax())
        epsilon = max(0.0, math.log(value[best])) if value[best] > 0 else 0.0
        return Bound(epsilon, float(losses[best]), float(above[best]), float(min(below[best], 1.0)))


def of_outcomes(p: np.ndarray, q: np.ndarray, width: float) -> PrivacyLoss:
    """Return the loss of outcomes with probabilities p under P, q under Q, rounded down to multiples of `width`.

    Their sums may be less than 1: what is missing is left out.
    """
    # What rounding alone may have made is left out of P, and counts for Q.
    some = p > _KNOWN
    losses = np.minimum(np.log(p[some] / (np.maximum(q[some], 0.0) + _ERROR)), _MOST)
    return _on_grid(p[some], losses, width)


def laplace(shift: float, pieces: int, left_out: float = 0.0) -> PrivacyLoss:
    """Return the loss of one answer with Laplace noise; of width a/k, and the same in both directions.

    The answer moves by `shift`, a times the noise's scale; the stretch between the two centres is cut into k `pieces`.
    `left_out` is the probability of the far end of either tail, whose outcomes are left out.
    """
    h = shift / pieces
    lower, upper = h * np.arange(pieces), h * np.arange(1, pieces + 1)
    between = 0.5 * np.exp(-lower) * -np.expm1(-h)
    p = np.concatenate([[0.5 - left_out], between, [max(0.5 * math.exp(-shift) - left_out, 0.0)]])
    losses = np.concatenate([[shift], shift - lower - upper, [-shift]])
    return _on_grid(p, losses, h)


def gaussian(ratio: float, pieces: int) -> PrivacyLoss:
    """Return the loss of one answer with Gaussian noise, cut into pieces of equal loss; the same in both directions.

    The answer moves by `ratio` standard deviations, one of which so many pieces cover.
    """
    # P = N(ratio, 1): the loss at x is ratio x - ratio^2/2.
    width = ratio / pieces
    lowest = math.floor(-_TAIL * pieces)
    edges = (np.arange(lowest, -lowest + 1) * width + ratio**2 / 2) / ratio
    lower, upper = np.concatenate([[-np.inf], edges]), np.concatenate([edges, [np.inf]])
    p, q = (between(Gaussian(1.0), lower - centre, upper - centre) for centre in (ratio, 0.0))
    return of_outcomes(p, q, width)


def aligned_laplace(shift: float, answers: int) -> PrivacyLoss:
    """Return the loss of T answers with Laplace noise, each moved by `shift` times the noise's scale."""
    pieces = max(2, min(2_000, _LARGEST // (4 * answers)))
    return laplace(shift, pieces).self_compose(answers)


def _on_grid(p: np.ndarray, losses: np.ndarray, width: float) -> PrivacyLoss:
    if not len(p):
        return PrivacyLoss(np.zeros(1), 0, width)
    places = np.floor(losses / width + _DIGITS).astype(int)
    low = int(places.min())
    return PrivacyLoss(np.bincount(places - low, weights=p), low, width)


def _trimmed(loss: PrivacyLoss) -> PrivacyLoss:
    """Leave out losses at either end that convolution cannot tell from 0."""
    known = np.flatnonzero(loss.masses > _ERROR)
    if not len(known):
        return loss
    return replace(loss, masses=loss.masses[known[0] : known[-1] + 1], low=loss.low + int(known[0]))
