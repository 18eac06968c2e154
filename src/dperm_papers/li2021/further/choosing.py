r"""The two ways of choosing Lambda that li2021, Section 3.4, takes from CMS11: on public data, or privately on its own.

Logistic design of Table 4 with n records, lasso without MOOR, Lambda one of `candidates`. `form` says how it is chosen:

    public      on public records of the same law (`public_share` of n): NAPP-ERM with noise of its own law is fitted
                to a part of them, for each Lambda, and the one with the fewest mistakes on the rest (ties: the
                largest) is taken for the private records. Costs no privacy.
    portions    CMS11's Algorithm 3, the mechanism `tuned`: n/(m + 1) records for each Lambda and for counting mistakes.
    blind       a Lambda drawn without looking at anything.
    best        the Lambda with the least mean error over all repeats of that point, known to nobody.

Metric `error` is the share of test records with a wrong label. Of `portions` also `violated`: whether the chosen model
has more than z_min + (1/r') log(m/pi) mistakes, r' the exponent of the choice (as printed 2 log(m/pi)/epsilon: CMS11's
theorem on the choice), with probability pi = `allowed` (column gamma) at most; and `mistakes_lost`, z - z_min.

calibration `paper`: noise as printed, portions cut by place (guarantee none); `tight`: the valid forms.
Neighbours: add/remove.
"""

import numpy as np

from dperm.domain import Budget, Domain
from dperm.mechanisms import napp, tuned
from dperm.mechanisms.napp import limit
from dperm_papers.li2021.shared import designs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

DESIGN = "logistic-1000"
CALIBRATIONS = ("paper", "tight")
_TOLERANCE = 1e-9


def measure(cell: Cell, rows: Rows) -> None:
    """Measure every n, epsilon and calibration."""
    settings, design = cell.settings, designs.find(DESIGN)
    test = designs.test(cell.seed, cell.experiment, DESIGN, settings.test_rows)
    for n in settings.sizes:
        drawn = [designs.draw(design, n, cell.rng("data", DESIGN, n, r)) for r in range(settings.repeats)]
        public = round(n * settings.public_share)
        shown = [designs.draw(design, public, cell.rng("public", DESIGN, n, r)) for r in range(settings.repeats)]
        here = rows.at(dataset=DESIGN, n=n, row="lambda", p=design.p, delta=settings.delta)
        for epsilon in settings.epsilons:
            for calibration in CALIBRATIONS:
                at = here.at(epsilon=epsilon, calibration=calibration)
                _point(cell, at, _stacked(drawn), _stacked(shown), test, Budget(epsilon, settings.delta), calibration)


def _stacked(sets):
    return tuple(map(np.array, zip(*sets, strict=True)))


def _point(cell: Cell, rows: Rows, drawn, shown, test, budget: Budget, calibration: str) -> None:
    settings = cell.settings
    (X, y), candidates = drawn, np.sort(settings.candidates)[::-1]
    names = (X.shape[1], budget.epsilon, budget.delta, calibration)
    every = np.arange(len(X))

    def wrong(theta, X, y):
        return np.mean((np.einsum("...p,np->...n", theta, X) > 0) != (y > 0), axis=-1)

    planned = _planned(budget, calibration, settings)
    fits = _fits(X, y, candidates, planned, cell.rng("noise", *names))
    errors = wrong(fits.theta, *test)
    held = max(1, round(settings.held_share * shown[0].shape[1]))
    kept = (values[:, held:] for values in shown)
    seen = _fits(*kept, candidates, planned, cell.rng("public-noise", *names))
    mistakes = np.array([wrong(seen.theta[r], shown[0][r, :held], shown[1][r, :held]) for r in every])
    chosen = {
        "public": np.argmin(mistakes, axis=1),
        "blind": cell.rng("blind", *names).integers(len(candidates), size=len(X)),
        "best": np.full(len(X), np.argmin(errors.mean(axis=0))),
    }
    proved = "none" if planned.obstacles else "proved_exact"
    for form, index in chosen.items():
        # The best looks at test records.
        said = proved if form != "best" else "none"
        rows.add("error", errors[every, index], ok=fits.converged[every, index], form=form, guarantee=said)
        rows.add("chosen_lambda", candidates[index], form=form, guarantee=said)
    _portions(cell, rows.at(form="portions"), X, y, test, candidates, budget, calibration, wrong)


def _portions(cell: Cell, rows: Rows, X, y, test, candidates, budget: Budget, calibration: str, wrong) -> None:
    """Measure Algorithm 3, on the same records."""
    settings, design = cell.settings, designs.find(DESIGN)
    exponent = tuned.rate(budget.epsilon, calibration, "add_remove")
    allowed = np.log(len(candidates) / settings.allowed) / exponent
    for repeat in range(len(X)):
        rng = cell.rng("portions", X.shape[1], budget.epsilon, budget.delta, calibration, repeat)
        found = tuned.release(
            X[repeat], y[repeat], design.loss, strengths=candidates, domain=Domain(design.zeta1), budget=budget,
            neighbours="add_remove", calibration=calibration, rng=rng, share=settings.budget_share,
        )  # fmt: skip
        lost = found.mistakes[0, found.chosen[0]] - found.mistakes[0].min()
        at = rows.at(repeat=repeat, guarantee=found.guarantee)
        at.add("error", wrong(found.theta[0], *test), ok=found.converged[0])
        at.add("chosen_lambda", candidates[found.chosen[0]])
        at.add("mistakes_lost", lost)
        at.add("violated", lost > allowed, gamma=settings.allowed)


def _planned(budget: Budget, calibration: str, settings) -> napp.Plan:
    design = designs.find(DESIGN)
    return napp.plan(
        design.loss, design.p, penalty="lasso", strength=1.0, domain=Domain(design.zeta1), budget=budget,
        neighbours="add_remove", calibration=calibration, share=settings.budget_share,
    )  # fmt: skip


def _fits(X, y, candidates, planned: napp.Plan, rng) -> limit.Paths:
    """Fit every Lambda to every data set, with one b for each of them."""
    noise = planned.law.sample((len(X), X.shape[2]), rng)
    problems = limit.problems(designs.find(DESIGN).loss, X, y)
    return limit.path(problems, noise, planned.scheme, candidates, variant="erm", tolerance=_TOLERANCE)
