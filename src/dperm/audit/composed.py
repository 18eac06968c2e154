r"""Attacks on sparse regression in two stages: the joint law of support and parameter (kifer2012, Algorithms 2 and 6).

For s = 1 and p = 2 a release is a support, {1} or {2}, and one number in [-B, B]. Laid side by side,

    t = theta on {1},     t = theta + 4 B on {2},     F(t) = P({1}) F_1(t) + P({2}) F_2(t - 4 B),

the whole release lies on a line with a distribution function that is known: stage one's probabilities (`support`,
`voting`), stage two's law on one feature (`constrained_target`). So the exact attack on a line looks at the support, at
theta and at both together. The products say that the two stages draw independently.

Exp-mech, pair `joint`. As `support.shifted`: a record (1, 1) with y = -1 costs {1} all of alpha. On {1} it also pulls
theta_1 away from the wall, with all of zeta: the event "{1}, and theta_1 at the wall" is rarer with it by what both
stages spend, but for the determinant, which is nothing if Delta is large. (The determinant speaks for the record, the
score against it.) Under replace-one the record takes the place of (1, 1), y = 1; the forces at one theta are 2 Y apart
then and not 2 zeta, and a smaller box is a compromise between the stages. Where stage one is far from its claim, a
record that costs both supports the same leaves it out, and is `constrained`'s pair on either.

Samp-Agg, pair `joint`. A far record (0, 1), y = -1000, turns its block's vote from {1} to {2}, which is rare; in stage
two it is clipped to y = -1, and on {2} it meets `constrained`'s pair at the wall, thin records and all, too light to
win a vote. Under replace-one it takes the place of (1, w), y = 1000, which votes for {1}. Printed blocks under
add/remove: `voting`'s list, that turns all votes.

Neighbouring relation: each budget's. Budget: half of epsilon for either stage.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm import losses
from dperm.audit import columns, constrained, constrained_target, jobs, support, voting, white_box
from dperm.audit.linear_targets import LinearData, with_record
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.feasible import Region
from dperm.mechanisms import objective, sparse
from dperm.mechanisms.support import exp_mech, noisy_top, samp_agg

PAIRS = ("joint",)
VARIANTS = tuple(f"{stage}_{law}" for stage in ("exp_mech", "samp_agg") for law in ("gamma", "gaussian"))
# A lasso's penalty that thin records together do not reach, and a target that does.
HEAVY, DECIDES = 1e3, 1e6
_WHITE_BOX = 400
_NEAR = 4e-6
# The box where the difference of two forces counts against zeta: a compromise between the stages (see `pressed`).
_COMPROMISE = 0.55
_MOST_RECORDS = 20_000
# What the calibration of the whole asks of stage one.
_STAGE_ONE = {
    "paper": {"exp_mech": "paper", "samp_agg": "paper"},
    "corrected": {"exp_mech": "paper", "samp_agg": "corrected"},
    "tight": {"exp_mech": "tight", "samp_agg": "corrected"},
}
# From the weakest guarantee to the strongest.
_WORTH = ("none", "claimed", "proved_exact", "proved")


class Problem(NamedTuple):
    """A two-stage problem, s = 1 and p = 2: stage two's Delta, B, k (None: floor(sqrt(n))), Samp-Agg's Lambda."""

    stage_one: str
    budget: Budget
    neighbours: str
    calibration: str
    curvature: float
    bound: float
    blocks: int | None = None
    penalty: float = HEAVY

    @property
    def options(self) -> dict[str, Any]:
        """Return what `sparse.release` takes besides the data."""
        votes = {"penalty": self.penalty, "blocks": self.blocks} if self.stage_one == "samp_agg" else {}
        return {**self.second, "support": self.stage_one, **votes}

    @property
    def first(self) -> dict[str, Any]:
        """Return what the calibration of stage one takes."""
        return {
            "budget": sparse.split(self.budget, 0.5)[0],
            "neighbours": self.neighbours,
            "calibration": _STAGE_ONE[self.calibration][self.stage_one],
        }

    @property
    def second(self) -> dict[str, Any]:
        """Return what `sparse.stage_two` takes."""
        return {
            "size": 1,
            "domain": support.DOMAIN,
            "budget": self.budget,
            "neighbours": self.neighbours,
            "calibration": self.calibration,
            "bound": self.bound,
            "curvature": self.curvature,
        }


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job.

    ConfigError if a row's `variant` does not name stage one and the law of stage two's noise.
    """
    jobs.check_noise(job, VARIANTS)
    return [_attack(job, row) for row in job["rows"]]


