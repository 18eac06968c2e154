"""The journal: a file that records what was spent and answered, so that no crash loses any of it.

Lines are only appended, and each is on disk before the call that writes it returns. The first line holds the terms
(budget, price, neighbours, ...) as JSON, a salt, and where it matters a salted digest of what is fitted. Every further
line holds one record, as JSON, and a checksum of itself and of all lines before it. If a crash cut a line off (it has
no line feed), the call that wrote it never returned, so nothing was answered on it, and the line is dropped. Any other
flaw raises `CorruptFile`, and so does an empty file: a journal gets its name only once its first line is on disk (a
crash before that leaves a file `*.new`, which nobody reads).

Any number of processes may share a journal, one at a time: whoever holds its lock first reads what others wrote. A
process that dies releases the lock, unless a process that it forked still has the file open; so a forked process closes
all journals that it inherits. If a thread that holds the lock asks for it again, through a copy on the same file, it is
refused, because it would wait for itself.

Some things cannot be detected. A file that was restored from a backup, or that lost whole lines at its end, looks like
an earlier state. A deleted file looks like none, so that the next journal has the whole budget again. The answers given
before still count: keep the file where nobody deletes or restores it. Keep it secret too: it holds answers, queries,
and a digest by which a guess of all records can be checked. A process that has the file open notices at its next turn
that it was deleted or replaced, and then refuses to go on.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import re
import secrets
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dperm.errors import CorruptFile, InvalidBudget
from dperm.mechanisms.stores.base import Store, line, lines, lost

_FORMAT = "dperm journal, version 2"
_BEFORE = "dperm prediction ledger, version 1"


class Journal(Store):
    """A journal as one process has it open; header: its first line, as `born` returns it."""

    def __init__(self, path: Path, header: bytes):
        super().__init__(path)
        self.path = path
        try:
            # Never makes a file, and writes at its end.
            self._file = io.FileIO(path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_APPEND))
        except FileNotFoundError:
            raise lost(path) from None
        if self._file.read(len(header)) != header:
            self._file.close()
            raise lost(path)
        self._at, self._checksum, self._lines = len(header), zlib.crc32(header), 1

    def lock(self) -> None:
        """Wait until nobody else has the lock, and take it; the file must still have its name."""
        status = os.fstat(self._file.fileno())
        self.hold(status.st_dev, status.st_ino)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            mine = os.path.samestat(status, self.path.stat())
        except FileNotFoundError:
            mine = False
        if not mine:
            raise lost(self.path)

    def unlock(self) -> None:
        """Let others have it."""
        if self.holds is None:
            return
        try:
            if not self._file.closed:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        finally:
            self.release()

    def news(self) -> list[list]:
        """Return the records that were written since one last looked, by others; needs the lock."""
        size = os.fstat(self._file.fileno()).st_size
        if size == self._at:
            return []
        content = os.pread(self._file.fileno(), max(0, size - self._at), self._at)
        whole, records, checksum, number = content.rfind(b"\n") + 1, [], self._checksum, self._lines
        for found in content[:whole].splitlines(keepends=True):
            number += 1
            records.append(self.record(found, checksum, f"line {number}"))
            checksum = zlib.crc32(found)
        if size < self._at:
            raise self.damaged("its end was cut off")
        rest = content[whole:]
        body = rest[:-1]
        if body and body == line(body[: body.rfind(b" ")], checksum)[:-1]:
            raise self.damaged(f"line {number + 1} is whole, but its line feed is damaged")
        if rest:
            os.ftruncate(self._file.fileno(), self._at + whole)
            os.fsync(self._file.fileno())
        self._at, self._checksum, self._lines = self._at + whole, checksum, number
        return records

    def append(self, records: Iterable[Sequence]) -> None:
        """Write records to disk; needs the lock. After an OSError nobody knows what was written."""
        written, checksum = lines(records, self._checksum)
        rest = memoryview(b"".join(written))
        while rest:
            rest = rest[self._file.write(rest) :]
        os.fsync(self._file.fileno())
        self._at, self._checksum = self._at + sum(map(len, written)), checksum
        self._lines += len(written)

    def close(self) -> None:
        """Have it open no more."""
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()
        self.release()


def born(path: Path, terms: Mapping[str, Any] | None, bound: bytes | None = None) -> bytes:
    """Return a journal's first line; one that exists must have these terms and be bound to the same fit."""
    if path.is_dir():
        raise CorruptFile(f"state={str(path)!r} is a folder; name a file in it")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        make(path, lambda new: _write(new, header(terms, bound)))
    with path.open("rb") as file:
        first = file.readline()
    if not first:
        raise CorruptFile(
            f"{path} is empty, which no journal is: what was spent is not known: take it as all; for a new budget name "
            "a file that does not exist"
        )
    same(path, first, terms, bound)
    return first


