r"""Many small ridge classifiers at once: what the shards of `dperm_papers.dwork2018.realdata.experiment` vote with.

Shard k has s records (rows of length at most 1, labels -1 and +1) and the model

    w_k = argmin ||X_k w - y_k||^2 + ||w||^2,    vote 1[<w_k, x> > 0],

scikit-learn's RidgeClassifier(alpha=1, fit_intercept=False); a shard with one label is the constant of that label, as
in `dperm.mechanisms.prediction.shards`. All shards are solved in one batch: by w = (X'X + I)^{-1} X'y, or where s < p
by w = X'(XX' + I)^{-1} y.
"""

import numpy as np

# Entries of the stacked rows of one block of shards.
BLOCK = 4_000_000


def counts(X: np.ndarray, y: np.ndarray, shards: list[np.ndarray], queries: np.ndarray) -> np.ndarray:
    """Return how many shards vote for +1 at each query: y is -1 or +1, the shards of one size, as under replace-one."""
    index = np.stack(shards)
    r, size = index.shape
    found = np.zeros(len(queries), dtype=np.int64)
    block = max(1, BLOCK // (X.shape[1] * max(size, X.shape[1])))
    for start in range(0, r, block):
        part = index[start : start + block]
        labels = y[part]
        said = queries @ _weights(X[part], labels).T > 0
        single = (labels == labels[:, :1]).all(axis=1)
        said[:, single] = labels[single, 0] > 0
        found += said.sum(axis=1)
    return found


def _weights(rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return w_k of stacked shards: rows of shape (r, s, p), labels of shape (r, s)."""
    size, p = rows.shape[1:]
    turned = rows.transpose(0, 2, 1)
    if size < p:
        dual = np.linalg.solve(rows @ turned + np.eye(size), labels[..., None])
        return (turned @ dual)[..., 0]
    return np.linalg.solve(turned @ rows + np.eye(p), turned @ labels[..., None])[..., 0]
