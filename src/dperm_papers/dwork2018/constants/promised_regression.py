"""Bounds on convex regression (dwork2018, Sections 2.1 and 4.4), each beside its exact number.

Every function yields lines as those of `dperm_papers.dwork2018.constants.promised_labels`. Neighbours: replace-one;
R = L_f = L_l = 1 unless a law has constants of its own.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dperm.accounting import gaussian
from dperm.mechanisms.prediction import stable_erm, stable_sgd
from dperm_papers.dwork2018.dimension import experiment as dimension
from dperm_papers.dwork2018.free.experiment import crossing, excess_parts
from dperm_papers.dwork2018.shared import bounds, projected, signs
from dperm_papers.dwork2018.stable import experiment as stable
from dperm_pipeline.experiments import Cell

Line = dict[str, Any]
# lambda of Theorem 4.9 and Corollary 4.10.
_CURVATURE = 0.1
_LAWS = {"lin": projected.Problem(1.0, 1.0, 1.0, 0.0), **projected.PROBLEMS}
_CALIBRATIONS = {"printed": "paper", "tight": "tight"}
# Form of gradient descent -> calibration, eta of the mechanism, its share of the printed step.
_WAYS = {
    "printed": ("paper", "printed", 1.0),
    "mended": ("corrected", "printed", 1.0),
    "halved": ("paper", "halved", 0.5),
    "tight": ("tight", "printed", 1.0),
}


def _minimisers(cell: Cell) -> Iterator[Line]:
    n = cell.settings.sizes[0]
    fixed = {"n": n, "place": "Theorem 4.9"}
    for problem, corollary, lipschitz in (("signs", "4.10", 1 + _CURVATURE), ("abs", "4.11", 1.0)):
        moved = np.diff(signs.minimiser(problem, n, _CURVATURE)).max()
        rates = {
            form: (stable_erm.rate(lipschitz, 1.0, _CURVATURE * n, calibration=how, corollary=corollary), moved)
            for form, how in _CALIBRATIONS.items()
        }
        yield {**fixed, "claim": "D-c24", "series": f"stability, λ = {_CURVATURE:g}, {problem}", "forms": rates}
    printed = bounds.theorem49(1 + _CURVATURE, 1.0, _CURVATURE, n)
    exact = signs.worst("signs", n, _CURVATURE, 0.0)[0]
    forms = {"printed": (printed, exact), "tight": (printed / 2, exact)}
    yield {**fixed, "claim": "D-c25", "series": f"excess, λ = {_CURVATURE:g}, signs", "forms": forms}


def _strongly_convex(cell: Cell, epsilon: float) -> Iterator[Line]:
    n, lipschitz, forms = cell.settings.sizes[0], 1 + _CURVATURE, {}
    whole = bounds.corollary410(lipschitz, 1.0, _CURVATURE, n, epsilon)
    for form, how in _CALIBRATIONS.items():
        rate = stable_erm.rate(lipschitz, 1.0, _CURVATURE * n, calibration=how, corollary="4.10")
        share = 1.0 if form == "printed" else 0.5
        forms[form] = (share * whole, signs.worst("signs", n, _CURVATURE, rate / epsilon)[0])
    at = {"n": n, "place": "Corollary 4.10", "series": f"excess, λ = {_CURVATURE:g}, signs"}
    yield {**at, "claim": "D-c26", "forms": forms}


def _regularised(cell: Cell, epsilon: float) -> Iterator[Line]:
    n, alpha = cell.settings.sizes[0], cell.settings.alphas[0]
    curvature = stable_erm.regulariser(1.0, 1.0, 1.0, n, epsilon)
    said = {
        "printed": bounds.corollary411(1.0, 1.0, 1.0, n, epsilon),
        "tight": curvature + (1 + 1 / epsilon) / (curvature * n),
    }
    forms = {}
    for form, how in _CALIBRATIONS.items():
        rate = stable_erm.rate(1.0, 1.0, curvature * n, calibration=how)
        forms[form] = (said[form], signs.worst("abs", n, curvature, rate / epsilon)[0])
    yield {"claim": "D-c27", "place": "Corollary 4.11", "series": "excess, abs", "n": n, "forms": forms}
    bound = bounds.records411(1.0, 1.0, 1.0, alpha, epsilon)
    forms = {form: (bound, stable.needed(alpha, epsilon, how)) for form, how in _CALIBRATIONS.items()}
    yield {"claim": "D-c28", "place": "Section 2.1", "series": "records, abs", "alpha": alpha, "forms": forms}


def _models(cell: Cell, epsilon: float) -> Iterator[Line]:
    settings = cell.settings
    p, alpha = settings.features[0], settings.alphas[0]
    sigma = 2 / gaussian.gaussian_ratio(epsilon, settings.delta)
    for words, growth, noise in (
        ("pure", p, {"gamma": 2 / epsilon}),
        ("with δ", math.sqrt(p), {"sigma": sigma}),
    ):
        forms = {"printed": (growth / (epsilon * alpha**2), dimension.model_size(p, alpha, **noise))}
        series = f"records of a private model, {words}, O(·) with 1"
        at = {"claim": "D-c37", "place": "Section 2.1", "alpha": alpha, "d": p}
        yield {**at, "series": series, "forms": forms}


def _descent(cell: Cell) -> Iterator[Line]:
    n = cell.settings.sizes[0]
    rates = {}
    for form, (how, eta, _) in _WAYS.items():
        moved = 2 * stable_sgd.step(1.0, 1.0, 1.0, n, eta) * (n - 1) / n
        rates[form] = (stable_sgd.rate(1.0, 1.0, 1.0, n, calibration=how, eta=eta), moved)
    yield {"claim": "D-c29", "place": "Theorem 4.12", "series": "stability, lin", "n": n, "forms": rates}
    for law in _LAWS:
        # The calibrations of the printed step differ in their noise alone.
        forms = {form: (_statistical(law, n, form), _parts(law, n, form)[0]) for form in _WAYS if form != "mended"}
        yield {"claim": "D-c30", "place": "Theorem 4.12", "series": f"excess, {law}", "n": n, "forms": forms}
        if law == "lin":
            continue
        forms = {}
        for form in ("printed", "mended", "halved"):
            exact, noise = _parts(law, n, form)
            equal = bounds.free_epsilon(*_LAWS[law], n, mended=form == "mended")
            forms[form] = (equal, _rate(law, n, form) / crossing(noise, exact, math.sqrt(exact)))
        at = {"n": n, "series": f"ε at which both parts are equal, {law}"}
        yield {**at, "claim": "D-c33", "place": "Section 4.4", "forms": forms}


def _noisy_descent(cell: Cell, epsilon: float) -> Iterator[Line]:
    n = cell.settings.sizes[0]
    for law in ("sq", "hard"):
        forms = {}
        for form in _WAYS:
            (exact, noise), scale = _parts(law, n, form), _rate(law, n, form) / epsilon
            forms[form] = (_statistical(law, n, form) + _LAWS[law].smoothness * scale**2, exact + noise(scale))
        yield {"claim": "D-c31", "place": "Corollary 4.13", "series": f"excess, {law}", "n": n, "forms": forms}


def _compared(cell: Cell, epsilon: float) -> Iterator[Line]:
    """Section 4.4's last remarks, where both sides are bounds; smoothness 1."""
    n = cell.settings.sizes[0]
    at = {"place": "Section 4.4", "n": n}
    curvature = 2 / math.sqrt(n)
    rate = stable_erm.rate(1.0, 1.0, curvature * n, calibration="paper")
    smooth = curvature + bounds.theorem49(1.0, 1.0, curvature, n) + (rate / epsilon) ** 2
    forms = {
        form: (smooth, sum(bounds.corollary413(1.0, 1.0, 1.0, 1.0, n, epsilon, mended=form == "mended")))
        for form in ("printed", "mended")
    }
    yield {**at, "claim": "D-c34", "series": "smooth loss: bound of 4.11 over that of 4.13", "forms": forms}
    plain = bounds.corollary411(1.0, 1.0, 1.0, n, epsilon)
    kinked = bounds.theorem412(1.0, 1.0, 1.0, n) + stable_sgd.rate(1.0, 1.0, 1.0, n, calibration="paper") / epsilon
    # The step of erratum D15.
    forms = {"printed": (kinked, plain), "mended": (1 / math.sqrt(n / (1 + 4 / epsilon)), plain)}
    yield {**at, "claim": "D-c35", "series": "any loss: bound of 4.13 over that of 4.11", "forms": forms}


def _rate(law: str, n: int, form: str) -> float:
    how, eta, _ = _WAYS[form]
    radius, x_norm, lipschitz, _ = _LAWS[law]
    return stable_sgd.rate(lipschitz, x_norm, radius, n, calibration=how, eta=eta)


def _statistical(law: str, n: int, form: str) -> float:
    """Bound on the excess without noise; the tight one is R^2/(2 eta n) + eta L^2/2 at the printed step."""
    bound = bounds.theorem412(*_LAWS[law][:3], n)
    return {"halved": bounds.halved412(*_LAWS[law][:3], n), "tight": bound / 2}.get(form, bound)


@functools.cache
def _parts(law: str, n: int, form: str) -> tuple[float, Callable[[float], float]]:
    """Excess without noise at the worst mean, and what noise costs there, as a function of its scale."""
    share = _WAYS[form][2]
    if law == "lin":
        return signs.lin_excess(n, share / math.sqrt(n))[0], lambda scale: 0.0
    return excess_parts(law, n, share)


ONCE = (_minimisers, _descent)
EACH = (_strongly_convex, _regularised, _models, _noisy_descent, _compared)
