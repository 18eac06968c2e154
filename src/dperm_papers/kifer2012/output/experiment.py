r"""Objective perturbation, output perturbation and what else a user could pick (kifer2012, Section 1).

Data: real sets, and one that is made: `hadamard` of dperm_pipeline.datasets.synthetic, X'X = n I before it is cut, the
nice data of Section 2.2.2. Logistic loss (two labels) or Huber loss (real targets), rows scaled to ||x||_2 <= 1,
zeta >= ||grad l||, lambda >= the largest eigenvalue of one record's Hessian. Measured: J = (1/n)(sum_i l +
ridge/2 ||theta||^2), Equation (1), above its minimum on the private rows, and the mean loss on test rows. Neighbours:
add/remove for every method, at the same (epsilon, delta); a method stands where its theorem does.

    objective           Algorithm 1 (Theorem 2), delta >= 0; `tight`: docs/privacy.md, Theorems 1 and 3
    output              theta_hat + noise for the sensitivity zeta/Delta, delta >= 0: CMS11's Algorithm 1
    cms11               CMS11's Algorithm 2, its own constants, delta = 0
    approximate_minima  Iyengar et al. 2019, Algorithm 1, its own constants, delta > 0
    gradient            full-batch noisy gradient descent, exact Gaussian accounting, delta > 0

Hyperparameters. The first four add curvature Delta = m lambda/epsilon, or what the method takes by itself
(`own default`) where that is more; m is one of `ridge_multiples`. Gradient descent takes `gradient_steps` steps,
clipped at one of `clips` times zeta, with a fixed momentum and the step size 1/(n' lambda + ridge). Every candidate is
run and stands in the rows; which of them a method would be used with is decided on public rows alone: a public share of
the training rows, in which no method is trained. Half of these, drawn with replacement to the size n' that the private
sample has by the public shares, stand in for the private rows, the other half for the test rows; the candidate of least
mean loss there is `chosen` (metric `tuning_loss`). No private and no test row, nor their number, has a part in it, and
n' stands for n in all that a method may not know: so the choice spends no budget, and the chosen run is (epsilon,
delta)-private as it stands. (The figure shows many releases; each spends the budget anew.)
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from dperm import losses, mechanisms
from dperm.domain import Budget, Domain
from dperm.errors import ConfigError, CorruptFile, SolverError
from dperm.mechanisms import nonprivate
from dperm_papers.kifer2012.output.settings import Settings
from dperm_papers.kifer2012.shared import real_data
from dperm_papers.kifer2012.shared.real_data import Records
from dperm_pipeline import tables
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows


@dataclass(frozen=True)
class Problem:
    """A data set cut into private, public and test rows, its rows scaled to ||x|| <= 1."""

    loss: losses.Loss
    private: Records
    public: Records
    test: Records

    domain = Domain(x_norm=1.0)


def cut(cell: Cell) -> Problem:
    """Cut the data set by a stream that depends on the data axes alone: every mechanism meets the same rows."""
    dataset, settings = cell.data, cell.settings
    loss = losses.logistic() if dataset.task == "binary" else losses.huber(settings.huber_knee)
    parts = real_data.three_parts(
        dataset, public_share=settings.public_share, test_share=settings.test_share,
        rng=cell.rng(cell.point["dataset"], "split"),
    )  # fmt: skip
    return Problem(loss, *parts)


def _mean_loss(loss: losses.Loss, rows: Records, theta: np.ndarray) -> np.ndarray:
    """Return (1/n) sum_i l(<x_i, theta_r>, y_i), shape (repeats,)."""
    X, y = rows
    return loss.value(X @ theta.T, y[:, None]).mean(axis=0)


def _risk(problem: Problem, theta: np.ndarray, ridge: float) -> np.ndarray:
    """Return J = (1/n)(sum_i l + ridge/2 ||theta||^2) on the private rows, shape (repeats,)."""
    regularizer = 0.5 * ridge * np.einsum("rj,rj->r", theta, theta) / len(problem.private[1])
    return _mean_loss(problem.loss, problem.private, theta) + regularizer


def _add_tests(rows: Rows, problem: Problem, theta: np.ndarray, converged: np.ndarray) -> None:
    """Measure the mean test loss, and for binary targets the misclassification rate."""
    rows.add("test_loss", _mean_loss(problem.loss, problem.test, theta), converged)
    if problem.loss.targets == "binary":
        X, y = problem.test
        margin = y[:, None] * (X @ theta.T)
        # A record on the boundary is wrong by half, also where rounding has moved it off: no digit decides its label.
        edge = _EDGE * np.linalg.norm(X, axis=1)[:, None] * np.linalg.norm(theta, axis=1)
        rows.add("test_error", np.where(np.abs(margin) <= edge, 0.5, margin < 0).mean(axis=0), converged)


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the non-private minimiser of J: its risk and test metrics."""
    problem, ridge = cut(cell), cell.settings.ridge
    theta, certificate, converged = nonprivate.fit(*problem.private, problem.loss, ridge=ridge)
    theta, converged = theta[None, :], np.array([converged])
    rows = rows.at(epsilon=np.inf, delta=0.0, candidate="", **_NO_COLUMNS, chosen=True)
    rows.add("risk", _risk(problem, theta, ridge), converged)
    _add_tests(rows, problem, theta, converged)
    rows.add("certificate", certificate)


