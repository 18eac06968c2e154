r"""Two queries that a record moves in opposite directions, under a sparse vector: the exact law of the transcript.

PINP's forms with B = 1 (jain2013, Algorithm 1): T is what the error is promised for, and privacy for any number of
queries. A long part v of w*, orthogonal to u, puts the levels of two queries anywhere,

    z_1 = R (-cos a, sin a),   z_2 = R (cos b, sin b),   <w*, z_1> = d_1 -+ cos a S/2,   <w*, z_2> = d_2 +- cos b S/2:

N times z_1, then z_2. Where the neighbour is more likely to update at z_1 and less at z_2, "no" N times and then "yes",
with an answer that is large, spends on the threshold's, the decision's and the answer's noise at once. The outcomes are

    yes at z_1, in groups of rounds, and the answer;   N times no, yes at z_2, and the answer;   no to the end,

with h_i(rho) = P(yes at z_i | rho), E over the threshold's noise rho by quadrature (none in "tight" and "paper"):

    P(yes after round k_1 and by k_2) = E (1 - h_1)^{k_1} - (1 - h_1)^{k_2},   P(no N times, yes) = E (1 - h_1)^N h_2.

Neighbouring relation: the setting's.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import stats

from dperm.audit.kernel import pairs
from dperm.audit.white_box import pooled
from dperm.domain import Budget
from dperm.laws import privacy_loss, tails
from dperm.laws.privacy_loss import PrivacyLoss
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.pinp import Constants
from dperm.noise import Laplace

BETA = 0.05
# C, where it is ours: far beyond what any level needs.
_FREE = 1e12
# Queries at z_1; groups that their rounds are seen in; and levels that are tried, in units of the decision's noise.
_COUNTS, _GROUPS = (10, 30, 1_000), 32
_LEVELS = np.arange(-8.0, 4.1, 2.0)
# Pieces that the noise of an answer is cut into: at last, and in the search.
PIECES = (200, 10)
# Quadrature over the threshold's noise: so many of its scales, in panels of one.
_REACH = 45
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)


class Crossing(NamedTuple):
    """N queries (`count`) at level d_1 and one at d_2, which a record moves in opposite directions.

    Levels are from between the pair.
    """

    setting: Setting
    constants: Constants
    count: int = 1
    first: float = 0.0
    second: float = 0.0

    @property
    def half(self) -> float:
        """Return half of how far an answer moves: S/2, the solver's error with it."""
        return self.setting.feature_norm * self.setting.covered / 2

    @property
    def sines(self) -> tuple[float, float]:
        """Return sin a and sin b: v's part of w* is half of C long."""
        reach = self.setting.radius * self.setting.feature_norm / 2
        return self.first / reach, self.second / reach

    def levels(self, side: int) -> tuple[float, float]:
        """Return the answers at z_1 and z_2 (side: 1 where z_2 is more likely to update)."""
        (a, b), move = self.sines, side * self.half
        return self.first - move * math.sqrt(1 - a**2), self.second + move * math.sqrt(1 - b**2)

    def decisions(self, side: int, groups: np.ndarray) -> np.ndarray:
        """Return the probabilities, answers aside, of yes in each group of rounds at z_1; yes at z_2; no to the end.

        `groups` are the ends of the groups, from 0 to N.
        """
        rho, weights = _threshold_noise(self.constants.moving)
        # log(1 - h_1), of shape (nodes,).
        chances = [_yes(self.constants, level, rho) for level in self.levels(side)]
        nothing = np.exp(np.multiply.outer(groups, np.log1p(-chances[0])))
        at_first = -np.diff(nothing @ weights)
        none = nothing[-1] * weights
        return np.concatenate([at_first, [none @ chances[1], none @ (1 - chances[1])]])

    def outcomes(self, side: int, edges: np.ndarray) -> np.ndarray:
        """Return the probabilities of the corrected form's transcripts, an answer in bins from between the pair."""
        decided = np.maximum(self.decisions(side, np.arange(self.count + 1)), 0.0)
        law, moved = Laplace(self.constants.answering), side * self.half
        bins = [np.diff(_distribution(law, edges - move)) for move in (-moved, moved)]
        at_first = np.multiply.outer(decided[: self.count], bins[0]).ravel()
        found = np.concatenate([at_first, decided[self.count] * bins[1], decided[-1:]])
        return found / found.sum()

    def privacy_loss(self, side: int, answer: PrivacyLoss) -> PrivacyLoss:
        """Return the privacy loss of the transcript on one side; `answer` is an update's, equal in either direction."""
        groups = np.unique(np.round(np.linspace(0, self.count, _GROUPS + 1)).astype(int))
        p, q = (self.decisions(one, groups) for one in (side, -side))
        yes = privacy_loss.of_outcomes(p[:-1], q[:-1], answer.width).compose(answer)
        return yes.union(privacy_loss.of_outcomes(p[-1:], q[-1:], answer.width))

    def draw(self, side: int, repeats: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Run the mechanism; return the round of the update, or N + 1, and the noise of its answer, or 0.

        The noise is from between the pair.
        """
        # phi(z) and w* in coordinates along u and v.
        (a, b), norm = self.sines, self.setting.feature_norm
        each = np.array([[-math.sqrt(1 - a**2), a], [math.sqrt(1 - b**2), b]])
        features = norm * np.repeat(each, [self.count, 1], axis=0)
        answers = features @ np.array([side * self.half / norm, self.setting.radius / 2])
        found = pinp.run(self.constants, self.setting, features, answers, rng=rng, repeats=repeats)
        updated = found.updated.argmax(axis=1)
        some = found.updated.any(axis=1)
        middle = np.where(updated < self.count, self.first, self.second)
        noise = np.take_along_axis(found.predictions, updated[:, None], axis=1)[:, 0] - middle
        return np.where(some, updated, self.count + 1), np.where(some, noise, 0.0)


def worst(made: Crossing, answer: PrivacyLoss, delta: float) -> Crossing:
    """Return the crossing whose number of queries and levels spend the most."""

    def spends(one: Crossing) -> float:
        return max(one.privacy_loss(side, answer).epsilon(delta).epsilon for side in (1, -1))

    return max((at_levels(made, *tried) for tried in itertools.product(_COUNTS, _LEVELS, _LEVELS)), key=spends)


def proper(neighbours: str, budget: Budget, calibration: str) -> tuple[Crossing, PrivacyLoss, PrivacyLoss]:
    """Return the crossing of a row, its levels yet to be chosen, and the law of the loss of its answer.

    The law comes twice: the second is cut less finely, for the search.
    """
    of = pairs.setting(neighbours, radius=_FREE)
    made = Crossing(of, pinp.constants(of, budget, queries=1, beta=BETA, calibration=calibration))
    move = 2 * made.half / made.constants.answering
    of_answer = privacy_loss.laplace if calibration == "corrected" else privacy_loss.gaussian
    return made, *(of_answer(move, pieces) for pieces in PIECES)


def at_levels(made: Crossing, count: int, first: float, second: float) -> Crossing:
    """Return the crossing with N queries at d_1 and one at d_2, given as d - sigma in units of the decision's noise."""
    sigma, unit = made.constants.threshold, made.constants.deciding
    return made._replace(count=count, first=sigma + first * unit, second=sigma + second * unit)


def fit_p(outcomes: np.ndarray, law: np.ndarray) -> float:
    """Return the p-value of a chi-square test, rare outcomes put together."""
    seen, expected = pooled(np.bincount(outcomes, minlength=len(law)).astype(float), len(outcomes) * law)
    some = expected > 0
    return float(stats.chisquare(seen[some], expected[some] * seen[some].sum() / expected[some].sum()).pvalue)


def _yes(constants: Constants, level: float, rho: np.ndarray) -> np.ndarray:
    """Return P(update | rho) at f = level, w_t = 0."""
    scale, sigma = constants.deciding, constants.threshold
    if constants.calibration == "corrected":
        return _beyond((sigma + rho - abs(level)) / scale)
    return _beyond((sigma - level + 0 * rho) / scale) + _beyond((sigma + level) / scale)


def _distribution(law: Laplace, edges: np.ndarray) -> np.ndarray:
    """Return the distribution function at the edges, 0 before and 1 behind them."""
    return np.concatenate([[0.0], 1 - _beyond(edges / law.scale), [1.0]])


def _beyond(z: np.ndarray | float) -> np.ndarray:
    """Return P(Lap(1) > z)."""
    return tails.lower_tail(Laplace(1.0), -z)


def _threshold_noise(scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for E over Lap(scale); one node where there is no such noise."""
    if scale == 0:
        return np.zeros(1), np.ones(1)
    edges = np.arange(-_REACH, _REACH)[:, None]
    nodes = (edges + (1 + _NODES) / 2).ravel()
    weights = np.tile(_WEIGHTS / 2, len(edges)) * 0.5 * np.exp(-np.abs(nodes))
    return scale * nodes, weights
