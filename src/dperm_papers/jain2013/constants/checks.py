r"""Statements of jain2013 that need no data: exact checks, each a value "measured less bound" (metric `excess`).

    net            (4/nu)^d centres of Algorithm 3's net at the printed nu: d log10 2 - log10 (4/nu)^d (J-c07); and 1
                   where `tdil.net` builds a net above 10^6 points or refuses one below, else 0 (variant `refusal`)
    composition    Theorem 11 against k randomised responses composed: delta(e')/delta' - 1, delta the exact optimum
                   (Kairouz, Oh & Viswanath 2015; J-c24)
    exponential    Appendix C: Pr[score <= OPT - gamma] - |S| e^{-Lambda gamma} at its worst gamma, for the exact law
                   over a net of the disc, at each calibration's own Lambda (J-c31)
    translation    10^-6 - max |K(x + c, v + c) - K(x, v)| of the cubic kernel; variant `gaussian`: of a kernel that is
                   invariant, to the rounding of which the 10^-6 is far (J-c33)

`repeat` numbers the grid points of a series. Series `work-n` (over n at T = 200) and `work-t` (over T at n = 400):
kernel evaluations, counted by a kernel that counts (`evaluations`), and those plus linear algebra (`work`: T^3 for
TDDL's eigendecomposition of order T; for a query of PINP that u updates carry u, and u^2 in kernel ridge; J-c06). This
is the private part, given w* = sum_i mu_i phi(x_i) with all n carriers, at an n lambda where nearly every query is an
update, the dearest case. The fit of w* itself stands beside it (mechanism `nonprivate`).
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np
from scipy import special

from dperm import kernels
from dperm.accounting import composition
from dperm.domain import Budget
from dperm.errors import DomainViolation
from dperm.mechanisms.kernel import pinp, tddl, tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.kernel.dialogue import Dialogue
from dperm.solvers import kernel as solver
from dperm_papers.jain2013.constants.settings import Settings
from dperm_papers.jain2013.shared import sphere
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

CALIBRATIONS = ("paper", "corrected", "tight")
_WIDTHS, _MOST_POINTS = (1.0, 0.5, 0.2, 0.05, 0.001), 10**6
_K, _EACH = (1, 2, 5, 10, 30, 100, 300, 1000, 3000, 10_000), (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
_DELTAS = (1e-10, 1e-6, 1e-3, 1e-2, 0.1, 0.5)
_NET, _STARTS = 0.1, 5
_SHIFTS, _ROUNDING = (0.1, 0.5, 1.0), 1e-6
_MIDDLE_N, _MIDDLE_T, _COUNTED_T, _NOMINAL = 400, 200, (50, 100, 200, 400), 1e9


def net(cell: Cell, rows: Rows) -> None:
    """Add J-c07's rows: the size of the printed net, and which nets are refused."""
    values, columns = [], []
    for total, d in itertools.product(map(float, cell.settings.totals), cell.settings.features):
        made = tdil_constants(cell.settings, total, d, "paper")
        values.append(d * math.log10(2) - d * math.log10(4 / made.radius))
        columns.append(("", total, d, int(made.vacuous)))
    for d, width in itertools.product((1, 2, 5), _WIDTHS):
        values.append(_refused(d, width) != (tdil.net_size(d, width) > _MOST_POINTS))
        columns.append(("refusal", 0.0, d, 0))
    here = rows.at(series="net", mechanism="tdil", calibration="paper")
    variant, total, d, vacuous = (np.array(column) for column in zip(*columns, strict=True))
    here.add("excess", values, variant=variant, total=total, d=d, vacuous=vacuous)


def tdil_constants(settings: Settings, total: float, d: int, calibration: str) -> tdil.Constants:
    """Return Algorithm 3's constants on the theory grid: R = L = C = L_phi = lambda = 1, so n = n lambda."""
    budget = Budget(settings.epsilon, settings.delta)
    return tdil.constants(
        unit_setting(total), budget, records=round(total), dimension=d, beta=settings.gammas[0],
        calibration=calibration,
    )  # fmt: skip


def unit_setting(total: float) -> Setting:
    """Return R = L = C = 1 and a slack of Delta_w/20."""
    return Setting(1.0, 1.0, total, 1.0, slack=0.05 * Setting(1.0, 1.0, total).shift)


def _refused(d: int, width: float) -> bool:
    try:
        tdil.net(d, width)
    except DomainViolation:
        return True
    return False


def theorem11(cell: Cell, rows: Rows) -> None:
    """Add J-c24's rows; nothing is set."""
    del cell
    grid = [*itertools.product(_K, _EACH, _DELTAS)]
    values = []
    for k, each, delta in grid:
        composed = composition.advanced(each, delta, k)
        values.append(composition.optimal_delta(composed, each, k) / delta - 1)
    queries, epsilon, delta = (np.array(column) for column in zip(*grid, strict=True))
    here = rows.at(series="composition", mechanism="tddl", calibration="paper")
    here.add("excess", values, queries=queries, epsilon=epsilon, delta=delta)


