r"""SVMs by noise augmentation (li2021, Section 6): Algorithm 1 with the smoothed hinge, to the letter and in its limit.

With t = y eta the loss is l(t) = 0 for t > 1, (1 - t)^2/2 on (0, 1], 1/2 - t below (`dperm.mechanisms.napp.losses`).
Rows are augmented as for logistic regression, with e_y = -1 throughout (as printed, half and half, l'(0) cancels:
erratum N7). Then t_i = -<e* + e~_i, theta> and

    sum_i l(t_i) = n_e/2 + <b, theta> + sum_i max(t_i, 0)^2/2        while |t_i| <= 1.

Of each mirrored pair one row has t > 0: half of the rows carry all of the curvature, whatever n_e is, and V has to be
made with l'' = 1/2 (erratum N17). "A large n_e ... so that t is in (0, 1]" reads as l'' = 1; the rows then realise
half of the weights, and half of the strong convexity that privacy needs. Rows (`row`, `form` half or whole: that l''):

    literal     distance   ||theta^(T) - theta_lim||/||theta_lim||, theta_lim of the same T steps at n_e = infinity
                inside     share of augmented rows with t in (0, 1] at theta^(T)
                lacking    1 - (curvature of the rows along the coordinates)/(2 w), least over coordinates: 0 where the
                           weights w of Table 2 are realised
    error       share of test records with a wrong label: `svm` and `logistic` by NAPP-ERM without MOOR in the limit
                (calibrations paper and tight), and both without noise or floor (`svm-plain`, `logistic-plain`)

b of calibration `paper`, Gaussian; lasso with MOOR in `literal`. A literal run is outside Theorem 4: guarantee `none`.
Neighbours: add/remove.
"""

import numpy as np

from dperm.domain import Budget, Domain
from dperm.errors import SolverError
from dperm.mechanisms import napp
from dperm.mechanisms.napp import limit, losses, noise
from dperm.mechanisms.napp.literal import augmented_rows, augmented_targets, unpenalised
from dperm.mechanisms.napp.scheme import Scheme, weights
from dperm_papers.li2021.shared import designs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

DESIGN = "logistic-500"
LOSS = "smoothed_hinge"
# l''(0) that V is made with.
FORMS = {"half": 0.5, "whole": 1.0}
_LOSSES = {"svm": LOSS, "logistic": "logistic"}
_TOLERANCE = 1e-9
# Stands for no floor at all.
_FLOORLESS = 1e-9


def measure(cell: Cell, rows: Rows) -> None:
    """Measure Algorithm 1 to the letter at the largest epsilon, and errors at all of them."""
    rows = rows.at(dataset=DESIGN, n=designs.find(DESIGN).n, delta=cell.settings.delta, p=designs.FEATURES)
    _literal(cell, rows.at(row="literal", variant="erm-moor"))
    _errors(cell, rows.at(row="error"))


def _literal(cell: Cell, rows: Rows) -> None:
    settings, design = cell.settings, designs.find(DESIGN)
    budget = Budget(max(settings.epsilons), settings.delta)
    bounds = losses.bounds(losses.make(LOSS), Domain(design.zeta1))
    law, _, _ = noise.calibrate(
        bounds, budget, share=settings.budget_share, variant="erm", calibration="paper", features=design.p
    )
    repeats = settings.literal_repeats
    b = law.sample((repeats, design.p), cell.rng("hinge", "noise"))
    scheme = Scheme("lasso", noise.floor(bounds, budget.epsilon, settings.budget_share), moor=True)
    X, y = designs.training(cell.seed, cell.experiment, DESIGN, repeats)
    problems = limit.problems(LOSS, X, y)
    aims = limit.reweighted(
        problems, b, scheme, np.array([settings.strength]), variant="erm", steps=settings.iterations
    ).theta[:, 0]
    for form, curvature in FORMS.items():
        for rows_added in settings.rows_added:
            here = rows.at(form=form, rows_added=rows_added, epsilon=budget.epsilon, strength=settings.strength)
            for repeat in range(repeats):
                rng = cell.rng("hinge", "rows", form, rows_added, repeat)
                found = run(X[repeat], y[repeat], b[repeat], scheme, settings, rows_added, curvature, rng)
                found["distance"] = np.linalg.norm(found.pop("theta") - aims[repeat]) / np.linalg.norm(aims[repeat])
                for metric, value in found.items():
                    here.add(metric, value, ok=np.isfinite(value), repeat=repeat)


def run(X, y, b, scheme: Scheme, settings, rows_added: int, curvature: float, rng: np.random.Generator) -> dict:
    """Run Algorithm 1 with V made for this l''(0) (returns theta^(T), `inside` and `lacking`; NaN if a fit failed)."""
    model = losses.make(LOSS)
    targets, force, _ = augmented_targets(LOSS, rows_added)
    theta = None
    for _ in range(settings.iterations):
        each = np.broadcast_to(weights(scheme, settings.strength, theta), b.shape)
        kept = np.isfinite(each)
        appended = augmented_rows(b[kept], each[kept], rows_added, force=force, curvature=curvature, rng=rng)
        start = np.zeros(kept.sum()) if theta is None else theta[kept]
        try:
            fitted = unpenalised(model, np.concatenate([X[:, kept], appended]), np.concatenate([y, targets]), start)
        except SolverError:
            return {"theta": np.full(len(b), np.nan), "inside": np.nan, "lacking": np.nan}
        theta = np.zeros(len(b))
        theta[kept] = fitted
    t = -(appended @ fitted)
    inside = (t > 0) & (t <= 1)
    centred = appended - b[kept] / (rows_added * force)
    realised = (centred[inside] ** 2).sum(axis=0) / (2 * each[kept])
    return {"theta": theta, "inside": inside.mean(), "lacking": 1 - realised.min()}


def _errors(cell: Cell, rows: Rows) -> None:
    settings, design = cell.settings, designs.find(DESIGN)
    X, y = designs.training(cell.seed, cell.experiment, DESIGN, settings.repeats)
    test_X, test_y = designs.test(cell.seed, cell.experiment, DESIGN, settings.test_rows)

    def add(at: Rows, found: limit.Paths) -> None:
        wrong = np.mean((found.theta[:, 0] @ test_X.T > 0) != (test_y > 0), axis=1)
        at.add("error", wrong, ok=found.converged[:, 0], strength=settings.strength)

    for form, loss in _LOSSES.items():
        problems, strengths = limit.problems(loss, X, y), np.array([settings.strength])
        plain = Scheme("lasso", _FLOORLESS, moor=False, halved=True)
        still = np.zeros((len(X), design.p))
        found = limit.path(problems, still, plain, strengths, variant="erm", tolerance=_TOLERANCE)
        add(rows.at(form=f"{form}-plain", epsilon=np.inf, delta=0.0), found)
        for epsilon in settings.epsilons:
            for calibration in ("paper", "tight"):
                planned = napp.plan(
                    loss, design.p, penalty="lasso", strength=settings.strength, domain=Domain(design.zeta1),
                    budget=Budget(epsilon, settings.delta), neighbours="add_remove", calibration=calibration,
                    share=settings.budget_share,
                )  # fmt: skip
                b = planned.law.sample((len(X), design.p), cell.rng("hinge", "error", form, epsilon, calibration))
                found = limit.path(problems, b, planned.scheme, strengths, variant="erm", tolerance=_TOLERANCE)
                said = "none" if planned.obstacles else "proved_exact"
                add(rows.at(form=form, epsilon=epsilon, calibration=calibration, guarantee=said), found)
