r"""Attacks on PINP (jain2013, Algorithm 1, Theorems 2 and 9): transcripts of decisions and answers, exactly.

laplace, paper (B >= 1). Copies of x whose answers lie far above sigma: each of the first B rounds updates, and tells
f + zeta. The loss of a transcript is that of B aligned Laplace shifts of S = Delta_1 (`privacy_loss`); what does not
update is left out. Beside it one query at sigma, on a line: w_0's answer 0 is an atom, or f + zeta where it exceeds
sigma.

part-of-an-update, paper (B < 1). "counter < B" lets one update happen however small B is, and eps0 ~ 1/sqrt(B): its
answer spends S eps0 = epsilon/(100 sqrt(B) log(4/delta)), which has no bound. B is not free of units (erratum J3):
phi -> s phi, lambda -> s^2 lambda changes no prediction and divides B by s.

theorem9, paper. eps0 = epsilon/(200 sqrt(B S) log(4/delta)) as Theorem 9 prints it (erratum J2): one answer spends
epsilon sqrt(S/B)/(200 log(4/delta)), more than epsilon once S > (200 log(4/delta))^2 B, about 1e7.

laplace, corrected; gaussian, tight. Two queries that a record moves in opposite directions (`crossing`), B = 1. The
same shows when the printed algorithm halts.

Neighbouring relation: each row's.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dperm.audit import columns, white_box
from dperm.audit.kernel import crossing, pairs
from dperm.audit.kernel.crossing import BETA, PIECES, Crossing
from dperm.audit.kernel.pairs import Pair
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.laws import privacy_loss
from dperm.laws.privacy_loss import PrivacyLoss
from dperm.laws.tails import lower_tail
from dperm.mechanisms.kernel import pinp
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.pinp import Constants
from dperm.noise import Gaussian, Laplace, SphericalLaplace

KNOWN = {
    ("pinp", "paper"): ("laplace", "part-of-an-update", "theorem9"),
    ("pinp", "corrected"): ("laplace",),
    ("pinp", "tight"): ("gaussian",),
}
# B of the printed algorithm where it is at least 1.
UPDATES = 16
# n lambda, R = L = 1 aside, at which sigma is small against C R; and at which B is 1e-9.
_LARGE, _SMALL = 4e9, 4e5
# S of Theorem 9.
_SENSITIVITY = 1e9
# How far beyond sigma an answer lies that surely updates, in units of the noise.
_FAR = 40.0
# Sampled and tested: so many queries, runs.
_FEW, _WHITE_BOX, _MOST_DRAWS = 15, 1_000, 20_000


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one budget."""
    budget = Budget(row["epsilon"], row["delta"])
    give = _single if row["calibration"] == "paper" else _crossed
    for record in give(job, row, budget, rng):
        yield {"loss": "hinge"} | record


class Single(NamedTuple):
    """The printed algorithm at copies of x; the pair's offset puts f at sigma or far above it."""

    pair: Pair
    constants: Constants
    words: str

    @property
    def exact(self) -> tuple[float, float]:
        """Return f with the data and with the neighbour."""
        norm = self.pair.setting.feature_norm
        return norm * self.pair.first, norm * self.pair.second

    def target(self) -> Target:
        """Return the answer to one query as the auditor sees it; its data are f."""
        sigma, law = self.constants.threshold, SphericalLaplace(1 / self.constants.epsilon0)

        def at(points):
            """Return up to where f + zeta may go for the answer not to exceed a point."""
            inside = np.where(points < 0, -sigma, sigma)
            return np.where(np.abs(points) < sigma, inside, points)

        def draw(exact, repeats, rng):
            return _run(self.constants, self.pair.setting, np.array([exact]), rng, repeats).predictions

        return Target(
            draw=draw,
            law=law,
            cdf=lambda points, exact: lower_tail(law, (at(points) - exact) / law.scale),
            sf=lambda points, exact: lower_tail(law, (exact - at(points)) / law.scale),
            atoms=(0.0,),
        )


def _single(job: Mapping[str, Any], row: Mapping[str, Any], budget: Budget, rng: Callable) -> Iterator[dict[str, Any]]:
    made = single(row["variant"], row["neighbours"], budget)
    target, (first, second) = made.target(), made.exact
    # At sigma both outcomes are likely.
    probe = target.draw(made.constants.threshold, _WHITE_BOX, rng("noise"))
    behind = columns.noise_behind(target, probe, made.constants.threshold, rng("atoms"))
    record = {
        "guarantee": made.constants.guarantee,
        "white_box_p": white_box.noise_test(behind, target.law).p_value,
        "pair_words": f"{made.pair.words}; {made.words}",
    }
    found = [columns.on_a_line(target, first, second, delta=budget.delta)]
    rounds = made.constants.updates
    if rounds > 1:
        shift = (second - first) * made.constants.epsilon0
        law = privacy_loss.laplace(shift, 500, left_out=np.exp(-_FAR) / 2).self_compose(rounds)
        found.append(columns.of_losses(law, law, budget.delta, f"{rounds} answers that update"))
        found.append(_halting(row["neighbours"], budget))
    yield record | max(found, key=lambda one: one["exact_bound"])
    yield record | columns.sampled(
        target, first, second, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS), confidence=job["confidence"],
        rng=rng("draws"),
    )  # fmt: skip


