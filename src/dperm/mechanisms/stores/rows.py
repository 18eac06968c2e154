"""A ledger in a table of a database: rows of a number and a line, the first of which is the header."""

import zlib
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dperm.errors import CorruptFile
from dperm.mechanisms.journal import same
from dperm.mechanisms.stores import witness
from dperm.mechanisms.stores.base import Store, lines, lost

CREATE = "CREATE TABLE dperm_ledger (number bigint PRIMARY KEY, line text NOT NULL)"


class Rows(Store):
    """Records as rows; a subclass knows its database.

    Besides what a file tells (damage in the middle), a process tells here at each turn whether the last row that it
    knew is still the same: a database that was put back to an earlier state behind its back is found out.
    """

    def __init__(self, where: str, header: bytes):
        super().__init__(where)
        self._header, self._number, self._checksum = header.rstrip(b"\n"), 1, zlib.crc32(header)

    @abstractmethod
    def _select(self, number: int) -> list[tuple[int, bytes]]:
        """Return the first row and all from a number on, in order."""

    @abstractmethod
    def _insert(self, rows: list[tuple[int, str]]) -> None:
        """Write rows in one transaction that is on disk by then; a number that exists is an error."""

    def news(self) -> list[list]:
        """Return the records that were written since one last looked, by others; needs the lock."""
        found = self._select(self._number)
        if found[:1] != [(1, self._header)]:
            raise lost(self.where)
        if self._number > 1:
            del found[0]
        if not found or found[0][0] != self._number or _sum(found[0][1]) != self._checksum:
            raise self.damaged(f"row {self._number} is not there any more: an earlier state was restored")
        records, number, checksum = [], self._number, self._checksum
        seen = {number: checksum}
        for at, text in found[1:]:
            number += 1
            if at != number or not isinstance(text, bytes):
                raise self.damaged(f"row {number} is missing")
            records.append(self.record(text + b"\n", checksum, f"row {number}"))
            checksum = seen[number] = _sum(text)
        known = witness.known(self.where)
        if known is not None and (known[0] > number or seen.get(known[0], known[1]) != known[1]):
            raise self.damaged(f"it ends with row {number}, and its witness knows row {known[0]} as another one")
        self._number, self._checksum = number, checksum
        return records

    def append(self, records: Iterable[Sequence]) -> None:
        """Write records to disk; needs the lock. After an OSError nobody knows what was written."""
        written, checksum = lines(records, self._checksum)
        self._insert([(self._number + k, text[:-1].decode()) for k, text in enumerate(written, 1)])
        self._number, self._checksum = self._number + len(written), checksum
        witness.write(self.where, self._number, checksum)


def first(where: str, row: Any, terms: Mapping[str, Any] | None, bound: bytes | None) -> bytes:
    """Return the header of a ledger, or refuse it (row: its first one, or None)."""
    if row is None:
        raise CorruptFile(
            f"{where} is empty, which no ledger is: what was spent is not known: take it as all; for a new budget name "
            "a database without a table dperm_ledger"
        )
    header = row[0] + b"\n"
    same(where, header, terms, bound)
    return header


def _sum(text: bytes) -> int:
    return zlib.crc32(text + b"\n")
