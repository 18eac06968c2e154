r"""Attacks on the private choice of Lambda (CMS11's Algorithm 3 around NAPP-ERM), exactly on a line (erratum N19).

Two strengths, three portions, records (x, y) with x > 0. f_1 and f_2 are independent, with the laws F_i of
`dperm.audit.napp.problem` on their portions, and the mistakes of a model depend on its sign alone. So

    dP(theta) = sum_i w_i(sign theta) dF_i(theta),
    w_i(s) = sum over the sign s' of the other model of P(s') e^(-r z(s))/(e^(-r z(s)) + e^(-r z(s'))),

r the exponent of the choice. Where each record draws its portion, the law is the mean over all ways of drawing.

`recut` (printed portions, add/remove). A record (1, 1) put before 3k + 2 others moves the last of each portion one
further. So the first portion, k + 1 records (1, -1), has one of them turned around: force 1 becomes -1 just above
theta = 0, where the hinge's curvature comes too, and noise made for one record's force meets two. The last portion
holds (1, 1) alone, so that f_1 is chosen whenever it is above 0 (f_2 is 0: its Lambda is huge). k is where the noise's
tail then lies.

`few`: at most three records, over all portions that they may draw.

Neighbouring relation: add/remove.
"""

import collections
import functools
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dperm.audit import columns, jobs, white_box
from dperm.audit.napp import cases
from dperm.audit.napp import problem as line
from dperm.audit.napp.problem import Problem, Records
from dperm.audit.target import Target, halves
from dperm.domain import Budget
from dperm.errors import SolverError
from dperm.mechanisms import tuned

PAIRS = ("portions",)
_KINDS = ("paper", "corrected", "tight")
KNOWN = {("tuned", calibration): ("erm-hinge",) for calibration in _KINDS}
_HUGE = 1e4
_PORTIONS = 3
_WHITE_BOX, _NEAR = 100, 1e-6

# (x, y) in their order, shape (n, 2).
Sequence = np.ndarray


