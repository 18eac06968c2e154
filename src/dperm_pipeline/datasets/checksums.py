"""SHA-256 of files, what a file must be, and the checksums that were trusted on first use."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError, CorruptFile
from dperm_pipeline.datasets.catalogue import TRUST


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verified(path: Path, expected: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a file that is what the catalogue says; CorruptFile shows both sizes and both checksums.

    With `trust-on-first-use` any content of the right `bytes` (or `at_most`) passes.
    """
    found, size = sha256(path), path.stat().st_size
    fits = size == expected["bytes"] if "bytes" in expected else size <= expected["at_most"]
    if not fits or expected["sha256"] not in (TRUST, found):
        raise CorruptFile(
            f"{path.name} has {size} bytes and sha256 {found} instead of {size_of(expected)} and sha256 "
            f"{expected['sha256']}"
        )
    return found


def size_of(expected: Mapping[str, Any]) -> str:
    """Return the declared size of a file in words."""
    return f"{expected['bytes']} bytes" if "bytes" in expected else f"at most {expected['at_most']} bytes"


def most(expected: Mapping[str, Any]) -> int:
    """Return the largest size that a file may have, in bytes."""
    return expected["bytes"] if "bytes" in expected else expected["at_most"]


def expected(entry: Mapping[str, Any], trusted: str | Path | None) -> dict[str, dict[str, Any]]:
    """Return the `bytes` and `sha256` of the entry's files, remembered checksums in the place of `trust-on-first-use`.

    What `trusted`, the record of the checksums that were found first, does not hold stays `trust-on-first-use`.
    ConfigError if the entry asks for trust on first use without a record, CorruptFile if the record is broken.
    """
    wanted = {file: dict(what) for file, what in entry.get("files", {}).items()}
    open_ones = [file for file, what in wanted.items() if what["sha256"] == TRUST]
    if open_ones and trusted is None:
        raise ConfigError(f"{entry['name']}: {open_ones[0]} is {TRUST}; say in which file its checksum is remembered")
    if open_ones:
        known = remembered(trusted)
        for file in open_ones:
            wanted[file]["sha256"] = known.get(file, TRUST)
    return wanted


def remembered(trusted: str | Path) -> dict[str, str]:
    """Return the record of trusted checksums, file name -> sha256; empty if there is none yet.

    CorruptFile if it is anything else: a broken record is never taken for none.
    """
    if not Path(trusted).exists():
        return {}
    try:
        record = json.loads(Path(trusted).read_text(encoding="utf-8"))
        if all(len(bytes.fromhex(checksum)) == 32 for checksum in record.values()):
            return record
    except (ValueError, AttributeError, TypeError):
        pass
    raise CorruptFile(
        f"{trusted} should map file names to sha256; mend it, or delete it to trust the next download again"
    )
