"""Queries of an interactive mechanism: each row's first answer, and noise that serves no two different queries.

A row that is asked again is found by its bytes and gets its first answer. Two answers with the same noise would reveal
the difference of two exact answers. So without a journal the noise of a query is a function of a secret and of all
queries up to this one. If the machine is put back to an earlier state (a snapshot), the same queries get the same
answers again, and from the first different query on the noise is independent. With a journal the noise comes from the
operating system, query by query.
"""

import dataclasses
import functools
import hashlib
import inspect
import itertools
import os
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random.bit_generator import ISpawnableSeedSequence
from scipy import sparse

from dperm.mechanisms.serving import Listener, Serving


class Noise:
    """Generators for the queries of one dialogue, one after another, from a secret that `rng` draws."""

    def __init__(self, rng: np.random.Generator):
        self._state = rng.bytes(32)

    def of(self, key: bytes) -> np.random.Generator:
        """Return the generator of the next query."""
        both = hashlib.blake2b(self._state + key).digest()
        # What seeds a generator is never part of what seeds the next.
        self._state, seed = both[:32], both[32:]
        return np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))


class _System(ISpawnableSeedSequence):
    """A seed that is other words of the operating system whenever it is read."""

    def generate_state(self, n_words, dtype=np.uint32):
        return np.frombuffer(os.urandom(n_words * np.dtype(dtype).itemsize), dtype=dtype)

    def spawn(self, n_children):
        return [self] * n_children


class Fresh:
    """Generators for queries, each from the operating system: no two processes share one."""

    _seed = _System()

    def of(self, key: bytes) -> np.random.Generator:
        """Return the generator of a query."""
        # The whole state is the system's; by way of `default_rng`, which hashes a seed first, it takes five times as
        # long.
        return np.random.Generator(np.random.PCG64(self._seed))


class Known(Listener):
    """First answers, each a number, of one fit; with a journal also those of others that fitted the same."""

    def __init__(self, serving: Serving, fit: bytes):
        self.serving, self._fit, self.answers = serving, serving.salted(fit), {}
        serving.listen(self)

    def keep(self, asked: Sequence[bytes], answers: Sequence[float]) -> None:
        """Keep answers before they are given; needs the turn."""
        if not answers:
            return
        told = list(zip(asked, answers, strict=True))
        if self.serving.path is not None:
            self.serving.write(["told", self._fit, [[key.hex(), value] for key, value in told]])
        self.answers.update(told)

    def forget(self) -> None:
        """Know no answer, before all are read anew."""
        self.answers.clear()

    def replay(self, records: list[list]) -> None:
        """Take in what others answered."""
        for kind, *said in records:
            if kind == "told" and said[0] == self._fit:
                self.answers.update((bytes.fromhex(key), value) for key, value in said[1])


def written(row: np.ndarray | sparse.csr_array) -> list:
    """Return one row as a journal can hold it, to the last bit (row (1, d))."""
    thin = sparse.csr_array(row, dtype=np.float64)
    columns, values = thin.indices.astype(np.int64), np.ascontiguousarray(thin.data)
    return [int(sparse.issparse(row)), thin.shape[1], columns.tobytes().hex(), values.tobytes().hex()]


def read(rows: Sequence[list]) -> np.ndarray | sparse.csr_array:
    """Return rows from what a journal holds of them: CSR if the first was."""
    columns = [np.frombuffer(bytes.fromhex(row[2]), dtype=np.int64) for row in rows]
    values = np.concatenate([np.frombuffer(bytes.fromhex(row[3]), dtype=np.float64) for row in rows])
    starts = np.cumsum([0, *map(len, columns)])
    thin = sparse.csr_array((values, np.concatenate(columns), starts), shape=(len(rows), rows[0][1]))
    return thin if rows[0][0] else thin.toarray()


def stacked(points: np.ndarray | sparse.csr_array | None, rows: np.ndarray | sparse.csr_array):
    """Return points and more of them, dense or CSR as the first were."""
    if points is None:
        return rows
    if sparse.issparse(points):
        return sparse.vstack([points, sparse.csr_array(rows)], format="csr")
    return np.vstack([points, rows.toarray() if sparse.issparse(rows) else rows])


