"""IBM's diffprivlib under attack: its logistic regression at data norm 10.

    dperm audit logistic:default --draws 100000
    python logistic.py                               # what the algorithm spends, exactly

diffprivlib perturbs the objective (Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2) and charges the determinant with
2 log(1 + R/(4 alpha)), alpha = 1/C. The Hessian of one record's logistic loss has an eigenvalue of up to R^2/4, which
its bound leaves out for R > 1. Neighbouring relation: replace-one (the noise is made for 2 R).
"""

import math
import warnings

import numpy as np
from scipy import special

from dperm.audit import Subject, Target, line, one_by_one

NORM, EPSILON = 10.0, 0.5
# One record counts; the other two have x = 0 and are there because both classes must be.
DATA = np.array([[NORM], [0.0], [0.0]]), np.array([1, 0, 1])
NEIGHBOUR = np.array([[0.0], [0.0], [0.0]]), np.array([1, 0, 1])


def _fit(C):
    from diffprivlib.accountant import BudgetAccountant
    from diffprivlib.models import LogisticRegression

    def fit(data, rng):
        # Its own accountant each time: the default one is shared, and would keep a record of every fit.
        model = LogisticRegression(
            epsilon=EPSILON,
            data_norm=NORM,
            C=C,
            fit_intercept=False,
            tol=1e-8,
            max_iter=1000,
            random_state=int(rng.integers(2**31)),
            accountant=BudgetAccountant(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(*data).coef_[0, 0]

    return one_by_one(fit)


def default():
    """Return the subject with diffprivlib's own default, C = 1."""
    words = f"diffprivlib LogisticRegression(epsilon={EPSILON}, data_norm={NORM:g}), no intercept, C = 1 (its default)"
    return Subject(_fit(1.0), DATA, NEIGHBOUR, epsilon=EPSILON, words=words)


def little_curvature():
    """Return the subject with C = 0.08, where all of epsilon but a sixth is meant for the determinant."""
    words = f"diffprivlib LogisticRegression(epsilon={EPSILON}, data_norm={NORM:g}, C=0.08), no intercept"
    return Subject(_fit(0.08), DATA, NEIGHBOUR, epsilon=EPSILON, words=words)


def law(C):
    """Return the algorithm's law as a target on a line, written from its description: curvature, noise, minimiser."""
    alpha = 1 / C
    rest, more = EPSILON - 2 * math.log1p(NORM / (4 * alpha)), 0.0
    if rest <= 0:
        more, rest = NORM / (4 * math.expm1(EPSILON / 4)) - alpha, EPSILON / 2
    scale, curvature = 2 * NORM / rest, alpha + more

    def gradient(theta, data):
        X, y = data
        signs = np.where(y == 1, 1.0, -1.0)
        return (
            sum(-s * x * special.expit(-s * x * theta) for x, s in zip(X[:, 0], signs, strict=True)) + curvature * theta
        )

    def lower_tail(z):
        half = 0.5 * np.exp(-np.abs(z))
        return np.where(z <= 0, half, 1 - half)

    return Target(
        draw=None,
        cdf=lambda theta, data: lower_tail(gradient(theta, data) / scale),
        sf=lambda theta, data: lower_tail(-gradient(theta, data) / scale),
    )


if __name__ == "__main__":
    for C in (1.0, 0.1, 0.08):
        found = line.lower_bound(law(C), DATA, NEIGHBOUR, delta=0.0)
        print(f"C = {C:<5g} claimed {EPSILON:g}, spends {found.epsilon:.3f} (exact law; {found.event})")
