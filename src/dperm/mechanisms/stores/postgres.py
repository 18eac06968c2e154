"""A ledger in PostgreSQL, which several machines can share: the table dperm_ledger (psycopg 3, extra `serve`).

The turn is an advisory lock of the session, which the server lets go when the connection ends, whatever ended it; a
machine that vanished is noticed after half a minute. Each write is one transaction with synchronous_commit=on: it is
on the server's disk when it returns. Where the connection is lost in a turn, nothing is answered; before a turn it is
made anew, and the rows tell whether the ledger is still the same. The number of a row is its primary key, so that even
two that held the lock (through a pool that gives each transaction another session) could not both write: the second
fails, and answers nothing.

Of a role that may only SELECT and INSERT there, nobody can take rows back. A schema of its own
(`?options=-csearch_path%3Dname`) makes room for another ledger in the same database. No password stands in the URL:
libpq takes it from PGPASSWORD or ~/.pgpass.
"""

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from dperm.errors import ConfigError, CorruptFile
from dperm.mechanisms.journal import header
from dperm.mechanisms.stores import rows, witness
from dperm.mechanisms.stores.base import lost

T = TypeVar("T")
# Advisory locks are numbers that all users of a database share: "dprm", and the table's.
_LOCK = 0x6470726D << 32


class Ledger(rows.Rows):
    """A ledger in PostgreSQL as one process has it open."""

    def __init__(self, where: str, header: bytes):
        super().__init__(where, header)
        self._connect()

    def _connect(self) -> None:
        self._connection = _connected(self.where)
        with _told(self.where):
            self._table = _table(self._connection)
        if self._table is None:
            self._disconnect()
            raise lost(self.where)

    def lock(self) -> None:
        """Wait until nobody else has the lock, and take it."""
        # The header has a salt of this ledger alone.
        self.hold(self._header)
        try:
            self._take()
        except ConnectionError:
            self._connect()
            self._take()

    def _take(self) -> None:
        self._do(lambda connection: connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK + self._table,)))

    def unlock(self) -> None:
        """Let others have it; a connection that is lost has done so already."""
        if self.holds is None:
            return
        try:
            with contextlib.suppress(OSError, CorruptFile):
                if self._connection is not None:
                    unlock = "SELECT pg_advisory_unlock(%s)"
                    self._do(lambda connection: connection.execute(unlock, (_LOCK + self._table,)))
        finally:
            self.release()

    def _select(self, number: int) -> list[tuple[int, bytes]]:
        what = "SELECT number, line FROM dperm_ledger WHERE number = 1 OR number >= %s ORDER BY number"
        found = self._do(lambda connection: connection.execute(what, (number,)).fetchall())
        return [(at, text.encode()) for at, text in found]

    def _insert(self, rows: list[tuple[int, str]]) -> None:
        what = "INSERT INTO dperm_ledger SELECT * FROM unnest(%s::bigint[], %s::text[])"
        self._do(lambda connection: connection.execute(what, tuple(map(list, zip(*rows, strict=True)))))

    def _do(self, work: Callable[[Any], T]) -> T:
        """Do it on the connection that has the lock, and on no other; one that fails is ended, and the lock with it."""
        if self._connection is None:
            raise ConnectionError(f"{self.where}: the connection is lost; nothing was answered")
        try:
            with _told(self.where):
                return work(self._connection)
        except BaseException:
            self._disconnect()
            raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def inherited(self) -> None:
        """Let go of the parent's connection without a word to the server."""
        if self._connection is not None and not self._connection.closed:
            # Whatever libpq says at its end goes nowhere; and the number is not free for another file before that.
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, self._connection.fileno())
            os.close(nowhere)
        self.close()

    def close(self) -> None:
        """Have it open no more."""
        if getattr(self, "_connection", None) is not None:
            self._disconnect()
        self.release()


def checked(url: str) -> str:
    """Return a URL, or raise ConfigError."""
    psycopg = _psycopg()
    try:
        said = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        raise ConfigError(
            "state=postgresql:... is no URL that libpq reads: postgresql://user@host:port/database"
        ) from None
    if any("password" in name for name in said):
        raise ConfigError(
            "state=postgresql:... has a password in it, and the URL stands in messages, pickles and the list of "
            "processes; leave the password out: libpq takes it from PGPASSWORD or ~/.pgpass"
        )
    return url


def born(where: str, terms: Mapping[str, Any] | None, bound: bytes | None = None) -> bytes:
    """Return the header; of a ledger that exists it must have these terms and be bound to the same fit."""
    with contextlib.closing(_connected(where)) as connection, _told(where):
        if _table(connection) is None:
            # Not in the transaction that looks again: it would not see a table that others make while it waits.
            connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
        if _table(connection) is None:
            line = header(terms, bound)
            witness.begin(where, zlib.crc32(line))
            with connection.transaction():
                connection.execute(rows.CREATE)
                connection.execute("INSERT INTO dperm_ledger VALUES (1, %s)", (line[:-1].decode("ascii"),))
        row = connection.execute("SELECT line FROM dperm_ledger WHERE number = 1").fetchone()
    return rows.first(where, row and (row[0].encode(),), terms, bound)


def _connected(where: str) -> Any:
    psycopg = _psycopg()
    with _told(where):
        connection = psycopg.connect(where.partition("#")[0], autocommit=True)
        try:
            connection.execute(
                "SELECT set_config('synchronous_commit', 'on', false), set_config('client_encoding', 'UTF8', false), "
                "set_config('tcp_keepalives_idle', '10', false), set_config('tcp_keepalives_interval', '5', false), "
                "set_config('tcp_keepalives_count', '4', false)"
            )
            (durable,) = connection.execute("SHOW fsync").fetchone()
        except BaseException:
            connection.close()
            raise
    if durable != "on":
        connection.close()
        raise ConfigError(f"{where}: the server has fsync=off, so that a power cut would lose charges; set it on")
    return connection


def _table(connection: Any) -> int | None:
    """Return the number of the table, if there is one."""
    return connection.execute("SELECT to_regclass('dperm_ledger')::oid::bigint").fetchone()[0]


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    """Say the first line of what the server says: the others may quote a row."""
    psycopg = _psycopg()
    try:
        yield
        return
    except psycopg.errors.UndefinedTable:
        wrong = lost(where)
    except psycopg.Error as error:
        words = error.diag.message_primary or str(error).partition("\n")[0]
        wrong = ConnectionError(f"{where}: {words}; nothing was answered")
    raise wrong


def _psycopg() -> Any:
    try:
        import psycopg
        import psycopg.conninfo
    except ImportError as error:
        raise ConfigError(
            "a ledger in PostgreSQL needs psycopg, which is not installed: pip install 'dperm[serve]'"
        ) from error
    return psycopg
