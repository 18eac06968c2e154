r"""Noise augmentation of li2021: what it realises, and Algorithm 1 to the letter against its limit (Proposition 1).

Design `no-data`: the formulas of `regularizers`, the draws of `drawn`. A design of Table 4: n_e noise rows are drawn
and appended, the model is refitted T times; b of the calibration `paper`, Gaussian where delta > 0, target lasso with
MOOR, Lambda = `strength`. Rows (`row`, `form`, `metric`):

    convergence  limit        distance   ||theta^(T) - theta_lim||/||theta_lim|| over n_e = `rows_added`, theta_lim of
                                         the T steps at n_e = infinity
                 mean         distance   the same from the T steps with the mean over the rows in place of drawn rows:
                                         what is left is drawing alone (erratum N8)
    error        augmented    error      on test records, at n_e = `augmented_rows`: mean squared error, or the share
                 limit                   misclassified; of VS and VS+ too (`variant`), on the same data and b
    software     plain        excess     scikit-learn's unpenalised fit of the very same augmented rows against ours, as
                 scaled                  a share of the largest coefficient, at iterations 1 and T (`at`); of columns
                 intercept               of length 1; and by its default, with an intercept
    claim-2      stated       excess     T = `exact_iterations` steps at n_e = infinity by Claim 2's sums, against the
                 doubled                 minimiser of Eq 2 with Lambda, and with 2 Lambda in its adaptive part
    signs        zero-rule    violated   a coefficient that is not 0 by `settled` changes its sign among the last 10
                 size         violated   of `settled_iterations`; or one whose mean |theta_j| over them is at least 1e-3
                 changes-k    violated   the same where k changes of sign, 1 or 2, are set to 0, not 3: of 1 never
                 zero-rule    alive      coefficients that are not 0
                 size         swing      the largest mean |theta_j| that the zero rule sets to 0
    table-3      L, J, ...    minimum    each loss of Table 3 at its minimiser (linear-500, repeat 0); norm of the
                                         minimiser, its distance to theta^0, its expected loss

A literal run is outside Theorem 4 (errata N8, N11): guarantee `none`. Neighbours: add/remove.
"""

import itertools
import math
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg, stats

from dperm.domain import Budget
from dperm.errors import SolverError
from dperm.mechanisms.napp import limit, losses, noise, scheme
from dperm.mechanisms.napp.literal import augmented_targets, settled, unpenalised
from dperm_papers.li2021.augmentation import drawn, regularizers
from dperm_papers.li2021.shared import designs, pairs
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

NO_DATA = "no-data"
# Of the runs that are long: how many repeats they take at most.
_SOFTWARE, _EXACT = 3, 5
_TAIL, _ZERO = 10, 1e-3
# Predictions of the Poisson design are capped here: the largest mean of its own records.
_TOP = math.exp(7.5)
_EXAMPLE = "linear-500"
_TIGHT = 1e-13

Record = dict[str, Any]


def run(cell: Cell, rows: Rows) -> None:
    """Measure one design; `row`, `form` and `metric` as above, a fit that did not converge has failed."""
    settings, design = cell.settings, cell.point["design"]
    if design == NO_DATA:
        rng = cell.rng("formulas")
        found = [regularizers.measured(settings, rng), drawn.measured(settings, rng)]
    else:
        found = [part(Problem(cell)) for part in PARTS]
    rows = rows.at(
        variant="erm-moor", epsilon=settings.epsilon, delta=settings.delta, strength=settings.strength, target="lasso",
        loss="", at=0.0, p=0, rows_added=0, gamma=0.0,
    )  # fmt: skip
    for record in itertools.chain.from_iterable(found):
        value = record.pop("value")
        rows.add(record.pop("metric"), value, ok=math.isfinite(value), **record)


