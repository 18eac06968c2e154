r"""Section 4.1 of li2021 on private fits: Lemma 7, Theorem 8, kifer2012's Theorem 26 beside them; and Section 3.7's
remark on what is retrieved. Settings of Table 4, r = 1/2, Theta = R^p, lasso.

Lemma 7 speaks of iteration t, with weights w_j from theta^(t-1) (form `iteration`):

    R^(t)(theta) = sum_j w_j theta_j^2,      n_e l'' V_(1) = 2 min_j w_j.

Section 4 says what R^(t) tends to, max{Lambda R, Lambda0 ||theta||^2}, read coordinate by coordinate (form `limit`;
the sum without MOOR), and Theorem 8's orders need that it does not depend on b. `target` 1: J and R as printed, with
Lambda R for R. `target` 2: the lasso that the fixed point reaches, 2 Lambda (erratum N6); its limit is P = 2 berHu.
The corrected mechanism is Eq 2 with Lambda R + Lambda0 ||theta||^2 and proved noise: n_e l'' V_(1) = 2 Lambda0.

    lemma-7          excess of the largest over the data sets, the certificates' slack taken off, in units of the larger
                     of risk and bound,
    theorem-8        violated: risk above the bound, over b and data; form `product` as printed, `tenfold` ten times
                     that, `lemma` as its proof, `noise`: ||b||^2 above S itself,
    theorem-26       excess of Theorem 8's bound over kifer2012's, Delta = 2 Lambda0, in the same units,
    second-term      excess of R^(t) - Lambda R over Lambda0 ||theta||^2 at theta_hat, in units of that,
    retrieved        share of Eq 13 (repaired, N5) of every fit; `trend` Spearman's correlation of share and
                     min_j |theta_j|^-1 over a block of data sets at one Lambda,
    risk, bound      means over the data sets of the excess risk and of Lemma 7's bound (form `limit`), for the figure.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import stats

from dperm.domain import Budget
from dperm.mechanisms.napp import limit, noise, retrieval
from dperm.mechanisms.napp.scheme import Scheme, modulus, penalty, weights
from dperm_papers.li2021.bounds import bound_fits, formulas
from dperm_papers.li2021.bounds.bound_fits import METHODS, Sample
from dperm_papers.li2021.shared import designs
from dperm_pipeline.experiments import Cell

SHARE = 0.5
# Methods whose bounds are counted over many draws; one strength of Table 4's grid, at which nothing is empty or full.
_COUNTED, _STRENGTH = ("erm", "erm-moor", "vs_plus-moor"), 1.0
_TINY = 1e-300
# Data sets that make one value of a trend.
_BLOCK = 5
# The literal algorithm stops at t = 80; data sets on which losses without a Gram matrix are refitted.
_LAST, _VISITED = 80, 10


@dataclass(frozen=True)
class _Case:
    """One method at one budget on one sample: its noise and what it is measured against."""

    name: str
    calibration: str
    guarantee: str
    budget: Budget
    sample: Sample
    scheme: Scheme
    b: np.ndarray
    zeta: float

    @property
    def where(self) -> dict[str, Any]:
        return {
            "variant": self.name, "calibration": self.calibration, "guarantee": self.guarantee,
            "epsilon": self.budget.epsilon, "delta": self.budget.delta, "p": self.b.shape[1], "n": self.sample.n,
        }  # fmt: skip

    @property
    def tilt(self) -> str:
        return METHODS[self.name][0]


def rows(cell: Cell) -> Iterator[dict[str, Any]]:
    """Give the rows of every design."""
    settings = cell.settings
    strengths = np.sort(np.asarray(settings.lambdas, float))[::-1]
    for name in settings.designs:
        design = designs.find(name)
        X, y = designs.training(cell.seed, cell.experiment, name, max(settings.data_sets, settings.repeats))
        many = Sample.of(design.loss, X[: settings.repeats], y[: settings.repeats])
        few = many.head(settings.data_sets)
        hats = {times: bound_fits.lasso(few, strengths, times) for times in (1, 2)}
        least = {times: few.target(hats[times], strengths, times) for times in hats}
        alone = np.array([_STRENGTH])
        hat = bound_fits.lasso(many, alone, 1)
        bottom = many.target(hat, alone, 1)
        for epsilon, delta in itertools.product(settings.risk_epsilons, settings.deltas):
            budget = Budget(epsilon, delta)
            for case in cases(cell, name, design, few, budget, [*METHODS]):
                here = {"dataset": name, **case.where}
                for found in lemma_7(case, strengths, hats, least, settings):
                    yield {**here, **found}
            for case in cases(cell, name, design, many, budget, _COUNTED):
                for found in _theorem_8(case, alone, hat, bottom, settings.gammas):
                    yield {"dataset": name, **case.where, **found}


def cases(cell, name, design, sample, budget, methods) -> Iterator[_Case]:
    """Give the published methods and the corrected one, with noise of their own."""
    bounds = noise.Bounds(design.zeta1, design.zeta2, design.zeta3)
    floor, p = noise.floor(bounds, budget.epsilon, SHARE), design.p
    for method, calibration in [*((method, "paper") for method in methods), ("erm", "corrected")]:
        tilt, moor = METHODS[method]
        law, _, guarantee = noise.calibrate(
            bounds, budget, share=SHARE, variant=tilt, calibration=calibration, features=p
        )
        rng = cell.rng("noise", name, len(sample.X), method, calibration, budget.epsilon,
            budget.delta,
        )  # fmt: skip
        scheme = Scheme("lasso", floor, moor=moor, halved=calibration == "corrected")
        # Of the published noise nothing is proved for these problems: bounds on the range of the truth alone.
        proved = guarantee if calibration == "corrected" and design.loss == "logistic" else "none"
        b = law.sample((len(sample.X), p), rng)
        yield _Case(method, calibration, proved, budget, sample, scheme, b, bounds.zeta12)


def _limits(case: _Case, strengths: np.ndarray, theta: np.ndarray, hat: np.ndarray, times: int):
    """Return n_e l'' V_(1) at the fixed point theta, and G with the limit of R^(t); shape (R, L) each."""
    scheme, size = case.scheme, np.abs(hat)
    l1, floors = strengths * size.sum(axis=-1), scheme.floor * (hat**2).sum(axis=-1)
    if case.calibration == "corrected":
        return np.full(theta.shape[:2], 2 * scheme.floor), floors
    if times == 2:
        return modulus(scheme, strengths[:, None], theta), penalty(scheme, strengths[:, None], hat).sum(-1) - 2 * l1
    if not scheme.moor:
        return modulus(scheme, strengths[:, None], theta), floors
    excess = np.maximum(scheme.floor * hat**2 - strengths[:, None] * size, 0).sum(axis=-1)
    return modulus(scheme, strengths[:, None], theta), excess


def lemma_7(case: _Case, strengths, hats, least, settings) -> Iterator[dict[str, Any]]:
    """Compare the risk above its least with the bound of Lemma 7 (as printed, and with its factor corrected)."""
    sample, n, square = case.sample, case.sample.n, (case.b**2).sum(axis=-1, keepdims=True)
    fits = bound_fits.fixed_points(sample, case.b, case.scheme, strengths, case.tilt)
    for times in (1,) if case.calibration == "corrected" else (1, 2):
        slack = sample.slack(fits.theta, fits.gap, strengths, times)
        risk = sample.target(fits.theta, strengths, times) - least[times]
        m, gap = _limits(case, strengths, fits.theta, hats[times], times)
        bound = formulas.lemma(square, m, gap, 1)
        worst = np.where(fits.converged, bound_fits.compared(risk, bound, slack), np.nan)
        yield from _worst(worst, strengths, {"row": "lemma-7", "form": "limit", "target": str(times)})
        if times == 1:
            yield from _means(risk / n, bound / n, strengths)
            other = case.scheme.floor * (hats[1] ** 2).sum(axis=-1)
            # Where theta_hat is 0 both are 0.
            yield from _worst((gap - other) / np.maximum(other, _TINY), strengths, {"row": "second-term"})
            yield from _theorem_26(case, strengths, hats[1], m, gap, "limit", settings.gammas)
    if case.calibration == "corrected":
        return
    yield from _retrieved(case, strengths, fits.theta)
    yield from _iterations(case, strengths, hats, least, settings)


def _iterations(case: _Case, strengths, hats, least, settings) -> Iterator[dict[str, Any]]:
    """Give Lemma 7 at the iterations asked for; on fewer data sets where every refit visits all records."""
    count = len(case.b) if case.sample.loss == "squared" else min(len(case.b), _VISITED)
    sample, b = case.sample.head(count), case.b[:count]
    hats, least = ({times: values[:count] for times, values in each.items()} for each in (hats, least))
    case, square = replace(case, sample=sample, b=b), (b**2).sum(axis=-1, keepdims=True)
    for step in settings.refits:
        before = None if step == 1 else _iterate(case, strengths, step - 1)
        theta = _iterate(case, strengths, step)
        w = np.broadcast_to(weights(case.scheme, strengths[:, None], before), theta.shape)
        m = 2 * w.min(axis=-1)
        for times in (1, 2):
            gap = bound_fits.squares(w, hats[times]) - times * strengths * np.abs(hats[times]).sum(axis=-1)
            # Each iterate is the minimiser of its quadratic problem up to rounding.
            risk = sample.target(theta, strengths, times) - least[times]
            excess = bound_fits.compared(risk, formulas.lemma(square, m, gap, 1), 1e-9 * np.abs(least[times]))
            where = {"row": "lemma-7", "form": "iteration", "target": str(times), "iteration": step}
            yield from _worst(excess, strengths, where)
            if times == 1 and step == _LAST:
                yield from _theorem_26(case, strengths, hats[1], m, gap, "iteration", settings.gammas)


def _iterate(case: _Case, strengths: np.ndarray, steps: int) -> np.ndarray:
    found = limit.reweighted(case.sample.problems, case.b, case.scheme, strengths, variant=case.tilt, steps=steps)
    return found.theta


def _worst(values: np.ndarray, strengths: np.ndarray, where: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the largest over data sets at each strength; a fit that failed makes it unknown."""
    for strength, column in zip(strengths, values.T, strict=True):
        yield {**where, "strength": float(strength), "metric": "excess", "value": float(column.max())}