def first_of(asked: Sequence[bytes], known: Container[bytes]) -> list[int]:
    """Return the places of queries that are not known, each at its first one."""
    first = {key: i for i, key in reversed(list(enumerate(asked))) if key not in known}
    return sorted(first.values())


def fitted(estimator: Any, *arrays: np.ndarray | sparse.csr_array) -> bytes:
    """Return what tells fits apart: arrays, and parameters but for those that name noise and journal."""
    parts = [type(estimator).__qualname__, *parameters(estimator), *map(_array, arrays)]
    return b"".join(hashlib.blake2b(part.encode()).digest() for part in parts)


def parameters(estimator: Any) -> list[str]:
    """Return a word for each parameter, the same in every process that has the same.

    - Raises ValueError: if there is none for a parameter and a journal would need it; public arguments alone decide.
    """
    given, words = estimator.get_params(deep=False), []
    for name in sorted(given):
        if name in ("state", "random_state"):
            continue
        try:
            words.append(f"{name}={_word(given[name])}")
        except TypeError as error:
            if given.get("state") is not None:
                raise ValueError(
                    f"state= with {name}: {error}, so no later process could tell whether it goes on with the same; "
                    "give a function of a module (def) or an object of the library, or leave state out"
                ) from None
            # Known in this process alone, which is where it is asked.
            words.append(f"{name}={given[name]!r}")
    return words


def _word(value: Any) -> str:
    """Return what names a parameter in every process, or raise TypeError."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if (isinstance(value, np.ndarray) and value.dtype != object) or sparse.issparse(value):
        return f"{kind}:{_array(value)}"
    if isinstance(value, (list, tuple, np.ndarray)):
        return f"{kind}[{', '.join(map(_word, value))}]"
    if isinstance(value, Mapping):
        return f"{kind}[{', '.join(sorted(f'{_word(key)}: {_word(held)}' for key, held in value.items()))}]"
    if isinstance(value, functools.partial):
        return f"{kind}[{_word(value.func)}, {_word(value.args)}, {_word(value.keywords)}]"
    if isinstance(value, type) or (inspect.isroutine(value) and not inspect.ismethod(value)):
        if "<" in value.__qualname__:
            raise TypeError(f"{value.__qualname__!r} is a function without a name of its own")
        return f"{value.__module__}.{value.__qualname__}"
    if dataclasses.is_dataclass(value):
        held = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return f"{kind}{_word(held)}"
    if hasattr(value, "get_params"):
        return f"{kind}{_word(value.get_params(deep=False))}"
    shown = repr(value)
    if re.search(r"\b0x[0-9a-fA-F]{4}", shown) and not isinstance(value, str | bytes):
        raise TypeError(f"an object of type {kind} shows its place in memory")
    return f"{kind}:{shown}"


def _array(array: np.ndarray | sparse.csr_array) -> str:
    """Return a digest of shape, type and entries."""
    if sparse.issparse(array):
        array = sparse.csr_array(array)
        dense = [array.data, array.indices, array.indptr]
    else:
        dense = [np.ascontiguousarray(array)]
    parts = [f"{part.dtype}{part.shape}".encode() + part.tobytes() for part in (*dense, np.array(array.shape))]
    return hashlib.blake2b(b"".join(hashlib.blake2b(part).digest() for part in parts)).hexdigest()


def keys(X: np.ndarray | sparse.csr_array) -> list[bytes]:
    """Return a digest of every row, the same for equal rows, dense or CSR (X (m, d))."""
    if sparse.issparse(X):
        X = sparse.csr_array(X, dtype=np.float64, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        columns, values, ends = X.indices.astype(np.int64), X.data, X.indptr
    else:
        X = np.asarray(X, dtype=np.float64)
        rows, columns = np.nonzero(X)
        values, ends = X[rows, columns], np.searchsorted(rows, np.arange(len(X) + 1))
    places, entries = columns.tobytes(), values.tobytes()
    parts = [slice(*pair) for pair in itertools.pairwise((8 * ends.astype(np.int64)).tolist())]
    return [hashlib.blake2b(places[row] + entries[row]).digest() for row in parts]
