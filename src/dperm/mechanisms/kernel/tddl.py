r"""The Test Data Dependent Learner (jain2013, Algorithm 2): a model fitted to noisy answers on public points.

For public points Z = (z_1 .. z_T), K = K(Z, Z), exact answers f_t = <w*, phi(z_t)> and noise b,

    w^ = argmin_{||w|| <= C} 1/T sum_t (<w, phi(z_t)> - f_t - b_t)^2,

of all minimisers the shortest, which lies in the span of the phi(z_t): w^ = sum_t a_t phi(z_t). With K = U diag(s) U'

    a = (K + m I)^+ (f + b)    with the least m >= 0 such that a'Ka <= C^2,

that is in coordinates theta = diag(s)^{1/2} U'a of w^ (||theta|| = ||w^||) and g = U'(f + b)

    theta_j = sqrt(s_j) g_j/(s_j + m),     sum_j s_j g_j^2/(s_j + m)^2 = C^2 where m > 0,

a secular equation (`dperm.solvers.ball`): O(T) a Newton step. One eigendecomposition serves all draws, budgets and
calibrations. (1/T only rescales m.) A prediction at q is <w^, phi(q)> = K(q, Z) a: post-processing.

The noise. Delta_w, `covered` = Delta_w + 2 slack and R as in `constants`, replace-one by default; add/remove halves
Delta_w.

- "paper": b_t ~ Lap(nu), nu = R Delta_w/eps1. Each answer is eps1-DP, and T of them compose to (epsilon, delta) by
  Theorem 11, of which nu = O(.) is a simplification (erratum J6): eps1 solves
  sqrt(2 T log(1/delta)) eps1 + T eps1 (e^eps1 - 1) = epsilon, or is epsilon/T (basic composition) where that is larger.
  `proved_exact`: the proof takes w* for exact (erratum J9).
- "corrected": nu = R (Delta_w + 2 slack)/eps1 and a public C (erratum J10). `proved`.
- "tight": b = sigma K^{1/2} xi, xi ~ N(0, I), sigma = (Delta_w + 2 slack) g(epsilon, delta): what one Gaussian release
  of w itself says about Z, so T costs nothing (erratum J12). `proved`. (K + kappa R^2 I, to cover the rounding of s:
  `constants.nugget`.)
- bare: nu = L R^2 sqrt(T log(1/delta))/(total epsilon), the printed O(.) with constant 1. Promises nothing: `none`.

Sources: jain2013, Algorithm 2, Theorems 4, 5 and 11, equation (3); errata J6, J9, J10, J12; docs/privacy.md, section
11.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dperm.accounting import composition
from dperm.domain import NORM_SLACK, Budget, Calibration, Guarantee, Mode
from dperm.errors import DataError, DomainViolation, InvalidBudget
from dperm.mechanisms.base import budget_event, representable
from dperm.mechanisms.kernel.constants import Setting, nugget, sigma
from dperm.solvers import ball
from dperm.solvers.blas import one_thread

CALIBRATIONS = ("paper", "corrected", "tight")

_GUARANTEES: dict[str, Guarantee] = {"paper": "proved_exact", "corrected": "proved", "tight": "proved"}
# Eigenvalues below this share of the largest count as 0: rounding, some T eps of the largest, is not small beside them,
# and the noise of `nugget` would be large beside them.
_CUT = 1e-10
# A matrix counts as positive semidefinite down to this multiple of T times its largest diagonal entry, below 0.
_NEGATIVE = 1e-12


@dataclass(frozen=True)
class Spectrum:
    """K = K(Z, Z) with its eigendecomposition.

    - values: shape (T,); s, ascending; exactly 0 where rounding hides it.
    - vectors: shape (T, T); U, one eigenvector a column.
    - uncut: shape (T,); s as computed, 0 at least, which noise is made of; None for fits alone.
    """

    K: np.ndarray
    values: np.ndarray
    vectors: np.ndarray
    uncut: np.ndarray | None = None

    def roots(self, feature_norm: float) -> np.ndarray:
        """Return sqrt(s + kappa R^2) (`constants.nugget`): the sd, in units of sigma, along every eigenvector."""
        return np.sqrt(self.uncut + nugget(len(self.uncut)) * feature_norm**2)


@dataclass(frozen=True)
class Fit:
    """The least-squares fits over the ball, one a row.

    - coefficients: shape (repeats, T); a: w^ = sum_t a_t phi(z_t).
    - norm: shape (repeats,); ||w^||, at most C.
    - multiplier: shape (repeats,); m; 0 inside the ball.
    """

    coefficients: np.ndarray
    norm: np.ndarray
    multiplier: np.ndarray

    def at(self, cross: np.ndarray) -> np.ndarray:
        """Return the predictions <w^, phi(q)> at some points (cross: shape (m, T); K(Q, Z))."""
        return self.coefficients @ cross.T


@dataclass(frozen=True)
class Release(Fit):
    """Fits that each spend one budget; scale: nu of Laplace noise, or sigma of the tight one, in units of w."""

    scale: float
    guarantee: Guarantee
    event: tuple[str, dict[str, float]]
    mode: Mode = "science"


def spectrum(K: np.ndarray) -> Spectrum:
    """Return the eigendecomposition that every draw, budget and calibration shares.

    - K: shape (T, T); K(Z, Z): symmetric (the lower triangle counts) and positive semidefinite up to rounding.
    - Raises DomainViolation: if K has a negative eigenvalue beyond rounding: no feature map exists then, and no
      sensitivity.
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise DataError(f"K has shape {K.shape}; give (T, T) with T >= 1")
    if not np.isfinite(K).all():
        raise DataError("K holds NaN or infinity; the kernel overflows on these points")
    with one_thread():
        values, vectors = np.linalg.eigh(K)
    if values[0] < -len(K) * _NEGATIVE * np.abs(np.diag(K)).max():
        raise DomainViolation(
            f"the kernel is not positive semidefinite on these points: K(Z, Z) has the eigenvalue {values[0]:.3g}; "
            "take a kernel that is an inner product of features"
        )
    return Spectrum(K, np.where(values <= _CUT * values[-1], 0.0, values), vectors, np.maximum(values, 0.0))