class _Candidate(NamedTuple):
    """One setting of a method: its name in words, what seeds its noise, its columns, and arguments of `release`."""

    name: str
    key: tuple[float, ...]
    columns: dict[str, float]
    arguments: dict[str, Any]


def run(cell: Cell, rows: Rows) -> None:
    """Measure one mechanism at one epsilon: every delta it serves, every candidate, every repeat.

    Metrics `excess_risk`, `test_loss`, for two labels `test_error`, `certificate`; and `tuning_loss` of the runs on
    public rows. DataError if a part of the split has too few rows, ConfigError if the mechanism serves none of the
    deltas, CorruptFile or SolverError if the baseline is not one number.
    """
    problem, settings = cut(cell), cell.settings
    minimum, epsilon = _baseline_risk(cell.files["baseline"]), cell.point["epsilon"]
    module = mechanisms.module(cell.mechanism)
    stand_in, held_out = public_halves(cell, problem.public)
    candidates, serves = _RULES.get(cell.mechanism, _OF_A_CURVATURE)
    deltas = [delta for delta in settings.deltas if serves(delta)]
    small = len(problem.private[1]) < settings.small_rows
    repeats = settings.small_repeats if small else settings.repeats
    if not deltas:
        raise ConfigError(
            f"deltas: {cell.mechanism} runs at none of {settings.deltas}; add one above 0, or 0 for cms11"
        )
    for delta in deltas:
        budget, runs = Budget(epsilon, delta), {}
        for candidate in candidates(module, problem, budget, settings, len(stand_in[1])):
            fixed = {
                "domain": problem.domain, "budget": budget, "neighbours": cell.neighbours,
                "calibration": cell.calibration, **candidate.arguments,
            }  # fmt: skip
            names = (cell.mechanism, cell.calibration, cell.neighbours, epsilon, delta, *candidate.key)
            tuning, private = (
                module.release(
                    *records, problem.loss, **fixed, rng=cell.rng(cell.point["dataset"], *names, use), repeats=count
                )
                for records, use, count in (
                    (stand_in, "tuning", settings.tuning_repeats),
                    (problem.private, "noise", repeats),
                )
            )
            runs[candidate.name] = (candidate, tuning, _mean_loss(problem.loss, held_out, tuning.theta), private)
        chosen = min(runs, key=lambda name: np.where(runs[name][1].converged, runs[name][2], np.inf).mean())
        for candidate, tuning, tuning_loss, private in runs.values():
            here = rows.at(
                guarantee=private.guarantee, delta=delta, candidate=candidate.name,
                **{**_NO_COLUMNS, **candidate.columns}, chosen=candidate.name == chosen,
            )  # fmt: skip
            excess = _risk(problem, private.theta, settings.ridge) - minimum
            here.add("excess_risk", excess, private.converged)
            _add_tests(here, problem, private.theta, private.converged)
            # Also where the solver missed its target: by how much.
            here.add("certificate", private.certificate)
            here.add("tuning_loss", tuning_loss, tuning.converged)


