"""Classic mechanisms, some broken as the literature has found them, with what a user would declare of their data.

Sparse vector: Algorithms 1 to 6 of Lyu, Su & Li 2017 (Figure 1): 1 is theirs, 2 Dwork & Roth's 2014, 3 of Roth's notes
of 2011, 4 Lee & Clifton's 2014, 5 Stoddard, Chen & Machanavajjhala's 2014, 6 Chen et al.'s 2015. Noisy maximum and
histogram: Ding et al. 2018. Nothing is said of a pair of data sets anywhere.

Answers are 0 for "below" and 1 for "above"; 2 is what a mechanism that has stopped says no more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dperm.accounting import gaussian
from dperm.audit import Answers, Records, one_by_one

QUERIES = 10


@dataclass(frozen=True)
class Classic:
    """A mechanism, what is declared of its data, and its claim."""

    mechanism: Callable
    within: Any
    relation: str
    epsilon: float = 1.0
    delta: float = 0.0
    draws: int = 20_000


def sparse_vector(*, threshold, query, cutoff=None, values=False, renewed=None):
    """Return sparse vector with these scales of the noise, at threshold 0 and sensitivity 1.

    `values` are answered instead of "above"; `renewed` is the scale of the threshold's noise after such an answer.
    """

    def mechanism(answers, repeats, rng):
        shape = (repeats, len(answers))
        noisy = answers + (rng.laplace(0, query, shape) if query else np.zeros(shape))
        rho = rng.laplace(0, threshold, repeats)
        said, count = np.zeros(shape), np.zeros(repeats)
        for k in range(len(answers)):
            above = noisy[:, k] >= rho
            said[:, k] = np.where(above, noisy[:, k] + 100 if values else 1.0, 0.0)
            if cutoff:
                said[count >= cutoff, k] = 2.0
            count += above
            if renewed:
                rho = np.where(above, rng.laplace(0, renewed, repeats), rho)
        return said

    return mechanism


def noisy_maximum(noise, *, value):
    """Return the place of the largest noisy answer, or what it is."""

    def mechanism(answers, repeats, rng):
        noisy = answers + getattr(rng, noise)(size=(repeats, len(answers))) * 2.0
        return noisy.max(axis=1) if value else noisy.argmax(axis=1)

    return mechanism


def laplace(scale):
    return lambda answers, repeats, rng: answers + rng.laplace(0, scale, (repeats, len(answers)))


def exponential(factor):
    """Return the exponential mechanism with weights exp(factor utility), of sensitivity 1."""

    def mechanism(utilities, repeats, rng):
        weights = np.exp(factor * (utilities - utilities.max()))
        return rng.choice(len(utilities), size=repeats, p=weights / weights.sum())

    return mechanism


def median_by_local_sensitivity(X, repeats, rng):
    """Noise for how far the median moves if one record of this very data set changes (Nissim et al. 2007 warn)."""
    x, m = np.concatenate([[0.0], np.sort(X[:, 0]), [1.0]]), (len(X) + 1) // 2
    return x[m] + rng.laplace(size=repeats) * max(x[m + 1] - x[m], x[m] - x[m - 1])


def median_by_exponential(X, repeats, rng):
    """The rank's distance from n/2 is the cost, on a public grid; a replaced record moves it by 1."""
    grid = np.linspace(0, 1, 11)
    cost = np.abs((X[:, 0] < grid[:, None]).sum(axis=1) - len(X) / 2)
    return grid[exponential(0.5)(-cost, repeats, rng)]


def mean(*, declared):
    """Return the mean with noise for the range of the data, declared or seen."""

    def mechanism(X, repeats, rng):
        width = 1.0 if declared else np.ptp(X)
        return X.mean() + rng.laplace(size=repeats) * width / len(X)

    return mechanism


def counts_by_label(labels):
    """Return noisy counts of labels, as a dict: of those given, or (None) of those that are there."""

    def function(y, rng):
        there = sorted(set(y)) if labels is None else labels
        return {label: (y == label).sum() + rng.laplace() for label in there}

    return one_by_one(function)