def _halting(neighbours: str, budget: Budget) -> dict[str, Any]:
    """Return the attack on when the printed algorithm halts, B = 1; answers are ignored."""
    of = _whole(pairs.setting(neighbours, total=_LARGE, slack=0.0), budget, 1)
    made = Crossing(of, pinp.constants(of, budget, queries=1, beta=BETA, calibration="paper"))
    silent = PrivacyLoss(np.ones(1), 0, of.feature_norm * of.shift * made.constants.epsilon0 / PIECES[0])
    worst = crossing.worst(made, silent, budget.delta)
    words = f"{pairs.flip(of).words}; crossed: {worst.count:,} queries at -x + v, then x + v, B = 1"
    both = (worst.privacy_loss(side, silent) for side in (1, -1))
    return {"pair_words": words} | columns.of_losses(*both, budget.delta, "the round in which it halts")


def single(variant: str, neighbours: str, budget: Budget) -> Single:
    """Return what a row of the printed algorithm is attacked at.

    Its guarantee is what the mechanism states, and none for constants that are not the algorithm's.
    """
    if variant == "theorem9":
        # S = R Delta_w of replace-one.
        norm = math.sqrt(_SENSITIVITY * pairs.TOTAL / 2)
        of = pairs.setting(neighbours, feature_norm=norm, radius=1e30)
        length = math.log(2 / BETA)
        epsilon0 = budget.epsilon / (200 * math.sqrt(_SENSITIVITY) * math.log(4 / budget.delta))
        scale, threshold = 1 / epsilon0, 4 * length / epsilon0
        made = pinp.constants(of, budget, queries=1, beta=BETA, calibration="paper")
        made = replace(
            made, updates=1, epsilon0=epsilon0, threshold=threshold, step=threshold / (4 * norm**2), deciding=scale,
            answering=scale, guarantee="none",
        )  # fmt: skip
        words = f"one answer above sigma, S = {_SENSITIVITY:.0e}, B = 1"
    elif variant == "part-of-an-update":
        of = pairs.setting(neighbours, total=_SMALL)
        of = replace(of, radius=of.lipschitz * of.feature_norm / of.total)
        made = pinp.constants(of, budget, queries=1, beta=BETA, calibration="paper")
        words = f"one query at x, B = {made.bound:.1e}"
    else:
        of = _whole(pairs.setting(neighbours, total=_LARGE), budget, UPDATES)
        made = pinp.constants(of, budget, queries=UPDATES, beta=BETA, calibration="paper")
        # Each update lets d fall by sigma/4.
        far = made.threshold * (1 + made.updates / 4) + _FAR / made.epsilon0
        words = f"{made.updates} copies of x with answers far above sigma, B = {made.bound:.3g}"
        return Single(_placed(of, far), made, words)
    far = made.threshold + _FAR / made.epsilon0
    reach = of.radius * of.feature_norm
    pair = _placed(of, far) if far < reach else pairs.flip(of)
    return Single(pair, made, words)


def _whole(of: Setting, budget: Budget, updates: int) -> Setting:
    """Return the setting with the C at which the printed algorithm allows so many updates (B ~ C^2)."""
    one = pinp.constants(replace(of, radius=1.0), budget, queries=updates, beta=BETA, calibration="paper")
    return replace(of, radius=math.sqrt((updates - 1e-6) / one.bound))


def _placed(of: Setting, answer: float) -> Pair:
    """Return the flip whose smaller answer is this one."""
    pair = pairs.flip(of)
    return pairs.flip(of, offset=answer / of.feature_norm - pair.first)


def _crossed(job: Mapping[str, Any], row: Mapping[str, Any], budget: Budget, rng: Callable) -> Iterator[dict[str, Any]]:
    made, answer, coarse = crossing.proper(row["neighbours"], budget, row["calibration"])
    worst = crossing.worst(made, coarse, budget.delta)
    few = crossing.at_levels(made, _FEW, -4.0, 0.0)
    record = {"guarantee": made.constants.guarantee, "white_box_p": white_box_test(few, rng("noise"))}
    words = pairs.flip(made.setting, erring=made.setting.slack).words
    yield (
        record
        | {"pair_words": f"{words}; crossed: {worst.count:,} queries at -x + v, then x + v"}
        | columns.of_losses(
            worst.privacy_loss(1, answer), worst.privacy_loss(-1, answer), budget.delta, "the transcript"
        )
    )
    target = Target(draw=lambda side, repeats, rng: np.column_stack(few.draw(side, repeats, rng)))
    found = columns.sampled(
        target, 1, -1, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS), confidence=job["confidence"],
        rng=rng("draws"),
    )  # fmt: skip
    yield record | {"pair_words": f"{words}; crossed: {_FEW} queries at -x + v, then x + v"} | found


def white_box_test(made: Crossing, rng: np.random.Generator) -> float:
    """Return whether the code's decisions and answers have their laws."""
    rounds, noise = made.draw(1, _WHITE_BOX, rng)
    law = made.decisions(1, np.arange(made.count + 1))
    updated = rounds <= made.count
    moved = np.where(rounds == made.count, made.half, -made.half)
    promised = Laplace if made.constants.calibration == "corrected" else Gaussian
    added = (noise - moved)[updated][:, None]
    answers = white_box.noise_test(added, promised(made.constants.answering)).p_value
    return min(1.0, 2 * min(answers, crossing.fit_p(rounds, law)))


def _run(constants: Constants, of: Setting, answers: np.ndarray, rng: np.random.Generator, repeats: int) -> pinp.Run:
    """Run on copies of x."""
    features = np.full((len(answers), 1), of.feature_norm)
    return pinp.run(constants, of, features, answers, rng=rng, repeats=repeats)
