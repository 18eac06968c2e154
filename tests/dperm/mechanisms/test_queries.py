"""How a row is found again: the same digest for the same row, however it is stored."""

import hashlib
import os

import numpy as np
from scipy import sparse

from dperm.mechanisms import queries


def digest(row):
    """Of the entries that are not 0: their columns, then their values."""
    there = [k for k, value in enumerate(row) if value != 0]
    return hashlib.blake2b(np.array(there, np.int64).tobytes() + np.array(row, float)[there].tobytes()).digest()


def test_rows_have_one_digest_dense_or_sparse():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5)) < 0.4, 0.0, rng.normal(size=(40, 5)))
    X[:3] = [-0.0] * 5, [0.0, np.nan, 0.0, np.inf, -0.0], [1.0, 2.0, 3.0, 4.0, 5.0]
    expected = [digest(row) for row in X.tolist()]
    assert queries.keys(X) == queries.keys(np.asfortranarray(X)) == queries.keys(sparse.csr_array(X)) == expected
    assert queries.keys(X[2:3].astype(int)) == expected[2:3] and queries.keys(X[:0]) == []
    # Entries out of order, one in two parts, and a 0 that is stored.
    odd = sparse.csr_array(([2.0, 0.0, 0.5, 0.5], [3, 1, 0, 0], [0, 4]), shape=(1, 5))
    assert queries.keys(odd) == [digest([1.0, 0.0, 0.0, 2.0, 0.0])]


def test_fresh_noise_is_other_noise_at_each_query_and_in_each_process():
    fresh = queries.Fresh()
    drawn = [fresh.of(b"the same key").random() for _ in range(100)]
    reading, writing = os.pipe()
    if not (child := os.fork()):
        os.write(writing, fresh.of(b"the same key").bytes(32))
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 32) != fresh.of(b"the same key").bytes(32)
    # Uniform numbers of 53 bits: that two of 103 are equal has a chance below 1e-12.
    drawn += [one.random() for one in fresh.of(b"").spawn(3)]
    assert len(set(drawn)) == 103
    # 32 bytes of state: PCG64's own 128 bits, and those of its increment.
    states = [fresh.of(b"").bit_generator.state["state"] for _ in range(2)]
    assert states[0]["state"] != states[1]["state"] and states[0]["inc"] != states[1]["inc"]