def _means(risk: np.ndarray, bound: np.ndarray, strengths: np.ndarray) -> Iterator[dict[str, Any]]:
    for k, strength in enumerate(strengths):
        for metric, values in (("risk", risk), ("bound", bound)):
            yield {
                "row": "lemma-7", "form": "limit", "target": "1", "strength": float(strength), "metric": metric,
                "value": values[:, k],
            }  # fmt: skip


def _theorem_26(case, strengths, hat, m, gap, form, failures) -> Iterator[dict[str, Any]]:
    """Give the excess of Theorem 8's bounds over kifer2012's, as proved and as printed."""
    p, n, T = case.b.shape[1], case.sample.n, (hat**2).sum(axis=-1)
    for failure in failures:
        square = formulas.noise_square(case.budget, p, case.zeta, SHARE, failure)
        other = formulas.theorem_26(case.budget, p, case.zeta, failure, 2 * case.scheme.floor, T, n)
        for reading, formula in (("lemma", formulas.lemma), ("product", formulas.product)):
            excess = _over(formula(square, m, gap, n), other)
            where = {"row": "theorem-26", "form": form, "reading": reading, "gamma": failure}
            yield from _worst(excess, strengths, where)


def _over(bound: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return (bound - other)/the larger; 1 where the bound is infinite."""
    return np.where(np.isinf(bound), 1.0, (bound - other) / np.maximum(np.where(np.isinf(bound), 0.0, bound), other))


def _retrieved(case: _Case, strengths: np.ndarray, theta: np.ndarray) -> Iterator[dict[str, Any]]:
    """Give every fit's share, and its correlation with min |theta_j|^-1 in blocks of data sets."""
    share = retrieval.retrieved(case.scheme, strengths, theta)
    with np.errstate(divide="ignore"):
        near = 1 / np.abs(theta).max(axis=-1)
    for k, strength in enumerate(strengths):
        here = {"row": "retrieved", "strength": float(strength)}
        yield {**here, "metric": "retrieved_share", "value": share[:, k]}
        if share[:, k].min() == share[:, k].max():
            continue  # Nothing to correlate: all of it is retrieved, or none.
        blocks = len(theta) // _BLOCK
        pairs = [(share[i::blocks, k], near[i::blocks, k]) for i in range(blocks)]
        yield {**here, "metric": "trend", "value": np.array([spearman(*pair) for pair in pairs])}


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """Return Spearman's correlation, 0 where one of the two does not vary."""
    x, y = (stats.rankdata(values) for values in (first, second))
    x, y = x - x.mean(), y - y.mean()
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else 0.0


def _theorem_8(case: _Case, strengths, hat, bottom, failures) -> Iterator[dict[str, Any]]:
    fits = bound_fits.fixed_points(case.sample, case.b, case.scheme, strengths, case.tilt)
    n, p = case.sample.n, case.b.shape[1]
    risk = (case.sample.target(fits.theta, strengths, 1) - bottom)[:, 0] / n
    slack = case.sample.slack(fits.theta, fits.gap, strengths, 1)[:, 0] / n
    m, gap = (part[:, 0] for part in _limits(case, strengths, fits.theta, hat, 1))
    for failure in failures:
        square = formulas.noise_square(case.budget, p, case.zeta, SHARE, failure)
        over = {
            "product": risk - slack > formulas.product(square, m, gap, n),
            "tenfold": risk - slack > 10 * formulas.product(square, m, gap, n),
            "lemma": risk - slack > formulas.lemma(square, m, gap, n),
        }
        if case.name == "erm":
            over["noise"] = (case.b**2).sum(axis=1) > square
        for form, violated in over.items():
            value = np.where(fits.converged[:, 0], violated.astype(float), np.nan)
            yield {
                "row": "theorem-8", "form": form, "strength": float(strengths[0]), "gamma": failure,
                "metric": "violated", "value": value,
            }  # fmt: skip
