"""Metadata of the pipeline's Parquet files: what made a file, and a checksum of that and of its columns."""

import hashlib
import importlib.metadata
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from dperm.errors import CorruptFile

# Whose release may change numbers or bytes.
_PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "scikit-learn")


def encoded(metadata: Mapping[str, Any], schema: pa.Schema) -> dict[bytes, bytes]:
    """Return Parquet metadata of what made a file, the versions of the numerical packages added, and their checksum."""
    versions = {name: importlib.metadata.version(name) for name in _PACKAGES}
    stamp = json.dumps({**metadata, "versions": versions}, sort_keys=True).encode()
    return {b"dperm": stamp, b"dperm.sha256": _checksum(stamp, schema)}


def _checksum(stamp: bytes, schema: pa.Schema) -> bytes:
    """Parquet has checksums of pages alone: a flipped bit in a column's name or in the metadata would go unnoticed."""
    # Of nested types the kind alone: the name of a list's item does not survive the disk.
    kinds = ((field.name, "nested" if field.type.num_fields else field.type) for field in schema)
    columns = "".join(f"\n{name} {kind}" for name, kind in kinds)
    return hashlib.sha256(stamp + columns.encode()).hexdigest().encode()


def check(schema: pa.Schema, path: str | Path) -> None:
    """Refuse, by CorruptFile, a file whose columns or metadata are not the ones that were written.

    It has another checksum than it says, or something stands where only ours does.
    """
    stored = schema.metadata or {}
    stamp, others = stored.get(b"dperm"), stored.keys() - {b"dperm"}
    if stamp is not None and others and stored.get(b"dperm.sha256") != _checksum(stamp, schema):
        raise CorruptFile(f"{path}: its columns or metadata are not the ones that were written", made=path)


def fingerprint(metadata: Mapping[str, Any]) -> str:
    """Return the SHA-256 of what made a file: its job, whatever the code and the versions of packages."""
    told = {key: value for key, value in metadata.items() if key not in ("code", "versions")}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()
