r"""Theorem 5, Theorem 13 and Corollary 6 of jain2013 measured: the error of TDDL over n lambda, T, d and the ball.

w* is fixed, ||w*|| = 1, R = L = 1, and the answers <w*, phi(z_t)> are exact: what is random is the public points, the
labels and the noise, all drawn anew for each repeat. Noise depends on n through n lambda alone, which is therefore
nominal: no record is drawn. Laws of phi: `feature_laws`. With T public points drawn from a test set Q,

    Theorem 5     w.p. 1 - beta   excess <= c (LR)^{3/2} sqrt(C log^{1/2}(1/delta)) log(T/beta)/sqrt(n lambda epsilon),
                  T = C n lambda epsilon/(L R sqrt(log(1/delta))); excess of the mean hinge loss over Q,
    Theorem 13    the same over P: fresh points, labels averaged out,
    Corollary 6   the same with C = 2LR/lambda,
    equation (4)  mean over Z of |<w^ - w*, phi>| <= 2 sqrt(2) nu log(T/beta).

Series, by the column `series`:

    total       over n lambda, T as Theorem 5 says, C = 1
    queries     over T at one n lambda; `over_best`: D(T of Theorem 5)/min_T D, the minimum found on the even repeats
                (mean D over them) and the ratio taken on the odd ones
    corollary   over n for each lambda, C = 2/lambda, T = n epsilon/sqrt(log(1/delta))
    features    over d, for C = 1 and C = 2 (lambda = 1)
    outside     total, where w* has a part that no point tells of (`feature_laws`, half-outside)
    exchange    TDDL fitted to PINP's answers on Z (Section 6.1, "one can use the algorithm given in the previous
                section"), beside TDDL, at an n lambda where PINP may say something; `vacuous`: where it does not

Metrics of a repeat: `error`, D = mean |<w^ - w*, phi>| over fresh points, Z being drawn from P; and of TDDL
`error_points` (over Z), `violated` (of equation (4); `gamma` is beta), `excess` (hinge, at least 0), `off` (mean |<w^ -
w*, u>| over the unit sphere of R^d, exact), `worst` (its greatest, ||w^ - w*||), along `corollary` `loss`, the hinge
loss itself, along `features` with C = 2 `mean_excess` (of `noise_draws` draws of noise on the same public points), and
with a finite test set Q, Z drawn from it, `error_test` and `excess_test`, both over Q. `bound` is Theorem 5's
expression with the constant 1 (of `violated`, equation (4)'s right side), `vacuous` is 1 where it is at least C R L.

Mechanisms: `tddl` (paper, corrected, tight; variant "bare": the printed O(.) with constant 1, not private; variant
"pinp-answers"), `explicit_output` (w* + N(0, sigma^2 I)), `cms11` (Algorithm 1 there, pure epsilon: w* + b; Algorithm 2
has the same law where the loss adds no curvature, up to its epsilon'), `trivial` (w = 0). Neighbours: replace-one.

References
----------
jain2013, Section 6.1, Theorems 5 and 13, Corollary 6, equation (4); errata J6, J12, J15, J17.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from dperm.domain import Budget, Domain
from dperm.losses import logistic
from dperm.mechanisms import cms11
from dperm.mechanisms.kernel import constants, pinp, tddl
from dperm.mechanisms.kernel.constants import Setting
from dperm.solvers.blas import one_thread
from dperm_papers.jain2013.thm5 import feature_laws
from dperm_papers.jain2013.thm5.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# (calibration, bare) of TDDL, in the order of their draws.
_FITTED = (("paper", False), ("corrected", False), ("tight", False), ("paper", True))
# Calibration and guarantee of what stands beside TDDL.
_OTHERS = {"explicit_output": ("tight", "proved"), "cms11": ("paper", "proved_exact"), "trivial": ("paper", "proved")}
# Series in which Theorem 5's finite test set is drawn too.
_FINITE = ("total", "queries")
# The public slack, in units of Delta_w, that corrected and tight noise covers.
_SLACK = 0.05


class Method(NamedTuple):
    """What tells the curves apart."""

    mechanism: str
    variant: str
    calibration: str
    guarantee: str


@dataclass(frozen=True)
class Point:
    """One grid point; `curvature` is lambda, 0 where only n lambda is set, and so is n then."""

    series: str
    law: str
    total: float
    queries: int
    d: int
    radius: float = 1.0
    curvature: float = 0.0

    @property
    def n(self) -> int:
        """Records; 0 where only n lambda is set."""
        return round(self.total / self.curvature) if self.curvature else 0


def run(cell: Cell, rows: Rows) -> None:
    """Measure one series, or all."""
    settings = cell.settings
    rows = rows.at(epsilon=settings.epsilon, delta=settings.delta)
    for name in cell.parts(*_SERIES):
        for law in (feature_laws.OUTSIDE,) if name == "outside" else settings.designs:
            for points in _SERIES[name](settings, law):
                if name == "exchange":
                    _exchanged(cell, rows, points[0])
                else:
                    _measured(cell, rows, points)
    _over_best(rows)


def theorem5_queries(total: float, radius: float, epsilon: float, delta: float) -> int:
    """Return T = C n lambda epsilon/(L R sqrt(log(1/delta))), L = R = 1, at least 1 (Theorem 5; erratum J17)."""
    return max(1, round(radius * total * epsilon / math.sqrt(math.log(1 / delta))))


def theorem5_bound(point: Point, epsilon: float, delta: float, beta: float) -> float:
    """Return the expression of Theorem 5 with the constant 1, L = R = 1."""
    ball = math.sqrt(point.radius * math.sqrt(math.log(1 / delta)))
    return ball * math.log(point.queries / beta) / math.sqrt(point.total * epsilon)


def _over_total(settings: Settings, law: str) -> Iterator[list[Point]]:
    series = "outside" if law == feature_laws.OUTSIDE else "total"
    for total in settings.totals:
        T = theorem5_queries(total, 1.0, settings.epsilon, settings.delta)
        yield [Point(series, law, float(total), T, settings.dimension)]


def _over_queries(settings: Settings, law: str) -> Iterator[list[Point]]:
    total = float(settings.middle_total)
    own = theorem5_queries(total, 1.0, settings.epsilon, settings.delta)
    for T in sorted({*settings.queries, own}):
        yield [Point("queries", law, total, int(T), settings.dimension)]


def _over_corollary(settings: Settings, law: str) -> Iterator[list[Point]]:
    for curvature in settings.curvatures:
        for n in settings.sizes:
            T = max(1, round(n * settings.epsilon / math.sqrt(math.log(1 / settings.delta))))
            yield [Point("corollary", law, n * curvature, T, settings.dimension, 2 / curvature, float(curvature))]


def _over_features(settings: Settings, law: str) -> Iterator[list[Point]]:
    total = float(min(settings.totals))
    T = theorem5_queries(total, 1.0, settings.epsilon, settings.delta)
    for d in settings.features:
        # The balls of one feature space share its points: at the largest d these are what costs.
        yield [Point("features", law, total, T, int(d), *ball) for ball in ((1.0, 0.0), (2.0, 1.0))]


def _over_exchange(settings: Settings, law: str) -> Iterator[list[Point]]:
    for total in settings.exchange_totals:
        yield [Point("exchange", law, float(total), settings.public_points, settings.dimension)]


_SERIES = {
    "total": _over_total,
    "queries": _over_queries,
    "corollary": _over_corollary,
    "features": _over_features,
    "exchange": _over_exchange,
    "outside": _over_total,
}


def _setting(point: Point) -> Setting:
    exact = Setting(1.0, 1.0, point.total, point.radius)
    return Setting(1.0, 1.0, point.total, point.radius, slack=_SLACK * exact.shift)


def _measured(cell: Cell, rows: Rows, points: Sequence[Point]) -> None:
    """Measure points, of any series but `exchange`, that differ in their ball alone."""
    settings, point = cell.settings, points[0]
    rng = cell.rng(point.series, point.law, point.total, point.queries, point.d, point.radius)
    budget, setting = Budget(settings.epsilon, settings.delta), _setting(point)
    sizes = [tddl.scale(setting, budget, point.queries, how, bare=bare) for how, bare in _FITTED]
    methods = [
        Method("tddl", "bare" if bare else "", how, guarantee)
        for (how, bare), (_, guarantee) in zip(_FITTED, sizes, strict=True)
    ]
    scales = [size for size, _ in sizes]
    limits = [2 * math.sqrt(2) * scale * math.log(point.queries / settings.gammas[0]) for scale in scales]
    spherical = cms11.calibrate(
        logistic(), Domain(x_norm=1.0), Budget(settings.epsilon, 0.0), perturbation="output", curvature=point.total
    )
    gaussian = constants.sigma(setting, budget)
    found: dict[tuple[Point, str], list] = {}
    # A stream of its own: what was drawn before it was added stays as it was.
    noises = cell.rng(point.series, point.law, point.d, "mean_excess")
    for _ in range(settings.repeats):
        drawn = feature_laws.draw(point.law, point.queries + settings.test_rows, point.d, rng)
        Z, fresh = drawn.phi[: point.queries], drawn.phi[point.queries :]
        spectrum = thin(Z)
        for own in points:
            w = _fits(spectrum, Z, drawn.w, scales, own.radius, rng)
            values = _errors(w, drawn, Z, fresh, limits)
            if point.series == "corollary":
                values["loss"] = hinge(w @ fresh.T, special.expit(fresh @ drawn.w))
            values["explicit_output"] = np.abs(fresh @ (gaussian * rng.standard_normal(len(drawn.w)))).mean()
            values["cms11"] = np.abs(fresh @ spherical.noise.marginal((len(drawn.w),), point.d, rng)).mean()
            values["trivial"] = np.abs(fresh @ drawn.w).mean()
            if point.series == "features" and own.curvature:
                fits = [_fits(spectrum, Z, drawn.w, scales, own.radius, noises) for _ in range(settings.noise_draws)]
                exact = fresh @ drawn.w
                drawn_excess = [excess(w @ fresh.T, exact, special.expit(exact)) for w in fits]
                values["mean_excess"] = np.mean(drawn_excess, axis=0)
            if point.series in _FINITE:
                values |= _on_a_test_set(own, settings.pool_rows, scales, rng)
            for name, value in values.items():
                found.setdefault((own, name), []).append(value)
    for (own, name), values in found.items():
        here, by_method = rows.at(**_columns(own, settings)), np.array(values)
        if name in _OTHERS:
            here.at(**Method(name, "", *_OTHERS[name])._asdict()).add("error", by_method)
            continue
        for k, method in enumerate(methods):
            at = here.at(**method._asdict())
            # Equation (4) is about Laplace noise, and has a bound of its own.
            if name != "violated":
                at.add(name, by_method[:, k])
            elif method.calibration != "tight":
                at.add(name, by_method[:, k], bound=limits[k], vacuous=int(limits[k] >= own.radius))


def _errors(
    w: np.ndarray, rows: feature_laws.Rows, Z: np.ndarray, fresh: np.ndarray, limits: Sequence[float]
) -> dict[str, Any]:
    """Return what is measured of the fits w, shape (4, r), of one repeat."""
    off, exact = w - rows.w, fresh @ rows.w
    at_points = np.abs(off @ Z.T).mean(axis=1)
    worst = np.hypot(np.linalg.norm(off, axis=1), rows.outside)
    return {
        "error": np.abs(off @ fresh.T).mean(axis=1),
        "error_points": at_points,
        "violated": at_points > limits,
        "excess": excess(w @ fresh.T, exact, special.expit(exact)),
        "worst": worst,
        "off": worst * mean_coordinate(rows.d),
    }


def _on_a_test_set(point: Point, size: int, scales: list[float], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return D and the excess over a finite labelled test set, from which Z is drawn uniformly (Theorem 5)."""
    rows = feature_laws.draw(point.law, size, point.d, rng)
    Z = rows.phi[rng.integers(size, size=point.queries)]
    w = _fits(thin(Z), Z, rows.w, scales, point.radius, rng)
    exact = rows.phi @ rows.w
    positive = (rng.random(size) < special.expit(exact)).astype(float)
    predictions = w @ rows.phi.T
    return {
        "error_test": np.abs(predictions - exact).mean(axis=1), "excess_test": excess(predictions, exact, positive)
    }  # fmt: skip


