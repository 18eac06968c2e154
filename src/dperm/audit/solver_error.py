r"""Attacks on objective perturbation whose output noise hides the solver's error (`solver_share`).

On a line, exactly. Huber records with far targets are constant forces f, so the exact minimiser is -(f + b)/Delta, and

    theta + e_D + z = -(f + b)/Delta + e_D + z

is Gaussian, e_D the solver's error, at most tau = tolerance zeta/Delta, z the output noise. Given b the error is a
function of the data alone, and the statement `proved` is for any such function: here it is the worst constant, tau one
way with the data and tau the other way with the neighbour. Both shares of the budget are so attacked, but for the
determinant, which is next to nothing at the large Delta that is taken.

Neighbouring relation: each budget's. Output noise is the same under both: two errors differ by 2 tau at most.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm import losses
from dperm.accounting import gaussian
from dperm.audit import columns, jobs, pairs, white_box
from dperm.audit.linear_targets import LinearData
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.mechanisms import objective
from dperm.noise import Gaussian

VARIANT = "gaussian_hidden"
# A tenth of the budget hides a tenth of zeta: then the output noise is about as large as what the tilt makes of theta.
SHARE, TOLERANCE = 0.1, 0.1
CURVATURE = 1e4
_WHITE_BOX = 400


class Laws(NamedTuple):
    """What is drawn."""

    tilt: Gaussian
    output: Gaussian

    @property
    def whole(self) -> Gaussian:
        """Return the law of -b/Delta + z."""
        return Gaussian(math.hypot(self.tilt.scale / CURVATURE, self.output.scale))


def laws(*, budget: Budget, neighbours, calibration) -> Laws:
    """Return the noises of both shares, for zeta = 1 and delta > 0."""
    fixed = {"curvature": CURVATURE, "neighbours": neighbours, "calibration": calibration}
    tilt, _ = objective.calibrate(losses.huber(1.0), pairs.UNIT, budget.share(1 - SHARE), **fixed)
    hiding = budget.share(SHARE)
    sigma = 2 * TOLERANCE / CURVATURE / gaussian.gaussian_ratio(hiding.epsilon, hiding.delta)
    return Laws(tilt, Gaussian(sigma))


def attacks(job: Mapping[str, Any], row: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the attack on one budget."""
    budget, neighbours = Budget(row["epsilon"], row["delta"]), row["neighbours"]
    fixed = {"budget": budget, "neighbours": neighbours, "calibration": job["calibration"]}
    names = (*(job[key] for key in ("mechanism", "calibration", "pair")), row["variant"], neighbours)
    rng = jobs.generators(job, *names, budget.epsilon, budget.delta)
    # The pair's own Delta is not used: the curvature is CURVATURE.
    case = pairs.linear(neighbours=neighbours, budget=budget, records=2)
    made = laws(**fixed)
    released = objective.release(
        *case.data, case.loss, domain=case.domain, **fixed, curvature=CURVATURE, rng=rng("noise"),
        repeats=_WHITE_BOX, tolerance=TOLERANCE, solver_share=SHARE,
    )  # fmt: skip
    noise = released.theta - centre(case.data)
    words = f"edge: {case.words}, and a solver that errs by tau, one way with it, the other way without"
    yield {
        **columns.head(job, row),
        "guarantee": released.guarantee,
        "loss": case.loss.name,
        "pair_words": words,
        "white_box_p": white_box.noise_test(noise, made.whole).p_value,
        **columns.on_a_line(erring(case, made), case.data, case.neighbour, delta=budget.delta),
    }


def centre(data: LinearData) -> float:
    """Return the minimiser without noise: targets are far, and every force is 1 (data: x = 1)."""
    return float(np.sign(data[1]).sum()) / CURVATURE


def erring(case: pairs.Case, made: Laws) -> Target:
    """Return the release with a solver whose error is tau, away from each other, for the two data sets of a case."""
    law, tau = made.whole, TOLERANCE / CURVATURE
    away = {id(one): math.copysign(tau, centre(one) - centre(other)) for one, other in _both_ways(case)}

    def standard(points, data):
        return (points - centre(data) - away[id(data)]) / law.scale

    return Target(
        draw=None,
        law=law,
        cdf=lambda points, data: special.ndtr(standard(points, data)),
        sf=lambda points, data: special.ndtr(-standard(points, data)),
    )


def _both_ways(case: pairs.Case) -> list[tuple[LinearData, LinearData]]:
    return [(case.data, case.neighbour), (case.neighbour, case.data)]
