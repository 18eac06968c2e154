r"""Decision stumps: the one comparison of one feature with the fewest errors.

    f(x) = 1[x_j >= a], or its negation 1[x_j < a],

over all features j, both directions, and a among the sample's values of x_j and infinity: prefix sums over each feature
in order, O(d n log n).

Sources: dwork2018, Section 2.1 (classes of VC dimension d).
"""

from typing import NamedTuple

import numpy as np


class Stump(NamedTuple):
    """A comparison with a threshold (infinity: the constant); upper: what it says of x_j >= a, 0 or 1."""

    feature: int
    threshold: float
    upper: int
    errors: int


def minimise(X: np.ndarray, y: np.ndarray) -> Stump:
    """Return the stump with the fewest errors.

    - X: shape (n, d); finite; n and d at least 1.
    - y: shape (n,); labels 0 and 1.
    - Returns: of equally good ones that of the first feature, the least threshold, and `upper` 1.
    """
    signs = 2 * np.asarray(y).astype(np.int64) - 1
    n, zeros, best = len(signs), int((signs < 0).sum()), None
    for j in range(X.shape[1]):
        order = np.argsort(X[:, j], kind="stable")
        values = X[order, j]
        # Errors of "1 from the c-th point on"; those of its negation are n less these.
        errors = zeros + np.concatenate([[0], np.cumsum(signs[order])])
        allowed = np.concatenate([[True], values[1:] != values[:-1], [True]])
        for upper, wrong in ((1, errors), (0, n - errors)):
            c = int(np.argmin(np.where(allowed, wrong, n + 1)))
            if best is None or wrong[c] < best.errors:
                best = Stump(j, float(values[c]) if c < n else np.inf, upper, int(wrong[c]))
    return best


def predict(stump: Stump, X: np.ndarray) -> np.ndarray:
    """Return what a stump says of rows, shape (m,); 0 or 1."""
    return np.where(X[:, stump.feature] >= stump.threshold, stump.upper, 1 - stump.upper)
