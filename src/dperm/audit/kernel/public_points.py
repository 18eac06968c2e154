r"""Attacks on TDIL (jain2013, Algorithm 3, Theorem 7): which public point was chosen, and what was answered there.

The public set may be any: m_1 copies of z_1 = R (-cos a, sin a) and m_2 of z_2 = R (cos b, sin b), in coordinates along
u, in which one record moves w*, and v, in which it does not. With w* = (cos c, sin c) from the middle of the pair, the
record raises |<w*, z_2>| and lowers |<w*, z_1>| (or leaves it, if z_1 = 0: one far centre and many at 0). Then

    P(z_i) = m_i e^{weight |f_i|}/sum_j m_j e^{weight |f_j|},

and ratios move by both. One round is attacked, of constants with B = 1 (tight: two rounds, d = 1).

laplace, paper. Outcomes are the two points. weight S = eps0/4 = total epsilon/(40 L R^2 sqrt(B) log(4/delta)) grows
with total (erratum J1): z_1 at 0, f_2 from 0 to S.

laplace, corrected. Outcomes are the point and, where the answer a exceeds sigma, a, in bins. |f| < sigma, as C is what
B = 1 allows; angles and numbers of copies that spend the most are searched.

gaussian, tight. Two public points that see u from either side, R (+-cos t, sin t) with a small t, and w* = (+-S/2R, h)
with h sin t >= S/2R: a record raises both score and answer of one point by S = R covered and lowers those of the other,
so that choice and answer leak together. With a = weight S and m = S^2/(2 s^2), a round spends

    L = +-a + N(m, 2m),     P(+a) = 1/(1 + e^-a),

independent of the rounds before it where w_t stays at 0: a public radius C far below s does that (kappa = d (s/C)^2 is
beyond 1e18, so w_t is a 1e18th of what was answered). Of K rounds j say +a, P_j binomial and Q_j = P_j e^{-(2j - K) a}:

    P(L >= t) = sum_j P_j Phi(((2j - K) a + K m - t)/sqrt(2 K m)),  Q alike with -K m,

and every t is an event. Two points that are not equal take up two directions of feature space, so K = 4.

Neighbouring relation: each row's.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.audit import columns, white_box
from dperm.audit.kernel import pairs
from dperm.audit.kernel.crossing import BETA, fit_p
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.laws import privacy_loss, tails
from dperm.laws.privacy_loss import PrivacyLoss
from dperm.mechanisms.kernel import tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.tdil import Constants
from dperm.noise import Gaussian, Laplace

KNOWN = {("tdil", "paper"): ("laplace",), ("tdil", "corrected"): ("laplace",), ("tdil", "tight"): ("gaussian",)}
# n lambda, R = L = 1 aside, at which eps0 is large.
_LARGE = 4e4
# What is tried: angles in degrees (of w*, z_1, z_2), and copies of z_1; None: z_1 = 0.
_OF_W, _OF_FIRST, _OF_SECOND = (0, 20, 40, 60, 80), (None, 15, 30, 45, 60), (0, 15, 30)
_COPIES = (1, 10, 100, 1_000, 10_000, 100_000)
# Bins of an answer between the two centres.
_BINS = 32
_WIDTH = 1 / 400
_WHITE_BOX, _MOST_DRAWS = 2_000, 20_000
# The two points beside u: t, C in units of how far w* moves; thresholds of the loss, and how far out.
_ANGLE, _SMALL = 1e-3, 1e-10
_THRESHOLDS, _DEVIATIONS, _ROUNDING = 4_001, 9, 1e-12


class Choice(NamedTuple):
    """Two public points z_1 and z_2, along u and v, the first of them `copies` times.

    w* moves by twice `half` around `middle`, in units of w.
    """

    setting: Setting
    constants: Constants
    half: float
    middle: np.ndarray
    points: np.ndarray
    copies: int = 1

    def exact(self, side: int) -> np.ndarray:
        """Return <w*, z_i> (side: 1 where w* lies further out along u); shape (2,)."""
        return self.points @ (self.middle + np.array([side * self.half, 0.0]))

    def chances(self, side: int) -> np.ndarray:
        """Return the probabilities of z_1 and z_2 in the first round; shape (2,)."""
        log_odds = self.constants.weight * np.abs(self.exact(side)) + np.log([self.copies, 1])
        odds = np.exp(log_odds - log_odds.max())
        return odds / odds.sum()

    def outcomes(self, side: int) -> np.ndarray:
        """Return the probabilities of the point and of the answer a there: a < -sigma, |a| <= sigma, and bins above."""
        sigma, scale = self.constants.threshold, self.constants.noise
        ends = np.stack([self.exact(1), self.exact(-1)])
        above = [np.maximum(sigma, np.linspace(*np.sort(ends[:, i]), _BINS + 1)) for i in (0, 1)]
        edges = [np.concatenate([[-sigma, sigma], more]) for more in above]
        laws = [
            -np.diff(np.concatenate([[1.0], tails.lower_tail(Laplace(1.0), (f - edge) / scale), [0.0]]))
            for edge, f in zip(edges, self.exact(side), strict=True)
        ]
        return self.chances(side)[:, None] * np.array(laws)

    def privacy_loss(self, side: int) -> PrivacyLoss:
        """Return the privacy loss of a round on one side."""
        p, q = (self.outcomes(one).ravel() for one in (side, -side))
        return privacy_loss.of_outcomes(p, q, _WIDTH)

    def run(self, side: int, repeats: int, rng: np.random.Generator) -> tdil.Run:
        """Run the mechanism; the last of the set's points is z_2."""
        which = np.repeat([0, 1], [self.copies, 1])
        features = self.points[which]
        return tdil.run(self.constants, self.setting, features, self.exact(side)[which], rng=rng, repeats=repeats)

    def draw(self, side: int, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Return which points were chosen, and the answers; shape (repeats, 2 rounds)."""
        found = self.run(side, repeats, rng)
        return np.column_stack([found.chosen == self.copies, found.answers])


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget."""
    budget = Budget(row["epsilon"], row["delta"])
    made, found = CASES[row["calibration"]](row["neighbours"], budget)
    words = pairs.flip(made.setting, erring=made.setting.slack).words
    record = {"guarantee": made.constants.guarantee, "loss": "hinge", "white_box_p": white_box_test(made, rng("noise"))}
    yield record | {"pair_words": f"{words}; {found.pop('words')}"} | found
    few = made._replace(copies=min(made.copies, 10))
    sampled = columns.sampled(
        Target(draw=few.draw), 1, -1, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS),
        confidence=job["confidence"], rng=rng("draws"),
    )  # fmt: skip
    yield record | {"pair_words": f"{words}; {few.copies} points beside x"} | sampled


