r"""Random splits of a data set into rows to train on and to test on, each row of length one.

Every row gets a constant feature 1 where the set has none, and is divided by its own length: both look at one record
alone, so they change no neighbouring relation and cost no privacy. An own test file is pooled with the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from dperm_pipeline.experiments import Cell

_CONSTANT = "(constant)"


@dataclass(frozen=True)
class Split:
    """Rows with ||x|| = 1 and their labels, to train on and to test on."""

    X: np.ndarray
    y: np.ndarray
    Q: np.ndarray
    target: np.ndarray

    def error(self, predicted: np.ndarray) -> float:
        """Return the share of test rows whose label is another one; fewer predictions are of the first rows."""
        return float(np.mean(predicted != self.target[: len(predicted)]))


def splits(cell: Cell) -> Iterator[Split]:
    """Give the splits of a data set, by a stream that depends on it alone: every mechanism meets the same rows."""
    settings, dataset = cell.settings, cell.data
    rows = dataset.X.shape[0]
    tested = round(settings.test_share * rows)
    trained, held = min(rows - tested, settings.train_rows), min(tested, settings.test_rows)
    repeats = settings.small_repeats if trained < settings.small_rows else settings.repeats
    for repeat in range(repeats):
        order = cell.rng(cell.point["dataset"], "split", repeat).permutation(rows)
        test, train = order[:held], order[-trained:]
        parts = [_unit_rows(dataset.X[part], constant=_CONSTANT not in dataset.features) for part in (train, test)]
        labels = dataset.y.astype(int)
        yield Split(parts[0], labels[train], parts[1], labels[test])


def _unit_rows(X: np.ndarray | sparse.csr_array, *, constant: bool) -> np.ndarray:
    X = X.toarray() if sparse.issparse(X) else X
    X = np.column_stack([X, np.ones(len(X))]) if constant else X
    return X / np.linalg.norm(X, axis=1)[:, None]
