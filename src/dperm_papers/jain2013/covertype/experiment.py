r"""Accuracy on Covertype with the cubic kernel (jain2013, Section 7, Figure 2a).

K(x, v) = (<x, v> + 1)^3 on rows of length 1, so R^2 = 8; the support vector machine without a bias (erratum J8), solved
to a certified slack (J9), at two penalties:

    C     LibSVM's C = 0.001, as printed: total = n lambda = 1/C = 1,000
    nC    the paper's n C = 0.001 x 500,000 = 500 on the rows at hand: total = n/500

At 500,000 rows both are total = 1,000: one fit and one draw of the noise, measured once, under the name C.

On a subsample the first gives every mechanism the noise of the paper's run, which hangs on total alone, but regularises
harder; the second regularises as the paper's run did, with more noise. Methods:
`dperm_papers.jain2013.shared.accuracy`.

Without privacy: `svm`, `libsvm` (LibSVM with its unregularised bias, on `libsvm_rows` of the training rows and
`libsvm_splits` splits, at the same n C: it needs minutes for all) and `majority`.

The paper does not print how it scaled the features. So the machine and the private methods run under every other
scaling too (column `scaling`; `scaling_splits` splits, T = `public_points`, C = 0.001, with the R of that scaling).
`z-score+unit` takes mean and standard deviation of all rows: under it every guarantee is `none`, and `reason` says so.
"""

import functools
from collections.abc import Iterator

import numpy as np

from dperm import kernels
from dperm.solvers import cubic
from dperm_papers.jain2013.shared import accuracy
from dperm_pipeline.datasets import scaling
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

# The printed C, and its product with the printed 500,000 training rows.
_C, _PRINTED_ROWS = 0.001, 500_000
# Slack over Delta_w: a twentieth, and a quarter from this many rows on (the catalogue's defaults).
_FINE, _COARSE, _MANY = 1 / 20, 1 / 4, 400_000
# Test rows at a time in the explicit map: hundreds of monomials each.
_BLOCK = 10_000


def totals(n: int) -> dict[str, float]:
    """Return n lambda by penalty, for n training rows."""
    return {"C": 1 / _C, "nC": n / (_C * _PRINTED_ROWS)}


def baseline(cell: Cell, rows: Rows) -> None:
    """Measure LibSVM and the majority."""
    settings, rows = cell.settings, accuracy.without_privacy(rows).at(penalty="C")
    values = [accuracy.majority(split) for split in accuracy.splits(cell, cell.data, settings.repeats)]
    rows = rows.at(scaling="", reason="")
    rows.add("accuracy", values, variant="majority", total=0.0)
    some = accuracy.splits(cell, cell.data, settings.libsvm_splits)
    values = [_libsvm(split, settings.libsvm_rows) for split in some]
    rows.add("accuracy", values, variant="libsvm", total=1 / _C)


def run(cell: Cell, rows: Rows) -> None:
    """Measure the machine itself and every private method: in full as stored, at one T under the other scalings."""
    settings = cell.settings
    accuracy.measure(cell, rows.at(scaling=scaling.STORED, reason=""), fits_by_penalty)
    for name in (name for name in scaling.SCALINGS if name != scaling.STORED):
        scaled = scaling.rescale(cell.data, name)
        fits = functools.partial(_fits_as_printed, x_norm=scaled.bounds.x_norm)
        reason = scaling.looks(name)
        some = accuracy.Part(scaled, settings.scaling_splits, [settings.public_points], reason)
        accuracy.measure(cell, rows.at(scaling=name, reason=reason), fits, some)


def fits_by_penalty(split: accuracy.Split) -> Iterator[tuple[str, accuracy.Model]]:
    """Give a fit for each penalty; one, under the first name, where both have the same total."""
    known: set[float] = set()
    for penalty, total in totals(len(split.y)).items():
        if total not in known:
            known.add(total)
            yield penalty, fit_machine(split, total)


def _fits_as_printed(split: accuracy.Split, x_norm: float) -> Iterator[tuple[str, accuracy.Model]]:
    yield "C", fit_machine(split, 1 / _C, x_norm)


def fit_machine(split: accuracy.Split, total: float, x_norm: float = 1.0) -> accuracy.Model:
    """Fit the machine, to the public slack."""
    kernel = kernels.polynomial(x_norm=x_norm)
    setting = accuracy.setting(kernel, total, len(split.y), _FINE if len(split.y) < _MANY else _COARSE)
    fit = cubic.minimise(split.X, split.y, total=total, slack=setting.slack, x_norm=x_norm)
    return accuracy.Model(kernel, setting, fit.predict, cubic.gaussian_predictions)


def _libsvm(split: accuracy.Split, most: int) -> float:
    """Return the accuracy of LibSVM, whose bias is not regularised: of no guarantee (erratum J8)."""
    # Loaded here: private cells need no scikit-learn.
    from sklearn.svm import SVC

    rows = min(most, len(split.y))
    machine = SVC(C=_C * len(split.y) / rows, kernel="poly", degree=3, gamma=1.0, coef0=1.0, cache_size=500)
    machine.fit(split.X[:rows], split.y[:rows])
    # LibSVM's own sum over its vectors takes ten times as long as one product in the explicit map.
    w = kernels.monomials(machine.support_vectors_).T @ machine.dual_coef_.toarray()[0]
    blocks = (split.Q[low : low + _BLOCK] for low in range(0, split.Q.shape[0], _BLOCK))
    decisions = np.concatenate([kernels.monomials(block) @ w for block in blocks]) + machine.intercept_
    return accuracy.agreement(decisions, split.target)
