r"""Attacks on noise that is cut off at a point c < 0 (li2021, Equations 9 and 10; erratum N2), exactly on a line.

In Theta = [0, inf) or [0, 1], where b'|theta| = b theta, b given b > c, with h and F of `dperm.audit.napp.problem`:

    P(theta > t) = max{F(-h(t)) - F(c), 0}/(1 - F(c)),    P(theta <= t) = F(min{h(t), -c})/F(-c),    t >= 0.

`support`: with the one record (0, 0), every theta below the one of b = c can come out. A second record (1, -1) pulls
back with its full force, so that the last stretch of these theta is out of reach. That stretch is impossible with the
record, and without it as likely as b just above c. It has
no bound at delta = 0 for any c, and at delta > 0 while that stretch is likelier than delta. `wall`: what is ordinary
objective perturbation, as for `napp`.

Variants: "cut-k", c = -k standard deviations of the uncut b; "cut-far", the highest c that `corrected` takes.

Neighbouring relation: add/remove.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.audit import columns, jobs, white_box
from dperm.audit.napp import cases
from dperm.audit.napp import problem as line
from dperm.audit.napp.problem import Problem, Records
from dperm.audit.target import Target, halves
from dperm.domain import Budget
from dperm.errors import SolverError
from dperm.laws.tails import lower_tail
from dperm.mechanisms import truncated
from dperm.mechanisms.napp.noise import deviation

PAIRS = ("support",)
FAR = "cut-far"
KNOWN = {("truncated", "paper"): ("cut-1", "cut-3", "cut-5"), ("truncated", "corrected"): (FAR,)}
# The mechanism's own draws that are held against the law, and how near to an atom a solver may leave them.
_WHITE_BOX, _NEAR = 500, 1e-6


@dataclass(frozen=True)
class Cut:
    """A problem on a line, of the uncut mechanism, with noise above the point c, and the budget of the cut one."""

    problem: Problem
    point: float
    budget: Budget

    def released(self, data: Records, repeats: int, rng: np.random.Generator) -> np.ndarray:
        """Run the mechanism; SolverError if a repeat missed the solver's target."""
        declared = dict(self.problem.declared)
        for name in ("variant", "moor", "kappa", "retrieval"):
            del declared[name]
        declared |= {"budget": self.budget, "point": self.point}
        found = truncated.release(*data.expanded(), self.problem.loss, rng=rng, repeats=repeats, **declared)
        if not found.converged.all():
            raise SolverError(f"{int((~found.converged).sum())} of {repeats} draws missed the solver's target")
        return found.theta[:, 0]


def target(cut: Cut) -> Target:
    """Return the release as the auditor sees it; its data are `Records`."""
    problem, law = cut.problem, line.symmetric(cut.problem)
    low, high = problem.box
    edge = cut.point / law.scale

    def tails(points, data):
        h = (line.force(problem, points, data) + line.slope(problem, np.abs(points))) / law.scale
        whole = lower_tail(law, np.array([-edge]))
        above = np.maximum(lower_tail(law, -h) - lower_tail(law, np.array([edge])), 0.0) / whole
        below = lower_tail(law, np.minimum(h, -edge)) / whole
        inside, beyond = (points >= low) & (points < high), points >= high
        return np.where(inside, below, 1.0 * beyond), np.where(inside, above, 1.0 * ~beyond)

    atoms = (0.0, *([high] if math.isfinite(high) else []))
    cdf, sf = halves(tails)
    return Target(draw=cut.released, law=law, cdf=cdf, sf=sf, atoms=atoms)


def cut_of(variant: str, problem: Problem, budget: Budget) -> Cut:
    """Return a problem with the point that a variant names (problem: of the uncut mechanism)."""
    law = line.symmetric(problem)
    if variant == FAR:
        # The definition, with the two halves of delta, and not the mechanism's own check of it.
        beta = budget.delta / 2 / (1 + math.exp(budget.epsilon))
        return Cut(problem, truncated.highest(law, beta, 1), budget)
    return Cut(problem, -float(variant.rpartition("-")[2]) * deviation(law, 1), budget)


def pairs(variant: str, budget: Budget, calibration: str) -> Iterator[tuple[Cut, Records, Records, str]]:
    """Give the pairs for one budget: cut, data, neighbour, words."""
    uncut = Budget(budget.epsilon, budget.delta / 2) if calibration == "corrected" else budget
    problem = cases.mild(uncut, calibration, variant="vs", box=(0.0, math.inf))
    words = "support: the last stretch of theta, with (1, -1) beside (0, 0)"
    yield cut_of(variant, problem, budget), cases.NOBODY, cases.NOBODY.and_one(1.0, -1.0), words
    problem = cases.squared(uncut, calibration, variant="vs", box=(0.0, 1.0))
    for pair in cases.walled(problem, "noise cut off, in Theta = [0, 1]"):
        yield cut_of(variant, problem, budget), pair.data, pair.neighbour, pair.words


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _attacks, KNOWN)


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng) -> Iterator[dict[str, Any]]:
    """Give the strongest attack on one budget."""
    budget, calibration, variant = Budget(row["epsilon"], row["delta"]), row["calibration"], row["variant"]
    tried = [
        (cut, words, columns.on_a_line(target(cut), data, neighbour, delta=budget.delta))
        for cut, data, neighbour, words in pairs(variant, budget, calibration)
    ]
    cut, words, found = max(tried, key=lambda entry: entry[2]["exact_bound"])
    made = target(cut)
    outputs = made.draw(cases.PROBES["squared"], _WHITE_BOX, rng("noise"))
    behind = columns.noise_behind(made, outputs, cases.PROBES["squared"], rng("atoms"), near=_NEAR)
    yield {
        "guarantee": "proved_exact" if calibration == "corrected" else "none",
        "loss": cut.problem.loss,
        "pair_words": words,
        "white_box_p": white_box.noise_test(behind, made.law).p_value,
    } | found
