r"""Attacks on the comparators: noisy gradient descent, approximate minima perturbation and CMS11.

On a line their laws are exact.

    gradient            Records whose clipped gradient is c wherever theta is (squared loss, targets far away), no
                        ridge: g_t = G + z_t, so theta_T = -eta (T G + sum_t z_t) is Gaussian with the ratio
                        sqrt(T) G/sigma: the last iterate carries all that T steps spend, the clipping is at work.
    approximate_minima  theta' + b_2 with the exact minimiser theta' of the tilted sum: P(theta' + b_2 <= t) =
                        E F(J'(t - b_2)), b_2 Gaussian, by Gauss-Legendre panels that end at the kinks of J' (Huber).
                        The solver may stop anywhere within n gamma/Lambda of the minimiser, and is taken to be exact.
    cms11               Algorithm 2 is objective perturbation, Algorithm 1 output perturbation, with its own scales and
                        Delta (`linear_targets.tilted`, `linear_targets.shifted`).

Pairs. `linear`: constant forces, zeta (2 zeta) apart; CMS11's Algorithm 2 with a large Delta. `line`: one Huber record
with full force and full curvature at its knee, as `pairs.line`. CMS11 pays the determinant twice, so that it spends
epsilon - log(1 + lambda/Delta): all of it for a large Delta, 3 epsilon/4 at its default.

Neighbouring relation: each budget's. Under add/remove a public guess of n stands in for n.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm import losses, mechanisms
from dperm.audit import columns, jobs, linear_targets, pairs, white_box
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.mechanisms import approximate_minima, cms11, gradient
from dperm.noise import Gaussian

PAIRS = ("linear", "line")
STEPS, ETA, CLIP = 10, 1.0, 1.0
# Makes the solver's target, and with it the output noise of approximate minima perturbation, small.
PUBLIC_RECORDS = 1_000
# So large that the determinant is nothing.
LARGE = 1e4
_WHITE_BOX = 200
# Beside an exact law the sampled attack looks at the code alone.
_MOST_DRAWS = 200_000
# Outputs are Gaussian, but for the solver: the trade-off is a Gaussian's.
_ADDITIVE = ("gradient",)
# Quadrature over b_2: +-12 standard deviations, in panels of 20 nodes, and finer ones at kinks.
_REACH, _PANELS = 12.0, 6
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(20)


class ComparatorCase(NamedTuple):
    """A comparator at a pair; `options` are what `release` takes besides the problem and the budget."""

    case: pairs.Case
    target: Target
    options: dict[str, Any]
    guarantee: str


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; ConfigError if a row's `variant` is none of the mechanism's at its delta."""
    jobs.check_noise(job, sorted({variant for mechanism, variant, _ in CASES if mechanism == job["mechanism"]}))
    names = [(job["mechanism"], row["variant"], job["pair"]) for row in job["rows"]]
    return [
        record
        for row, name in zip(job["rows"], names, strict=True)
        if name in CASES
        for record in _attacks(job, row, CASES[name])
    ]


def _attacks(
    job: Mapping[str, Any], row: Mapping[str, Any], make: Callable[..., ComparatorCase]
) -> Iterator[dict[str, Any]]:
    budget = Budget(row["epsilon"], row["delta"])
    names = (job["mechanism"], job["pair"], row["variant"], row["neighbours"], budget.epsilon, budget.delta)
    rng = jobs.generators(job, *names)
    case, target, options, guarantee = make(row["neighbours"], budget)
    pair = case.data, case.neighbour
    drawn = drawing(job["mechanism"], case, budget, row["neighbours"], job["calibration"], options)
    noise = columns.noise_behind(target, drawn(case.data, _WHITE_BOX, rng("noise")), case.data, rng("atoms"))
    record = {
        **columns.head(job, row),
        "guarantee": guarantee,
        "loss": case.loss.name,
        "pair_words": case.words,
        "white_box_p": white_box.noise_test(noise, target.law).p_value,
    }
    yield record | columns.on_a_line(target, *pair, delta=budget.delta)
    if job["pair"] == "linear":
        model = "gaussian" if job["mechanism"] in _ADDITIVE else "none"
        fixed = {"delta": budget.delta, "confidence": job["confidence"], "rng": rng("draws"), "model": model}
        yield record | columns.sampled(Target(draw=drawn), *pair, draws=min(job["draws"], _MOST_DRAWS), **fixed)


