"""Private interactive prediction (jain2013, Algorithm 1, "PINP"): many runs on the same queries at once.

What the noise must be, what is promised and why stands in `pinp_constants`, for replace-one neighbours or for
add/remove at a fixed total; the rounds are those of `interactive`.
"""

from dataclasses import dataclass

import numpy as np

from dperm.domain import bounded_rows
from dperm.errors import DataError
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.interactive import FROZEN, KINDS, UPDATED, answer_all
from dperm.mechanisms.kernel.pinp_constants import ANSWER_SHARE, Constants, constants, log_queries
from dperm.mechanisms.kernel.tddl import spectrum

CALIBRATIONS = ("paper", "corrected", "tight")

__all__ = ["ANSWER_SHARE", "Constants", "Run", "constants", "factor", "log_queries", "run"]


@dataclass(frozen=True)
class Run:
    """Many runs on the same queries.

    - predictions: shape (repeats, T), or (0, T) if they were not kept; the answers; NaN where a printed run has halted.
      Each row spends the budget.
    - status: ndarray of int8, as `predictions`; `interactive.LIVE`, `UPDATED`, `FROZEN` or `UNANSWERED`.
    - live_error: shape (repeats,); largest |answer - f| while live: not private.
    - error: shape (repeats,); the same of all answers: not private.
    """

    predictions: np.ndarray
    status: np.ndarray
    updates: np.ndarray
    live_error: np.ndarray
    error: np.ndarray

    @property
    def updated(self) -> np.ndarray:
        """Where a noisy answer was given, shape as `predictions`."""
        return self.status == UPDATED

    @property
    def frozen(self) -> np.ndarray:
        """Where the frozen w_t answered, shape as `predictions`."""
        return self.status == FROZEN


def factor(K: np.ndarray) -> np.ndarray:
    """Return Phi, (T, rank), with Phi Phi' = K, as thin as rounding allows: coordinates of phi(z_1) .. phi(z_T)."""
    found = spectrum(K)
    kept = found.values > 0
    return np.ascontiguousarray(found.vectors[:, kept] * np.sqrt(found.values[kept]))


def run(
    constants: Constants,
    setting: Setting,
    features: np.ndarray,
    answers: np.ndarray,
    *,
    rng: np.random.Generator,
    repeats: int = 1,
    keep: bool = True,
    noise: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None,
) -> Run:
    """Run Algorithm 1 `repeats` times on queries z_1 .. z_T.

    - features: shape (T, r); phi(z_t) in any coordinates, each at most R long: explicit ones, or `factor(K)`. The
      kernel matrix itself is never needed.
    - answers: shape (T,); f_t = <w*, phi(z_t)>: private.
    - noise: instead of drawing: zeta (repeats, T), rho and fresh (repeats, min(B, T)), in units of the answers.
    """
    features = np.ascontiguousarray(features, dtype=np.float64)
    answers = np.ascontiguousarray(answers, dtype=np.float64)
    if features.ndim != 2 or answers.shape != features.shape[:1] or not np.isfinite(answers).all():
        raise DataError(f"features {features.shape} and answers {answers.shape} must be (T, r) and (T,), all finite")
    features = bounded_rows(features, setting.feature_norm)
    T, r = features.shape
    most = min(constants.updates, T)
    kind = KINDS[constants.calibration]
    P = np.empty((r, r) if kind == KINDS["tight"] else (0, 0))
    g, status = np.empty((repeats if keep else 1, T)), np.empty((repeats if keep else 1, T), np.int8)
    counts, live, worst = np.empty(repeats, np.int64), np.empty(repeats), np.empty(repeats)
    for k in range(repeats):
        zeta, rho, fresh = draw_run(constants, T, most, rng) if noise is None else (part[k] for part in noise)
        row = k if keep else 0
        counts[k], live[k], worst[k] = answer_all(
            features, answers, zeta, rho, fresh, kind, constants.threshold, constants.step, constants.ridge, most,
            g[row], status[row], P,
        )  # fmt: skip
    kept = slice(None) if keep else slice(0, 0)
    return Run(g[kept], status[kept], counts, live, worst)


def draw_run(constants: Constants, T: int, most: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Noise of one run: of decisions (T,), and of thresholds and answers (most,)."""
    zeta = rng.laplace(0.0, constants.deciding, T)
    rho = rng.laplace(0.0, constants.moving, most) if constants.moving else np.zeros(most)
    if constants.calibration == "paper":
        return zeta, rho, rho
    draw = rng.laplace if constants.calibration == "corrected" else rng.normal
    return zeta, rho, draw(0.0, constants.answering, most)