def _attack(job: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    budget, stage_one = Budget(row["epsilon"], row["delta"]), row["variant"].rsplit("_", 1)[0]
    names = (job["mechanism"], job["calibration"], job["pair"], row["variant"], row["neighbours"])
    rng = jobs.generators(job, *names, budget.epsilon, budget.delta)
    best, worth = None, []
    for problem, data, neighbour, words in candidates(stage_one, budget, row["neighbours"], job["calibration"]):
        made = target(problem)
        found = columns.on_a_line(made, data, neighbour, delta=budget.delta)
        # A claim for all curvatures is as good as that for the worst.
        worth.append(guarantee(problem))
        if best is None or found["exact_bound"] > best[0]["exact_bound"]:
            best = found, words
    found, words = best
    shown, data = probe(stage_one, budget, row["neighbours"], job["calibration"])
    made = target(shown)
    outputs = made.draw(data, _WHITE_BOX, rng("noise"))
    noise = columns.noise_behind(made, outputs, data, rng("atoms"), near=_NEAR / shown.curvature)
    return {
        **columns.head(job, row),
        "guarantee": min(worth, key=_WORTH.index),
        "loss": "squared",
        "pair_words": words,
        "white_box_p": white_box.noise_test(noise, made.law).p_value,
        **found,
    }


def target(problem: Problem) -> Target:
    """Return the two stages as one mechanism with outputs on a line: theta + 4 B (number of the support)."""
    second, _ = sparse.stage_two(**problem.second)
    place = 4 * problem.bound
    case = constrained_target.ConstrainedCase(
        "", losses.squared(), second["domain"], problem.curvature, _column(np.zeros((0, 2)), np.zeros(0), 0),
        _column(np.zeros((0, 2)), np.zeros(0), 0), objective.NOTHING, Region(low=-problem.bound, high=problem.bound),
    )  # fmt: skip
    stage_two = constrained_target.target(
        case, budget=second["budget"], neighbours=second["neighbours"], calibration=second["calibration"]
    )
    # Keyed by the arrays, which are kept.
    known: dict[int, tuple] = {}

    def parts(data):
        if id(data[0]) not in known:
            columns = [_column(*data, j) for j in range(2)]
            known[id(data[0])] = data[0], stage_one(problem, data), columns
        return known[id(data[0])][1:]

    def both(tail, points, data):
        chances, columns = parts(data)
        return sum(chances[j] * tail(points - j * place, columns[j]) for j in range(2))

    def draw(data, repeats, rng):
        found = sparse.release(*data, **problem.options, rng=rng, repeats=repeats)
        chosen = found.supports[:, 0]
        return found.theta[np.arange(repeats), chosen] + place * chosen

    return Target(
        draw=draw,
        law=stage_two.law,
        cdf=lambda points, data: both(stage_two.cdf, points, data),
        sf=lambda points, data: both(stage_two.sf, points, data),
        atoms=tuple(end + j * place for j in range(2) for end in (-problem.bound, problem.bound)),
    )


def stage_one(problem: Problem, data: LinearData) -> np.ndarray:
    """Return the probabilities of the two supports.

    Samp-Agg's votes must not depend on who shares a block, else ValueError; printed blocks are always known.
    """
    if problem.stage_one == "exp_mech":
        return special.softmax(-_weight(problem) * support.scores(*data, problem.bound))
    X, y = data
    k = problem.blocks or math.isqrt(len(X))
    if problem.blocks is None and problem.neighbours == "add_remove":
        ends = np.arange(len(X)) * k // len(X)
        votes = voting.votes(data, [np.flatnonzero(ends == block) for block in range(k)], problem.penalty)
    else:
        far = np.abs(y) >= DECIDES
        if far.sum() > 1 or np.abs(X[~far] * y[~far, None]).sum() > problem.penalty:
            raise ValueError("more than one record, or thin ones together, may win a vote: the law is not written here")
        # Ties, all features at 0, fall to the first.
        votes = [0] * (k - int(far.sum())) + [int(np.abs(row).argmax()) for row in X[far]]
    scale, _ = samp_agg.calibrate(2, size=1, blocks=k, **problem.first)
    shares = np.bincount(votes, minlength=2) / k
    return np.exp(noisy_top.set_log_probabilities(shares, size=1, scale=scale)[1])


def _weight(problem: Problem) -> float:
    """Return the weight of a score in the exponential mechanism."""
    return exp_mech.exponent(exp_mech.largest_loss(1, support.DOMAIN, problem.bound), **problem.first)


def probe(stage_one: str, budget: Budget, neighbours: str, calibration: str) -> tuple[Problem, LinearData]:
    """Return a problem that shows its noise, in a box as wide as theta is spread, and data of which no vote is sure."""
    # Printed blocks are floor(sqrt(9)) too.
    blocks = 3 if stage_one == "samp_agg" and calibration != "paper" else None
    problem = Problem(stage_one, budget, neighbours, calibration, 4 / budget.epsilon, 1.0, blocks)
    curvature = max(problem.curvature, target(problem).law.scale)
    return problem._replace(curvature=curvature), voting.one_feature([0, 1, 0] * 3, np.linspace(-0.5, 1, 9))


def guarantee(problem: Problem) -> str:
    """Return what is proved of the whole: the weaker one of its stages."""
    _, dry = sparse.stage_two(**problem.second)
    if problem.stage_one == "samp_agg" and samp_agg.calibrate(2, size=1, blocks=2, **problem.first)[1] == "none":
        return "none"
    return dry.guarantee


def candidates(
    stage_one: str, budget: Budget, neighbours: str, calibration: str
) -> Iterator[tuple[Problem, LinearData, LinearData, str]]:
    """Give problems with pairs: over curvatures, places of the noise, and how rare the support is."""
    pure, small = budget.delta == 0, neighbours == "replace"
    wall = constrained.RADIUS if small else 1.0
    for share in (1.0, 100.0):
        problem = Problem(stage_one, budget, neighbours, calibration, share * 4 / budget.epsilon, wall)
        if stage_one == "samp_agg" and calibration == "paper" and not small:
            problem = problem._replace(penalty=voting.PENALTY)
            yield problem, *voting.list_cut_anew(voting.RECUT), "joint: all blocks are cut anew, and all votes turn"
            continue
        # The law of stage two's noise has nothing to do with the box, but for zeta.
        scale = target(problem._replace(blocks=2)).law.scale
        places = [0.0] if pure else np.linspace(0.0, 1.0 - special.ndtri(budget.delta), 4) * scale
        for place in places:
            if stage_one == "exp_mech":
                yield _both_supports(problem, place)
                part = problem._replace(bound=_COMPROMISE if small else 1.0)
                yield from (pressed(part, place, rare) for rare in ([25.0] if pure else [0.0, 3.0]))
            else:
                made = (thin(problem._replace(blocks=k), place) for k in ([200] if pure else [5, 20]))
                yield from (entry for entry in made if entry is not None)


def pressed(problem: Problem, place: float, rare: float) -> tuple[Problem, LinearData, LinearData, str]:
    """Return `support.shifted`'s pair for the box: {1} with log-odds of minus `rare`, theta_1 at the wall from -place.

    Stage one is Exp-mech. Records (1/2, 0) have a force of f = (1 - B/2)/2 at the wall; B + 1 of it holds theta_1 there
    against the record: without it theta_1 is at the wall for b <= -place.
    """
    gain, force = 0.5 * (1 - (1 - 0.5 * problem.bound) ** 2), 0.5 * (1 - 0.5 * problem.bound)
    least = math.ceil((problem.bound + 1) / force)
    number = min(_MOST_RECORDS, max(least, math.floor((problem.curvature * problem.bound - place) / force)))
    common = support.pressed(number, number + round(rare / (_weight(problem) * gain)))
    worst = with_record(common, (1.0, 1.0), -1.0)
    other = common if problem.neighbours == "add_remove" else with_record(common, (1.0, 1.0), 1.0)
    return problem, other, worst, "joint: a record costs one support the most, and pulls its parameter from the wall"


def _both_supports(problem: Problem, place: float) -> tuple[Problem, LinearData, LinearData, str]:
    """Return `constrained`'s pair at the wall on either feature: stage two alone.

    The record costs both supports the same, so that stage one says nothing.
    """
    x, number = _thin_records(problem, place)
    crowd = np.tile([x, x], (number, 1)), np.ones(number)
    worst = with_record(crowd, (1.0, 1.0), -1.0)
    other = crowd if problem.neighbours == "add_remove" else with_record(crowd, (1.0, 1.0), 1.0)
    return problem, other, worst, "joint: a record at the wall of either support"


def thin(problem: Problem, place: float) -> tuple[Problem, LinearData, LinearData, str] | None:
    """Return `constrained`'s pair at the wall on feature 2, with a record that turns a vote, unless it is too heavy."""
    x, number = _thin_records(problem, place)
    if x * number > problem.penalty:
        return None
    crowd = np.tile([0.0, x], (number, 1)), np.ones(number)
    turned = with_record(crowd, (0.0, 1.0), -DECIDES)
    words = "joint: a record turns a vote, and pushes at the wall of the support it voted for"
    if problem.neighbours == "add_remove":
        return problem, crowd, turned, words
    other = with_record(crowd, (1.0, 1.0 - 1e-3), DECIDES)
    # Records without features fill up the blocks, and make n a square where k = floor(sqrt(n)).
    printed = problem.calibration == "paper"
    m = max(problem.blocks, math.isqrt(number) + 1) if printed else problem.blocks
    n = m * m if printed else max(m, number + 1)
    return problem._replace(blocks=None if printed else m), _padded(other, n), _padded(turned, n), words


def _thin_records(problem: Problem, place: float) -> tuple[float, int]:
    """Return (x, N) of records that push so that b = place is at the wall, where the record (1, -1) is too."""
    push = problem.bound + 1 + problem.curvature * problem.bound + place
    number = min(_MOST_RECORDS, max(1, math.ceil(push**2 / (0.02 * problem.curvature))))
    return min(1.0, push / number), number


def _padded(data: LinearData, n: int) -> LinearData:
    more = n - len(data[0])
    return np.concatenate([data[0], np.zeros((more, 2))]), np.append(data[1], np.zeros(more))


def _column(X: np.ndarray, y: np.ndarray, j: int) -> LinearData:
    """Return the data of stage two on one feature: targets are clipped to Y = 1."""
    return np.ascontiguousarray(X[:, j : j + 1]), np.clip(y, -1.0, 1.0)
