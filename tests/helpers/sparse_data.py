"""Made-up data for two-stage sparse regression, and a release on them."""

import numpy as np

from dperm.domain import Budget
from dperm.mechanisms import sparse

S, P, K = 2, 5, 4
VOTES = {"support": "samp_agg", "penalty": 1.0}


def data(n=40, p=P, seed=0):
    """Some rows are longer than sqrt(s), some targets beyond s."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.6, 1.6, size=(n, p))
    return X, 1.5 * X[:, 1] - X[:, 3] + 0.5 * rng.normal(size=n)


def release(X, y, **arguments):
    fixed = {
        "size": S, "domain": sparse.case_study(S), "budget": Budget(2.0, 1e-3), "neighbours": "add_remove",
        "calibration": "paper", "support": "exp_mech", "rng": np.random.default_rng(3),
    }  # fmt: skip
    return sparse.release(X, y, **{**fixed, **arguments})
