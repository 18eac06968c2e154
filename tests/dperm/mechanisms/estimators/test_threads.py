"""The same bytes on one thread of linear algebra and on two, for each kind of fit.

The data are so large that BLAS shares its sums out: without `solvers.blas.one_thread` more than half of them differ.
"""

import numpy as np
import pytest
from published_modes import HELD, PUBLISHED, named, targets
from threadpoolctl import threadpool_limits

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::dperm.errors.NoGuaranteeWarning"),
    pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning"),
]
N, P = 1500, 250
# What chooses a solver; the rest of a mode chooses constants.
AXES = (
    "loss",
    "penalty",
    "kernel",
    "radius",
    "low",
    "l1",
    "regularizer",
    "method",
    "moor",
    "support",
    "answers",
    "mode",
)


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) / (1 + 1e-9)


def kinds():
    """Return the first mode of each kind, but for nets over so many dimensions, and literal rows of noise."""
    first = {}
    for mode in PUBLISHED + HELD:
        Estimator, given = mode
        if "nu" not in given and given.get("method") != "literal":
            first.setdefault((Estimator, *(str(given.get(axis)) for axis in AXES)), mode)
    return [*first.values()]


RNG = np.random.default_rng(0)
X, PUBLIC = (unit(RNG.normal(size=(n, P))) for n in (N, 300))
SCORES = X @ RNG.normal(size=P) + 0.1 * RNG.normal(size=N)
Y = {
    "labels": np.where(SCORES > 0, "yes", "no"),
    "real": np.clip(SCORES / 4, -1, 1),
    "counts": np.clip(np.round(np.exp(SCORES)), 0, 4),
}


def released(mode, threads):
    """Return what a fit holds under public names, and what it answers, as bytes."""
    Estimator, given = mode
    labels = {"classes": ("no", "yes")} if targets(mode) == "labels" else {}
    shown = {"public": PUBLIC} if "public" in given else {}
    with threadpool_limits(threads):
        model = Estimator(**labels | given | shown, random_state=0).fit(X, Y[targets(mode)])
        found = {
            name: np.asarray(value).tobytes()
            for name, value in vars(model).items()
            if name.endswith("_") and isinstance(value, float | np.ndarray)
        }
        if hasattr(model, "predict"):
            found["answers"] = np.asarray(model.predict(X[:3])).tobytes()
    return found


@pytest.mark.parametrize("mode", kinds(), ids=named)
def test_the_same_bytes(mode):
    one, two = released(mode, 1), released(mode, 2)
    assert one and [name for name in one if one[name] != two[name]] == []