def drawing(mechanism: str, case: pairs.Case, budget: Budget, neighbours, calibration, options) -> Callable:
    """Return what draws (repeats, p) outputs from the mechanism's own code; `options` go to its `release` too."""
    release = mechanisms.module(mechanism).release
    fixed = {"domain": case.domain, "budget": budget, "neighbours": neighbours, "calibration": calibration, **options}

    def draw(data, repeats, rng):
        return release(*data, case.loss, **fixed, rng=rng, repeats=repeats).theta

    return draw


def descent(neighbours, budget: Budget) -> ComparatorCase:
    """Return noisy gradient descent on constant clipped gradients."""
    case = pairs.linear(neighbours=neighbours, budget=budget, records=2)
    words = f"linear: every gradient is clipped, and the last of {STEPS} iterates carries all of them"
    case = pairs.Case(words, losses.squared(), case.domain, None, case.data, case.neighbour)
    step = gradient.calibrate(CLIP, budget, steps=STEPS, neighbours=neighbours)
    law = Gaussian(ETA * step.scale * np.sqrt(STEPS))

    def noise(outputs, data):
        # Targets are far away: each clipped gradient is -sign(y) c, at x = 1.
        return np.reshape(outputs, (-1, 1)) - ETA * STEPS * CLIP * np.sign(data[1]).sum()

    options = {"steps": STEPS, "step_size": ETA, "clip": CLIP}
    return ComparatorCase(case, additive(law, noise), options, "proved")


def approximate(neighbours, budget: Budget) -> ComparatorCase:
    """Return approximate minima perturbation at the place where the exact attack gets furthest."""
    loss = losses.huber(1.0)
    least = approximate_minima.default_curvature(loss, pairs.UNIT, budget, p=1)
    found = []
    for curvature in (least, 20 * least):
        made = approximate_minima.calibrate(
            loss, pairs.UNIT, budget, n=PUBLIC_RECORDS, p=1, curvature=curvature, neighbours=neighbours
        )
        # The scan leaves out the output noise, which is small.
        problem = linear_targets.Problem(loss, pairs.UNIT, curvature, 1e-6)
        sharp = Target(draw=None, law=made.tilt, **linear_targets.tilted(problem, made.tilt))
        places = np.linspace(0.0, 1.5 - special.ndtri(budget.delta), 8) * made.tilt.scale
        for place in [*places, *(places[4:] - 0.5 * places[1])]:
            case = _knee(neighbours, place, curvature)
            bound = columns.on_a_line(sharp, case.data, case.neighbour, delta=budget.delta)["exact_bound"]
            found.append((bound, case, made))
    _, case, made = max(found, key=lambda entry: entry[0])
    options = {"curvature": made.curvature, "n_public": PUBLIC_RECORDS}
    return ComparatorCase(case, blurred(loss, made), options, made.guarantee)


def blurred(loss: losses.Loss, made: approximate_minima.Calibrated) -> Target:
    """Return the minimiser on a line with Gaussian tilt and Gaussian output noise; `loss` is Huber's.

    Its derivative has kinks at y +- 1 alone. There is no `noise`, for two made an output; `law` is the tilt's.
    """

    def forces(points, data):
        X, y = data
        return loss.derivative(X[:, 0] * points[..., None], y) @ X[:, 0] + made.curvature * points

    def tail(points, data, sign):
        X, y = data
        at = np.concatenate([(y - 1) / X[:, 0], (y + 1) / X[:, 0]])
        kinks = np.clip((points[:, None] - at) / made.output.scale, -_REACH, _REACH)
        even = np.broadcast_to(np.linspace(-_REACH, _REACH, _PANELS + 1), (len(points), _PANELS + 1))
        edges = np.sort(np.concatenate([even, kinks], axis=1), axis=1)
        half = np.diff(edges, axis=1)[..., None] / 2
        u = edges[:, :-1, None] + half * (1 + _NODES)
        weight = half * _WEIGHTS * np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
        values = special.ndtr(sign * forces(points[:, None, None] - made.output.scale * u, data) / made.tilt.scale)
        return np.minimum((weight * values).sum(axis=(1, 2)), 1.0)

    return Target(
        draw=None,
        law=made.tilt,
        cdf=lambda points, data: tail(points, data, 1.0),
        sf=lambda points, data: tail(points, data, -1.0),
    )


