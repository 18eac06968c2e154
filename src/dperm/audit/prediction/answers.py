r"""Attacks on one answer with Laplace noise: averages, stable ERM, stable SGD (dwork2018, 4.2 and 4.3).

Without noise the answer is a number. Attacked are the exact law of the two numbers of a worst pair, each with noise,
and by sampling the mechanism's own answers on that pair's records (of an average, its votes).

    averaged      all shards say 0, and one of them then 1: the value moves by 1/r, and ends at the wall of [0, 1].
    stable_erm    one record at x = 1 whose gradient is -+1 wherever w is, the others at x = 0; under add/remove it
                  comes. w moves by k L/(m lambda n); where the solver may err, both err away from each other.
    stable_sgd    the first record is turned around, the others pull nowhere (`dperm.audit.pairs.first_example`): the
                  mean moves by 2 eta L (n - 1)/n.

    laplace       as the mechanism has it.
    halved        SGD at eta/2, with the printed rate (D15).
    half-noise    its noise halved: the control that has to be refuted.
    upside-down   Lemma 4.5's printed scale, epsilon/gamma, for a predictor that is stable at the rate gamma = 2 (D3).

Neighbouring relation: each row's.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from dperm import losses
from dperm.audit import columns, pairs, white_box
from dperm.audit.target import Target
from dperm.domain import Budget, Domain, changed_gradients
from dperm.laws.tails import lower_tail
from dperm.mechanisms.prediction import averaged, stable_erm, stable_sgd
from dperm.mechanisms.prediction.noisy_linear import NoisyLinear
from dperm.noise import Laplace

# Shards of an average; lambda n, and records that pull nowhere, of stable ERM; examples of stable SGD.
_SHARDS, _TOTAL, _OTHERS, _EXAMPLES = 10, 4.0, 3, 100
# The solver's, of what a record moves.
_TOLERANCE = 0.05
# gamma of "upside-down".
_RATE = 2.0
_RADIUS = 1.0
_WHITE_BOX, _MOST_DRAWS = 400, 20_000


class Answer(NamedTuple):
    """A pair, and what the mechanism answers on it.

    The exact law is of `first` and `second`, the answers without noise, and of noise at the `scale` that the
    mechanism states. `draw` maps side, repeats and a generator to its own answers, which are noisy versions of
    `centre` on side 0 and 1; they are clipped to the range between `walls`.
    """

    first: float
    second: float
    scale: float
    draw: Callable[[int, int, np.random.Generator], np.ndarray]
    centre: tuple[float, float]
    guarantee: str
    words: str
    walls: tuple[float, ...] = ()


def attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the attacks on one answer."""
    for made in MAKERS[job["mechanism"]](row):
        yield from on(made, job, row, rng)


