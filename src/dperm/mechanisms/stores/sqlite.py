"""A ledger in SQLite: write-ahead log, synchronous=FULL, so that a commit is on disk when it returns.

The turn is a lock (flock) on a file beside it, `<ledger>-turn`: whoever waits is woken at once, where SQLite's own lock
is polled. Should two hold it all the same (another lock file was put there), the number of a row is its primary key:
the second to write fails, and answers nothing. A ledger that is deleted leaves the lock file behind, by which no new
one is made in its place.

SQLite's connections do not survive a fork, not even to be closed: so those of a process are closed before it forks, and
opened again when they are needed.
"""

import contextlib
import fcntl
import io
import os
import sqlite3
import threading
import weakref
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from dperm.errors import CorruptFile
from dperm.mechanisms.journal import header, make
from dperm.mechanisms.stores import rows, witness
from dperm.mechanisms.stores.base import lost

T = TypeVar("T")
_WAIT = 60.0

# Held while SQLite works, and during a fork.
_WORKS = threading.RLock()
_OPEN: "weakref.WeakSet[Ledger]" = weakref.WeakSet()


def _before_fork() -> None:
    _WORKS.acquire()
    for ledger in list(_OPEN):
        ledger.disconnect()


os.register_at_fork(before=_before_fork, after_in_parent=_WORKS.release, after_in_child=_WORKS.release)


class Ledger(rows.Rows):
    """A ledger in SQLite as one process has it open."""

    def __init__(self, where: str, header: bytes):
        super().__init__(where, header)
        self._path, self._connection = _path(where), None
        self._turn = io.FileIO(_turn(self._path), "a+", opener=lambda name, flags: os.open(name, flags, 0o600))
        self._is = self._status()
        _OPEN.add(self)

    def _status(self) -> os.stat_result:
        try:
            return self._path.stat()
        except FileNotFoundError:
            raise lost(self.where) from None

    def lock(self) -> None:
        """Wait until nobody else has the lock, and take it; both files must still have their names."""
        status = os.fstat(self._turn.fileno())
        self.hold(status.st_dev, status.st_ino)
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            same = os.path.samestat(status, _turn(self._path).stat())
        except FileNotFoundError:
            same = False
        if not (same and os.path.samestat(self._is, self._status())):
            raise lost(self.where)

    def unlock(self) -> None:
        """Let others have it."""
        if self.holds is None:
            return
        try:
            if not self._turn.closed:
                fcntl.flock(self._turn, fcntl.LOCK_UN)
        finally:
            self.release()

    def _select(self, number: int) -> list[tuple[int, bytes]]:
        what = "SELECT number, line FROM dperm_ledger WHERE number = 1 OR number >= ? ORDER BY number"
        return self._do(lambda connection: connection.execute(what, (number,)).fetchall())

    def _insert(self, rows: list[tuple[int, str]]) -> None:
        self._do(lambda connection: _inserted(connection, rows))

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with _WORKS, _told(self.where):
            if self._connection is None:
                self._connection = _connected(self._path)
            return work(self._connection)

    def disconnect(self) -> None:
        """Close the connection, which is opened again when it is needed."""
        with _WORKS:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def close(self) -> None:
        """Have it open no more."""
        # What raised on being made has less.
        if getattr(self, "_connection", None) is not None:
            self.disconnect()
        turn = getattr(self, "_turn", None)
        if turn is not None:
            turn.close()
        self.release()


def born(where: str, terms: Mapping[str, Any] | None, bound: bytes | None = None) -> bytes:
    """Return the header; of a ledger that exists it must have these terms and be bound to the same fit."""
    path = _path(where)
    if path.is_dir() or not path.parent.is_dir():
        wrong = "is a folder" if path.is_dir() else f"has no folder {path.parent}; an absolute path has four slashes"
        raise CorruptFile(f"{where} {wrong}; name a file in a folder that exists")
    if not path.exists():
        with _alone(path.parent):
            if not path.exists():
                _bear(where, path, header(terms, bound))
    with _WORKS, _told(where), contextlib.closing(_connected(path)) as connection:
        row = connection.execute("SELECT line FROM dperm_ledger WHERE number = 1").fetchone()
    return rows.first(where, row, terms, bound)


def _bear(where: str, path: Path, line: bytes) -> None:
    if any(os.path.lexists(f"{path}{rest}") for rest in ("-turn", "-wal")):
        raise CorruptFile(
            f"{where} is not there, and {path.name}-turn or {path.name}-wal is: it was deleted; what was spent "
            "counts: take it as all, or name a new file"
        )
    witness.begin(where, zlib.crc32(line))
    with _WORKS:
        make(path, lambda new: _made(new, line))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time make a ledger in a folder: it has more files than one."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
    finally:
        # Not by closing it alone: a process that was forked meanwhile has it open too.
        fcntl.flock(held, fcntl.LOCK_UN)
        os.close(held)


def _made(new: Path, line: bytes) -> None:
    try:
        with contextlib.closing(_connected(new)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(rows.CREATE)
            connection.execute("INSERT INTO dperm_ledger VALUES (1, ?)", (line[:-1].decode("ascii"),))
            connection.execute("COMMIT")
    finally:
        for rest in ("-wal", "-shm"):
            Path(f"{new}{rest}").unlink(missing_ok=True)


def _connected(path: Path) -> sqlite3.Connection:
    """Return a connection to a file that exists; sqlite3 itself begins no transactions."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw", uri=True, timeout=_WAIT, isolation_level=None, check_same_thread=False
    )
    # As bytes: of a damaged text Python's error would quote all.
    connection.text_factory = bytes
    try:
        connection.execute("PRAGMA synchronous=FULL")
    except BaseException:
        connection.close()
        raise
    return connection


def _inserted(connection: sqlite3.Connection, lines: list[tuple[int, str]]) -> None:
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO dperm_ledger VALUES (?, ?)", lines)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    """Say what SQLite says, without its chain of errors; a file that it cannot read is damaged."""
    words = None
    try:
        yield
    except sqlite3.OperationalError as error:
        words = str(error)
    except sqlite3.IntegrityError:
        words = "others wrote in this turn"
    except sqlite3.Error as error:
        raise CorruptFile(f"{where} is no ledger or is damaged: {error}; name another file, or a new one") from None
    if words is not None and words.startswith("no such table"):
        raise CorruptFile(f"{where} is no ledger: it has no table dperm_ledger; name another file, or a new one")
    if words is not None:
        raise OSError(f"{where}: {words}; nothing was answered")


def _path(where: str) -> Path:
    return Path(where.removeprefix("sqlite:///").partition("#")[0])


def _turn(path: Path) -> Path:
    return Path(f"{path}-turn")
