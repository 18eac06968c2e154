r"""Attacks on private linear models over random Fourier features (jain2013, Section 1).

One frequency, D = 1, and one record, x = 1 with omega = pi/4: its features are (1, 1)/sqrt 2, along which the attack
looks at the released theta. The Huber record's target is far away, so it pulls with all its force L = 1 wherever theta
is, and there is no curvature but Delta. Replace-one turns its target around, add/remove adds the record. With
u = <theta, z> and F the sum of the forces,

    objective   u = -(<b, z> + F)/Delta,        output   u = -F/Delta + <noise, z>,

so the law of u is that of the noise along z, written down here apart from the mechanism's code:

    gamma       density of b proportional to e^{-||b||/s} on the plane, so that of v = <b, z>/s is |v| K_1(|v|)/pi, and
                P(<b, z> > s v) = (v K_0(v) + int_v^inf K_0)/pi,  v >= 0 (Abramowitz & Stegun 11.3.28, 11.1.8);
    laplace     two independent Laplace variables: P(<noise, z> > t) = (2 + v) e^{-v}/4,  v = sqrt 2 t/s,  t >= 0;
    gaussian    normal.

Both coordinates of z have the same size, which is where the l1 norm of a move of given l2 norm is the largest: the
printed Laplace noise of Rubinstein et al. spends here half of epsilon, and no more anywhere. The tails of gamma noise
spend all of CMS11's. Data are the records (X, y) themselves, and draws are the mechanism's own.

Neighbouring relation: each row's.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm import losses
from dperm.audit import columns, jobs, pairs, white_box
from dperm.audit.target import Data, Target
from dperm.domain import Budget, Neighbours, changed_gradients
from dperm.mechanisms import cms11, objective, output
from dperm.mechanisms.kernel import random_features
from dperm.noise import Gaussian, Laplace, SphericalLaplace

PAIRS = ("record",)
# The record, the one frequency, and the record's features.
RECORD, OMEGA = np.ones((1, 1)), np.full((1, 1), math.pi / 4)
PLACE = np.full(2, 1 / math.sqrt(2))
# Delta: so large that the log-determinant in the noise's constants is nothing.
CURVATURE = 1e4
LOSS = losses.huber(1.0)
# The solver's, as a share of zeta.
_TOLERANCE = 1e-6
_WHITE_BOX, _MOST_DRAWS = 400, 50_000
# From here on the gamma tail is a quadrature, below a closed form: 1/2 less a number near it.
_FAR_OUT = 2.0
_NODES, _WEIGHTS = np.polynomial.laguerre.laggauss(40)


class Case(NamedTuple):
    """A variant at a pair: its perturbation, and the law of b or of the noise in the plane."""

    perturbation: str
    law: Gaussian | Laplace | SphericalLaplace
    data: Data
    neighbour: Data


def case(calibration: str, variant: str, neighbours: Neighbours, budget: Budget) -> Case:
    """Return the pair and the law of the noise, from the same constants as the mechanism's."""
    perturbation = variant.partition("_")[2]
    fixed = {"neighbours": neighbours, "curvature": CURVATURE}
    if perturbation == "objective":
        if calibration == "paper":
            law = cms11.calibrate(LOSS, pairs.UNIT, budget, perturbation="objective", **fixed).noise
        else:
            law, _ = objective.calibrate(LOSS, pairs.UNIT, budget, calibration="tight", **fixed)
    elif calibration == "paper":
        # 2^{5/2} L sqrt(D)/(Delta epsilon) at L = D = 1.
        law = Laplace(2**2.5 / (CURVATURE * budget.epsilon))
    else:
        moved = (changed_gradients(neighbours) + 2 * _TOLERANCE) / CURVATURE
        law, _ = output.calibrate(moved, budget, calibration="tight")
    extra = RECORD, np.array([pairs.FAR])
    turned = RECORD, np.array([-pairs.FAR])
    gone = np.zeros((0, 1)), np.zeros(0)
    return Case(perturbation, law, turned if neighbours == "replace" else gone, extra)