def gradient(*, each):
    """Return a noisy mean gradient of the squared loss at 0: rows of length 5, clipped to 1; or their mean is."""
    epsilon, delta = 1.0, 1e-5

    def clipped(rows):
        return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))

    def mechanism(data, repeats, rng):
        X, y = data
        rows = -X * y[:, None]
        centre = clipped(rows).mean(axis=0) if each else clipped(rows.mean(axis=0, keepdims=True))[0]
        scale = 2.0 / len(X) / gaussian.gaussian_ratio(epsilon, delta)
        return centre + rng.normal(0, scale, (repeats, X.shape[1]))

    return mechanism


def centres(*, empty):
    """Return one step of 2-means from 1/4 and 3/4: noisy sums by noisy counts; an `empty` cluster is an error."""

    def function(X, rng):
        found = []
        for mine in (X[:, 0] < 0.5, X[:, 0] >= 0.5):
            if empty and not mine.any():
                raise ValueError("a cluster has no records")
            total, count = X[mine, 0].sum() + rng.laplace(0, 2.0), mine.sum() + rng.laplace(0, 2.0)
            found.append(np.clip(total / max(count, 1.0), 0, 1))
        return found

    return one_by_one(function)


_ANSWERS = Answers(QUERIES, -5, 5)
_COUNTS = Answers(4, 0, 20, norm="sum")
_UNIT = Records(1, box=(0, 1))
_LABELS = ("apple", "pear", "plum", "quince")
_PAIRS = Records(2, norm=5.0, targets=(-1, 1))

BROKEN = {
    "sparse vector 3, values with the noise of the comparison": Classic(
        # What tells it is rare.
        sparse_vector(threshold=1, query=1, cutoff=1, values=True),
        _ANSWERS,
        "replace",
        2.0,
        draws=100_000,
    ),
    "sparse vector 4, noise without the cutoff": Classic(
        sparse_vector(threshold=4, query=4 / 3, cutoff=3), _ANSWERS, "replace"
    ),
    "sparse vector 5, no noise of queries": Classic(sparse_vector(threshold=2, query=0), _ANSWERS, "replace"),
    "sparse vector 6, no cutoff": Classic(sparse_vector(threshold=2, query=2), _ANSWERS, "replace"),
    "noisy maximum's value": Classic(noisy_maximum("laplace", value=True), _ANSWERS, "replace"),
    "noisy maximum's value, exponential noise": Classic(noisy_maximum("exponential", value=True), _ANSWERS, "replace"),
    "histogram of scale epsilon": Classic(laplace(0.5), _COUNTS, "add_remove", 0.5),
    "exponential mechanism without the 2": Classic(exponential(1.0), _ANSWERS, "replace"),
    "median by local sensitivity": Classic(median_by_local_sensitivity, _UNIT, "replace"),
    "mean with the data's own bounds": Classic(mean(declared=False), _UNIT, "replace"),
    "counts of the labels that are there": Classic(counts_by_label(None), Records(0, classes=_LABELS), "add_remove"),
    "gradients clipped after their mean": Classic(gradient(each=False), _PAIRS, "replace", 1.0, 1e-5),
    "an empty cluster is an error": Classic(centres(empty=True), _UNIT, "add_remove"),
}

CORRECT = {
    "sparse vector 1": Classic(sparse_vector(threshold=2, query=4, cutoff=1), _ANSWERS, "replace"),
    "sparse vector 2": Classic(sparse_vector(threshold=4, query=8, cutoff=2, renewed=4), _ANSWERS, "replace"),
    "noisy maximum": Classic(noisy_maximum("laplace", value=False), _ANSWERS, "replace"),
    "noisy maximum, exponential noise": Classic(noisy_maximum("exponential", value=False), _ANSWERS, "replace"),
    "histogram": Classic(laplace(2.0), _COUNTS, "add_remove", 0.5),
    "exponential mechanism": Classic(exponential(0.5), _ANSWERS, "replace"),
    "median by the exponential mechanism": Classic(median_by_exponential, _UNIT, "replace"),
    "mean with declared bounds": Classic(mean(declared=True), _UNIT, "replace"),
    "counts of declared labels": Classic(counts_by_label(_LABELS), Records(0, classes=_LABELS), "add_remove"),
    "clipped gradients": Classic(gradient(each=True), _PAIRS, "replace", 1.0, 1e-5),
    "clusters that may be empty": Classic(centres(empty=False), _UNIT, "add_remove"),
}
