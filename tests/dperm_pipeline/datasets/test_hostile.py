"""Archives that mean harm, or are damaged, are refused; nothing is ever written outside the folder."""

import gzip
import io
import random
import stat
import struct
import tarfile
import zipfile

import pytest
import together
from data_server import FILES, tarred, zipped

from dperm.errors import CorruptFile
from dperm_pipeline.datasets import archives

WANTED = {name: len(content) for name, content in FILES.items()}


@pytest.fixture
def unpack(tmp_path):
    """Return a function that unpacks bytes, and checks that nothing appeared outside the folder."""
    folder = tmp_path / "deep" / "down" / "files"
    folder.mkdir(parents=True)
    packed = tmp_path / "packed"

    def run(content, name="toy.zip", wanted=WANTED):
        packed.write_bytes(content)
        try:
            return archives.unpack(packed, name, wanted, folder)
        finally:
            assert {path for path in tmp_path.rglob("*") if path.is_file() and path.parent != folder} == {packed}
            assert {path.name for path in folder.iterdir()} <= set(wanted)

    run.folder = folder
    return run


def zip_of(*members):
    """A zip of (ZipInfo, content)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for info, content in members:
            archive.writestr(info, content)
    return buffer.getvalue()


def zip_link(name, target):
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return zip_of((info, target))


def tar_special(kind, name="toy.data", target="/etc/passwd"):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return tarred({"toy.test": FILES["toy.test"], name: info})


PATHS = ["/tmp/toy.data", "../toy.data", "a/../../toy.data", "..\\toy.data", "C:\\toy.data", "C:toy.data", "\\toy.data"]


@together.over("path", PATHS)
@together.over("pack", [zipped, tarred])
def test_unsafe_paths(unpack, pack, path):
    with pytest.raises(CorruptFile, match="unsafe path"):
        unpack(pack({path: FILES["toy.data"], **FILES}))


@pytest.mark.parametrize(
    "content",
    [
        zip_link("toy.data", "/etc/passwd"),
        zip_link("unwanted", "../../elsewhere"),
        tar_special(tarfile.SYMTYPE),
        tar_special(tarfile.SYMTYPE, "unwanted", ".."),
        tar_special(tarfile.LNKTYPE),
        tar_special(tarfile.CHRTYPE),
        tar_special(tarfile.BLKTYPE),
        tar_special(tarfile.FIFOTYPE),
    ],
    ids=["zip-link", "zip-link-beside", "symlink", "symlink-beside", "hardlink", "char", "block", "fifo"],
)
def test_links_and_devices(unpack, content):
    with pytest.raises(CorruptFile, match="a link or a device"):
        unpack(content)


@pytest.mark.parametrize("pack", [zipped, tarred], ids=["zip", "tar"])
def test_one_file_twice(unpack, pack):
    with pytest.raises(CorruptFile, match="twice"):
        unpack(pack({"a/toy.data": FILES["toy.data"], "b/toy.data": b"another"}))


BOMB = bytes(40 * 2**20)


# Packed in the test: whoever only collects it need not wait for that.
@pytest.mark.parametrize(
    ("pack", "content", "name"),
    [
        (zipped, {"toy.data": BOMB}, "toy.zip"),
        (tarred, {"toy.data": BOMB}, "toy.tar.gz"),
        (tarred, {"unwanted": BOMB, **FILES}, "toy.tar.gz"),
        (gzip.compress, BOMB, "toy.data.gz"),
    ],
    ids=["zip", "tar", "tar-skipped-member", "gz"],
)
def test_bombs_stop_early(unpack, pack, content, name):
    packed = pack(content)
    with pytest.raises(CorruptFile, match="holds more than"):
        unpack(packed, name)
    assert all(path.stat().st_size < 20 * 2**20 for path in unpack.folder.iterdir())


def test_a_zip_that_lies_about_its_sizes(unpack):
    """The size in the header says 8 bytes, the stream holds 40 MB."""
    content = bytearray(zipped({"toy.data": BOMB}))
    for magic, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", content, content.index(magic) + offset, 8)
    with pytest.raises(CorruptFile):
        unpack(bytes(content))


def test_an_encrypted_zip(unpack):
    content = bytearray(zipped(FILES))
    for magic, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(magic) + offset
        content[at] |= 1
    with pytest.raises(CorruptFile, match="broken archive"):
        unpack(bytes(content))


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"BZh", b"PK\x03\x04", b"<html></html>"])
def test_nothing_like_an_archive(unpack, content):
    with pytest.raises(CorruptFile):
        unpack(content)


SOUND = {
    "zip": (zipped(FILES), "toy.zip"),
    "tar.gz": (tarred(FILES), "toy.tar.gz"),
    "tar.bz2": (tarred(FILES, "w:bz2"), "toy.tar.bz2"),
    "tar": (tarred(FILES, "w"), "toy.tar"),
    "gz": (gzip.compress(FILES["toy.data"]), "toy.data.gz"),
}


@pytest.mark.parametrize(("content", "name"), SOUND.values(), ids=SOUND)
def test_damage_is_a_corrupt_file_or_harmless(unpack, content, name):
    """Cut anywhere, or with bytes changed at random: only CorruptFile, never another error and never a stray file."""
    rng = random.Random(0)
    refused = 0
    for trial in range(150):
        damaged = bytearray(content)
        if trial % 3 == 0:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            for _ in range(rng.choice((1, 3, 30))):
                damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            unpack(bytes(damaged), name)
        except CorruptFile:
            refused += 1
    assert refused >= 40