def target(made: Case) -> Target:
    """Return what is known of u = <theta, z>, and of the noise behind theta in the plane."""
    spread = 1 / CURVATURE if made.perturbation == "objective" else 1.0

    def standard(points, data):
        """Where the noise along z has to be for u to be at these points."""
        return (points - _middle(data)) / spread

    def noise(outputs, data):
        behind = (outputs - _middle(data) * PLACE) / spread
        return -behind if made.perturbation == "objective" else behind

    return Target(
        draw=None,
        law=made.law,
        noise=noise,
        cdf=lambda points, data: tail(made.law, -standard(points, data)),
        sf=lambda points, data: tail(made.law, standard(points, data)),
    )


def tail(law: Gaussian | Laplace | SphericalLaplace, points: np.ndarray) -> np.ndarray:
    """Return P(<noise, z> > t) of noise in the plane along z = (1, 1)/sqrt 2."""
    t = np.asarray(points, dtype=float) / law.scale
    if isinstance(law, Gaussian):
        return special.ndtr(-t)
    beyond = _laplace if isinstance(law, Laplace) else _gamma
    # Symmetric: the lower tail is one less the upper one.
    return np.where(t >= 0, beyond(np.abs(t)), 1 - beyond(np.abs(t)))


def run(job: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of one job; as `dperm.audit.jobs.run`, which says what is raised."""
    return jobs.run(job, _attacks, KNOWN)


def drawing(made: Case, calibration: str, neighbours: Neighbours, budget: Budget) -> Callable:
    """Return what draws theta by the mechanism's own code; data are (X, y)."""

    def draw(data, repeats, rng):
        return random_features.release(
            *data, LOSS, omega=OMEGA, domain=pairs.UNIT, budget=budget, neighbours=neighbours,
            calibration=calibration, perturbation=made.perturbation, curvature=CURVATURE, rng=rng, repeats=repeats,
            tolerance=_TOLERANCE,
        )  # fmt: skip

    return draw


def _attacks(job: Mapping[str, Any], row: Mapping[str, Any], rng: Callable) -> Iterator[dict[str, Any]]:
    budget = Budget(row["epsilon"], row["delta"])
    made = case(row["calibration"], row["variant"], row["neighbours"], budget)
    line, draw = target(made), drawing(made, row["calibration"], row["neighbours"], budget)
    first = draw(made.data, _WHITE_BOX, rng("noise"))
    what = "comes" if row["neighbours"] == "add_remove" else "is turned around"
    record = {
        "guarantee": first.guarantee,
        "loss": LOSS.name,
        "white_box_p": white_box.noise_test(line.noise(first.theta, made.data), line.law).p_value,
        "pair_words": f"record: one that pulls with all its force {what}; one frequency, both features alike",
    }
    yield record | columns.on_a_line(line, made.data, made.neighbour, delta=budget.delta)
    along = Target(draw=lambda data, repeats, rng: draw(data, repeats, rng).theta @ PLACE)
    yield record | columns.sampled(
        along, made.data, made.neighbour, delta=budget.delta, draws=min(job["draws"], _MOST_DRAWS),
        confidence=job["confidence"], rng=rng("draws"),
    )  # fmt: skip


def _middle(data: Data) -> float:
    """Return u without noise: -F/Delta, the force of a record being minus its target's sign."""
    return float(np.sign(data[1]).sum()) / CURVATURE


def _gamma(v: np.ndarray) -> np.ndarray:
    near = np.clip(v, 1e-300, _FAR_OUT)
    inside = 0.5 + (near * special.k0(near) - special.iti0k0(near)[1]) / np.pi
    # int_v^inf u K_1(u) du with the exponential taken out.
    beyond = np.maximum(v, _FAR_OUT)[..., None] + _NODES
    outside = np.exp(-v) * ((beyond * special.k1e(beyond)) @ _WEIGHTS) / np.pi
    return np.where(v < _FAR_OUT, inside, outside)


def _laplace(v: np.ndarray) -> np.ndarray:
    v = math.sqrt(2) * v
    return (2 + v) * np.exp(-v) / 4


KNOWN = {
    ("random_features", "paper"): ("gamma_objective", "laplace_output"),
    ("random_features", "tight"): ("gamma_objective", "gaussian_objective", "gamma_output", "gaussian_output"),
}
