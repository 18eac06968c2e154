"""Attacks on linear mechanisms that use their draws alone, and need to know nothing about the law of the output.

The mechanism is called by its registered name, and the events are those that `dperm.audit.sampling` tries on anything.
A bound is certified like any other, but may be lower than one of the family `linear`, which knows densities and
distribution functions (`dperm.audit.linear_targets`). The noise behind the outputs is not recovered, and so it is not
tested. `variant` is only a name.

Neighbouring relation: each row's.
"""

from collections.abc import Mapping
from typing import Any

from dperm import mechanisms
from dperm.audit import columns, jobs, pairs
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.errors import SolverError

PAIRS = ("saturating", "knee", "linear")


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job, as `dperm.audit.linear.run`: one for each of its budgets."""
    return [_attack(job, row) for row in job["rows"]]


def _attack(job: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    budget, neighbours, calibration = Budget(row["epsilon"], row["delta"]), row["neighbours"], job["calibration"]
    names = (job["mechanism"], calibration, job["pair"], neighbours, budget.epsilon, budget.delta)
    rng = jobs.generators(job, *names)
    asked = {"budget": budget, "neighbours": neighbours, "calibration": calibration}
    case = pairs.PAIRS[job["pair"]](**asked)
    problem = {"loss": case.loss, "domain": case.domain, "curvature": case.curvature, **asked}

    def release(data, repeats, rng):
        X, y = data
        return mechanisms.module(job["mechanism"]).release(X, y, **problem, rng=rng, repeats=repeats)

    def draw(data, repeats, rng):
        found = release(data, repeats, rng)
        if not found.converged.all():
            raise SolverError(f"draws of {job['mechanism']} missed the solver's target; such an audit proves nothing")
        return found.theta

    sampling = {"delta": budget.delta, "draws": job["draws"], "confidence": job["confidence"], "rng": rng("draws")}
    return {
        **columns.head(job, row),
        "guarantee": release(case.data, 1, rng("guarantee")).guarantee,
        "loss": case.loss.name,
        "pair_words": case.words,
        **columns.sampled(Target(draw), case.data, case.neighbour, **sampling),
    }
