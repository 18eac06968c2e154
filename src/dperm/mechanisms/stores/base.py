"""What every store of records has: five verbs, lines with a chain of checksums, and who holds or awaits its lock."""

import json
import os
import threading
import weakref
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path

from dperm.errors import CorruptFile, ReleaseError

# One for all: `json.dumps` makes an encoder each time.
_encode = json.JSONEncoder(separators=(",", ":")).encode

# All that this process has open, and who holds or awaits a lock: what names it, and a thread.
_OPEN: "weakref.WeakSet[Store]" = weakref.WeakSet()
_HELD: set[tuple] = set()


def _begin_in_child() -> None:
    _HELD.clear()
    for store in list(_OPEN):
        store.inherited()


os.register_at_fork(after_in_child=_begin_in_child)


class Store(ABC):
    """An append-only list of records as one process has it open.

    - where: path or URL.
    - holds: the lock that is held or awaited, if any.
    """

    def __init__(self, where: Path | str):
        self.where, self.holds = where, None
        _OPEN.add(self)

    @abstractmethod
    def lock(self) -> None:
        """Wait until nobody else has the lock, and take it; it must still be the same store."""

    @abstractmethod
    def news(self) -> list[list]:
        """Return the records that were written since one last looked, by others; needs the lock."""

    @abstractmethod
    def append(self, records: Iterable[Sequence]) -> None:
        """Write records to disk; needs the lock. After an OSError nobody knows what was written."""

    @abstractmethod
    def unlock(self) -> None:
        """Let others have it."""

    @abstractmethod
    def close(self) -> None:
        """Have it open no more."""

    def inherited(self) -> None:
        """Close what a process that was just forked has of its parent's, and leave that one's lock alone."""
        self.close()

    def damaged(self, what: str) -> CorruptFile:
        """Return the error for a record that is not as it should be."""
        return CorruptFile(f"{self.where}: {what}; what was spent is not known: take it as all")

    def record(self, found: bytes, before: int, name: str) -> list:
        """Return the record of a line (before: the checksum of all before it)."""
        text = found[: found.rfind(b" ")]
        if found != line(text, before):
            raise self.damaged(f"{name} is damaged")
        try:
            return json.loads(text)
        except ValueError:
            raise self.damaged(f"{name} is no record") from None

    def hold(self, *what: object) -> None:
        """Note what this thread is about to wait for, and refuse what it has itself."""
        holder = (*what, threading.get_ident())
        if holder in _HELD:
            raise ReleaseError("a query was asked from inside the code that answers another query; ask again later")
        # In this order: whatever interrupts here, `close` forgets what is held.
        self.holds = holder
        _HELD.add(holder)

    def release(self) -> None:
        """Forget what is held."""
        _HELD.discard(self.holds)
        self.holds = None

    def __del__(self):
        self.close()


def line(text: bytes, before: int) -> bytes:
    """Return a line: a record, and the checksum of it and of all before it."""
    return b"%s %08x\n" % (text, zlib.crc32(text, before))


def lines(records: Iterable[Sequence], checksum: int) -> tuple[list[bytes], int]:
    """Return the lines of records that follow a checksum, and the checksum after them."""
    written = []
    for record in records:
        written.append(line(_encode(record).encode("ascii"), checksum))
        checksum = zlib.crc32(written[-1])
    return written, checksum


def lost(where: Path | str) -> ReleaseError:
    """Return the error for a store that is not there any more."""
    return ReleaseError(
        f"{where} was deleted or replaced while it was spent from: others may answer on the same budget; nothing more "
        "is answered here"
    )