@dataclass(frozen=True)
class Choice:
    """A choice between two strengths; `problems` are those of f_1 and f_2."""

    problems: tuple[Problem, Problem]
    calibration: str

    @property
    def exponent(self) -> float:
        """Return what a mistake costs: epsilon/2; by the tight calibration all of epsilon."""
        return self.problems[0].budget.epsilon * (1.0 if self.calibration == "tight" else 0.5)

    def divided(self, data: Sequence) -> dict[tuple, float]:
        """Return the portions, and how likely they are: one way as printed, else every way of drawing."""
        if self.calibration == "paper":
            # Larger portions come first.
            sizes = [(len(data) + k) // _PORTIONS for k in reversed(range(_PORTIONS))]
            ways = [np.repeat(np.arange(_PORTIONS), sizes)]
        else:
            ways = [np.array(each, int) for each in itertools.product(range(_PORTIONS), repeat=len(data))]
        parts: dict[tuple, int] = collections.Counter(
            tuple(tuple(sorted(map(tuple, data[way == k]))) for k in range(_PORTIONS)) for way in ways
        )
        return {part: number / len(ways) for part, number in parts.items()}

    def released(self, data: Sequence, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Run the mechanism; SolverError if a repeat missed the solver's target."""
        first = self.problems[0]
        declared = {name: first.declared[name] for name in ("domain", "budget", "bounds", "share", "penalty")}
        found = tuned.release(
            data[:, :1], data[:, 1], first.loss, strengths=np.array([each.strength for each in self.problems]),
            neighbours="add_remove", calibration=self.calibration, rng=rng, repeats=repeats, **declared,
        )  # fmt: skip
        if not found.converged.all():
            raise SolverError(f"{int((~found.converged).sum())} of {repeats} draws missed the solver's target")
        return found.theta[:, 0]


def target(made: Choice) -> Target:
    """Return the release as the auditor sees it; its data are sequences of records."""
    models = [line.tails(problem) for problem in made.problems]
    ways: dict[bytes, dict[tuple, float]] = {}

    def tails(points, data):
        known = {}

        def law(i, part):
            """Return P(f_i <= t), P(f_i > t), and both at 0."""
            if (i, part) not in known:
                known[i, part] = models[i](np.append(points, 0.0), _grouped(part))
            return known[i, part]

        key = data.tobytes()
        divided = ways[key] = ways[key] if key in ways else made.divided(data)
        each = [_tails(made.exponent, points, law(0, one), law(1, two), held) for one, two, held in divided]
        return np.tensordot([*divided.values()], each, axes=1)

    cdf, sf = halves(tails)
    return Target(draw=made.released, law=line.symmetric(made.problems[0]), cdf=cdf, sf=sf, atoms=(0.0,))


def _tails(exponent: float, points: np.ndarray, one: tuple, two: tuple, held: tuple) -> tuple:
    """Return (P(theta <= t), P(theta > t)) for one way of dividing; mistakes are counted on the records `held`."""
    # A model at 0 says -1, as one below does.
    wrong = {sign: sum(y * sign < 0 for _, y in held) for sign in (1, -1)}
    below, above = np.zeros(len(points)), np.zeros(len(points))
    for (cdf, sf), (_, other) in ((one, two), (two, one)):
        up, down = (_chosen(exponent, wrong[sign], wrong, other[-1]) for sign in (1, -1))
        cdf, sf, not_above, some = cdf[:-1], sf[:-1], cdf[-1], sf[-1]
        below += np.where(points < 0, down * cdf, down * not_above + up * np.maximum(some - sf, 0.0))
        above += np.where(points < 0, up * some + down * np.maximum(not_above - cdf, 0.0), up * sf)
    return below, above


def _chosen(exponent: float, own: float, wrong: Mapping[int, float], other_positive: float) -> float:
    """Return the probability that a model with `own` mistakes is chosen."""
    odds = {sign: 1 / (1 + math.exp(min(exponent * (own - count), 700.0))) for sign, count in wrong.items()}
    return other_positive * odds[1] + (1 - other_positive) * odds[-1]


@functools.lru_cache(maxsize=256)
def _grouped(part: tuple) -> Records:
    """Return records, equal ones once."""
    each = collections.Counter(part)
    values = np.array([*each], float).reshape(-1, 2)
    return Records(values[:, 0], values[:, 1], np.array([*each.values()], float))


def pairs(budget: Budget, calibration: str) -> Iterator[tuple[Choice, Sequence, Sequence, str]]:
    """Give the pairs for one budget: choice, data, neighbour, words."""
    small = cases.hinge(budget, calibration)
    made = Choice((small, replace(small, strength=_HUGE)), calibration)
    if calibration == "paper":
        for place in cases.places(small):
            k = math.ceil(place)
            data = np.array([(1.0, -1.0)] * (k + 1) + [(1.0, 1.0)] * (2 * k + 1))
            words = "recut: (1, 1) comes before portions of equal size, and one record of each goes one further"
            yield made, data, np.concatenate([[(1.0, 1.0)], data]), words
        return
    words = "few: one record comes, over all portions that it and others may draw"
    for labels in ((), (1.0,), (1.0, 1.0)):
        data = np.array([(1.0, label) for label in labels]).reshape(-1, 2)
        yield made, data, np.concatenate([data, [(1.0, 1.0)]]), words


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _attacks, KNOWN)


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng) -> Iterator[dict[str, Any]]:
    """Give the strongest attack on one budget."""
    budget, calibration = Budget(row["epsilon"], row["delta"]), row["calibration"]
    tried = [
        (made, words, columns.on_a_line(target(made), data, neighbour, delta=budget.delta))
        for made, data, neighbour, words in pairs(budget, calibration)
    ]
    made, words, found = max(tried, key=lambda entry: entry[2]["exact_bound"])
    law = target(made)
    outputs = law.draw(PROBE, _WHITE_BOX, rng("noise"))
    behind = columns.noise_behind(law, outputs, PROBE, rng("atoms"), near=_NEAR)
    planned = made.problems[0].plan(line.FEATURES)
    yield {
        "guarantee": tuned.guaranteed(planned, calibration, "add_remove"),
        "loss": made.problems[0].loss,
        "pair_words": words,
        "white_box_p": white_box.noise_test(behind, law.law).p_value,
    } | found


# Records in an order of which every portion has one.
PROBE = np.array([(1.0, 1.0), (0.6, -1.0), (0.8, 1.0), (0.5, 1.0)])
