"""Every interactive estimator, fitted in a moment, and what its answers and charges are."""

import multiprocessing
import warnings

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from dperm import PINP, AveragedPrediction, ExpPW, RKHSGaussian, SoftMajority, StableERM, StableSGD
from dperm.errors import NoGuaranteeWarning, VacuousWarning

LABELS = {"classes": (0, 1)}
TREE = {"base": DecisionTreeClassifier(max_depth=1), "shards": 5, **LABELS}
SHARED = {"epsilon": 5.0, "queries": 300}
RICH = {"epsilon": 1e6, "delta": 0.5, "C": 1e-2, "queries": 50, **LABELS}
# Answers that say much: real numbers, or bits that are nearly coins.
MODELS = {
    "rkhs": lambda **given: RKHSGaussian(**{"C": 0.01, **LABELS, **given}),
    "pinp": lambda **given: PINP(**{**RICH, **given}),
    "pinp corrected": lambda **given: PINP(**{**RICH, "calibration": "corrected", **given}),
    "soft majority": lambda **given: SoftMajority(**{**SHARED, **TREE, **given}),
    "soft majority, classes": lambda **given: SoftMajority(**{**SHARED, **TREE, "classes": (0, 1, 2), **given}),
    "consensus": lambda **given: SoftMajority(
        **{**SHARED, **TREE, "epsilon": 2000.0, "shards": 30, "queries": 100, "mode": "consensus", **given}
    ),
    "averaged": lambda **given: AveragedPrediction(**{**SHARED, **TREE, **given}),
    "averaged numbers": lambda **given: AveragedPrediction(
        **{**SHARED, "shards": 5, "base": LinearRegression(), **given}
    ),
    "stable erm": lambda **given: StableERM(**{**SHARED, "loss": "huber", "y_bound": 1.0, **given}),
    "stable sgd": lambda **given: StableSGD(**{**SHARED, **LABELS, **given}),
    "exppw": lambda **given: ExpPW(**{**SHARED, **LABELS, **given}),
}
KERNEL = ("rkhs", "pinp", "pinp corrected")
FORK = multiprocessing.get_context("fork")
CENTRE = np.array([0.4, 0.2])
_RNG = np.random.default_rng(0)
X = _RNG.uniform(-0.7, 0.7, (150, 2)).round(9)
Y = (X[:, 0] > 0).astype(float)


def fitted(name, **given):
    """The estimator, fitted to the same records each time."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VacuousWarning)
        warnings.simplefilter("ignore", NoGuaranteeWarning)
        return MODELS[name](**given).fit(X, Y)


def asked(model, rows):
    """What the estimator says of the rows, as numbers."""
    return np.asarray(getattr(model, "decision_function", model.predict)(rows), dtype=float)


def spent(model):
    """What it knows to be spent: answers, updates or directions."""
    if hasattr(model, "path_"):
        return model.path_.directions
    return model.dialogue_.updates if hasattr(model, "dialogue_") else model.ledger_.answered


def core(model):
    """Its turns."""
    return next(getattr(model, name) for name in ("path_", "dialogue_", "ledger_") if hasattr(model, name)).serving


def batch(size, seed):
    """Rows that are nearly the same."""
    return CENTRE + 1e-3 * np.random.default_rng(seed).standard_normal((size, 2))


def in_fork(function, *given):
    """What a function returns, or raises, in a forked process."""
    here, there = FORK.Pipe()

    def run():
        try:
            there.send(function(*given))
        except Exception as error:
            there.send(error)

    child = FORK.Process(target=run)
    child.start()
    assert here.poll(60), "a deadlock"
    found = here.recv()
    child.join()
    return found
