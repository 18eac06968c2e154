r"""Section 4.4 of dwork2018: stable learning, its excess loss and its stability, beside every bound.

Rows of the metric `excess` are a measured number minus its bound, and `bound` holds the latter. Series:

    4.9         excess loss of the minimiser on `signs` at the worst mean, over n and lambda
    4.10, 4.11  the same with noise, on `signs`, and on `abs` at the theory's lambda
    4.12, 4.13  excess loss of gradient descent on `lin`, `sq`, `hard`; with noise on the last two
    stability   the largest change of an answer when one label is replaced, minus the rate: of minimisers over all data
                sets; of descent (run by the library) over the `position` of the record in the pass, from 1, and the
                largest of all n positions, beside each other (`position` 0)
    needed      the least n at which the mean excess on `abs` is alpha (also as the metric `needed`)
    smooth      Corollary 4.13's bound and that of 4.11 when smoothness is used too: larger over smaller, minus 4
    rough       Corollary 4.11's bound and that of 4.13 when smoothness is not used, likewise
    stronger    log of Corollary 4.13's bound over that of 4.11, from the epsilon at which 4.13's terms are equal up;
                `stronger below`: for smaller ones

`calibration` tells the noise (of the minimisers: paper, tight; of descent: paper, corrected, tight), `variant` is
halved for the step of erratum D15, `bound_of` tells whose bound it is: printed, mended (errata D2, D15) or tight, which
is

    4.9 2 L^2/(lambda n),   4.10 that times (1 + 1/eps),   4.11 lambda R^2 + L^2/(lambda n) (1 + 1/eps),
    4.12 R^2/(2 eta n) + eta L^2/2,   4.13 that and sigma_l rate^2/eps^2.

Everything is an exact expectation of `signs` and `projected`; no random number is drawn. `lin` is run as the smoothed
hinge with labels that alternate: all its predictions stay where that is linear.

References
----------
dwork2018, Theorems 4.9 and 4.12, Corollaries 4.10, 4.11, 4.13; errata D2, D9, D10, D15.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dperm import losses
from dperm.compiled import compiled
from dperm.mechanisms.prediction import stable_erm, stable_sgd
from dperm_papers.dwork2018.shared import bounds, projected, signs
from dperm_papers.dwork2018.shared.counting import least
from dperm_papers.dwork2018.stable.settings import Settings
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# (calibration, variant) of gradient descent -> eta of the mechanism, and its share of the printed step.
_WAYS = {
    ("paper", ""): ("printed", 1.0),
    ("corrected", ""): ("printed", 1.0),
    ("tight", ""): ("printed", 1.0),
    ("corrected", "halved"): ("halved", 0.5),
}
_LAWS = {**projected.PROBLEMS, "lin": projected.Problem(1.0, 1.0, 1.0, 0.0)}
_MEANS = np.linspace(-1, 1, 201)
# Positions at which a record is replaced and the library run; epsilons and smoothnesses of the algebra.
_POSITIONS = 51
_SMALLEST, _POINTS = 1e-4, 17
_SMOOTHNESSES = (0.1, 1.0, 10.0)
# Positions that are stepped forward at once: what the fastest cache holds.
BLOCK = 512
# "Up to a constant", as the catalogue has it.
_CONSTANT = 4.0


def run(cell: Cell, rows: Rows) -> None:
    """Measure all series."""
    cell.parts()
    rows = rows.at(
        guarantee="proved", dataset="no-data", epsilon=0.0, delta=0.0, n=0, curvature=0.0, mean=0.0, position=0,
        alpha=0.0, smoothness=0.0, bound_of="", bound=0.0,
    )  # fmt: skip
    for measure in (_strongly_convex, _regularised, _descent, _stability, _needed, _algebra):
        measure(cell.settings, rows)


def _excess(rows: Rows, value: float, bounds_: Mapping[str, float], **columns: Any) -> None:
    """Add a number minus each of its bounds, told by whose bound it is."""
    for bound_of, bound in bounds_.items():
        rows.add("excess", value - bound, bound_of=bound_of, bound=bound, **columns)


def needed(alpha: float, epsilon: float, calibration: str) -> int:
    """Return the least n at which Corollary 4.11's mechanism has a mean excess of alpha on `abs`, at the worst mean."""
    return least(lambda n: noisy_excess(n, epsilon, calibration)[0] <= alpha)