def cms11_objective(neighbours, budget: Budget, *, curvature: float | None = None) -> ComparatorCase:
    """Return CMS11's Algorithm 2 at a Huber record's knee (curvature: by default the mechanism's)."""
    loss = losses.huber(1.0)
    fixed = {"perturbation": "objective", "neighbours": neighbours}
    made = cms11.calibrate(loss, pairs.UNIT, budget, curvature=curvature, **fixed)
    case = _knee(neighbours, 0.0, made.curvature)
    problem = linear_targets.Problem(loss, pairs.UNIT, made.curvature, 1e-6)
    options = {"curvature": curvature, "perturbation": "objective"}
    target = Target(draw=None, law=made.noise, **linear_targets.tilted(problem, made.noise))
    return ComparatorCase(case, target, options, made.guarantee)


def cms11_output(neighbours, budget: Budget) -> ComparatorCase:
    """Return CMS11's Algorithm 1 on constant forces."""
    case = pairs.linear(neighbours=neighbours, budget=budget)
    made = cms11.calibrate(
        case.loss, case.domain, budget, perturbation="output", curvature=case.curvature, neighbours=neighbours
    )
    problem = linear_targets.Problem(case.loss, case.domain, made.curvature, 1e-6)
    options = {"curvature": case.curvature, "perturbation": "output"}
    target = Target(draw=None, law=made.noise, **linear_targets.shifted(problem, made.noise))
    return ComparatorCase(case, target, options, made.guarantee)


def cms11_large(neighbours, budget: Budget) -> ComparatorCase:
    """Return the attack on the objective perturbation of 2011 where its own regularisation is large."""
    return cms11_objective(neighbours, budget, curvature=LARGE)


def additive(law: Gaussian, noise: Callable) -> Target:
    """Return noise on top of a number, in one dimension."""

    def standard(points, data):
        return noise(points, data)[:, 0] / law.scale

    return Target(
        draw=None,
        noise=noise,
        law=law,
        cdf=lambda points, data: special.ndtr(standard(points, data)),
        sf=lambda points, data: special.ndtr(-standard(points, data)),
    )


def _knee(neighbours, place: float, curvature: float) -> pairs.Case:
    """Return the Huber pair whose knee is reached by b = place."""
    # b = -(l' + Delta u) with l' = 1 at u = y + 1.
    y = -1 - (1 + place) / curvature
    record = np.ones((1, 1)), np.array([y])
    words = f"line: one Huber record, full force and full curvature at theta = {y + 1:.4g}"
    if neighbours == "add_remove":
        empty = np.zeros((0, 1)), np.zeros(0)
        return pairs.Case(f"{words}, added", losses.huber(1.0), pairs.UNIT, curvature, empty, record)
    other = np.ones((1, 1)), np.array([pairs.FAR])
    return pairs.Case(f"{words}, turned around", losses.huber(1.0), pairs.UNIT, curvature, record, other)


# (mechanism, variant, pair) -> (neighbours, budget) -> ComparatorCase.
CASES: dict[tuple[str, str, str], Callable[..., ComparatorCase]] = {
    ("gradient", "gaussian", "linear"): descent,
    ("approximate_minima", "gaussian", "line"): approximate,
    ("cms11", "gamma_output", "linear"): cms11_output,
    ("cms11", "gamma_objective", "linear"): cms11_large,
    ("cms11", "gamma_objective", "line"): cms11_objective,
}
