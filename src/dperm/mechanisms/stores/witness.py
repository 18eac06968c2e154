"""A witness of a ledger: a small file elsewhere that holds the number and the checksum of its last row.

A database that is put back to an earlier state, with nobody running, looks as it did then. The witness knows more, as
long as it is not put back too: keep it on another disk. It is written after each commit and before the answer leaves,
without a wait for its disk: after a power cut it may know a little less, which is no error. It holds no secret.
"""

import os
from pathlib import Path

from dperm.errors import CorruptFile


def known(where: str) -> tuple[int, int] | None:
    """Return the number and checksum of the last row; None: the ledger has no witness, or an empty one."""
    path = _path(where)
    if path is None:
        return None
    try:
        said = path.read_text()
        if not said:
            return None
        number, checksum = said.split()
        return int(number), int(checksum, 16)
    except FileNotFoundError:
        words = "is missing: was the ledger restored without it? If you know that it is whole, make an empty file there"
    except ValueError:
        words = "is damaged; if you know that the ledger is whole, make it empty"
    raise CorruptFile(f"{where}: its witness {words}")


def write(where: str, number: int, checksum: int) -> None:
    """Write down the last row; in one piece, always as long."""
    path = _path(where)
    if path is not None:
        file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(file, b"%020d %08x\n" % (number, checksum), 0)
        finally:
            os.close(file)


def begin(where: str, checksum: int) -> None:
    """Begin with a new ledger: if there is a witness of another one, that was deleted (checksum: of the first row)."""
    path = _path(where)
    if path is not None and not path.parent.is_dir():
        raise CorruptFile(f"{where}: its witness has no folder {path.parent}; make it, or name another file")
    if path is not None and path.exists() and path.stat().st_size:
        raise CorruptFile(
            f"{where} is not there, and its witness knows it: it was deleted; what was spent counts: take it as all, "
            "or name a new ledger and a new witness"
        )
    write(where, 1, checksum)


def _path(where: str) -> Path | None:
    _, _, path = where.partition("#witness=")
    return Path(path) if path else None
