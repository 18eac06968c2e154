r"""Private prediction in Renyi terms (dwork2018, Section 3): curves, groups, post-processing, means, and composition.

"We note that our definitions and many of the results can be immediately extended to more refined notions of
differential privacy such as those based on Renyi divergence." What that says of the library's answers, and of the
paper's lemmas, at orders a (`order`) and replace-one; `dperm.accounting.renyi` has the curves. Metric `excess` is a
left side less its right side. Series:

    curve        D_a between the answers of neighbours, less the mechanism's curve: soft majority at all counts of
                 r <= 30 shards and ExpPW at all places of a walk of T = 12 (bounded range), the average's bit at all
                 counts of r <= 30 (pure), Laplace and Gaussian answers by quadrature (`mechanism` tells them; equality)
    groups       Lemma 3.1: D_a between data sets that differ in `k` records, less the curve at k epsilon (form curve)
                 and less k^2 a epsilon^2/8 (form squared), of soft majority
    processing   Lemma 6.2: D_a after a random function of the answer less D_a before it, of `laws` random pairs of laws
    means        Lemma 6.3: E U less exp((a - 1)/a D_a(U || V)) (E V^{a/(a - 1)})^{(a - 1)/a}, of random laws on [0, 1]
                 (Hoelder's inequality; at a = inf it is E U <= e^epsilon E V)
    moments      Lemma 6.4, k = 1, by it: the mean loss on fresh records less exp((a - 1)/a rho) (mean loss on the
                 sample)^{(a - 1)/a}, of the membership mechanism, whose loss is a bit with Pr[1] = p on its own records
                 (`share`) and p e^epsilon on others (form member), rho the curve of that pair
    answers      delta of the m worst bits of bounded range at the epsilon that the curve proves for m answers, less the
                 delta promised (form exact)

Metric `total`, over `queries` = m: epsilon of m answers of bounded range `each` at delta: form basic (m epsilon),
concentrated (zCDP of epsilon^2/8 each), renyi (the curve), and lower: what m of the worst bits really spend.

References
----------
dwork2018, Sections 3 and 6; Mironov 2017; Bun & Steinke 2016; Cesar & Rogers 2021.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import integrate, optimize, special

from dperm.accounting import composition, renyi
from dperm.mechanisms.prediction import averaged, exppw, soft_majority
from dperm_papers.dwork2018.renyi.settings import Settings
from dperm_papers.dwork2018.shared import worst_bits
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

_VOTES, _WALK, _OUTCOMES = 30, 12, 6
# Loss of the membership mechanism on its own records.
_SHARES = (0.001, 0.03, 0.3)


def run(cell: Cell, rows: Rows) -> None:
    """Measure all series."""
    cell.parts()
    rows = rows.at(
        dataset="no-data", guarantee="proved", epsilon=0.0, delta=0.0, form="", order=0.0, k=0, queries=0, share=0.0,
    )  # fmt: skip
    for measure in (_curves, _groups, _lemmas, _moments):
        measure(cell, rows)
    _answers(cell.settings, rows)


def bits(epsilon: float) -> Iterator[tuple[str, np.ndarray]]:
    """Give each bit mechanism's laws, shape (places, 2), in the order in which a replaced record moves by one place."""
    for r in range(1, _VOTES + 1):
        yield "soft_majority", majority(r, epsilon)
    walk = of_odds(exppw.step(epsilon) * np.arange(-_WALK, _WALK + 1))
    # A replaced record moves a walk by two places.
    yield from (("exppw", walk[start::2]) for start in (0, 1))
    for r in range(1, _VOTES + 1):
        one = averaged.expected_clip(np.arange(r + 1) / r, averaged.scale(r, epsilon, bits=True))
        yield "averaged", np.stack([one, one[::-1]], axis=-1)


def majority(r: int, epsilon: float) -> np.ndarray:
    """Return soft majority's laws at the counts 0..r, shape (r + 1, 2)."""
    return of_odds(soft_majority.log_odds(np.arange(r + 1), r, epsilon))


def of_odds(odds: np.ndarray) -> np.ndarray:
    """Return the laws of bits from their log-odds: 1 - p would lose the digits of a rare zero."""
    return special.expit(np.stack([odds, -odds], axis=-1))


def between(order: float, first: np.ndarray, second: np.ndarray) -> float:
    """Return the larger D_a of laws, at each place of both, in both directions."""
    return float(max(renyi.divergence(order, first, second).max(), renyi.divergence(order, second, first).max()))


_CURVES = {"soft_majority": renyi.bounded_range, "exppw": renyi.bounded_range, "averaged": renyi.pure}


def _curves(cell: Cell, rows: Rows) -> None:
    for epsilon, order in itertools.product(cell.settings.epsilons, cell.settings.orders):
        here, largest = rows.at(series="curve", epsilon=epsilon, order=order), {}
        for mechanism, laws in bits(epsilon):
            found = between(order, laws[1:], laws[:-1])
            largest[mechanism] = max(found, largest.get(mechanism, -math.inf))
        for mechanism, found in largest.items():
            here.add("excess", found - _CURVES[mechanism](order, epsilon), mechanism=mechanism)
        for mechanism, kind, curve in (
            ("stable_erm", "laplace", renyi.laplace),
            ("stable_gaussian", "gaussian", renyi.gaussian),
        ):
            value = by_quadrature(order, kind, epsilon)
            here.add("excess", (value - curve(order, epsilon)) / curve(order, epsilon), mechanism=mechanism)


