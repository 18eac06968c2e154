r"""Noise cut off at c < 0 (li2021, Equations 9 and 10, Section 3.5): what a cut gives, and what it does to privacy.

c = -k sigma_b, for the k of `cuts` (column `at`; 0 is NAPP-VS+, infinity NAPP-VS). Gaussian noise as printed. Rows:

    cut      no-data      `negative`: P(b_j < 0), what the cut is to make small, and `lowered`, less the 1/2 without it.
                          `reach`: P(c < b <= c + zeta)/P(b > c). On a line within an orthant a record of full force
                          puts that stretch out of reach, so that delta is at least this, at every epsilon (erratum N2).
                          `beta`: P(some b_j <= c), p = 16: how far the cut moves the law
                          (`dperm.mechanisms.truncated`). `excess`: reach - delta, above 0 where no epsilon holds.
    subset   no-data      `excess`: chi^2 of {j: b_j > 0} over its bound at level 1 % (Bonferroni over all c and p),
                          less 1: against the uniform law on all subsets (form all), and on those of its own size (form
                          same-size)
    fits     linear-500   `auc` of the path over Lambda (without MOOR), and `zero_free`: share of its fits without a
                          coefficient that is 0; column `zeta2`, which li2021 does not print

Neighbours: add/remove.
"""

import itertools
import math

import numpy as np
from scipy import special, stats

from dperm.domain import Budget
from dperm.mechanisms import truncated
from dperm.mechanisms.napp import limit, noise
from dperm.mechanisms.napp.noise import Bounds
from dperm.mechanisms.napp.scheme import Scheme
from dperm.noise import Gaussian
from dperm_papers.li2021.shared import designs, measures
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

DESIGN = "linear-500"
_SUBSET_FEATURES = (2, 4, 8)
_LEVEL = 0.01
_TOLERANCE = 1e-9


def measure(cell: Cell, rows: Rows) -> None:
    """Measure the laws, the signs and the fits at the largest epsilon."""
    epsilon = max(cell.settings.epsilons)
    rows = rows.at(epsilon=epsilon, delta=cell.settings.delta, variant="vs")
    budget = Budget(epsilon, cell.settings.delta)
    _laws(cell, rows.at(row="cut"), budget)
    _subsets(cell, rows.at(row="subset"), budget)
    _fits(cell, rows.at(row="fits", dataset=DESIGN), budget)


def _law(bounds: Bounds, budget: Budget, settings) -> Gaussian:
    law, _, _ = noise.calibrate(
        bounds, budget, share=settings.budget_share, variant="vs", calibration="paper", features=designs.FEATURES
    )
    return law


def reach(law: Gaussian, k: float, zeta: float) -> float:
    """Return P(c < b <= c + zeta)/P(b > c) for c = -k sigma."""
    low, high = -k, -k + zeta / law.scale
    return float((special.ndtr(high) - special.ndtr(low)) / special.ndtr(-low))


def _laws(cell: Cell, rows: Rows, budget: Budget) -> None:
    settings = cell.settings
    law = _law(Bounds(1.0, 1.0, 1.0), budget, settings)
    for k in (0.0, *settings.cuts):
        stretch = reach(law, k, 1.0)
        negative = (0.5 - special.ndtr(-k)) / special.ndtr(k)
        found = {
            "negative": negative,
            "lowered": negative - 0.5,
            "reach": stretch,
            "excess": stretch - settings.delta,
            "beta": truncated.cut(law, -k * law.scale, designs.FEATURES),
        }
        for metric, value in found.items():
            rows.add(metric, float(value), at=k, p=1 if metric != "beta" else designs.FEATURES)


def _subsets(cell: Cell, rows: Rows, budget: Budget) -> None:
    settings = cell.settings
    law = _law(Bounds(1.0, 1.0, 1.0), budget, settings)
    level = _LEVEL / (2 * len(settings.cuts) * len(_SUBSET_FEATURES))
    for k, p in itertools.product(settings.cuts, _SUBSET_FEATURES):
        drawn = truncated.Truncated(law, -k * law.scale).sample((settings.draws, p), cell.rng("subset", k, p))
        counts = np.bincount((drawn > 0) @ (1 << np.arange(p)), minlength=2**p)
        sizes = np.array([index.bit_count() for index in range(2**p)])
        same = np.zeros(2**p)
        for size in range(p + 1):
            same[sizes == size] = counts[sizes == size].mean()
        for form, expected, known in (("all", np.full(2**p, settings.draws / 2**p), 1), ("same-size", same, p + 1)):
            met = expected > 0
            chi2 = float(((counts - expected)[met] ** 2 / expected[met]).sum())
            bound = stats.chi2.ppf(1 - level, max(1, 2**p - known))
            rows.add("excess", chi2 / bound - 1, at=k, p=p, form=form)


def _fits(cell: Cell, rows: Rows, budget: Budget) -> None:
    settings, design = cell.settings, designs.find(DESIGN)
    repeats, strengths = settings.cut_repeats, np.geomspace(*settings.strengths, settings.steps)
    X, y = designs.training(cell.seed, cell.experiment, DESIGN, repeats)
    problems = limit.problems(design.loss, X, y)
    for zeta in settings.zetas:
        bounds = Bounds(design.zeta1, zeta, design.zeta3)
        law = _law(bounds, budget, settings)
        scheme = Scheme("lasso", noise.floor(bounds, budget.epsilon, settings.budget_share), moor=False)
        for k in (0.0, *settings.cuts, math.inf):
            rng = cell.rng("cut", zeta, k if k < math.inf else "nowhere")
            b = truncated.Truncated(law, -k * law.scale).sample((repeats, design.p), rng)
            variant = "vs_plus" if k == 0 else "vs"
            found = limit.path(problems, b, scheme, strengths, variant=variant, tolerance=_TOLERANCE)
            ok = found.converged.all(axis=1)
            at = rows.at(zeta2=zeta, at=k, variant=variant)
            at.add("auc", measures.area(*measures.rates(found.theta, design.relevant)), ok=ok)
            at.add("zero_free", (found.theta != 0).all(axis=2).mean(axis=1), ok=ok)
