"""Fits with clip=True that nothing may stop, and what they tell."""

import warnings

import numpy as np

from dperm.errors import VacuousWarning

P = 3
QUERIES = np.array([[0.1, -0.2, 0.3], [0.0, 0.5, 0.0]])
LABELS = {"classes": ("no", "yes"), "clip": True, "random_state": 0}
NUMBERS = {"clip": True, "random_state": 0}


def shape(value):
    """Return what may not depend on a record: type, shape, and for mappings and objects those of their parts."""
    if isinstance(value, np.ndarray):
        return "array", value.dtype.kind, value.shape
    return type(value).__name__


def outside(model):
    """Return what of a fitted model anyone may look at: attributes that are no parameters and not kept in private."""
    given = model.get_params(deep=False)
    return {name: shape(value) for name, value in vars(model).items() if name not in given and name[0] != "_"}


def told(model, X, y, **weights):
    """Fit, ask, and return attributes and answers' shapes; a warning other than of public constants is an error.

    NumPy is set to raise where numbers underflow or overflow, as a user may have it: whether they do hangs on records.
    """
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        # Which runs are vacuous follows from public constants alone: `test_vacuous` holds that.
        warnings.simplefilter("ignore", VacuousWarning)
        model.fit(X, y, **weights)
        public = outside(model)
        answer = model.predict if hasattr(model, "predict") else model.transform
        answers = answer(QUERIES)
    return public, answers.shape, answers.dtype.kind, str(model.privacy_)


def tame(numeric, n=6):
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (n, P))
    return X, (X[:, 0] if numeric else np.where(X[:, 0] > 0, "yes", "no").astype("<U6"))
