"""Cross-validation of which a session knows what it spends."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dperm.domain import integer, number


class IndependentFolds:
    """Folds into which each record falls by a draw of its own; the splitter for cross-validation inside a session.

    `KFold` cuts by the number of records, `StratifiedKFold` by all of their labels: one record more, or one other
    label, moves others over the cuts, so that a training set changes by several records and its fit, made private for
    one, spends several times what it states. Here the training sets of neighbours differ by the one record alone, if
    their draws are the same, and the draws are the same in law. Both relations (add/remove and replace).

    Parameters
    ----------
    n_splits : int, default=5
        How many folds, 2 or above. Sizes vary: a fold has n/n_splits records on average.

    References
    ----------
    docs/privacy.md, section 15, Lemma V. Not of dwork2018, jain2013, kifer2012 or li2021.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import IndependentFolds
    >>> parts = list(IndependentFolds(3).split(np.ones((10, 2))))
    >>> len(parts), sum(len(test) for _, test in parts)
    (3, 10)
    """

    def __init__(self, n_splits: int = 5):
        self.n_splits = integer("n_splits", n_splits, 2, "each record is once tested on")
        number("n_splits", self.n_splits, 2, 1e6, ends="[]", remedy="each of them is a fit")

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return how many folds there are.

        Parameters
        ----------
        X, y, groups : ignored
        """
        return self.n_splits

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the records to train and to test on, fold by fold; drawn anew by each call, from the system.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y, groups : ignored

        Yields
        ------
        train, test : ndarray of int
            Places of records.
        """
        count = X.shape[0] if hasattr(X, "shape") else len(X)
        # No seed: who knows the draws knows where a record more moves the others.
        fold = np.random.default_rng().integers(self.n_splits, size=count)
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
