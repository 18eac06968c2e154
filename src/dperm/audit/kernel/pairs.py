r"""Neighbours for private learning with kernels (jain2013, equation 3), and public points that see all of them.

Label flip. Hinge loss, linear kernel, ||x|| = R, R^2 <= total. On {(x, y)} alone the margin R^2/total is at most 1, so
w* = y R/total u, u = x/R. Replace-one: y is turned around, w* moves by 2 R/total = Delta_w. Add/remove: the record
comes to none, and w* from 0 to R/total = Delta_w. Records (x', y') with margin below 1 add to w* without feeling it: a
place `offset` Delta_w further out along u is as good a pair, with sums of them in either data set.

A solver errs by slack at most, wherever it likes (erratum J9): here along u, one way with the data and the other way
with the neighbour. That makes Delta_w + 2 slack.

Near-copies. z_t = R (c u + s v_t), c^2 + s^2 = 1, v_t orthonormal, orthogonal to u: an answer moves by c Delta_1, and
K(Z, Z) = R^2 (c^2 11' + s^2 I) is invertible, so that w^ of a large ball tells each of the T noisy answers. Public
points may be any that the analyst likes; these are within R.

LibSVM's bias (erratum J8). With equal x and no regularisation of b, w* = 0 and b* = +1 if more labels are +1, else -1:
one label of an odd number turns every prediction from 1 to -1, whatever total is.

Neighbouring relation: the setting's.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dperm.domain import Neighbours
from dperm.mechanisms.kernel.constants import Setting

# s: small, so that an answer moves by all but 5e-7 of Delta_1.
ASIDE = 1e-3
# R is not 1, so that a power of it too many or too few shows; R^2 is a tenth of total, so that the margin is small.
LIPSCHITZ, FEATURE_NORM, TOTAL = 1.0, 2.0, 40.0
# The solver's public target, as a share of Delta_w.
SLACK = 1 / 20
# A solver that stops at a relative duality gap, at so many records whose loss is about 1.
RELATIVE_GAP, RECORDS = 1e-3, 10_000


class Pair(NamedTuple):
    """What the mechanism is told, and two minimisers on a line: <w, u> with the data and with the neighbour."""

    setting: Setting
    first: float
    second: float
    words: str

    def answers(self, queries: int) -> tuple[np.ndarray, np.ndarray]:
        """Return <w, phi(z_t)> at near-copies, with the data and with the neighbour (queries: T); shape (T,)."""
        each = self.setting.feature_norm * near(queries)
        return np.full(queries, self.first * each), np.full(queries, self.second * each)


def near(queries: int) -> float:
    """Return c: a single point is x itself."""
    return 1.0 if queries == 1 else math.sqrt(1 - ASIDE**2)


def copies(queries: int) -> np.ndarray:
    """Return K(Z, Z) of T near-copies of x."""
    c = near(queries)
    return FEATURE_NORM**2 * (np.full((queries, queries), c**2) + (1 - c**2) * np.eye(queries))


def setting(neighbours: Neighbours, **changed: float) -> Setting:
    """Return the public constants of the pairs, other parameters of `Setting` changed; the ball is all of space."""
    made = Setting(LIPSCHITZ, FEATURE_NORM, TOTAL, neighbours=neighbours)
    return replace(made, **{"slack": SLACK * made.shift, **changed})


def flip(of: Setting, *, erring: float = 0.0, offset: float = 0.0) -> Pair:
    """Return the label flip, or under add/remove the record that comes; units of w.

    `erring` is by how much the solver errs, `offset` how far records that both have push w out along u.
    """
    force = of.lipschitz * of.feature_norm / of.total
    first = -force if of.neighbours == "replace" else 0.0
    words = "flip: (x, 1) for (x, -1)" if of.neighbours == "replace" else "flip: (x, 1) comes"
    words += ", a solver that errs both ways" if erring else ""
    return Pair(of, offset + first - erring, offset + force + erring, words)


def loose(of: Setting) -> Pair:
    """Return the flip with a solver that stops at a usual relative duality gap.

    Records with x = 0 have the loss 1 and hold nothing: F - F* = total/2 ||w - w*||^2 near w*, so that w* + slack u
    has just the gap that is allowed.
    """
    slack = math.sqrt(2 * RELATIVE_GAP * RECORDS / of.total)
    pair = flip(of, erring=slack)
    return pair._replace(words=f"{pair.words} at a relative gap of {RELATIVE_GAP:g}, {RECORDS:,} records")


def majority(of: Setting) -> Pair:
    """Return LibSVM's predictions, -1 and 1, on equal x of which one label turns the majority."""
    return Pair(
        of, -1 / of.feature_norm, 1 / of.feature_norm, "majority: equal x, one label of an odd number is turned"
    )
