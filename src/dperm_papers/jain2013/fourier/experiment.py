r"""TDDL beside the kernel methods of CMS11 and of Rubinstein et al., where both apply (jain2013, Section 1).

The paper names these two as what there was for kernels, and says that they "are restricted to the class of translation
invariant kernels", "essentially reduce the kernel ERM to a linear ERM" and add noise that grows with the dimension of
the features. Neither kernel of its Figure 2 is translation-invariant (cubic: claim J-c33; linear: <x, v> changes when
both are moved), so this experiment takes the rows, the penalty and delta of Figure 2a and the Gaussian kernel
exp(-||x - v||^2/(2 h^2)) on p random Fourier features (`dperm.mechanisms.kernel.random_features`). Everybody starts
from the same

    w* = argmin sum_i l(<w, z(x_i)>, y_i) + total/2 ||w||^2,      l the smoothed hinge (L = 1), R = ||z|| = 1,

the loss being differentiable, as CMS11's proof asks. Mechanisms:

    random_features   variants gamma_objective (CMS11, Algorithm 3 around 2) and laplace_output (Rubinstein et al.),
                      both as printed, delta = 0; tight: gaussian_objective, gaussian_output, delta > 0
    tddl              paper and tight, on T public points, with the kernel <z(x), z(v)>; delta > 0
    nonprivate        variants `machine` (w* itself), `majority`, and what is measured of the features

Metrics of a split, means over its draws of noise: `accuracy` on test rows; `error`, the mean of |<w^ - w*, z>| over
them; of w* `length`, the mean of |<w*, z>|, the error of answering 0; `apart`, the mean of |<z(x), z(v)> - K(x, v)|
over pairs of test rows. Column `features` is p. The frequencies are drawn anew for each split. Neighbours: replace-one.
"""

import numpy as np

from dperm import kernels, losses
from dperm.domain import Budget, Domain
from dperm.mechanisms.kernel import random_features, tddl
from dperm.mechanisms.kernel.constants import Setting, a_priori_radius
from dperm.solvers import newton
from dperm_papers.jain2013.shared import accuracy
from dperm_papers.jain2013.shared.kdd_data import generator
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

LOSS, DOMAIN = losses.smoothed_hinge(), Domain(x_norm=1.0)
LIPSCHITZ, FEATURE_NORM = 1.0, 1.0
# The public slack of w* over Delta_w.
_SLACK = 1 / 20
# Variant -> calibration, perturbation, whether delta > 0.
WAYS = {
    "gamma_objective": ("paper", "objective", False),
    "laplace_output": ("paper", "output", False),
    "gaussian_objective": ("tight", "objective", True),
    "gaussian_output": ("tight", "output", True),
}
# Test rows of whose pairs the kernel is compared.
_COMPARED = 300


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the majority of the training labels."""
    values = [accuracy.majority(split) for split in accuracy.splits(cell, cell.data, cell.settings.repeats)]
    accuracy.without_privacy(rows).add("accuracy", values, variant="majority", features=0)


def run(cell: Cell, rows: Rows) -> None:
    """Measure w* and every private method, at every number of features."""
    settings = cell.settings
    for repeat, split in enumerate(accuracy.splits(cell, cell.data, settings.repeats)):
        for features in settings.features:
            rng = generator(cell, "frequencies", features, repeat)
            omega = random_features.frequencies(split.X.shape[1], features // 2, settings.bandwidth, rng)
            _one(cell, rows.at(repeat=repeat, features=2 * omega.shape[1]), split, omega, repeat)


def _one(cell: Cell, rows: Rows, split: accuracy.Split, omega: np.ndarray, repeat: int) -> None:
    """Measure one split at one number of features."""
    settings, total = cell.settings, cell.settings.total
    moved = 2 * LIPSCHITZ * FEATURE_NORM / total
    setting = Setting(
        lipschitz=LIPSCHITZ, feature_norm=FEATURE_NORM, total=total, slack=_SLACK * moved,
        radius=a_priori_radius(_loss_at_zero(), LIPSCHITZ, FEATURE_NORM, total, len(split.y)),
    )  # fmt: skip
    X, Q = random_features.features(split.X, omega), random_features.features(split.Q, omega)
    Z = random_features.features(split.Z[: settings.public_points], omega)
    # A gradient of total times the slack: w lies within the slack of w*.
    fit = newton.minimise(LOSS, X, split.y, ridge=total, tolerance=total * setting.slack)
    found, exact = fit.certificate.max() <= setting.slack, Q @ fit.theta[0]
    plain = accuracy.without_privacy(rows).at(variant="machine")
    plain.add("accuracy", accuracy.agreement(exact, split.target), ok=found)
    plain.add("length", np.abs(exact).mean(), ok=found)
    near = slice(0, _COMPARED)
    kernel = kernels.gaussian(settings.bandwidth)(split.Q[near], split.Q[near])
    plain.add("apart", np.abs(Q[near] @ Q[near].T - kernel).mean())

    asked = [(Budget(e, settings.delta), how, False) for e in settings.epsilons for how in ("paper", "tight")]
    spectrum = tddl.spectrum(kernels.gram(kernels.linear(), Z))
    rng = generator(cell, "noise", "tddl", Q.shape[1], repeat)
    answers = Z @ fit.theta[0]
    made = tddl.releases(spectrum, answers, setting, asked, rng=rng, repeats=settings.draws)
    for (budget, calibration, _), one in zip(asked, made, strict=True):
        here = rows.at(mechanism="tddl", calibration=calibration, variant="", guarantee=one.guarantee)
        _add(here, budget, one.at(Q @ Z.T), exact, split, ok=found)
    for epsilon in settings.epsilons:
        for variant, (calibration, perturbation, approximate) in WAYS.items():
            budget = Budget(epsilon, settings.delta if approximate else 0.0)
            released = random_features.release(
                split.X, split.y, LOSS, omega=omega, domain=DOMAIN, budget=budget, neighbours="replace",
                calibration=calibration, perturbation=perturbation, curvature=total,
                rng=generator(cell, "noise", variant, Q.shape[1], repeat, epsilon),
                repeats=settings.tilted_draws if perturbation == "objective" else settings.draws,
                tolerance=settings.tolerance, mapped=X,
            )  # fmt: skip
            here = rows.at(mechanism="random_features", calibration=calibration, variant=variant)
            here = here.at(guarantee=released.guarantee)
            _add(here, budget, released.theta @ Q.T, exact, split, ok=found & released.converged.all())


def _add(
    rows: Rows, budget: Budget, predictions: np.ndarray, exact: np.ndarray, split: accuracy.Split, *, ok: bool
) -> None:
    """Add the means over the draws: predictions of shape (draws, q)."""
    here = rows.at(epsilon=budget.epsilon, delta=budget.delta)
    here.add("accuracy", accuracy.agreement(predictions, split.target), ok=ok)
    here.add("error", np.abs(predictions - exact).mean(), ok=ok)


def _loss_at_zero() -> float:
    return float(LOSS.value(np.zeros(1), np.ones(1)).max())
