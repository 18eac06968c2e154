"""diffprivlib's logistic regression: objective perturbation of Chaudhuri, Monteleoni & Sarwate (2011), pure epsilon.

Told the bound 1 on ||x||; nothing else is set but that no intercept is added, for the rows hold a constant. It makes
its noise for replace-one.
"""

import warnings

from diffprivlib.accountant import BudgetAccountant
from diffprivlib.models import LogisticRegression
from running import run


def fit(X, y, epsilon, delta, seed):
    """Fit it; its own accountant, for the default one is shared and would keep a record of every fit."""
    model = LogisticRegression(
        epsilon=epsilon, data_norm=1.0, fit_intercept=False, random_state=seed, accountant=BudgetAccountant()
    )
    with warnings.catch_warnings():
        # That lbfgs stops at its default of 100 steps.
        warnings.simplefilter("ignore")
        # Rounding may leave a row of length one a little longer.
        return model.fit(X * (1 - 1e-12), y).predict


run("diffprivlib LogisticRegression", "replace", fit, pure=True)
