"""Rows in the format of SVMlight and LIBSVM, read as a stream: in bounded memory, however long the file.

A line is `label index:value index:value ... # comment`, indices 1 and above, ascending. The file is unpacked as it is
read (gzip, bzip2, a tar with several), block by block. *Every* line is checked, kept or not; of each split the entry
may ask for a uniform sample without replacement, drawn in one pass (Vitter 1985, Algorithm R): row t = 1, 2, ... enters
slot t if t <= k, and else slot J, uniform on 1..t, if J <= k. Memory holds one block, its numbers, and k rows.

Public hashing to d columns, where the entry asks for it: index i goes to column h(i) mod d, h the finaliser of
splitmix64; the values of indices that meet add up. h is fixed, looks at no data, and treats each row by itself.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp

from dperm import seeds
from dperm.compiled import compiled
from dperm.errors import CorruptFile, DataError
from dperm_pipeline.datasets.compressed import streams
from dperm_pipeline.datasets.encode import Raw
from dperm_pipeline.datasets.overlap import splitmix64

# What ends the name of a member of a tar that holds rows.
_MEMBER = ".svm"
# Bytes read at once, and the longest line.
BLOCK, LONGEST_LINE = 2**20, 2**26
_SPLITS = ("train", "test")
# The powers of ten that are doubles.
_TENS = np.array([float(f"1e{power}") for power in range(23)])
_NO_LABEL, _NO_PAIR, _OUTSIDE, _ORDER, _FINE = 1, 2, 3, 4, 0
_MISTAKES = {
    _NO_LABEL: "does not begin with a number, the label",
    _NO_PAIR: "holds a field that is not index:value, a whole and a finite number",
    _OUTSIDE: "holds an index outside 1..{columns}, the declared space (columns in config/datasets.yaml)",
    _ORDER: "holds indices that do not ascend",
}


def parse(entry: Mapping[str, Any], folder: Path) -> Raw:
    """Read the rows of an entry in the order of the source, all of them or a sample.

    Of the entry are read `files` (the first is `train`, a second one `test`), `columns` (the largest index),
    `hash_to` (columns after public hashing), `sample` (`seed`, and how many rows of `train` and `test`),
    `source_rows` (how many rows each split must hold). DataError if a line is malformed or an index lies outside
    the space (file and number of the line, never a value), or a split holds another number of rows than expected,
    or fewer than the sample; CorruptFile if a file is cut or damaged.
    """
    columns, asked = entry["columns"], entry.get("sample", {})
    samples = []
    for split, file in zip(_SPLITS, entry["files"], strict=False):
        size = asked.get(split)
        rng = None if size is None else seeds.generator(asked["seed"], "reservoir", split)
        sample = _Sample(size, rng)
        try:
            _read_into(sample, entry["name"], folder / file, columns)
        except CorruptFile as error:
            raise CorruptFile(
                f"{entry['name']}: {error}; delete {folder / file} (in the pipeline also {folder}.json and, if its "
                f"checksum was trusted on first use, its record in resources/trusted) and fetch it again"
            ) from None
        _check_rows(entry, split, file, sample)
        samples.append(sample)
    labels, indptr, indices, values = _joined(samples)
    if "hash_to" in entry:
        columns = entry["hash_to"]
        indices = (splitmix64(indices.astype(np.uint64)) % np.uint64(columns)).astype(np.int64)
    else:
        indices = indices - 1
    X = sp.csr_array((values, indices, indptr), shape=(len(labels), columns))
    X.sum_duplicates()
    X.eliminate_zeros()
    split = np.repeat(_SPLITS[: len(samples)], [len(sample.rows) for sample in samples])
    return Raw(columns={entry["target"]["column"]: labels}, split=split, matrix=X)


class _Sample:
    """A uniform sample without replacement of the rows of a stream (Algorithm R), or all of them if `size` is None."""

    def __init__(self, size: int | None, rng: np.random.Generator | None):
        self.size, self.rng = size, rng
        # Rows that went by, kept or not.
        self.seen = 0
        # Slot -> (number of the row in the stream, its label, indices and values).
        self.rows: dict[int, tuple[int, float, np.ndarray, np.ndarray]] = {}

    def add(self, labels: np.ndarray, indptr: np.ndarray, indices: np.ndarray, values: np.ndarray) -> None:
        """Take the next rows of the stream."""
        slots = self._slots(len(labels))
        chosen = range(len(labels)) if self.size is None else np.flatnonzero(slots < self.size)
        for i in chosen:
            part = slice(indptr[i], indptr[i + 1])
            # Copies: a view would keep the whole block in memory.
            self.rows[slots[i]] = (self.seen + int(i), labels[i], indices[part].copy(), values[part].copy())
        self.seen += len(labels)

    def _slots(self, count: int) -> np.ndarray:
        """Return the slot of each of the next rows; those whose slot is `size` or above are passed over."""
        if self.size is None:
            return np.arange(self.seen, self.seen + count)
        t = np.arange(self.seen + 1, self.seen + count + 1)
        drawn = np.floor(self.rng.random(count) * t).astype(np.int64)
        return np.where(t <= self.size, t - 1, drawn)


def _read_into(sample: _Sample, name: str, path: Path, columns: int) -> None:
    for source, file in streams(path, _MEMBER):
        line = 0
        for block in _blocks(file, f"{name}: {source}"):
            rows, wrong, why = _numbers(block, columns)
            if why != _FINE:
                mistake = _MISTAKES[why].format(columns=columns)
                raise DataError(
                    f"{name}: {source}, line {line + wrong + 1} {mistake}; every line must be label index:value ... "
                    "with ascending indices: mend the file, or fetch it again"
                )
            sample.add(*rows)
            line += int((block == ord("\n")).sum())


def _blocks(file: IO[bytes], source: str) -> Iterator[np.ndarray]:
    """Yield whole lines, about `BLOCK` bytes at a time, each with its line end."""
    rest, lines = b"", 0
    while chunk := file.read(BLOCK):
        text = rest + chunk
        end = text.rfind(b"\n") + 1
        if end:
            lines += text.count(b"\n")
            yield np.frombuffer(text, dtype=np.uint8, count=end)
        rest = text[end:]
        if len(rest) > LONGEST_LINE:
            raise DataError(f"{source}, line {lines + 1} has more than {LONGEST_LINE} bytes; this is no list of rows")
    if rest:
        yield np.frombuffer(rest + b"\n", dtype=np.uint8)


def _numbers(text: np.ndarray, columns: int) -> tuple[tuple[np.ndarray, ...], int, int]:
    """Return labels, indptr, indices and values of a block, the first wrong line (from 0), and what is wrong there."""
    rows, entries = int((text == ord("\n")).sum()), int((text == ord(":")).sum())
    labels, indptr = np.empty(rows), np.zeros(rows + 1, dtype=np.int64)
    indices, values = np.empty(entries, dtype=np.int64), np.empty(entries)
    # Numbers that Python must read: where they go (values, then labels), the ends of their text, and their line.
    hard = np.empty((rows + entries, 4), dtype=np.int64)
    n, m, wrong, why = _scan(text, columns, labels, indptr, indices, values, hard)
    if why == _FINE:
        for place, start, stop, line in hard[:m]:
            read = float(text[start:stop].tobytes())
            if not math.isfinite(read):
                return (), int(line), _NO_LABEL if place >= entries else _NO_PAIR
            if place >= entries:
                labels[place - entries] = read
            else:
                values[place] = read
    used = indptr[n]
    return (labels[:n], indptr[: n + 1], indices[:used], values[:used]), wrong, why


@compiled
def _scan(text, columns, labels, indptr, indices, values, hard):
    """Fill the arrays; return the number of rows and of hard numbers, the wrong line, and what is wrong with it."""
    n, m, used, line, at, size = 0, 0, 0, 0, 0, len(text)
    entries = len(values)
    while at < size:
        at = _past_blanks(text, at)
        if _line_ends(text, at):
            at = _next_line(text, at)
            line += 1
            continue
        # The label.
        start = at
        at, value, how = _number(text, at)
        if how == 0 or not _field_ends(text, at):
            return n, m, line, _NO_LABEL
        if how == 2:
            hard[m] = entries + n, start, at, line
            m += 1
        labels[n] = value
        # The pairs index:value, up to the end of the line.
        before = 0
        at = _past_blanks(text, at)
        while not _line_ends(text, at):
            index, digits = 0, 0
            while 48 <= text[at] <= 57 and digits < 18:
                index = index * 10 + (text[at] - 48)
                digits += 1
                at += 1
            if digits == 0 or text[at] != 58:
                return n, m, line, _NO_PAIR
            if index < 1 or index > columns:
                return n, m, line, _OUTSIDE
            if index <= before:
                return n, m, line, _ORDER
            before = index
            at += 1
            start = at
            at, value, how = _number(text, at)
            if how == 0 or not _field_ends(text, at):
                return n, m, line, _NO_PAIR
            if how == 2:
                hard[m] = used, start, at, line
                m += 1
            indices[used] = index
            values[used] = value
            used += 1
            at = _past_blanks(text, at)
        n += 1
        indptr[n] = used
        at = _next_line(text, at)
        line += 1
    return n, m, line, _FINE


@compiled
def _number(text, at):
    """Return where a decimal number ends, its value, and how it was read: 0 it is none, 1 exact, 2 Python must read it.

    A whole mantissa below 2^53 times or over a power of ten below 10^23 is one rounding of two exact doubles.
    """
    negative = text[at] == 45
    if text[at] == 43 or text[at] == 45:
        at += 1
    # Up to 17 digits are read exactly; `whole` says whether that were all.
    mantissa, digits, some, exponent, whole = 0, 0, False, 0, True
    point = False
    while True:
        c = text[at]
        if c == 46 and not point:
            point = True
        elif 48 <= c <= 57:
            some = True
            if digits < 17:
                mantissa = mantissa * 10 + (c - 48)
                if mantissa > 0:
                    digits += 1
                if point:
                    exponent -= 1
            else:
                whole = False
        else:
            break
        at += 1
    if not some:
        return at, 0.0, 0
    if text[at] == 101 or text[at] == 69:
        at += 1
        down = text[at] == 45
        if text[at] == 43 or text[at] == 45:
            at += 1
        if not 48 <= text[at] <= 57:
            return at, 0.0, 0
        power = 0
        while 48 <= text[at] <= 57:
            if power < 100000:
                power = power * 10 + (text[at] - 48)
            at += 1
        exponent += -power if down else power
    if not whole or mantissa > 9007199254740992 or exponent > 22 or exponent < -22:
        return at, 0.0, 2
    value = float(mantissa)
    if exponent >= 0:
        value *= _TENS[exponent]
    else:
        value /= _TENS[-exponent]
    return at, -value if negative else value, 1


@compiled
def _past_blanks(text, at):
    while text[at] == 32 or text[at] == 9:
        at += 1
    return at


@compiled
def _line_ends(text, at):
    """At a line end (`\\n`, or `\\r\\n`), or where a comment begins."""
    return text[at] == 10 or text[at] == 35 or (text[at] == 13 and text[at + 1] == 10)


@compiled
def _field_ends(text, at):
    return text[at] == 32 or text[at] == 9 or _line_ends(text, at)


@compiled
def _next_line(text, at):
    while text[at] != 10:
        at += 1
    return at + 1


def _joined(samples: list[_Sample]) -> tuple[np.ndarray, ...]:
    """Return labels, indptr, indices and values of all splits, each in the order of its source."""
    rows = [row for sample in samples for row in sorted(sample.rows.values(), key=lambda row: row[0])]
    labels = np.array([label for _, label, _, _ in rows])
    indptr = np.concatenate([[0], np.cumsum([len(indices) for _, _, indices, _ in rows])]).astype(np.int64)
    indices = np.concatenate([np.empty(0, dtype=np.int64), *(indices for _, _, indices, _ in rows)])
    values = np.concatenate([np.empty(0), *(values for _, _, _, values in rows)])
    return labels, indptr, indices, values


def _check_rows(entry: Mapping[str, Any], split: str, file: str, sample: _Sample) -> None:
    expected = entry.get("source_rows", {}).get(split)
    if expected not in (None, sample.seen):
        raise DataError(
            f"{entry['name']}: {file} holds {sample.seen} rows instead of the {expected} that source_rows.{split} in "
            "config/datasets.yaml expects; the source changed, or was cut"
        )
    least = sample.size or 1
    if sample.seen < least:
        raise DataError(f"{entry['name']}: {file} holds {sample.seen} rows; sample.{split} asks for {least}")