def scale(
    setting: Setting, budget: Budget, queries: int, calibration: Calibration, *, bare: bool = False
) -> tuple[float, Guarantee]:
    """Return nu of the Laplace noise, or sigma of the tight calibration, and what is proved of it.

    - budget: delta = 0 composes the answers by basic composition; "tight" and the bare constant need delta > 0.
    - bare: the printed O(.) with constant 1, of "paper" alone: of no guarantee.
    - scale: in units of a prediction, and of w for "tight".
    """
    if calibration not in _GUARANTEES:
        raise ValueError(f"calibration={calibration!r} is not one of {', '.join(map(repr, _GUARANTEES))}")
    if bare:
        if calibration != "paper":
            raise ValueError(f"calibration={calibration!r} has no bare constant; take 'paper'")
        log = -math.log(budget.delta) if budget.delta > 0 else math.inf
        nu = setting.lipschitz * setting.feature_norm**2 * math.sqrt(queries * log) / (setting.total * budget.epsilon)
        return representable(nu, budget), "none"
    if calibration == "tight":
        if budget.delta == 0:
            raise InvalidBudget("delta=0: 'tight' is Gaussian; take calibration='corrected', or delta=1e-6, say")
        return sigma(setting, budget), "proved"
    distance = setting.shift if calibration == "paper" else setting.covered
    pure = budget.delta == 0
    each = budget.epsilon / queries if pure else composition.inverted(budget.epsilon, budget.delta, queries)
    return representable(setting.feature_norm * distance / each, budget), _GUARANTEES[calibration]


def fit(spectrum: Spectrum, targets: np.ndarray, radius: float) -> Fit:
    """Fit all targets over the ball, by one batched secular equation.

    - targets: shape (repeats, T); f + b, one draw a row.
    - Returns: row by row the shortest minimiser of sum_t (<w, phi(z_t)> - target_t)^2 over ||w|| <= C.
    - Source: jain2013, Algorithm 2, line 2.
    """
    with one_thread():
        return _fit(spectrum, targets @ spectrum.vectors, radius)