def on(made: Answer, job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    """Give the exact attack and the sampled one."""
    line = target(made)
    outputs = made.draw(0, _WHITE_BOX, rng(f"fit {made.words}"))
    noise = columns.noise_behind(line, outputs, made.centre[0], rng(f"atoms {made.words}"))
    record = {
        "guarantee": made.guarantee,
        "loss": "none",
        "white_box_p": white_box.noise_test(noise, line.law).p_value,
        "pair_words": made.words,
    }
    yield record | columns.on_a_line(line, made.first, made.second, delta=row["delta"])
    yield record | columns.sampled(
        Target(draw=made.draw), 0, 1, delta=row["delta"], draws=min(job["draws"], _MOST_DRAWS),
        confidence=job["confidence"], rng=rng(f"draws {made.words}"),
    )  # fmt: skip


def target(made: Answer) -> Target:
    """Return the law on a line; its data are answers without noise."""
    law = Laplace(made.scale)

    def tail(z, beyond):
        return np.where(beyond, 0.0, lower_tail(law, z))

    low, high = made.walls or (-np.inf, np.inf)
    return Target(
        draw=lambda centre, repeats, rng: np.clip(centre + law.sample((repeats, 1), rng), low, high),
        law=law,
        cdf=lambda t, centre: np.where(t >= high, 1.0, tail((t - centre) / law.scale, t < low)),
        sf=lambda t, centre: np.where(t < low, 1.0, tail((centre - t) / law.scale, t >= high)),
        atoms=made.walls,
    )


def average(row: Mapping[str, Any]) -> list[Answer]:
    """Return an average of ten predictions in [0, 1]."""
    epsilon = row["epsilon"]
    if row["variant"] == "upside-down":
        law, centre = Laplace(epsilon / _RATE), (0.0, _RATE)

        def draw(side, repeats, rng):
            return centre[side] + law.sample((repeats,), rng)

        return [Answer(*centre, law.scale, draw, centre, "none", f"a prediction that moves by gamma = {_RATE:g}")]
    weakened = row["variant"] == "half-noise"
    scale = averaged.scale(_SHARDS, epsilon, row["calibration"]) / (2 if weakened else 1)
    centre = (0.0, 1 / _SHARDS)

    def release(side, repeats, rng):
        return averaged.release(np.array([centre[side]]), scale, rng=rng, repeats=repeats)[:, 0]

    words = f"all of {_SHARDS} shards say 0, or all but one"
    return [Answer(*centre, scale, release, centre, "none" if weakened else "proved", words, (0.0, 1.0))]


def erm(row: Mapping[str, Any]) -> list[Answer]:
    """Return stable ERM, as in Corollary 4.11 and as in 4.10."""
    return [_erm(row, corollary, convexity) for corollary, convexity in (("4.11", 2), ("4.10", 1))]


def sgd(row: Mapping[str, Any]) -> list[Answer]:
    """Return stable SGD, for replace-one."""
    case = pairs.first_example(neighbours=row["neighbours"], budget=Budget(row["epsilon"]), records=_EXAMPLES)
    eta = "halved" if row["variant"] == "halved" else "printed"
    weakened = row["variant"] == "half-noise"
    made = [
        stable_sgd.prepare(
            X, y, case.loss, domain=Domain(x_norm=1.0, theta_norm=_RADIUS, y_bound=pairs.FAR), eta=eta,
            epsilon=row["epsilon"] * (2 if weakened else 1), calibration="tight" if weakened else row["calibration"],
        )
        for X, y in (case.data, case.neighbour)
    ]  # fmt: skip
    # One step of eta, in all but the first of n iterates.
    moved = _RADIUS / np.sqrt(_EXAMPLES) * (0.5 if eta == "halved" else 1.0) * (_EXAMPLES - 1) / _EXAMPLES
    return [_linear(made, (moved, -moved), 0.0, weakened, f"the first of {_EXAMPLES} examples is turned around")]


def _erm(row: Mapping[str, Any], corollary: str, convexity: int) -> Answer:
    weakened = row["variant"] == "half-noise"
    axis, still = np.eye(2)[:1], np.zeros((_OTHERS, 2))
    targets_ = np.zeros(_OTHERS)

    def records(*signs):
        X = np.concatenate([axis] * len(signs) + [still])
        return X, np.concatenate([[sign * pairs.FAR for sign in signs], targets_])

    come = row["neighbours"] == "add_remove"
    made = [
        stable_erm.prepare(
            X, y, losses.huber(1.0), domain=Domain(x_norm=1.0, theta_norm=_RADIUS, y_bound=pairs.FAR),
            epsilon=row["epsilon"] * (2 if weakened else 1), calibration="tight" if weakened else row["calibration"],
            neighbours=row["neighbours"], corollary=corollary, total=_TOTAL,
            tolerance=_TOLERANCE,
        )
        for X, y in (records(1), records(*(() if come else (-1,))))
    ]  # fmt: skip
    # The record's gradient against the regularizer's: convexity lambda n w = +-1.
    ends = (1 / (convexity * _TOTAL), 0.0 if come else -1 / (convexity * _TOTAL))
    own = changed_gradients(row["neighbours"]) / (convexity * _TOTAL)
    # The solver may err by this, away from the other: both calibrations' noise covers it.
    slack = _TOLERANCE * own
    what = "comes" if come else "is turned around"
    return _linear(made, ends, slack, weakened, f"a record that pulls with all its force {what} ({corollary})")


def _linear(made: list[NoisyLinear], ends: tuple[float, float], slack: float, weakened: bool, words: str) -> Answer:
    """Return answers at x = 1 along the first axis."""
    asked = np.eye(len(made[0].w))[:1]

    def draw(side, repeats, rng):
        return made[side].release(asked, rng=rng, repeats=repeats)[:, 0]

    centre = tuple(float(one.w[0]) for one in made)
    stated = "none" if weakened else made[0].guarantee
    return Answer(ends[0] + slack, ends[1] - slack, made[0].scale, draw, centre, stated, words)


MAKERS = {"averaged": average, "stable_erm": erm, "stable_sgd": sgd}
KNOWN = {
    ("averaged", "paper"): ("laplace", "half-noise", "upside-down"),
    ("averaged", "tight"): ("laplace",),
    ("stable_erm", "paper"): ("laplace", "half-noise"),
    ("stable_erm", "tight"): ("laplace",),
    ("stable_sgd", "paper"): ("laplace", "halved", "half-noise"),
    ("stable_sgd", "corrected"): ("laplace", "halved"),
    ("stable_sgd", "tight"): ("laplace",),
}
