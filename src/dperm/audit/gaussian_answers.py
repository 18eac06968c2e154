r"""Attacks on one answer with Gaussian noise (dwork2018, Lemma 4.5 for delta > 0).

One pair, `answer`: a predictor that is stable at the rate gamma = 1/2 answers 0 on one data set and gamma on a
neighbour; what the attacker sees is that number plus the mechanism's own noise. The exact law on a line, and by
sampling.

    gaussian      as the mechanism has it.
    half-noise    its noise halved: the control that has to be refuted.

Neighbouring relation: each row's, which is that of the rate.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from scipy import special

from dperm.audit import columns, jobs, white_box
from dperm.audit.target import Target
from dperm.domain import Budget
from dperm.mechanisms.prediction import stable_gaussian
from dperm.noise import Gaussian

PAIRS = ("answer",)
RATE = 0.5
_WHITE_BOX, _MOST_DRAWS = 400, 50_000


def target(law: Gaussian) -> Target:
    """Return the law of an answer; its data are answers without noise."""
    return Target(
        draw=lambda centre, repeats, rng: centre + law.sample((repeats, 1), rng),
        law=law,
        noise=lambda outputs, centre: np.reshape(outputs, (-1, 1)) - centre,
        cdf=lambda points, centre: special.ndtr((points - centre) / law.scale),
        sf=lambda points, centre: special.ndtr((centre - points) / law.scale),
    )


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _attacks, KNOWN)


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    budget = Budget(row["epsilon"], row["delta"])
    weakened = row["variant"] == "half-noise"
    # Half of the rate is half of the noise.
    rate = RATE / 2 if weakened else RATE
    law, guarantee = stable_gaussian.calibrate(rate, budget, calibration=row["calibration"])

    def draw(centre, repeats, rng):
        fixed = {"calibration": row["calibration"], "rng": rng, "repeats": repeats}
        return stable_gaussian.release(np.array([centre]), rate, budget, **fixed)[:, 0]

    line = target(law)
    behind = line.noise(draw(0.0, _WHITE_BOX, rng("noise")), 0.0)
    record = {
        "guarantee": "none" if weakened else guarantee,
        "loss": "none",
        "white_box_p": white_box.noise_test(behind, law).p_value,
        "pair_words": f"an answer that moves by its rate, gamma = {RATE:g}",
    }
    yield record | columns.on_a_line(line, 0.0, RATE, delta=budget.delta)
    yield record | columns.sampled(
        Target(draw=draw), 0.0, RATE, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS),
        confidence=job["confidence"], rng=rng("draws"), model="gaussian",
    )  # fmt: skip


KNOWN = {
    ("stable_gaussian", "paper"): ("gaussian", "half-noise"),
    ("stable_gaussian", "tight"): ("gaussian",),
}
