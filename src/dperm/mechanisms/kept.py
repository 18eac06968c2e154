"""What a dialogue keeps: first answers, found again by the bytes of a row, and noise that no copy replays.

Two copies of a dialogue (pickle, deepcopy, a fork) that drew the same noise for different queries would tell the
difference of two exact answers. So the noise of a query is a function of a secret and of all queries up to this one:
copies that are asked alike answer alike, and from the first query in which they differ their noise is independent.
"""

import hashlib
import itertools

import numpy as np
from scipy import sparse


class Noise:
    """Generators for the queries of one dialogue, one after another.

    Parameters
    ----------
    rng : Generator
        The secret is drawn from it.
    """

    def __init__(self, rng: np.random.Generator):
        self._state = rng.bytes(32)

    def of(self, key: bytes) -> np.random.Generator:
        """Return the generator of the next query.

        Parameters
        ----------
        key : bytes
            Of the query, as `keys` makes it.

        Returns
        -------
        Generator
        """
        both = hashlib.blake2b(self._state + key).digest()
        # What seeds a generator is never part of what seeds the next.
        self._state, seed = both[:32], both[32:]
        return np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))


def keys(X: np.ndarray | sparse.csr_array) -> list[bytes]:
    """Return a digest of every row, the same for equal rows, dense or CSR.

    Parameters
    ----------
    X : ndarray or CSR, shape (m, d)

    Returns
    -------
    list of bytes
    """
    X = sparse.csr_array(X, dtype=np.float64, copy=True)
    X.sum_duplicates()
    X.eliminate_zeros()
    columns = X.indices.astype(np.int64)
    parts = (slice(*ends) for ends in itertools.pairwise(X.indptr))
    return [hashlib.blake2b(columns[row].tobytes() + X.data[row].tobytes()).digest() for row in parts]