class Problem:
    """Data, b and the scheme of one design."""

    def __init__(self, cell: Cell):
        self.cell, self.settings, self.name = cell, cell.settings, cell.point["design"]
        self.design = designs.find(self.name)
        self.model = losses.make(self.design.loss)
        repeats = max(self.settings.repeats, self.settings.settled_repeats, self.settings.error_repeats)
        self.X, self.y = designs.training(cell.seed, cell.experiment, self.name, repeats)
        bounds = noise.Bounds(self.design.zeta1, self.design.zeta2, self.design.zeta3)
        budget = Budget(self.settings.epsilon, self.settings.delta)
        share = self.settings.budget_share
        law, _, _ = noise.calibrate(
            bounds, budget, share=share, variant="erm", calibration="paper", features=self.design.p
        )
        self.b = law.sample((repeats, self.design.p), self.rng("noise"))
        self.floor = noise.floor(bounds, budget.epsilon, share)
        self.rule = scheme.Scheme("lasso", self.floor, moor=True)
        self.strength = self.settings.strength
        self.runs: dict[tuple[int, int, str], np.ndarray] = {}

    def rng(self, *names: str | int) -> np.random.Generator:
        """Return the generator of this design's part."""
        return self.cell.rng(self.name, *names)

    def limit(self, rule: scheme.Scheme, strength: float, repeats: int, steps: int, variant: str = "erm") -> np.ndarray:
        """Return theta^(T) of the first repeats at n_e = infinity, shape (repeats, p)."""
        some = limit.problems(self.design.loss, self.X[:repeats], self.y[:repeats])
        b = np.abs(self.b[:repeats]) if variant == "vs_plus" else self.b[:repeats]
        return limit.reweighted(some, b, rule, np.array([strength]), variant=variant, steps=steps).theta[:, 0]

    def least(self, rule: scheme.Scheme, strength: float, repeats: int) -> np.ndarray:
        """Return the minimiser of the penalised objective itself, shape (repeats, p)."""
        some = limit.problems(self.design.loss, self.X[:repeats], self.y[:repeats])
        found = limit.path(some, self.b[:repeats], rule, np.array([strength]), variant="erm", tolerance=_TIGHT)
        return found.theta[:, 0]

    def last(self, repeat: int, rows: int, steps: int, variant: str = "erm", tail: int = 1) -> np.ndarray:
        """Return the last iterates of Algorithm 1, shape (tail, p); not finite if a fit did not converge.

        Runs with the same generator begin alike: what a longer one has gone through is not computed again.
        """
        known = self.runs.get((repeat, rows, variant), ())
        if len(known) >= steps:
            return known[:steps][-tail:]
        b = np.abs(self.b[repeat]) if variant == "vs_plus" else self.b[repeat]
        run = pairs.iterates(
            self.design.loss, self.X[repeat], self.y[repeat], b, self.rule, self.strength, variant=variant, rows=rows,
            steps=steps, draws=pairs.fresh(self.rng("rows", variant, rows, repeat), rows),
        )  # fmt: skip
        try:
            found = np.array(list(run))
        except SolverError:
            return np.full((tail, self.design.p), np.nan)
        self.runs[repeat, rows, variant] = found
        return found[-tail:]

    def mean(self, repeat: int, rows: int, steps: int) -> np.ndarray:
        """Return theta^(T) with the mean over the rows, shape (p,); not finite if a fit did not converge."""
        try:
            return pairs.mean(
                self.design.loss, self.X[repeat], self.y[repeat], self.b[repeat], self.rule, self.strength, rows=rows,
                steps=steps,
            )  # fmt: skip
        except SolverError:
            return np.full(self.design.p, np.nan)


def _convergence(problem: Problem) -> Iterator[Record]:
    """Give distances to the limit over n_e."""
    settings, steps = problem.settings, problem.settings.iterations
    at_limit = problem.limit(problem.rule, problem.strength, settings.repeats, steps)
    for rows in settings.rows_added:
        repeats = settings.repeats if rows < max(settings.rows_added) else settings.wide_repeats
        for repeat in range(repeats):
            theta = problem.last(repeat, rows, steps)[0]
            mean = problem.mean(repeat, rows, steps)
            head = {"row": "convergence", "rows_added": rows, "repeat": repeat, "metric": "distance"}
            for form, aim in (("limit", at_limit[repeat]), ("mean", mean)):
                yield {**head, "form": form, "value": _apart(theta, aim)}


def _errors(problem: Problem) -> Iterator[Record]:
    """Give test errors at the paper's n_e and at infinity."""
    settings, rows = problem.settings, problem.settings.augmented_rows
    test = designs.test(problem.cell.seed, problem.cell.experiment, problem.name, settings.test_rows)
    for variant in ("erm", "vs", "vs_plus"):
        at_limit = problem.limit(problem.rule, problem.strength, settings.error_repeats, settings.iterations, variant)
        for repeat in range(settings.error_repeats):
            theta = problem.last(repeat, rows, settings.iterations, variant)[0]
            for form, one in (("augmented", theta), ("limit", at_limit[repeat])):
                yield {
                    "row": "error", "form": form, "variant": f"{variant}-moor", "rows_added": rows, "repeat": repeat,
                    "metric": "error", "value": _error(problem, one, *test),
                }  # fmt: skip


def _apart(theta: np.ndarray, aim: np.ndarray) -> float:
    return float(np.linalg.norm(theta - aim) / np.linalg.norm(aim))


