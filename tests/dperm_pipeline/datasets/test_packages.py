"""A file of a published package arrives as the catalogue knows it, from whatever index the user has set up."""

import sys

import pytest
from data_server import entry, sha256, zipped

from dperm.errors import CorruptFile, DataUnavailable
from dperm_pipeline.datasets import fetch, packages

ROWS = b"1,2\n3,4\n" * 50
SOURCE = {
    "package": "toy-data",
    "version": "1.2",
    "python": "3.7",
    "platform": "manylinux1_x86_64",
    "member": "toy/data/rows.csv",
    "file": "toy.data",
    "skip_lines": 1,
}
METADATA = b"Metadata-Version: 2.1\nName: toy-data\nVersion: 1.2\nRequires-Dist: a-package-that-nobody-has\n"
HEAD = b"first,second\n"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """An index of one package, whose wheel this Python could not install."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONSTRAINT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")

    def publish(members):
        about = {"toy_data-1.2.dist-info/METADATA": METADATA, "toy_data-1.2.dist-info/WHEEL": b"Wheel-Version: 1.0\n"}
        wheel = zipped({**members, **about, "toy_data-1.2.dist-info/RECORD": b""})
        (folder / "toy_data-1.2-cp37-cp37m-manylinux1_x86_64.whl").write_bytes(wheel)

    publish({"toy/data/rows.csv": HEAD + ROWS, "toy/__init__.py": b"raise SystemExit('this was run')"})
    return publish


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "downloads" / "toy-set"


def asked(*sources, content=ROWS):
    return entry(*sources, files={"toy.data": content})


def test_the_member_comes_without_the_lines_before_it(index, folder):
    assert fetch.fetch(asked(SOURCE), folder) == {"toy.data": sha256(ROWS)}
    assert (folder / "toy.data").read_bytes() == ROWS
    assert list(folder.parent.iterdir()) == [folder]


@pytest.mark.slow
def test_a_file_that_begins_with_its_first_line(index, folder):
    source = {key: value for key, value in SOURCE.items() if key != "skip_lines"}
    fetch.fetch(asked(source, content=HEAD + ROWS), folder)
    assert (folder / "toy.data").read_bytes() == HEAD + ROWS


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": "9.9"}, "did not bring toy-data==9.9: No matching distribution"),
        pytest.param({"package": "other"}, "did not bring other==1.2", marks=pytest.mark.slow),
        pytest.param({"python": "3.5"}, "did not bring toy-data==1.2", marks=pytest.mark.slow),
        pytest.param({"member": "toy/data/others.csv"}, "others.csv", marks=pytest.mark.slow),
        ({"skip_lines": 0}, "sha256"),
    ],
    ids=["version", "package", "python", "member", "lines"],
)
def test_what_cannot_be_had_leaves_nothing_and_says_why(index, folder, change, words):
    with pytest.raises(DataUnavailable) as raised:
        fetch.fetch(asked({**SOURCE, **change}), folder)
    assert words in str(raised.value)
    assert "They come from (the first that answers)" in str(raised.value)
    assert list(folder.parent.iterdir()) == []


def test_a_wheel_that_unpacks_to_more_than_it_may_is_given_up(index, folder):
    index({"toy/data/rows.csv": HEAD + b"0" * 40_000_000})
    with pytest.raises(DataUnavailable, match="holds more than"):
        fetch.fetch(asked(SOURCE), folder)


@pytest.mark.slow
def test_a_first_line_without_end_is_refused(index, tmp_path):
    index({"toy/data/rows.csv": b"0" * 200_000})
    (tmp_path / "files").mkdir()
    with pytest.raises(CorruptFile, match="a first line of more than"):
        packages.download(SOURCE, tmp_path / "files", {"toy.data": {"bytes": 400, "sha256": sha256(ROWS)}})


def test_without_a_package_client_the_message_says_so(index, folder, monkeypatch, tmp_path):
    client = tmp_path / "python"
    client.write_text(f"#!{sys.executable} -S\nimport sys\nsys.exit(sys.argv[0] + ': No module named pip')\n")
    client.chmod(0o755)
    monkeypatch.setattr(packages.sys, "executable", str(client))
    with pytest.raises(DataUnavailable, match=r"did not bring toy-data==1.2: .*No module named pip"):
        fetch.fetch(asked(SOURCE), folder)


def test_a_client_that_hangs_is_given_up(index, folder, monkeypatch, tmp_path):
    client = tmp_path / "python"
    client.write_text("#!/bin/sh\nexec sleep 60\n")
    client.chmod(0o755)
    monkeypatch.setattr(packages.sys, "executable", str(client))
    monkeypatch.setattr(packages, "TIMEOUT", 0.2)
    with pytest.raises(DataUnavailable, match=r"within 0.2 s"):
        fetch.fetch(asked(SOURCE), folder)


def test_the_next_source_is_asked_where_a_package_is_not_there(index, folder):
    fetch.fetch(asked({**SOURCE, "version": "9.9"}, SOURCE), folder)
    assert (folder / "toy.data").read_bytes() == ROWS
