"""Double-noise Newton (Ganesh, Haghifam, Steinke & Thakurta 2023), the authors' code: tensorflow/privacy's dp_newton.

Its hyperparameters are those of the authors' script `run_privacy_utility`; of their four variants the first, "add" with
the Hessian. Noise is made for one record more or less, with n in it, which it takes as public. Two things of their
runner are left out, because they look at a model without privacy: the restart of an iterate that is too long, and the
choice of the best iterate; the last one is taken. rho is from epsilon and delta as in their run.py (Bun & Steinke 2016,
Lemma 3.6).
"""

import math

import numpy as np
from my_logistic_regression import MyLogisticRegression
from opt_algs import DoubleNoiseMech
from running import run
from scipy.optimize import brentq

PARAMETERS = {"num_iteration": 15, "grad_frac": 0.7, "trace_frac": 0.1, "trace_coeff": 0.5}


def rho(epsilon, delta):
    """Return the zCDP that (epsilon, delta) allows."""
    return brentq(
        lambda rho: rho + math.sqrt(4 * rho * math.log(math.sqrt(math.pi * rho) / delta)) - epsilon,
        # Where the logarithm begins.
        delta**2 / math.pi,
        epsilon,
    )


def fit(X, y, epsilon, delta, seed):
    """Take the steps from a random start of length one, as the authors do."""
    # Their code draws from NumPy's global stream.
    np.random.seed(seed)  # noqa: NPY002
    problem = MyLogisticRegression(X, y)
    steps = DoubleNoiseMech(problem, type_reg="add", curvature_info="hessian")
    parameters = {**PARAMETERS, "total": rho(epsilon, delta)}
    w = np.random.standard_normal(X.shape[1])  # noqa: NPY002
    w /= np.linalg.norm(w)
    for _ in range(PARAMETERS["num_iteration"]):
        w = steps.update_rule(w, problem, parameters)
    return lambda Q: np.where(Q @ w >= 0, 1, -1)


run("double-noise Newton (dp_newton)", "add_remove", fit)