def _fits(
    spectrum: tddl.Spectrum, Z: np.ndarray, w: np.ndarray, scales: list[float], radius: float, rng: np.random.Generator
) -> np.ndarray:
    """Return w^ of each of `_FITTED`, in the coordinates of Z: shape (4, r)."""
    answers, noisy = Z @ w, []
    for (how, _), scale in zip(_FITTED, scales, strict=True):
        unit = Z @ rng.standard_normal(Z.shape[1]) if how == "tight" else rng.laplace(size=len(Z))
        noisy.append(answers + scale * unit)
    with one_thread():
        return tddl.fit(spectrum, np.array(noisy), radius).coefficients @ Z


def thin(features: np.ndarray) -> tddl.Spectrum:
    """Return the eigendecomposition of K = Phi Phi' without its null space, at the cost of the smaller side of Phi.

    `K` is left empty: `tddl.fit` needs none.
    """
    with one_thread():
        if features.shape[0] <= features.shape[1]:
            whole = tddl.spectrum(features @ features.T)
            positive = whole.values > 0
            return tddl.Spectrum(np.empty((0, 0)), whole.values[positive], whole.vectors[:, positive])
        inner = tddl.spectrum(features.T @ features)
        positive = inner.values > 0
        values = inner.values[positive]
        return tddl.Spectrum(np.empty((0, 0)), values, features @ inner.vectors[:, positive] / np.sqrt(values))