def by_quadrature(order: float, kind: str, apart: float) -> float:
    """Return D_a of two answers with noise of scale 1, `apart` of each other, from their densities."""

    def log_ratio(x: float) -> float:
        return abs(x - apart) - abs(x) if kind == "laplace" else ((x - apart) ** 2 - x**2) / 2

    def log_other(x: float) -> float:
        return (
            -abs(x - apart) - math.log(2) if kind == "laplace" else -((x - apart) ** 2) / 2 - math.log(2 * math.pi) / 2
        )

    def log_term(x: float) -> float:
        return order * log_ratio(x) + log_other(x)

    # Laplace's logarithm is piecewise linear with corners at 0 and `apart`; Gaussian's has its top at apart - a apart.
    top = 0.0 if kind == "laplace" else apart - order * apart
    peak = log_term(top)
    edges = np.unique([top - 40, top - 5, top, 0.0, apart, top + 5, apart + 40])
    value = sum(
        integrate.quad(lambda x: math.exp(log_term(x) - peak), low, high, epsabs=0, epsrel=1e-11)[0]
        for low, high in itertools.pairwise(edges.tolist())
    )
    return (math.log(value) + peak) / (order - 1)


def _groups(cell: Cell, rows: Rows) -> None:
    settings = cell.settings
    for epsilon, order, k in itertools.product(settings.epsilons, settings.orders, settings.changes):
        here = rows.at(series="groups", epsilon=epsilon, order=order, k=k)
        laws = [majority(r, epsilon) for r in range(k, _VOTES + 1)]
        found = max(between(order, law[k:], law[:-k]) for law in laws)
        here.add("excess", found - renyi.bounded_range(order, k * epsilon), form="curve")
        here.add("excess", found - k**2 * order * epsilon**2 / 8, form="squared")


def _lemmas(cell: Cell, rows: Rows) -> None:
    rng = cell.rng("laws")
    shape = (cell.settings.laws, _OUTCOMES)
    p, q = (rng.dirichlet(np.full(_OUTCOMES, 0.5), size=shape[0]) for _ in range(2))
    values = rng.random(shape)
    # A random function of the answer, itself random: a stochastic matrix for each pair.
    kernel = rng.dirichlet(np.ones(3), size=shape)
    after = [np.einsum("ij,ijk->ik", law, kernel) for law in (p, q)]
    for order in cell.settings.orders:
        here, own = rows.at(order=order), renyi.divergence(order, p, q)
        here.add("excess", (renyi.divergence(order, *after) - own).max(), series="processing")
        power = order / (order - 1)
        right = np.exp(own / power) * ((q * values**power).sum(axis=1)) ** (1 / power)
        here.add("excess", ((p * values).sum(axis=1) - right).max(), series="means")


def _moments(cell: Cell, rows: Rows) -> None:
    for epsilon, order, share in itertools.product(cell.settings.epsilons, cell.settings.orders, _SHARES):
        fresh = share * math.exp(epsilon)
        if fresh >= 1:
            continue
        rho = float(renyi.divergence(order, np.array([fresh, 1 - fresh]), np.array([share, 1 - share])))
        right = math.exp(rho * (order - 1) / order) * share ** ((order - 1) / order)
        here = rows.at(series="moments", form="member", epsilon=epsilon, order=order)
        here.add("excess", fresh - right, share=share)


def _answers(settings: Settings, rows: Rows) -> None:
    each, delta = settings.each, settings.delta
    for m in settings.counts:
        here = rows.at(epsilon=each, delta=delta, queries=m)
        proved = renyi.total_epsilon(lambda order: renyi.bounded_range(order, each), delta, m)
        found = {
            "basic": m * each,
            "concentrated": zcdp_epsilon(m * composition.bounded_range(each), delta),
            "renyi": proved,
            "lower": really(m, each, delta),
        }
        for form, value in found.items():
            here.add("total", value, series="answers", form=form)
        spent = worst_bits.worst_delta(proved, m, each, bounded_range=True)
        here.add("excess", spent - delta, series="answers", form="exact")


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Return the least epsilon at which rho-zCDP proves delta."""
    high = rho + 2 * math.sqrt(rho * math.log(1 / delta))
    return optimize.brentq(lambda e: math.log(composition.zcdp_delta(e, rho) / delta), high * 1e-3, high, rtol=1e-10)


def really(m: int, each: float, delta: float) -> float:
    """Return the epsilon that m of the worst bits of bounded range spend at delta."""

    def spent(epsilon: float) -> float:
        return worst_bits.worst_delta(epsilon, m, each, bounded_range=True)

    low, high = 0.0, m * each
    if spent(low) <= delta:
        return 0.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if spent(middle) <= delta else (middle, high)
    return low
