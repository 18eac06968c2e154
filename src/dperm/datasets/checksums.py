"""SHA-256 of files, and what a file must be."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.datasets.catalogue import TRUST
from dperm.errors import CorruptFile


def sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verified(path: Path, expected: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a file that is what the catalogue says.

    Parameters
    ----------
    path : Path
    expected : mapping
        `bytes` and `sha256` of the entry's file. With `trust-on-first-use` any content passes.

    Raises
    ------
    CorruptFile
        With both sizes and both checksums.
    """
    found = sha256(path)
    if expected["sha256"] not in (TRUST, found):
        raise CorruptFile(
            f"{path.name} has {path.stat().st_size} bytes and sha256 {found} "
            f"instead of {expected['bytes']} bytes and sha256 {expected['sha256']}"
        )
    return found
