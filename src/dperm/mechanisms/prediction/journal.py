"""A file that knows what was spent, whatever happens: lines that are only ever appended, each on disk before it counts.

The first line holds the terms (budget, price, neighbours, ...) as JSON; every further one what was spent so far, as
text, and a checksum of itself and of all lines before it. A line that a crash tore (no line feed at its end) was never
returned from, so nothing was answered on it: it is dropped. Any other flaw is a `CorruptFile`, an empty file too: a
journal gets its name with its first line already on disk (a crash before that leaves a file `*.new`, which nobody
reads).

What cannot be told: a file that was put back from a backup, or whose last lines were cut off whole, is an earlier
state, and one that was deleted is none, so that the next ledger has the whole budget again. The answers given before
still count: keep the file where nobody does either. A ledger whose file is deleted or replaced while it is open notices
at its next line, and goes on no more.
"""

import contextlib
import fcntl
import io
import json
import os
import secrets
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.errors import CorruptFile, InvalidBudget, ReleaseError

_FORMAT = "dperm prediction ledger, version 1"


class Journal:
    """One open journal; nobody else can open it until it is closed or this process ends.

    Parameters
    ----------
    path : path-like
        Made, with its folder, if it does not exist: then nothing was spent.
    terms : dict
        What is being spent; those of an existing journal must be the same.

    Attributes
    ----------
    spent : str
        The last line's text; empty if there is none.

    Raises
    ------
    InvalidBudget
        If the journal is one of other terms; the message names both.
    CorruptFile
        If it is no journal, or was damaged or emptied.
    ReleaseError
        If another ledger has it open.
    """

    def __init__(self, path: str | Path, terms: Mapping[str, Any]):
        self.path = Path(path)
        header = (json.dumps({"format": _FORMAT, **terms}, sort_keys=True) + "\n").encode("ascii")
        if self.path.is_dir():
            raise CorruptFile(f"state={str(path)!r} is a folder; name a file in it")
        if not self.path.exists():
            _make(self.path.resolve(), header)
        # Never makes a file, and writes at its end.
        self._file = io.FileIO(self.path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_APPEND))
        self._owner = os.getpid()
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._file.close()
            raise ReleaseError(
                f"{self.path} is spent from by another ledger, in this process or another: two would answer twice on "
                "one budget; close that one, or give each its own file and its own share of epsilon"
            ) from error
        try:
            self.spent = self._replay(header)
        except BaseException:
            self._file.close()
            raise

    def append(self, text: str) -> None:
        """Write a line; when this returns, it is on disk.

        Parameters
        ----------
        text : str
            Without a line feed.

        Raises
        ------
        ReleaseError
            If the journal was closed, is that of the process that this one was forked from, or has lost its file.
        OSError
            If the disk refuses; the journal is then closed, for nobody knows what was written.
        """
        if self._file.closed:
            raise ReleaseError(f"the ledger of {self.path} was closed; open it anew")
        if os.getpid() != self._owner:
            raise ReleaseError(
                f"{self.path} is spent from by the process that this one was forked from: two would answer twice on "
                "one budget; answer in that one"
            )
        if not self._in_place():
            self._file.close()
            raise ReleaseError(
                f"{self.path} was deleted or replaced while it was spent from: another ledger may answer on the same "
                "budget; nothing more is answered by this one"
            )
        line = _line(text, self._checksum)
        self._write(line)
        self._checksum, self.spent = zlib.crc32(line), text

    @property
    def closed(self) -> bool:
        """Whether nothing can be appended any more."""
        return self._file.closed

    def close(self) -> None:
        """Let others open it."""
        self._file.close()

    def __del__(self):
        file = getattr(self, "_file", None)
        if file is not None:
            file.close()

    def _in_place(self) -> bool:
        """Whether the name still is that of the file which is open."""
        try:
            return os.path.samestat(os.fstat(self._file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def _write(self, line: bytes) -> None:
        try:
            rest = memoryview(line)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except BaseException:
            self._file.close()
            raise

    def _replay(self, header: bytes) -> str:
        """Check every line, drop a torn one, and return the last one's text."""
        self._file.seek(0)
        content = self._file.read()
        if not content:
            raise CorruptFile(
                f"{self.path} is empty, which no journal is: what was spent is not known: take it as all; for a new "
                "budget name a file that does not exist"
            )
        whole = content.rfind(b"\n") + 1
        first, *rest = content[:whole].splitlines(keepends=True) or [b""]
        _same_terms(self.path, first, header)
        self._checksum, spent = zlib.crc32(first), ""
        for number, line in enumerate(rest, 2):
            text = line[: line.rfind(b" ")].decode("ascii", "replace")
            if line != _line(text, self._checksum):
                raise CorruptFile(f"{self.path}: line {number} is damaged; what was spent is not known: take it as all")
            self._checksum, spent = zlib.crc32(line), text
        if whole < len(content):
            self._file.truncate(whole)
            os.fsync(self._file.fileno())
        return spent


def _make(path: Path, header: bytes) -> None:
    """Give a file with the first line its name, and see both onto disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.{secrets.token_hex(8)}.new")
    try:
        with new.open("xb") as file:
            file.write(header)
            file.flush()
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


def _line(text: str, before: int) -> bytes:
    return f"{text} {zlib.crc32(text.encode('ascii', 'replace'), before):08x}\n".encode("ascii", "replace")


def _same_terms(path: Path, first: bytes, header: bytes) -> None:
    try:
        found = json.loads(first)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise CorruptFile(f"{path} is no journal of a ledger; name another file, or a new one")
    wanted = json.loads(header)
    other = {key for key in found.keys() | wanted.keys() if found.get(key) != wanted.get(key)}
    if other:
        shown = ", ".join(f"{key}={found.get(key)} there and {wanted.get(key)} here" for key in sorted(other))
        raise InvalidBudget(
            f"{path} is the journal of other answers: {shown}; ask for the same again, or name a new file and give it "
            "what is left of epsilon"
        )