def noisy_excess(n: int, epsilon: float, calibration: str) -> tuple[float, float, float]:
    """Excess of Corollary 4.11's mechanism on `abs`, the worst mean, and lambda."""
    curvature = stable_erm.regulariser(1.0, 1.0, 1.0, n, epsilon)
    rate = stable_erm.rate(1.0, 1.0, curvature * n, calibration=calibration)
    return *signs.worst("abs", n, curvature, rate / epsilon), curvature


def _strongly_convex(settings: Settings, rows: Rows) -> None:
    """Theorem 4.9 and Corollary 4.10."""
    for n, curvature in itertools.product(settings.sizes, map(float, settings.curvatures)):
        lipschitz = 1 + curvature
        here = rows.at(mechanism="stable_erm", dataset="signs", n=n, curvature=curvature)
        printed = bounds.theorem49(lipschitz, 1.0, curvature, n)
        exact, mean = signs.worst("signs", n, curvature, 0.0)
        _excess(here, exact, {"printed": printed}, series="4.9", calibration="paper", mean=mean)
        _excess(here, exact, {"tight": printed / 2}, series="4.9", calibration="tight", mean=mean)
        for epsilon, calibration in itertools.product(map(float, settings.epsilons), ("paper", "tight")):
            rate = stable_erm.rate(lipschitz, 1.0, curvature * n, calibration=calibration, corollary="4.10")
            noisy, mean = signs.worst("signs", n, curvature, rate / epsilon)
            said = {"printed": bounds.corollary410(lipschitz, 1.0, curvature, n, epsilon)}
            if calibration == "tight":
                said["tight"] = said["printed"] / 2
            _excess(here, noisy, said, series="4.10", calibration=calibration, epsilon=epsilon, mean=mean)


def _regularised(settings: Settings, rows: Rows) -> None:
    """Corollary 4.11."""
    for n, epsilon, calibration in itertools.product(
        settings.sizes, map(float, settings.epsilons), ("paper", "tight")
    ):  # fmt: skip
        noisy, mean, curvature = noisy_excess(n, epsilon, calibration)
        said = {"printed": bounds.corollary411(1.0, 1.0, 1.0, n, epsilon)}
        if calibration == "tight":
            said["tight"] = curvature + (1 + 1 / epsilon) / (curvature * n)
        here = rows.at(series="4.11", mechanism="stable_erm", dataset="abs", calibration=calibration, n=n)
        _excess(here, noisy, said, epsilon=epsilon, curvature=curvature, mean=mean)


def _descent(settings: Settings, rows: Rows) -> None:
    """Theorem 4.12 and Corollary 4.13."""
    for law, n in itertools.product(_LAWS, settings.sizes):
        if law != "sq" and n > max(settings.walk_sizes):
            continue
        problem, statistical = _LAWS[law], {}
        radius, x_norm, lipschitz, smoothness = problem
        for (calibration, variant), (eta, share) in _WAYS.items():
            size = stable_sgd.step(lipschitz, x_norm, radius, n, eta)
            if share not in statistical:
                statistical[share] = statistical_excess(law, n, share, size)
            exact, mean = statistical[share]
            here = rows.at(mechanism="stable_sgd", dataset=law, n=n, calibration=calibration, variant=variant)
            here = here.at(mean=mean, guarantee=stable_sgd.guarantee(calibration, eta))
            own = radius**2 / (2 * size * n) + size * (lipschitz * x_norm) ** 2 / 2
            # The three calibrations of the printed step differ in their noise alone.
            if calibration == "paper" or variant:
                said = {"printed": bounds.theorem412(radius, x_norm, lipschitz, n), "tight": own}
                _excess(here, exact, said, series="4.12")
            if law == "lin":
                continue
            rate = stable_sgd.rate(lipschitz, x_norm, radius, n, calibration=calibration, eta=eta)
            for epsilon in map(float, settings.epsilons):
                noisy = exact + noise_excess(law, n, share, mean, rate / epsilon)
                said = {
                    "printed": sum(bounds.corollary413(*problem, n, epsilon, mended=False)),
                    "mended": sum(bounds.corollary413(*problem, n, epsilon, mended=True)),
                    "tight": own + smoothness * (rate / epsilon) ** 2,
                }
                _excess(here, noisy, said, series="4.13", epsilon=epsilon)