def header(terms: Mapping[str, Any] | None, bound: bytes | None) -> bytes:
    """Return the first line of a new journal."""
    if terms is None:
        raise CorruptFile(
            "there is no such ledger; name the one that a service answers from, or make it: dperm keys add NAME "
            "--model model.dperm --budget-db ..."
        )
    salt = secrets.token_hex(16)
    of = {} if bound is None else {"fitted": salted(salt, bound)}
    return (json.dumps({"format": _FORMAT, "salt": salt, **of, **terms}, sort_keys=True) + "\n").encode()


def salted(salt: str, content: bytes) -> str:
    """Return a digest that says nothing of the content to who has not the salt (salt: of hexadecimal digits)."""
    return hashlib.blake2b(content, key=bytes.fromhex(salt), digest_size=32).hexdigest()


def make(path: Path, write: Callable[[Path], None]) -> None:
    """Give a file that `write` fills its name, and see both onto disk; it is its owner's alone."""
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        write(new)
        with new.open("rb") as file:
            os.fsync(file.fileno())
        # Unlike a renaming it never replaces a journal that someone else made meanwhile.
        with contextlib.suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _write(new: Path, content: bytes) -> None:
    new.write_bytes(content)


def same(where: Path | str, first: bytes, terms: Mapping[str, Any] | None, bound: bytes | None) -> None:
    """Refuse the first line of what is no journal, or one of other answers (terms None: of any)."""
    try:
        found = json.loads(first)
        known = found.get("format")
    except (ValueError, AttributeError):
        found, known = {}, None
    if known == _BEFORE:
        raise CorruptFile(
            f"{where} is the journal of an earlier dperm ({_BEFORE!r}): what it says was spent counts; name a new file "
            "and give it what is left of epsilon"
        )
    if known != _FORMAT or not first.endswith(b"\n"):
        raise CorruptFile(f"{where} is no journal of answers; name another file, or a new one")
    salt, fitted = found.get("salt"), found.get("fitted")
    if not (isinstance(salt, str) and re.fullmatch("[0-9a-f]{32}", salt)):
        raise CorruptFile(f"{where}: line 1 is damaged: it has no salt; what was spent is not known: take it as all")
    if terms is None:
        return
    wanted = json.loads(json.dumps(dict(terms)))
    named = (found.keys() | wanted.keys()) - {"format", "salt", "fitted"}
    other = {key for key in named if found.get(key) != wanted.get(key)}
    if other:
        shown = ", ".join(f"{key}={found.get(key)} there and {wanted.get(key)} here" for key in sorted(other))
        raise InvalidBudget(
            f"{where} is the journal of other answers: {shown}; ask for the same again, or name a new file and give it "
            "what is left of epsilon"
        )
    if fitted != (None if bound is None else salted(salt, bound)):
        raise InvalidBudget(
            f"{where} is the journal of another fit: of other records or parameters, or solved by another machine to "
            "other last digits; answers of both would tell the two apart: fit the same again, or name a new file and "
            "give it what is left of epsilon"
        )
