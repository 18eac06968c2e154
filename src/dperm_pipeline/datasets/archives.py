"""Take known files out of an archive that may be hostile.

Members are looked up by their base name and written under the name that the catalogue gives: no name in an archive ever
becomes a path. An archive with an absolute path, `..`, a link or a device is refused as a whole all the same, because
none of the expected archives holds any. Bytes are counted while unpacking, so that a decompression bomb stops early.
"""

import gzip
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from dperm.errors import CorruptFile
from dperm_pipeline.datasets.compressed import COMPRESSED, blamed_on, check_member, check_path, is_tar

_CHUNK = 2**20
# What an address or an archive may hold beyond the files we want: other members, headers, a page around them.
_SLACK_FACTOR, _SLACK_BYTES = 1.1, 16 * 2**20


def most_bytes(size: int) -> int:
    """Return the bytes at which reading what should hold `size` bytes is given up: no bomb fills the disk."""
    return int(_SLACK_FACTOR * size) + _SLACK_BYTES


class Capped:
    """A binary file that stops with `CorruptFile` once more than `limit` bytes went through it."""

    def __init__(self, file: IO[bytes], limit: int, what: str):
        self._file, self._limit, self._what, self._count = file, limit, what, 0

    def _counted(self, number: int) -> None:
        self._count += number
        if self._count > self._limit:
            raise CorruptFile(f"{self._what} holds more than the {self._limit} bytes it may; it was refused")

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes."""
        data = self._file.read(size)
        self._counted(len(data))
        return data

    def write(self, data: bytes) -> int:
        """Write all of `data`, or nothing of it."""
        self._counted(len(data))
        return self._file.write(data)

    def flush(self) -> None:
        """Flush the file below."""
        self._file.flush()


def unpack(path: Path, name: str, wanted: Mapping[str, int], folder: Path) -> set[str]:
    """Write the wanted files (name -> bytes) that `path` holds into `folder`, and return their names.

    What `path` is, is read from its first bytes: a zip (its members may be gzipped themselves); a gzip, bzip2 or xz
    file with one file or a tar inside; a tar; or one plain file. `name`, the end of the address, says which file it
    is, if it holds one only. CorruptFile if the archive is broken or hostile, or holds none of the wanted files;
    files may then be left in `folder`.
    """
    with blamed_on(name):
        with path.open("rb") as file:
            head = file.read(4)
        if head == b"PK\x03\x04":
            found = _from_zip(path, name, wanted, folder)
        else:
            opener = next((opener for magic, opener in COMPRESSED.items() if head.startswith(magic)), Path.open)
            tar = is_tar(path, opener)
            found = (_from_tar if tar else _from_one)(path, opener, name, wanted, folder)
    if not found:
        raise CorruptFile(f"{name} is neither an archive with, nor one of: {', '.join(wanted)}")
    return found


def _copy(source: IO[bytes], size: int, target: Path) -> None:
    with target.open("wb") as file:
        capped = Capped(file, most_bytes(size), target.name)
        while chunk := source.read(_CHUNK):
            capped.write(chunk)


def _wanted(members: list[str], wanted: Mapping[str, int]) -> dict[str, str]:
    """Return member path -> wanted name; two members of one name are refused, as nothing says which is meant."""
    chosen = {}
    for member in members:
        base = member.rsplit("/", 1)[-1]
        if base not in wanted:
            base = base.removesuffix(".gz")
        if base in wanted:
            if base in chosen.values():
                raise CorruptFile(f"the archive holds {base} twice; it was refused")
            chosen[member] = base
    return chosen


def _from_zip(path: Path, name: str, wanted: Mapping[str, int], folder: Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        for member in members:
            check_path(member.orig_filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise CorruptFile(f"{name} holds {member.filename!r}, a link or a device; it was refused")
        chosen = _wanted([member.filename for member in members if not member.is_dir()], wanted)
        for member, base in chosen.items():
            with archive.open(member) as source:
                compressed = member.endswith(".gz") and not base.endswith(".gz")
                _copy(gzip.GzipFile(fileobj=source) if compressed else source, wanted[base], folder / base)
    return set(chosen.values())


def _from_tar(path: Path, opener, name: str, wanted: Mapping[str, int], folder: Path) -> set[str]:
    found: set[str] = set()
    # Read as a stream: what is skipped is unpacked too, so it is what comes out of the compression that is counted.
    limit = most_bytes(sum(wanted.values()))
    with opener(path, "rb") as packed, tarfile.open(fileobj=Capped(packed, limit, name), mode="r|") as archive:
        for member in archive:
            check_member(member, name)
            base = member.name.rsplit("/", 1)[-1]
            if member.isreg() and base in wanted:
                if base in found:
                    raise CorruptFile(f"{name} holds {base} twice; it was refused")
                found.add(base)
                _copy(archive.extractfile(member), wanted[base], folder / base)
    return found


def _from_one(path: Path, opener, name: str, wanted: Mapping[str, int], folder: Path) -> set[str]:
    """Unpack one file, plain or compressed: it is what its name says, or the only one that is wanted."""
    bare = name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    if bare in wanted:
        target = bare
    elif len(wanted) == 1:
        (target,) = wanted
    else:
        return set()
    with opener(path, "rb") as source:
        _copy(source, wanted[target], folder / target)
    return {target}
