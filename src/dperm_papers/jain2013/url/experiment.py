"""Accuracy on URL Reputation with the linear kernel in 3,231,961 dimensions (jain2013, Section 7; erratum J14).

The paper announces these results in its supplement; the text at hand has none, so there is no number to compare with.
Rows of length 1, so R = 1; the support vector machine without a bias (J8), solved in the dual to a certified slack (J9)
at each n lambda of `totals`: `penalty` names it, nothing is chosen. The methods:
`dperm_papers.jain2013.shared.accuracy`. Without privacy also `libsvm`: LibSVM with its unregularised bias, on the first
`libsvm_rows` training rows and the same n C, on `libsvm_splits` splits, from the products of all pairs of rows, for it
takes minutes in sparse rows.

`url-5700`, real rows whose days are unknown and whose class balance is partly set by hand, shows that the path works at
full dimension; it is not a utility figure.
"""

from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dperm import kernels
from dperm.solvers import sparse as solver
from dperm_papers.jain2013.shared import accuracy
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# Slack over Delta_w, as in `dperm_papers.jain2013.covertype.experiment`.
_FINE = 1 / 20


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure the training rows' majority, and LibSVM at each n lambda."""
    settings, rows = cell.settings, accuracy.without_privacy(rows)
    for repeat, split in enumerate(accuracy.splits(cell, cell.data, settings.repeats)):
        here = rows.at(repeat=repeat)
        here.add("accuracy", accuracy.majority(split), variant="majority", penalty="", total=0.0)
        if repeat < settings.libsvm_splits:
            values = _libsvm(split, settings.libsvm_rows, settings.totals)
            for total, value in zip(settings.totals, values, strict=True):
                here.add("accuracy", value, variant="libsvm", penalty=f"{total:g}", total=total)


def run(cell: Cell, rows: Rows) -> None:
    """Measure the machine itself and every private method."""
    totals = cell.settings.totals
    accuracy.measure(cell, rows, lambda split: ((f"{total:g}", fit_machine(split, total)) for total in totals))


def fit_machine(split: accuracy.Split, total: float) -> accuracy.Model:
    """Fit the machine, to the public slack."""
    kernel = kernels.linear()
    setting = accuracy.setting(kernel, total, len(split.y), _FINE)
    fit = solver.minimise(split.X, split.y, "hinge", total=total, slack=setting.slack)
    return accuracy.Model(kernel, setting, fit.predict, noise_margins)


def noise_margins(rows: sparse.csr_array, rng: np.random.Generator, draws: int) -> np.ndarray:
    """Return <xi, x> of every row, for some xi, standard Gaussian on the columns that the rows touch."""
    columns, place = np.unique(rows.indices, return_inverse=True)
    touched = sparse.csr_array((rows.data, place.ravel(), rows.indptr), shape=(rows.shape[0], len(columns)))
    return np.stack([touched @ rng.standard_normal(len(columns)) for _ in range(draws)])


def _libsvm(split: accuracy.Split, most: int, totals: Sequence[float]) -> list[float]:
    """Return the accuracy of LibSVM, whose bias is not regularised and has no guarantee (J8), at each n lambda."""
    # Loaded here: private cells need no scikit-learn.
    from sklearn.svm import SVC

    rows = min(most, len(split.y))
    near, kernel = split.X[:rows], kernels.linear()
    K, across = kernel(near, near), kernel(split.Q, near)
    found = []
    for total in totals:
        machine = SVC(C=len(split.y) / (rows * total), kernel="precomputed").fit(K, split.y[:rows])
        found.append(accuracy.agreement(machine.decision_function(across), split.target))
    return found
