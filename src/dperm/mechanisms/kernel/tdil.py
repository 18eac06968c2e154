"""The Test Data Independent Learner (jain2013, Algorithm 3): a model released without any test data.

What the noise must be, what is promised and why stands in `tdil_constants`, for replace-one neighbours or (not as
printed) for add/remove at a fixed total; the rounds are those of `distinguish`.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from dperm.domain import bounded_rows, number
from dperm.errors import DataError, DomainViolation
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.distinguish import over_ball, over_set
from dperm.mechanisms.kernel.interactive import KINDS
from dperm.mechanisms.kernel.tdil_constants import CHOICE_SHARE, Constants, constants

CALIBRATIONS = ("paper", "corrected", "tight")

__all__ = ["CHOICE_SHARE", "MOST_POINTS", "Constants", "Run", "constants", "net", "net_size", "run", "run_linear"]

# Largest finite set.
MOST_POINTS = 10**6


@dataclass(frozen=True)
class Run:
    """Many runs.

    - w: shape (repeats, r); w^ in the coordinates of the features. Each row spends the budget.
    - updates: shape (repeats,); in how many rounds w moved.
    - shortfall: shape (repeats,); largest difference, over the rounds, of the set's best score and that of z: not
      private.
    - proposals: shape (repeats,); of the ball's sampler, all rounds together; 0 of a finite set.
    - chosen: shape (repeats, rounds); the z of every round, as rows of the finite set; no columns over the ball.
    - answers: ndarray, as `chosen`; what was output in every round.
    """

    w: np.ndarray
    updates: np.ndarray
    shortfall: np.ndarray
    proposals: np.ndarray
    chosen: np.ndarray
    answers: np.ndarray


def net_size(d: int, nu: float) -> float:
    """Return (4/nu)^d, the paper's size of a nu-net of the unit ball (proof of Theorem 8, Appendix C; claim J-c07)."""
    power = d * math.log(4 / nu)
    return math.exp(power) if power < 709 else math.inf


def net(d: int, nu: float) -> np.ndarray:
    """Return a nu-net of the unit ball: every point of it has one of these within nu.

    A cubic lattice of width 2 nu/sqrt(d), what lies outside the ball moved to its surface (which brings it nearer to
    every point of the ball).
    """
    nu = number("nu", nu, 0, math.inf, remedy="it is the net's width")
    size = net_size(d, nu)
    if size > MOST_POINTS:
        raise DomainViolation(
            f"a net of width nu={nu:.3g} in {d} dimensions has (4/nu)^d = {size:.3g} points, more than "
            f"{MOST_POINTS:,}; take a linear kernel, whose ball needs no net, or a public set of your own"
        )
    width = 2 * nu / math.sqrt(d)
    reach = math.ceil(max(0.0, 1 / width - 0.5))
    axis = width * np.arange(-reach, reach + 1)
    points = np.array(list(itertools.product(axis, repeat=d)))
    length = np.linalg.norm(points, axis=1)
    points = points[length <= 1 + nu]
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]


def run(
    constants: Constants,
    setting: Setting,
    features: np.ndarray,
    answers: np.ndarray,
    *,
    rng: np.random.Generator,
    repeats: int = 1,
    noise: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> Run:
    """Run Algorithm 3 over a finite public set.

    - features: shape (m, r); phi(z) of the set's points in any coordinates (`pinp.factor` makes some of a kernel
      matrix), each at most R long; m <= 10^6.
    - answers: shape (m,); <w*, phi(z)>: private.
    - noise: instead of drawing: uniform numbers that choose z, zeta and (of "paper" alone) the second noise, each
      (repeats, rounds), the latter two in units of the answers.
    """
    features = np.ascontiguousarray(features, dtype=np.float64)
    answers = np.ascontiguousarray(answers, dtype=np.float64)
    if features.ndim != 2 or answers.shape != features.shape[:1] or not np.isfinite(answers).all():
        raise DataError(f"features {features.shape} and answers {answers.shape} must be (m, r) and (m,), all finite")
    m, r = features.shape
    if not 1 <= m <= MOST_POINTS:
        raise DataError(f"the set has {m:,} points; give between 1 and {MOST_POINTS:,}")
    features = bounded_rows(features, setting.feature_norm)
    found = _empty(constants, repeats, r, constants.rounds)
    P = _scratch(constants, r)
    for k in range(repeats):
        uniform, zeta, xi = draw_run(constants, rng, True) if noise is None else (part[k] for part in noise)
        found.updates[k], found.shortfall[k] = over_set(
            features, answers, uniform, zeta, xi, constants.weight, KINDS[constants.calibration], constants.threshold,
            constants.step, constants.ridge, found.w[k], P, found.chosen[k], found.answers[k],
        )  # fmt: skip
    return found


def run_linear(
    constants: Constants, setting: Setting, target: np.ndarray, *, rng: np.random.Generator, repeats: int = 1
) -> Run:
    """Run Algorithm 3 with a linear kernel over the ball ||z|| <= R, for the private w* (Section 6.2; claim J-c08)."""
    target = np.ascontiguousarray(target, dtype=np.float64)
    if target.ndim != 1 or not len(target) or not np.isfinite(target).all():
        raise DataError(f"w* has shape {target.shape}; give one finite vector (d,)")
    found = _empty(constants, repeats, len(target), 0)
    P = _scratch(constants, len(target))
    for k in range(repeats):
        _, zeta, _ = draw_run(constants, rng, False)
        found.updates[k], found.proposals[k], found.shortfall[k] = over_ball(
            target, setting.feature_norm, zeta, constants.weight, KINDS[constants.calibration], constants.threshold,
            constants.step, constants.ridge, found.w[k], P, rng,
        )  # fmt: skip
    return found


def _empty(constants: Constants, repeats: int, r: int, kept: int) -> Run:
    whole_numbers = np.zeros((3, repeats), np.int64)
    return Run(
        np.zeros((repeats, r)),
        whole_numbers[0],
        np.zeros(repeats),
        whole_numbers[1],
        np.zeros((repeats, kept), np.int64),
        np.zeros((repeats, kept)),
    )


def _scratch(constants: Constants, r: int) -> np.ndarray:
    return np.empty((r, r) if constants.calibration == "tight" else (0, 0))


def draw_run(constants: Constants, rng: np.random.Generator, choosing: bool) -> tuple[np.ndarray, ...]:
    """Numbers of one run: that choose z of a finite set, and the noise."""
    rounds, paper = constants.rounds, constants.calibration == "paper"
    draw = rng.normal if constants.calibration == "tight" else rng.laplace
    uniform = rng.random(rounds) if choosing else np.zeros(0)
    zeta = draw(0.0, constants.noise, rounds)
    return uniform, zeta, draw(0.0, constants.noise, rounds) if paper else zeta