def statistical_excess(law: str, n: int, share: float, size: float) -> tuple[float, float]:
    """Excess of descent without noise, and the mean at which it is the worst."""
    if law == "lin":
        return signs.lin_excess(n, size)
    if law == "sq":
        return projected.squared_statistical(n, share, _MEANS)
    excess, c = projected.hard_statistical(n, share)
    return excess, c / math.sqrt(n)


def noise_excess(law: str, n: int, share: float, mean: float, scale: float) -> float:
    """Return what noise of this scale adds to the excess of descent: exact for `sq`, a quadrature for `hard`."""
    return scale**2 if law == "sq" else projected.hard_noise(n, share, mean * math.sqrt(n), scale)


def _stability(settings: Settings, rows: Rows) -> None:
    """Theorems 4.9 and 4.12: how far one label moves an answer."""
    rows = rows.at(series="stability")
    for n, curvature in itertools.product(settings.sizes, map(float, settings.curvatures)):
        for problem, corollary, lipschitz in (("signs", "4.10", 1 + curvature), ("abs", "4.11", 1.0)):
            moved = np.diff(signs.minimiser(problem, n, curvature)).max()
            here = rows.at(mechanism="stable_erm", dataset=problem, n=n, curvature=curvature)
            for calibration, bound_of in (("paper", "printed"), ("tight", "tight")):
                rate = stable_erm.rate(lipschitz, 1.0, curvature * n, calibration=calibration, corollary=corollary)
                _excess(here, moved, {bound_of: rate}, calibration=calibration)
    for law, n in itertools.product(("lin", "sq"), settings.walk_sizes):
        radius, x_norm, lipschitz, _ = _LAWS[law]
        positions = np.unique(np.linspace(1, n, _POSITIONS).round().astype(int))
        for eta in ("printed", "halved"):
            moved, largest = shifts(law, n, positions, eta), all_shifts(law, n, eta).max()
            for (calibration, variant), (way, _) in _WAYS.items():
                if way != eta:
                    continue
                rate = stable_sgd.rate(lipschitz, x_norm, radius, n, calibration=calibration, eta=eta)
                said = {"printed" if calibration == "paper" else "mended": rate}
                here = rows.at(mechanism="stable_sgd", dataset=law, n=n, calibration=calibration, variant=variant)
                here = here.at(guarantee=stable_sgd.guarantee(calibration, eta))
                _excess(here, largest, said, position=0)
                for position, shift in zip(positions, moved, strict=True):
                    _excess(here, shift, said, position=int(position))


def shifts(law: str, n: int, positions: np.ndarray, eta: str) -> list[float]:
    """Change of descent's mean when the label at each position (from 1) is replaced by its opposite."""
    radius, x_norm, lipschitz, _ = _LAWS[law]
    loss = losses.make("squared") if law == "sq" else losses.make("smoothed_hinge", width=0.5)
    size = stable_sgd.step(lipschitz, x_norm, radius, n, eta)
    X, y = np.ones((n, 1)), np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    found = []
    for position in positions:
        other = y.copy()
        other[position - 1] *= -1
        before, after = (stable_sgd.descend(X, labels, loss, eta=size, radius=radius)[0] for labels in (y, other))
        found.append(abs(after - before))
    return found


def all_shifts(law: str, n: int, eta: str) -> np.ndarray:
    """Return the change of descent's mean at every position of the pass for a label replaced by its opposite.

    Labels alternate, from +1.
    """
    radius, x_norm, lipschitz, _ = _LAWS[law]
    size = stable_sgd.step(lipschitz, x_norm, radius, n, eta)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return _moved(y, 1.0 if law == "sq" else 0.0, size, radius, BLOCK)