def _ridges(
    module: ModuleType, problem: Problem, budget: Budget, settings: Settings, n_public: int
) -> Iterator[_Candidate]:
    """Yield Delta = m lambda/epsilon for every multiple m."""
    for multiple in settings.ridge_multiples:
        curvature = multiple * problem.loss.curvature_bound(problem.domain) / budget.epsilon
        yield _Candidate(f"multiple {multiple:g}", (multiple,), {"ridge_multiple": multiple}, {"curvature": curvature})


def _raised(default: float, *context: Any) -> Iterator[_Candidate]:
    """Yield those multiples that are above a method's own default, and that default in the place of the others."""
    problem, budget = context[1], context[2]
    unit = problem.loss.curvature_bound(problem.domain) / budget.epsilon
    candidates = list(_ridges(*context))
    below = [candidate for candidate in candidates if candidate.arguments["curvature"] < default]
    if below:
        yield _Candidate("own default", below[0].key, {"ridge_multiple": default / unit}, {"curvature": default})
    yield from candidates[len(below) :]


def _cms11(module: ModuleType, problem: Problem, budget: Budget, *rest: Any) -> Iterator[_Candidate]:
    default = module.default_curvature(problem.loss, problem.domain, budget.epsilon)
    return _raised(default, module, problem, budget, *rest)


def _approximate_minima(
    module: ModuleType, problem: Problem, budget: Budget, settings: Settings, n_public: int
) -> Iterator[_Candidate]:
    default = module.default_curvature(problem.loss, problem.domain, budget, p=problem.private[0].shape[1])
    for candidate in _raised(default, module, problem, budget, settings, n_public):
        yield candidate._replace(arguments={**candidate.arguments, "n_public": n_public})


def _descents(
    module: ModuleType, problem: Problem, budget: Budget, settings: Settings, n_public: int
) -> Iterator[_Candidate]:
    """Yield every number of steps with every clipping norm, in units of zeta."""
    zeta = problem.loss.gradient_bound(problem.domain)
    fixed = {"ridge": settings.ridge, "momentum": settings.momentum, "n_public": n_public}
    for steps, clip in itertools.product(map(int, settings.gradient_steps), settings.clips):
        columns = {"steps": steps, "clip": clip}
        arguments = {"steps": steps, "clip": clip * zeta, **fixed}
        yield _Candidate(f"{steps} steps, clip {clip:g}", (steps, clip), columns, arguments)


# A record is on the boundary where |<x, theta>| is at most this share of ||x|| ||theta||.
_EDGE = 1e-9
_NO_COLUMNS = {"ridge_multiple": 0.0, "steps": 0, "clip": 0.0}
# What is tried, and which deltas its theorem serves: of a mechanism that takes a curvature, and of the others by name.
_OF_A_CURVATURE = (_ridges, lambda delta: True)
_RULES = {
    "cms11": (_cms11, lambda delta: delta == 0),
    "approximate_minima": (_approximate_minima, lambda delta: delta > 0),
    "gradient": (_descents, lambda delta: delta > 0),
}


def public_halves(cell: Cell, public: Records) -> tuple[Records, Records]:
    """Return public rows in the place of the private and of the test rows; nothing private decides them, not even n."""
    X, y = public
    half = len(y) // 2
    size = real_data.private_size(public, cell.settings.public_share)
    drawn = cell.rng(cell.point["dataset"], "public").integers(half, size=size)
    return (X[drawn], y[drawn]), (X[half:], y[half:])


def _baseline_risk(path: str) -> float:
    rows = tables.read(path, filters=[("metric", "==", "risk")])
    if len(rows) != 1 and not tables.given_up(path):
        raise CorruptFile(f"{path} holds {len(rows)} rows of the non-private risk instead of one", made=path)
    if len(rows) != 1 or rows["status"].iloc[0] != "ok":
        raise SolverError(f"{path}: the non-private fit did not converge; raise `ridge` in the experiment's settings")
    return float(rows["value"].iloc[0])
