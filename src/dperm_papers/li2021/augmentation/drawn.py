r"""What noise augmentation draws: targets e_y, sums of rows, radii of b, its signs (li2021, Table 1, 3.1, 3.5, 6).

Records have `row` (the part), `form` (the reading) and the metric `excess`: a deviation, or a statistic over its bound
at level 1 % less 1, that a claim compares with 0. Parts that share a level divide it (Bonferroni). Neighbours:
add/remove.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import integrate, stats

from dperm import losses
from dperm.domain import Budget
from dperm.mechanisms.napp import losses as own_losses
from dperm.mechanisms.napp import noise
from dperm_papers.li2021.augmentation.settings import Settings

_FEATURES, _SUBSET_FEATURES = (1, 2, 16), (2, 4, 8)
_LEVEL = 0.01
# On either side of eta = 0.
_ASIDE = 1e-9
# e_y of the first and of the second half of the rows, as Table 1 prints it and as erratum N7 repairs it.
_RESPONSES = {
    "squared": {"printed": (0.0, 0.0), "repaired": (1.0, 1.0)},
    "poisson": {"printed": (1.0, 1.0), "repaired": (0.0, 0.0)},
    "logistic": {"printed": (0.0, 1.0), "repaired": (0.0, 0.0)},
}

Record = dict[str, Any]


def measured(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give the rows of all parts: `row`, `form`, `metric`, `value`, and what tells one from others."""
    for part in (_responses, _radii, subsets):
        yield from part(settings, rng)
    yield from _continuity()


def _responses(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    r"""Give e_y, l'(0) and l''(0) of the rows of Table 1, and how far their linear term is from <b, theta>.

    Rows e_i = e*_i + e~_i, e*_i = b/(n_e l'_i(0)) with each row's own l'_i(0); where that is 0, Eq 3 divides by 0, and
    whatever e* is, the row adds nothing to the linear term. `sum` is max_j |sum_i e~_ij| over sum_i |e~_ij|.
    """
    rows, p = settings.augmented_rows, _FEATURES[-1]
    for name, forms in _RESPONSES.items():
        loss = losses.make(name)
        half = rng.standard_normal((rows // 2, p)) * math.sqrt(2 * settings.floor / rows)
        drawn, b = np.concatenate([half, -half]), rng.standard_normal(p)
        off = float(np.max(np.abs(drawn.sum(axis=0)) / np.abs(drawn).sum(axis=0)))
        head = {"row": "table-1", "loss": name, "p": p, "rows_added": rows, "at": 0.0}
        yield {**head, "form": "sum", "metric": "excess", "value": off}
        for form, (first, second) in forms.items():
            # The library's logistic loss has y in {-1, 1}; Table 1 writes 0 and 1.
            y = np.array([first, second])
            slopes = loss.derivative(np.zeros(2), 2 * y - 1 if name == "logistic" else y)
            each = np.repeat(slopes, rows // 2)
            shift = np.where(each[:, None] == 0, 0.0, b / np.where(each == 0, 1.0, rows * each)[:, None])
            term = each @ (shift + drawn)
            values = {
                "excess": float(np.linalg.norm(term - b) / np.linalg.norm(b)),
                "curvature": float(loss.second(np.zeros(1), 1.0)[0]),
                "response_first": first, "response_second": second,
                "slope_first": float(slopes[0]), "slope_second": float(slopes[1]),
            }  # fmt: skip
            for metric, value in values.items():
                yield {**head, "form": form, "metric": metric, "value": value + 0.0}


def _radii(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give KS distances of drawn radii from Eq 4's law over their 1 % bound, less 1; and errors of the variance.

    Eq 4's radius has the density proportional to x^(p-1) e^(-x/s), s = zeta12/(r epsilon). Three p share the level.
    """
    bounds, budget = noise.Bounds(1.0, 1.0, 1.0), Budget(settings.epsilon)
    s = bounds.zeta12 / (settings.budget_share * budget.epsilon)
    bound = stats.kstwo.ppf(1 - _LEVEL / len(_FEATURES), settings.draws)
    for calibration, p in itertools.product(("paper", "corrected"), _FEATURES):
        law, _, _ = noise.calibrate(
            bounds, budget, share=settings.budget_share, variant="erm", calibration=calibration, features=p
        )
        radius = np.linalg.norm(law.sample((settings.draws, p), rng), axis=1)
        distance = stats.kstest(radius, stats.gamma(p, scale=s).cdf).statistic
        moments = [
            integrate.quad(lambda x, k=k: (x / s) ** k * math.exp(-x / s), 0, 200 * s)[0] for k in (p - 1, p + 1)
        ]
        density = s**2 * moments[1] / moments[0] / p
        printed = 2 * s**2 if calibration == "paper" else (p + 1) * s**2
        head = {"calibration": calibration, "p": p, "at": 0.0, "metric": "excess"}
        yield {**head, "row": "radius", "form": "drawn", "value": float(distance / bound - 1)}
        yield {**head, "row": "variance", "form": "stated", "value": abs(printed / density - 1)}


def subsets(settings: Settings, rng: np.random.Generator) -> Iterator[Record]:
    """Give chi^2 of {j: b_j > 0} against the uniform law on subsets, over its 1 % bound, less 1."""
    bounds = noise.Bounds(1.0, 1.0, 1.0)
    kinds = list(itertools.product(("paper", "corrected"), (0.0, settings.delta), _SUBSET_FEATURES))
    for calibration, delta, p in kinds:
        budget = Budget(settings.epsilon, delta)
        law, _, _ = noise.calibrate(
            bounds, budget, share=settings.budget_share, variant="vs", calibration=calibration, features=p
        )
        positive = law.sample((settings.draws, p), rng) > 0
        counts = np.bincount(positive @ (1 << np.arange(p)), minlength=2**p)
        expected = settings.draws / 2**p
        chi2 = float(((counts - expected) ** 2).sum() / expected)
        bound = stats.chi2.ppf(1 - 2 * _LEVEL / len(kinds), 2**p - 1)
        head = {"row": "subset", "form": "pure" if delta == 0 else "gaussian", "calibration": calibration, "p": p}
        yield {**head, "delta": delta, "at": 0.0, "metric": "excess", "value": chi2 / bound - 1}


def _continuity() -> Iterator[Record]:
    """Give the jump of l'' at eta = 0, and how far the least l'' beside it is below that at 0 (li2021, 3.2 and 6)."""
    eta = np.array([-_ASIDE, 0.0, _ASIDE])
    # From a width of 1 on the parabola of the library's own hinge covers eta = 0.
    wide = losses.smoothed_hinge(2.0).second
    named = {name: own_losses.make(name).second for name in ("smoothed_hinge", "squared", "logistic", "poisson")}
    for name, second in {**named, "wide_hinge": wide}.items():
        both = [np.ptp(second(eta, y)) for y in (-1.0, 1.0)]
        head = {"row": "continuity", "form": name, "loss": name, "at": 0.0, "metric": "excess"}
        yield {**head, "calibration": "corrected" if name == "wide_hinge" else "paper", "value": float(max(both))}
