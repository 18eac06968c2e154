r"""Axis-parallel boxes: the smallest one that holds all ones of a sample.

    f(x) = 1 where low_j <= x_j <= high_j for every feature j,   low_j, high_j the extremes of x_j among the ones.

Wherever a box has no errors on the sample this one has none: the consistent learner of a class of VC dimension 2d. It
looks at no zero. On noisy labels it is no minimiser of errors (finding that is hard in many dimensions): a single wrong
label can stretch it.

Sources: dwork2018, Section 2.1 (realizable learning with a consistent learner).
"""

import numpy as np


def smallest(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return low and high of the smallest box around the ones; without ones infinity and minus infinity."""
    ones = X[np.asarray(y) == 1]
    return ones.min(axis=0, initial=np.inf), ones.max(axis=0, initial=-np.inf)


def inside(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return which rows lie in a box, its faces included, shape (m,); 0 or 1."""
    return ((low <= X) & (high >= X)).all(axis=1).astype(int)