def hinge(predictions: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return the mean hinge loss of each row; `positive` is P(y = 1) of each column."""
    return (positive * np.maximum(1 - predictions, 0) + (1 - positive) * np.maximum(1 + predictions, 0)).mean(axis=-1)


def excess(predictions: np.ndarray, exact: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """Return max(mean hinge loss - that of w*, 0) of each row; `positive` is P(y = 1) of each column."""
    return np.maximum(hinge(predictions, positive) - hinge(exact, positive), 0.0)


def mean_coordinate(d: int) -> float:
    """E |u_1| of u uniform on the unit sphere of R^d."""
    return math.exp(math.lgamma(d / 2) - math.lgamma((d + 1) / 2)) / math.sqrt(math.pi)


def _exchanged(cell: Cell, rows: Rows, point: Point) -> None:
    """Measure D of TDDL on its own answers and on PINP's, for each calibration."""
    settings, rng = cell.settings, cell.rng(point.series, point.law, point.total)
    budget, setting, beta = Budget(settings.epsilon, settings.delta), _setting(point), settings.gammas[0]
    for how in ("paper", "corrected", "tight"):
        scale, guarantee = tddl.scale(setting, budget, point.queries, how)
        made = pinp.constants(setting, budget, queries=point.queries, beta=beta, calibration=how)
        errors = []
        for _ in range(settings.side_repeats):
            drawn = feature_laws.draw(point.law, point.queries + settings.test_rows, point.d, rng)
            Z, fresh = drawn.phi[: point.queries], drawn.phi[point.queries :]
            answers = Z @ drawn.w
            unit = Z @ rng.standard_normal(Z.shape[1]) if how == "tight" else rng.laplace(size=len(Z))
            asked = pinp.run(made, setting, Z, answers, rng=rng).predictions[0]
            # After the printed halt there are no more answers: the least squares go without them.
            answered = np.isfinite(asked)
            own = tddl.fit(thin(Z), (answers + scale * unit)[None, :], point.radius).coefficients @ Z
            other = np.zeros_like(own)
            if answered.any():
                fitted = tddl.fit(thin(Z[answered]), asked[answered][None, :], point.radius)
                other = fitted.coefficients @ Z[answered]
            errors.append([np.abs(fresh @ (w[0] - drawn.w)).mean() for w in (own, other)])
        here = rows.at(**_columns(point, settings)).at(mechanism="tddl", calibration=how, vacuous=int(made.vacuous))
        own, other = np.array(errors).T
        here.add("error", own, variant="", guarantee=guarantee)
        here.add("error", other, variant="pinp-answers", guarantee=made.guarantee)


def _over_best(rows: Rows) -> None:
    """Add, for the sweep of T, the ratio of the error at Theorem 5's T to that at the best T."""
    found = rows.frame()
    swept = found[(found["series"] == "queries") & (found["metric"] == "error") & (found["mechanism"] == "tddl")]
    for _, part in swept.groupby(["dataset", "total", "variant", "calibration"], sort=True):
        table = part.pivot(index="repeat", columns="queries", values="value")
        even = table.index % 2 == 0
        best = int(table[even].mean().idxmin())
        own = int(part["own_queries"].iloc[0])
        first = part[part["queries"] == own].drop(columns=["repeat", "metric", "value", "status"]).iloc[0]
        ratio = (table[own] / table[best])[~even]
        rows.at(**first).add("over_best", ratio.to_numpy(), best_queries=best)


def _columns(point: Point, settings: Settings) -> dict[str, Any]:
    budget, beta = (settings.epsilon, settings.delta), settings.gammas[0]
    bound = theorem5_bound(point, *budget, beta)
    return {
        "series": point.series, "dataset": point.law, "total": point.total, "queries": point.queries, "d": point.d,
        "curvature": point.curvature, "n": point.n, "radius": point.radius, "bound": bound,
        "vacuous": int(bound >= point.radius), "gamma": beta,
        "own_queries": theorem5_queries(point.total, point.radius, *budget), "best_queries": 0,
    }  # fmt: skip
