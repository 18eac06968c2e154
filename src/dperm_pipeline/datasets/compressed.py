"""Read compressed files and tars as a stream, and refuse members that none of the expected archives holds."""

import bz2
import errno
import gzip
import lzma
import re
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dperm.errors import CorruptFile

# First bytes -> what opens such a file.
COMPRESSED = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zX": lzma.open}
# Errors of this machine; whatever else a reader of archives raises is the archive's fault.
_OURS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENOENT}


def streams(path: Path, suffix: str) -> Iterator[tuple[str, IO[bytes]]]:
    """Give what a file holds, to be read as it is unpacked: nothing is written, and never is the whole of it in memory.

    The file is plain or compressed by gzip, bzip2 or xz, or a tar, of which members that end in `suffix` are given.
    Each comes with a name for messages, and is to be read before the next one is asked for. CorruptFile, on reading
    too, if the file is cut, damaged or hostile, or a tar without such a member.
    """
    with path.open("rb") as file:
        head = file.read(4)
    opener = next((opener for magic, opener in COMPRESSED.items() if head.startswith(magic)), Path.open)
    with blamed_on(path.name):
        tar = is_tar(path, opener)
    with opener(path, "rb") as unpacked:
        if not tar:
            yield path.name, _Blaming(unpacked, path.name)
            return
        some = False
        # Only what is read here and by `_Blaming` is the archive's fault, not what is raised where the rows are used.
        with blamed_on(path.name):
            archive = tarfile.open(fileobj=unpacked, mode="r|")  # noqa: SIM115
        while True:
            with blamed_on(path.name):
                member = archive.next()
                if member is None:
                    break
                check_member(member, path.name)
            if member.isreg() and member.name.endswith(suffix):
                some = True
                base = member.name.rsplit("/", 1)[-1]
                yield f"{path.name}/{base}", _Blaming(archive.extractfile(member), path.name)
    if not some:
        raise CorruptFile(f"{path.name} holds no file *{suffix}")


class _Blaming:
    """A file whose every failure to be read is the archive's fault."""

    def __init__(self, file: IO[bytes], name: str):
        self._file, self._name = file, name

    def read(self, size: int) -> bytes:
        with blamed_on(self._name):
            return self._file.read(size)


def check_member(member: tarfile.TarInfo, name: str) -> None:
    """Refuse a member of a tar that is neither a file nor a folder, or lies at an unsafe path."""
    check_path(member.name)
    if not (member.isdir() or (member.isreg() and not member.issparse())):
        raise CorruptFile(f"{name} holds {member.name!r}, a link or a device; it was refused")


@contextmanager
def blamed_on(name: str) -> Iterator[None]:
    """Make one error of whatever the readers raise: a broken archive makes them raise almost anything."""
    try:
        yield
    except CorruptFile:
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _OURS:
            raise
        raise CorruptFile(f"{name} is a broken archive ({type(error).__name__}: {error})") from error


def check_path(member: str) -> None:
    """Refuse the path of a member that leads out of a folder."""
    parts = re.split(r"[/\\]", member)
    if member.startswith(("/", "\\")) or ".." in parts or re.match(r"[A-Za-z]:", member) or "\0" in member:
        raise CorruptFile(f"the archive holds the unsafe path {member!r}; it was refused")


def is_tar(path: Path, opener) -> bool:
    """Say whether a tar begins where `opener` unpacks a file."""
    with opener(path, "rb") as file:
        return file.read(512)[257:262] == b"ustar"