def release(
    spectrum: Spectrum,
    answers: np.ndarray,
    setting: Setting,
    budget: Budget,
    *,
    calibration: Calibration,
    bare: bool = False,
    rng: np.random.Generator,
    repeats: int = 1,
    noise: np.ndarray | None = None,
) -> Release:
    """Release w^ `repeats` times, each with fresh noise.

    - spectrum: of K(Z, Z), Z public and free of the training data.
    - answers: shape (T,); f = K(Z, X) mu, of a w within setting.slack of w*.
    - noise: shape (repeats, T); noise of scale 1 to be used instead of fresh draws: Laplace for each answer, or for
      "tight" standard Gaussian for each eigenvector. The same draws at several budgets are for figures, never for
      releases.
    - Raises DomainViolation: if a public point has K(z, z) > R^2: one record may move its answer by more than the noise
      is made for.
    """
    return releases(spectrum, answers, setting, [(budget, calibration, bare)], rng=rng, repeats=repeats, noise=noise)[0]


def releases(
    spectrum: Spectrum,
    answers: np.ndarray,
    setting: Setting,
    asked: Sequence[tuple[Budget, Calibration, bool]],
    *,
    rng: np.random.Generator,
    repeats: int = 1,
    noise: np.ndarray | None = None,
) -> list[Release]:
    """Release w^ under several (budget, calibration, bare) in one batch; each spends its budget on every repeat."""
    within(np.diag(spectrum.K), setting.feature_norm)
    roots = spectrum.roots(setting.feature_norm)
    sizes = [scale(setting, budget, len(answers), calibration, bare=bare) for budget, calibration, bare in asked]
    with one_thread():
        # U'(f + b). The tight calibration's b is unit noise times the symmetric root of K, the one root that does not
        # hang on which eigenvectors are chosen where eigenvalues coincide.
        rotated = np.repeat((answers @ spectrum.vectors)[None, :], repeats * len(asked), axis=0)
        shape = repeats, len(answers)
        drawn = [unit_noise(calibration, shape, rng) for _, calibration, _ in asked] if noise is None else [noise]
        turned = np.split(np.vstack(drawn) @ spectrum.vectors, len(drawn))  # one product: few rows at a time cost more
        for k, (_, calibration, _) in enumerate(asked):
            part = turned[k if noise is None else 0]
            rotated[k * repeats : (k + 1) * repeats] += sizes[k][0] * (part * roots if calibration == "tight" else part)
        found = _fit(spectrum, rotated, setting.radius)
    parts = [np.split(part, len(asked)) for part in (found.coefficients, found.norm, found.multiplier)]
    events = [
        ("GaussianDpEvent", {"noise_multiplier": size / setting.covered})
        if calibration == "tight"
        else budget_event(budget)
        for (budget, calibration, _), (size, _) in zip(asked, sizes, strict=True)
    ]
    return [Release(*fitted, *size, event) for *fitted, size, event in zip(*parts, sizes, events, strict=True)]


def unit_noise(calibration: Calibration, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw noise of scale 1: Gaussian where the calibration is tight, Laplace elsewhere."""
    if calibration == "tight":
        return rng.standard_normal(shape)
    # The difference of two exponentials is Laplace; drawn so, it takes half the time of `rng.laplace`.
    positive, negative = rng.standard_exponential((2, *shape))
    return positive - negative


def _fit(spectrum: Spectrum, rotated: np.ndarray, radius: float) -> Fit:
    """Fit targets given in the eigenbasis."""
    roots = np.sqrt(spectrum.values)
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    theta, multiplier = ball.diagonal(spectrum.values, rotated * roots, radius)
    norm = np.sqrt(np.einsum("rj,rj->r", theta, theta))
    # Newton stops within a few ulps of the sphere, on either side.
    outside = norm > radius
    theta[outside] *= (radius / norm[outside])[:, None]
    theta *= inverse
    return Fit(theta @ spectrum.vectors.T, np.minimum(norm, radius), multiplier)


def within(diagonal: np.ndarray, feature_norm: float) -> None:
    """Refuse queries longer than R, beyond rounding; the message gives no value of the data."""
    longer = int((np.asarray(diagonal) > (feature_norm * (1 + NORM_SLACK)) ** 2).sum())
    if longer:
        raise DomainViolation(
            f"{longer} of {np.size(diagonal)} queries have sqrt(K(z, z)) above feature_norm={feature_norm:g}: one "
            "record may move their answers by more than the noise is made for; declare the larger R, or scale them down"
        )