def exponential(cell: Cell, rows: Rows) -> None:
    """Add J-c31's rows: a repeat is a w*."""
    points = tdil.net(2, _NET)
    off = cell.rng("exponential").standard_normal((_STARTS, 2))
    for total, how in itertools.product(map(float, cell.settings.totals), CALIBRATIONS):
        made = tdil_constants(cell.settings, total, 2, how)
        here = rows.at(series="exponential", mechanism="tdil", calibration=how, guarantee=made.guarantee)
        scores = [np.abs(points @ (direction / np.linalg.norm(direction))) for direction in off]
        here.add("excess", [tail_excess(one, made.weight) for one in scores], total=total, d=2)


def tail_excess(scores: np.ndarray, weight: float) -> float:
    """Return the largest Pr[score <= OPT - gamma] - m e^{-weight gamma} over gamma, P(z) ~ e^{weight score(z)}."""
    # Both sides jump up at a score, so the gammas that reach one suffice.
    ordered = np.sort(scores)
    below = np.exp(np.logaddexp.accumulate(weight * ordered) - special.logsumexp(weight * ordered))
    # Of equal scores the last has the probability of all.
    last = np.append(ordered[1:] > ordered[:-1], True)
    bound = len(ordered) * np.exp(weight * (ordered - ordered[-1]))
    return float((below - bound)[last].max())


def translation(cell: Cell, rows: Rows) -> None:
    """Add J-c33's rows: a repeat is a length of the shift."""
    Z = sphere.queries(cell.seed, 20)
    shifts = [length * np.eye(1, Z.shape[1]) for length in _SHIFTS]
    here = rows.at(series="translation", mechanism="cms11", calibration="paper")
    for variant, kernel in {"cubic": kernels.polynomial(2.0), "gaussian": kernels.gaussian()}.items():
        changed = [np.abs(kernel(Z + shift, Z + shift) - kernel(Z, Z)).max() for shift in shifts]
        here.add("excess", _ROUNDING - np.array(changed), variant=variant)


class Counting:
    """A kernel's function that counts its evaluations."""

    def __init__(self, kernel: kernels.Kernel):
        self.kernel, self.count = kernel, 0

    def __call__(self, X, V):
        self.count += X.shape[0] * V.shape[0]
        return self.kernel(X, V)

    def counted(self) -> kernels.Kernel:
        """The kernel, counting; its diagonal costs an evaluation a row and is left to the kernel."""
        return kernels.Kernel("cubic, counted", self, self.kernel.R, None, self.kernel.squares)


def work(cell: Cell, rows: Rows) -> None:
    """Add J-c06's rows: column `series` is `work-n` or `work-t`."""
    grid = [("work-n", n, _MIDDLE_T) for n in cell.settings.sizes]
    grid += [("work-t", _MIDDLE_N, T) for T in _COUNTED_T]
    for series, n, T in grid:
        features = sphere.queries(cell.seed, n + T)
        X, Z = features[:n], features[n:]
        y = np.where(np.arange(n) % 2, -1.0, 1.0)
        here = rows.at(series=series, n=n, queries=T, total=_NOMINAL)
        for mechanism, calibration, evaluations, algebra in _counts(cell, X, y, Z):
            here.add("evaluations", evaluations, mechanism=mechanism, calibration=calibration)
            here.add("work", evaluations + algebra, mechanism=mechanism, calibration=calibration)


def _counts(cell: Cell, X: np.ndarray, y: np.ndarray, Z: np.ndarray) -> Iterator[tuple[str, str, int, int]]:
    """Give mechanism, calibration, kernel evaluations and operations of linear algebra."""
    settings, cubic, T = cell.settings, kernels.polynomial(), len(Z)
    budget = Budget(settings.epsilon, settings.delta)
    mu = y / len(y)
    rng = cell.rng("work", len(y), T)
    setting = Setting(1.0, cubic.R, _NOMINAL, 1.0, slack=0.05 * Setting(1.0, cubic.R, _NOMINAL).shift)
    counting = Counting(cubic)
    slack = 0.05 * Setting(1.0, cubic.R, float(len(y))).shift
    solver.minimise(counting.counted(), X, y, "hinge", total=float(len(y)), slack=slack)
    yield "nonprivate", "", counting.count, 0
    for how in CALIBRATIONS:
        counting = Counting(cubic)
        kernel = counting.counted()
        answers = kernel(Z, X) @ mu
        at = tddl.spectrum(kernels.gram(kernel, Z))
        tddl.release(at, answers, setting, budget, calibration=how, rng=rng)
        yield "tddl", how, counting.count, len(at.values) ** 3
    for how in CALIBRATIONS:
        counting = Counting(cubic)
        kernel = counting.counted()
        made = pinp.constants(setting, budget, queries=T, beta=settings.gammas[0], calibration=how)
        dialogue = Dialogue(made, kernel, _Exact(kernel, X, mu), rng)
        carried = []
        for row in Z:
            carried.append(dialogue.updates)
            dialogue.answer(row[None, :])
        yield "pinp", how, counting.count, int(np.power(carried, 2 if made.ridge else 1).sum())


class _Exact:
    """Rows to <w*, phi(z)>."""

    def __init__(self, kernel: kernels.Kernel, X: np.ndarray, mu: np.ndarray):
        self.kernel, self.X, self.mu = kernel, X, mu

    def __call__(self, Z: np.ndarray) -> np.ndarray:
        return self.kernel(Z, self.X) @ self.mu