@compiled
def _moved(y, curved, eta, radius, block):
    """Step w <- clip(w + eta (y - curved w)) forward, as the labels say and with each of a block's turned around."""
    n = len(y)
    found, w, total, first = np.empty(n), np.empty(block), np.empty(block), 0.0
    for start in range(0, n, block):
        count = min(block, n - start)
        own, sum_, w[:], total[:] = first, 0.0, first, 0.0
        for s in range(start, n):
            before, label, sum_ = own, y[s], sum_ + own
            own = min(max(own + eta * (label - curved * own), -radius), radius)
            for j in range(count):
                total[j] += w[j]
                w[j] = min(max(w[j] + eta * (label - curved * w[j]), -radius), radius)
            if s < start + count:
                # Up to here it was as without replacement.
                w[s - start] = min(max(before + eta * (-label - curved * before), -radius), radius)
            if s == start + count - 1:
                first = own
        for j in range(count):
            found[start + j] = abs(total[j] - sum_) / n
    return found


def _needed(settings: Settings, rows: Rows) -> None:
    """Section 2.1: O(1/(eps alpha^2)) records suffice. Over alpha at the first epsilon, and the other way round."""
    alphas, epsilons = settings.alphas, settings.rate_epsilons
    points = dict.fromkeys([(float(a), float(epsilons[0])) for a in alphas])
    points |= dict.fromkeys([(float(alphas[0]), float(e)) for e in epsilons])
    for (alpha, epsilon), calibration in itertools.product(points, ("paper", "tight")):
        n, bound = needed(alpha, epsilon, calibration), bounds.records411(1.0, 1.0, 1.0, alpha, epsilon)
        here = rows.at(series="needed", mechanism="stable_erm", dataset="abs", calibration=calibration)
        here = here.at(alpha=alpha, epsilon=epsilon, bound_of="printed", bound=bound)
        here.add("excess", n - bound)
        here.add("needed", n)


def _algebra(settings: Settings, rows: Rows) -> None:
    """Section 4.4's last remarks, R = L_f = L_l = 1 (any other constants are absorbed in epsilon and smoothness)."""
    rows = rows.at(bound=_CONSTANT, guarantee="none")
    for n, epsilon in itertools.product(settings.sizes, np.geomspace(_SMALLEST, 1.0, _POINTS).tolist()):
        here = rows.at(n=n, epsilon=epsilon)
        curvature = 2 / math.sqrt(n)
        rate = stable_erm.rate(1.0, 1.0, curvature * n, calibration="paper")
        for smoothness, calibration in itertools.product(_SMOOTHNESSES, ("paper", "corrected")):
            first = curvature + bounds.theorem49(1.0, 1.0, curvature, n) + smoothness * (rate / epsilon) ** 2
            second = sum(bounds.corollary413(1.0, 1.0, 1.0, smoothness, n, epsilon, mended=calibration == "corrected"))
            own = here.at(series="smooth", mechanism="stable_erm", calibration=calibration, smoothness=smoothness)
            own.add("excess", max(first / second, second / first) - _CONSTANT)
        first = bounds.corollary411(1.0, 1.0, 1.0, n, epsilon)
        for smoothness in _SMOOTHNESSES:
            second = sum(bounds.corollary413(1.0, 1.0, 1.0, smoothness, n, epsilon, mended=False))
            free = bounds.free_epsilon(1.0, 1.0, 1.0, smoothness, n, mended=False)
            own = here.at(series="stronger" if epsilon >= free else "stronger below", smoothness=smoothness)
            own.add("excess", math.log(second / first), mechanism="stable_sgd", calibration="paper")
        printed = bounds.theorem412(1.0, 1.0, 1.0, n) + stable_sgd.rate(1, 1, 1, n, calibration="paper") / epsilon
        mended = 1 / math.sqrt(n / (1 + 4 / epsilon))
        for calibration, second in (("paper", printed), ("corrected", mended)):
            value = max(first / second, second / first) - _CONSTANT
            here.add("excess", value, series="rough", mechanism="stable_sgd", calibration=calibration)