def printed(neighbours: str, budget: Budget) -> Choice:
    """Return one far centre and a point at 0, and constants with B = 1 of many n lambda."""
    of = pairs.setting(neighbours, total=_LARGE, slack=0.0)
    of = replace(of, radius=2 * of.shift)
    # B is n epsilon/(100 L R log(4/delta)): so many records, all with x = 0 but one.
    records = math.ceil(100 * of.lipschitz * of.feature_norm * math.log(4 / budget.delta) / budget.epsilon * 1.01)
    made = tdil.constants(of, budget, records=records, dimension=1, beta=BETA, calibration="paper")
    half = of.shift / 2
    points = of.feature_norm * np.array([[0.0, 0.0], [1.0, 0.0]])
    return Choice(of, made, half, np.array([half, 0.0]), points)


def _paper(neighbours: str, budget: Budget) -> tuple[Choice, dict[str, Any]]:
    tried = [printed(neighbours, budget)._replace(copies=copies) for copies in _COPIES]
    found = [(one, columns.over_outcomes(one.chances, 1, -1, delta=budget.delta)) for one in tried]
    worst, attack = max(found, key=lambda entry: entry[1]["exact_bound"])
    point = ("at 0", "x")[int("{1}" in attack["event"])]
    attack |= {"event": f"z_1 is {point}", "words": f"z_1 of a net of x and {worst.copies} at 0"}
    return worst, attack


def corrected(neighbours: str, budget: Budget) -> tuple[Setting, Constants]:
    """Return constants with B = 1, C as large as it may be for that."""
    of = pairs.setting(neighbours, radius=1e-9)
    fixed = {"records": 1, "dimension": 1, "beta": BETA, "calibration": "corrected"}
    small = tdil.constants(of, budget, **fixed)
    # B ~ (C + slack)^2; up to 2 it is 1.
    of = replace(of, radius=of.reach * math.sqrt(1.999 / small.bound) - of.slack)
    return of, tdil.constants(of, budget, **fixed)


def _corrected(neighbours: str, budget: Budget) -> tuple[Choice, dict[str, Any]]:
    made = worst(*corrected(neighbours, budget), budget.delta)
    words = f"a round over z_2 and {made.copies:,} at z_1, turned the other way"
    return made, {"words": words} | columns.of_losses(
        made.privacy_loss(1), made.privacy_loss(-1), budget.delta, "the round"
    )


