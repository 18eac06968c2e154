"""IBM's diffprivlib under attack: its logistic regression at data norm 10.

    dperm audit logistic:default --draws 100000
    python logistic.py                               # what the algorithm spends, exactly

diffprivlib perturbs the objective (Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 2) and charges the determinant with
2 log(1 + R/(4 alpha)), alpha = 1/C. The Hessian of one record's logistic loss has an eigenvalue of up to R^2/4, which
its bound leaves out for R > 1. Neighbouring relation: replace-one (the noise is made for 2 R).

With an intercept the noise is made for sqrt(R^2 + 1), as it must be. But the objective leaves the intercept without
regularisation (unless epsilon does not suffice for the determinant), and the determinant is charged as if it had alpha
too. Let x = R be the differing record, its replacement and all others x = 0. Where its margin R theta + t is 0 and the
intercept t is large, the determinant is at least alpha/4 with it and about n alpha e^-t without: no epsilon holds.
"""

import math
import warnings

import numpy as np
from scipy import special

from dperm.audit import Event, Subject, Target, line, one_by_one

NORM, EPSILON = 10.0, 0.5
# One record counts; the other two have x = 0 and are there because both classes must be.
DATA = np.array([[NORM], [0.0], [0.0]]), np.array([1, 0, 1])
NEIGHBOUR = np.array([[0.0], [0.0], [0.0]]), np.array([1, 0, 1])
# Where noise outweighs all labels there is no minimiser, and the solver's intercept runs away: cut off here.
FARTHEST = 30.0


def _fit(C, *, fit_intercept=False):
    from diffprivlib.accountant import BudgetAccountant
    from diffprivlib.models import LogisticRegression

    def fit(data, rng):
        # Its own accountant each time: the default one is shared, and would keep a record of every fit.
        model = LogisticRegression(
            epsilon=EPSILON,
            data_norm=NORM,
            C=C,
            fit_intercept=fit_intercept,
            tol=1e-8,
            max_iter=1000,
            random_state=int(rng.integers(2**31)),
            accountant=BudgetAccountant(),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theta = model.fit(*data).coef_[0, 0]
        if not fit_intercept:
            return theta
        # A function of what is released, so the claim covers it too: the intercept, and the margin of a record x = R.
        return np.clip([model.intercept_[0], NORM * theta + model.intercept_[0]], -FARTHEST, FARTHEST)

    return one_by_one(fit)


def default():
    """Return the subject with diffprivlib's own default, C = 1."""
    words = f"diffprivlib LogisticRegression(epsilon={EPSILON}, data_norm={NORM:g}), no intercept, C = 1 (its default)"
    return Subject(_fit(1.0), DATA, NEIGHBOUR, epsilon=EPSILON, words=words)


def little_curvature():
    """Return the subject with C = 0.08, where all of epsilon but a sixth is meant for the determinant."""
    words = f"diffprivlib LogisticRegression(epsilon={EPSILON}, data_norm={NORM:g}, C=0.08), no intercept"
    return Subject(_fit(0.08), DATA, NEIGHBOUR, epsilon=EPSILON, words=words)


def undecided_far_out(outputs):
    """Score margins near 0 at intercepts beyond 9."""
    intercept, margin = outputs.T
    return np.where(np.abs(intercept) > 9, -np.abs(margin), -FARTHEST)


def intercept():
    """Return the subject with an intercept, C = 0.04: two fifths of epsilon are meant for the determinant."""
    words = f"diffprivlib LogisticRegression(epsilon={EPSILON}, data_norm={NORM:g}, C=0.04), with intercept"
    event = Event("-|margin of x = 10|, where |intercept| > 9", undecided_far_out)
    return Subject(_fit(0.04, fit_intercept=True), DATA, NEIGHBOUR, epsilon=EPSILON, events=[event], words=words)


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