def _error(problem: Problem, theta: np.ndarray, X: np.ndarray, y: np.ndarray) -> float:
    """Return the mean squared error, or the share misclassified."""
    eta = X @ theta
    if problem.design.loss == "logistic":
        return float(np.mean(np.where(eta > 0, 1.0, -1.0) != y)) if np.isfinite(eta).all() else math.nan
    if problem.design.loss == "poisson":
        eta = np.minimum(np.exp(np.minimum(eta, 700.0)), _TOP)
    return float(np.mean((y - eta) ** 2))


def _software(problem: Problem) -> Iterator[Record]:
    """Give the distance of scikit-learn's fits of augmented rows from ours, for the weights of t = 1 and t = T."""
    settings, rows = problem.settings, problem.settings.augmented_rows
    repeats = min(_SOFTWARE, settings.repeats)
    before = problem.limit(problem.rule, problem.strength, repeats, settings.iterations - 1)
    targets, force, curvature = augmented_targets(problem.design.loss, rows)
    for repeat, step in itertools.product(range(repeats), (1, settings.iterations)):
        weights = scheme.weights(problem.rule, problem.strength, None if step == 1 else before[repeat])
        weights = np.broadcast_to(weights, problem.b[repeat].shape)
        finite = np.isfinite(weights)
        half = problem.rng("software", repeat, step).standard_normal((rows // 2, finite.sum()))
        half *= np.sqrt(2 * weights[finite] / (rows * curvature))
        appended = problem.b[repeat][finite] / (rows * force) + np.concatenate([half, -half])
        X = np.concatenate([problem.X[repeat][:, finite], appended])
        y = np.concatenate([problem.y[repeat], targets])
        ours = unpenalised(problem.model, X, y, np.zeros(X.shape[1]))
        for form in ("plain", "scaled", "intercept"):
            # Coefficients near 0 have columns that are longer by many orders of magnitude.
            lengths = np.linalg.norm(X, axis=0) if form == "scaled" else np.ones(X.shape[1])
            theirs = _fitted(problem.design.loss, X / lengths, y, form == "intercept") / lengths
            head = {"row": "software", "form": form, "repeat": repeat, "at": float(step), "rows_added": rows}
            yield {**head, "metric": "excess", "value": float(np.abs(theirs - ours).max() / np.abs(ours).max())}


def _fitted(loss: str, X: np.ndarray, y: np.ndarray, intercept: bool) -> np.ndarray:
    """Return scikit-learn's unpenalised fit, as tight as it goes."""
    from sklearn import exceptions, linear_model

    models = {
        "squared": lambda: linear_model.LinearRegression(fit_intercept=intercept),
        "logistic": lambda: linear_model.LogisticRegression(
            C=math.inf, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12, max_iter=1000
        ),
        "poisson": lambda: linear_model.PoissonRegressor(
            alpha=0.0, fit_intercept=intercept, solver="newton-cholesky", tol=1e-12, max_iter=1000
        ),
    }
    with warnings.catch_warnings():
        # It reports where rounding stops it short of the tolerance, or where it changes solvers; the distance says how
        # short it stops.
        for kind in (exceptions.ConvergenceWarning, linalg.LinAlgWarning):
            warnings.simplefilter("ignore", kind)
        return np.ravel(models[loss]().fit(X, y).coef_)


def _claim2(problem: Problem) -> Iterator[Record]:
    """Give the distance of Claim 2's sums, iterated, from the minimiser of Eq 2."""
    settings, repeats = problem.settings, min(_EXACT, problem.settings.repeats)
    strength, kappa, steps = problem.strength, settings.kappa, settings.exact_iterations

    def rule(target, kappa=0.0, halved=True):
        return scheme.Scheme(target, problem.floor, moor=False, kappa=kappa, halved=halved)

    # Target -> the weights' kappa, and (scheme, Lambda) of Eq 2 with Lambda R, and with a doubled adaptive part.
    eq2 = {
        "lasso": (0.0, (rule("lasso"), strength), (rule("lasso"), 2 * strength)),
        "elastic_net": (
            kappa, (rule("elastic_net", kappa), strength), (rule("elastic_net", kappa / 2), 2 * strength)
        ),
        # Claim 2 keeps the maximum here; Eq 2 has the sum, a ridge of Lambda + Lambda0.
        "ridge": (0.0, (rule("ridge"), strength + problem.floor), None),
    }  # fmt: skip
    for target, (own, *aims) in eq2.items():
        for halved in (False, True):
            reached = [
                pairs.at_infinity(
                    problem.design.loss, problem.X[r], problem.y[r], problem.b[r], rule(target, own, halved), strength,
                    steps=steps,
                )
                for r in range(repeats)
            ]  # fmt: skip
            for form, aim in zip(("stated", "doubled"), aims, strict=True):
                if aim is None or (halved and form == "doubled"):
                    continue
                direct = problem.least(*aim, repeats)
                head = {"row": "claim-2", "form": form, "target": target, "variant": "erm", "metric": "excess"}
                head |= {"calibration": "corrected" if halved else "paper"}
                for repeat in range(repeats):
                    yield {**head, "repeat": repeat, "value": _apart(reached[repeat], direct[repeat])}


def signs(problem: Problem) -> Iterator[Record]:
    """Say of each run whether a coefficient that is not 0 changed its sign among the last iterations."""
    settings, rows = problem.settings, problem.settings.augmented_rows
    for variant, repeat in itertools.product(("vs", "vs_plus"), range(settings.settled_repeats)):
        tail = problem.last(repeat, rows, settings.settled_iterations, variant, _TAIL)
        fine, size = np.isfinite(tail).all(), np.abs(tail).mean(axis=0)
        flips = (np.sign(tail[1:]) != np.sign(tail[:-1])).any(axis=0)
        nonzero = settled(tail, last=_TAIL, threshold=_ZERO) != 0
        fewer = {k: settled(tail, last=_TAIL, threshold=_ZERO, flips=k) != 0 for k in (1, 2)}
        values = {
            **{(f"changes-{k}", "violated"): float((alive & flips).any()) for k, alive in fewer.items()},
            ("zero-rule", "violated"): float((nonzero & flips).any()), ("zero-rule", "alive"): float(nonzero.sum()),
            ("size", "violated"): float(((size >= _ZERO) & flips).any()),
            ("size", "swing"): float(np.max(size, where=~nonzero, initial=0.0)),
        }  # fmt: skip
        for (form, metric), value in values.items():
            yield {
                "row": "signs", "form": form, "variant": f"{variant}-moor", "repeat": repeat, "gamma": 0.05,
                "rows_added": rows, "metric": metric, "value": value if fine else math.nan,
            }  # fmt: skip


def _table3(problem: Problem) -> Iterator[Record]:
    """Give the losses of Table 3 at their minimisers, for the design on which the expected loss has a closed form.

    x has independent coordinates of variance v = h^2/3 and y - <x, theta*> a truncated normal law, so
    L(theta) = (Var + v ||theta - theta*||^2)/2. R^(t) is that of iteration T of the run without b.
    """
    if problem.name != _EXAMPLE:
        return
    design, X, y, b = problem.design, problem.X[0], problem.y[0], problem.b[0]
    n, strength, steps = design.n, problem.strength, problem.settings.iterations
    v, spread = design.half_width**2 / 3, 0.25**2 * stats.truncnorm(-2, 2).var()
    one = limit.problems("squared", X, y)

    def fit(tilt, steps):
        return limit.reweighted(one, tilt[None], problem.rule, np.array([strength]), variant="erm", steps=steps).theta[
            0, 0
        ]

    def expected(theta):
        return 0.5 * (spread + v * float(np.sum((theta - design.truth) ** 2)))

    def empirical(theta):
        return 0.5 * float(np.sum((y - X @ theta) ** 2)) / n

    # The quadratic of the last iteration, from the weights at the iterate before it.
    before = fit(0 * b, steps - 1)
    weight = scheme.weights(problem.rule, strength, before)
    finite = np.isfinite(weight)
    weight = np.where(finite, weight, 0.0)

    def ridge(theta):
        return float(weight @ theta**2) / n

    # The minimiser of each loss: of J the lasso itself, of the others a ridge with those weights.
    target = scheme.Scheme("lasso", problem.floor, moor=False, halved=True)
    lasso = limit.path(
        one, np.zeros((1, design.p)), target, np.array([strength]), variant="erm", floors=np.full((1, 1), _TIGHT),
        tolerance=_TIGHT,
    ).theta[0, 0]  # fmt: skip
    augmented, private = (pairs.ridge(X, y, tilt, weight, finite) for tilt in (0 * b, b))
    mean = np.where(finite, v * design.truth / (v + 2 * weight / n), 0.0)
    table = {
        "L": (design.truth, expected(design.truth)),
        "J": (lasso, empirical(lasso) + strength * float(np.abs(lasso).sum()) / n),
        "Jp": (augmented, empirical(augmented) + ridge(augmented)),
        "Jp-expected": (mean, expected(mean) + ridge(mean)),
        "Jp-private": (private, empirical(private) + float(b @ private) / n + ridge(private)),
    }
    for form, (theta, minimum) in table.items():
        values = {
            "minimum": minimum, "norm": float(np.linalg.norm(theta)), "expected_loss": expected(theta),
            "distance": float(np.linalg.norm(theta - design.truth)),
        }  # fmt: skip
        for metric, value in values.items():
            yield {"row": "table-3", "form": form, "metric": metric, "value": value}


# The longest runs come first: others are their beginnings.
PARTS = (signs, _errors, _convergence, _software, _claim2, _table3)