def worst(of: Setting, made: Constants, delta: float) -> Choice:
    """Return the choice whose angles and copies spend the most in a round."""

    def spends(one: Choice) -> float:
        return max(one.privacy_loss(side).epsilon(delta).epsilon for side in (1, -1))

    return max((placed(of, made, *angles, copies) for *angles, copies in _ANGLES), key=spends)


_ANGLES = tuple(itertools.product(_OF_W, _OF_FIRST, _OF_SECOND, _COPIES))


def placed(of: Setting, made: Constants, of_w: float, first: float | None, second: float, copies: int) -> Choice:
    """Return the choice at angles c, a and b in degrees, with copies of z_1; a = None is z_1 = 0."""
    a, b, c = (math.radians(angle or 0.0) for angle in (first, second, of_w))
    length = max(of.radius - of.covered / 2, 0.0)
    z = np.array([[-math.cos(a), math.sin(a)], [math.cos(b), math.sin(b)]])
    z[0] *= first is not None
    middle = length * np.array([math.cos(c), math.sin(c)])
    return Choice(of, made, of.covered / 2, middle, of.feature_norm * z, copies)


def tight(neighbours: str, budget: Budget) -> Choice:
    """Return two public points on either side of u, and a w* that lies far along v."""
    of = pairs.setting(neighbours)
    of = replace(of, radius=_SMALL * of.covered)
    made = tdil.constants(of, budget, records=1, dimension=2, beta=BETA, calibration="tight")
    points = of.feature_norm * np.array([[-math.cos(_ANGLE), math.sin(_ANGLE)], [math.cos(_ANGLE), math.sin(_ANGLE)]])
    # Twice as far as it takes: no score is near 0.
    return Choice(of, made, of.covered / 2, np.array([0.0, of.covered / math.sin(_ANGLE)]), points)


def leaking(made: Choice, delta: float) -> dict[str, Any]:
    """Return the exact attack on all choices and answers of `tight` together."""
    rounds = made.constants.rounds
    moved = made.exact(1)[1] - made.exact(-1)[1]
    a, m = made.constants.weight * moved, rounds * (moved / made.constants.noise) ** 2 / 2
    plus = np.arange(rounds + 1)
    p = special.binom(rounds, plus) * special.expit(a) ** plus * special.expit(-a) ** (rounds - plus)
    steps = (2 * plus - rounds) * a
    t = np.linspace(0, steps[-1] + m + _DEVIATIONS * math.sqrt(2 * m), _THRESHOLDS)[:, None]
    above, below = (
        (weights * special.ndtr((steps + mean - t) / math.sqrt(2 * m))).sum(axis=1)
        for weights, mean in ((p, m), (p * np.exp(-steps), -m))
    )
    # Rounding in doubles, and what a w_t that is not quite 0 changes.
    above, below = above * (1 - _ROUNDING), below * (1 + _ROUNDING)
    value = np.where(above > delta, (above - delta) / np.maximum(below, 1e-300), 0.0)
    best = int(value.argmax())
    event = f"choices and answers of {rounds} rounds spend {t[best, 0]:.4g} or more"
    epsilon = math.log(max(value[best], 1.0))
    return columns.certain(columns.LOSSES, "data", event, epsilon, float(above[best]), float(below[best]))


def _tight(neighbours: str, budget: Budget) -> tuple[Choice, dict[str, Any]]:
    made = tight(neighbours, budget)
    return made, {"words": "points on either side of x, and w* far between them"} | leaking(made, budget.delta)


CASES = {"paper": _paper, "corrected": _corrected, "tight": _tight}


def white_box_test(made: Choice, rng: np.random.Generator) -> float:
    """Return whether the code's choices and answers of the first round have their laws."""
    few = made._replace(copies=min(made.copies, 1_000))
    found = few.run(1, _WHITE_BOX, rng)
    last = (found.chosen[:, 0] == few.copies).astype(int)
    if made.constants.calibration == "tight":
        noise = found.answers[:, 0] - few.exact(1)[last]
        answers = white_box.noise_test(noise[:, None], Gaussian(made.constants.noise)).p_value
        return min(1.0, 2 * min(answers, fit_p(last, few.chances(1))))
    if made.constants.calibration == "paper":
        return fit_p(last, few.chances(1))
    # The answer is 0 where w did not move, and a beyond sigma where it did.
    law = few.outcomes(1)
    law = np.stack([law[:, 0], law[:, 1], law[:, 2:].sum(axis=1)], axis=1)
    place = 1 + np.sign(found.answers[:, 0]).astype(int)
    return fit_p(3 * last + place, law.ravel())
