r"""TDIL with a linear kernel as a Markov chain of lengths: ||w* - w_t|| in any dimension, at the cost of one.

In a round of Algorithm 3 with sign steps, u = w* - w_t, the point is z = t u/||u|| + sqrt(1 - t^2) v with v uniform in
the unit ball orthogonal to u, and w_t moves by eta s z, s the sign of t ||u|| + zeta, or not at all. So

    ||u||^2  becomes  ||u||^2 - 2 eta s t ||u|| + eta^2 (t^2 + (1 - t^2) rho^2),      rho = ||v|| ~ U^{1/(d-1)},

and nothing else about u matters to later rounds: t depends on u through weight ||u||, and v's direction is isotropic.
The error of w^ over the unit ball is ||u|| after B rounds. (Kernel ridge has no such chain; "tight" runs as it is.)

References
----------
jain2013, Algorithm 3 and Section 6.2; `dperm.mechanisms.kernel.tdil.run_linear`, whose law this is.
"""

import math

import numpy as np

from dperm.compiled import compiled
from dperm.mechanisms.kernel.ball_law import piece
from dperm.mechanisms.kernel.tdil import Constants


@compiled
def _round(length, d, weight, sigma, step, noise, rng):
    """Return the length after a round, and how far z fell short of the best."""
    s, _ = piece(weight * length, 0.5 * (d - 1), rng)
    t = 1.0 - s if rng.random() < 0.5 else s - 1.0
    rho = rng.random() ** (1.0 / (d - 1)) if d > 1 else 0.0
    zeta = noise * (rng.standard_exponential() - rng.standard_exponential())
    off = t * length + zeta
    short = length * s
    if abs(off) > sigma:
        squared = t * t + s * (2.0 - s) * rho * rho
        moved = length * length - 2.0 * step * np.sign(off) * t * length + step * step * squared
        length = math.sqrt(max(moved, 0.0))
    return length, short


@compiled
def _run(length, rounds, d, weight, sigma, step, noise, rng, lengths, shortfall):
    for k in range(lengths.shape[0]):
        now, most = length, 0.0
        for _ in range(rounds):
            now, short = _round(now, d, weight, sigma, step, noise, rng)
            most = max(most, short)
        lengths[k], shortfall[k] = now, most


def run(
    constants: Constants, length: float, d: int, *, rng: np.random.Generator, repeats: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return ||w* - w^|| of each repeat, and the largest max_z |<z, w_t - w*>| - |<z_t, w_t - w*>| over its rounds.

    `constants` are those of sign steps for R = 1 (ValueError if they are kernel ridge's); `length` is ||w*||.
    """
    if constants.calibration == "tight":
        raise ValueError("calibration='tight': kernel ridge has no chain of lengths; take tdil.run_linear")
    lengths, shortfall = np.empty(repeats), np.empty(repeats)
    _run(
        float(length), constants.rounds, d, constants.weight, constants.threshold, constants.step, constants.noise, rng,
        lengths, shortfall,
    )  # fmt: skip
    return lengths, shortfall
