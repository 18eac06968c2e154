"""The right bytes arrive whole, or nothing does and one message says what to do."""

import bz2
import gzip
import json
import lzma
import socket

import pytest
from data_server import FILES, entry, serving, sha256, tarred, zipped

from dperm.errors import ConfigError, CorruptFile, DataUnavailable
from dperm_pipeline.datasets import fetch
from dperm_pipeline.datasets.catalogue import TRUST

ZIP = zipped({"Index": b"an index", **FILES})
OTHER = {name: content[::-1] for name, content in FILES.items()}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "downloads" / "toy-set"


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def nothing_is_left(folder):
    return not folder.parent.exists() or list(folder.parent.iterdir()) == []


def dead_address():
    """An address where nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/toy.zip"


@pytest.mark.parametrize(
    "answers",
    [
        {"/a.zip": ZIP},
        {"/a.zip": zipped({f"toy/{name}": data for name, data in FILES.items()})},
        {"/a.tar.gz": tarred({f"toy/{name}": data for name, data in FILES.items()})},
        {"/a.tar.bz2": tarred(FILES, "w:bz2")},
        {"/a.tar": tarred(FILES, "w")},
        {"/a.tar.xz": tarred(FILES, "w:xz")},
        {"/a.zip": zipped({f"toy/{name}.gz": gzip.compress(data) for name, data in FILES.items()})},
        {"/toy.data": FILES["toy.data"], "/toy.test": FILES["toy.test"]},
        {"/toy.data.gz": gzip.compress(FILES["toy.data"]), "/toy.test.bz2": bz2.compress(FILES["toy.test"])},
        {"/get%20it/toy.data": FILES["toy.data"], "/toy.test?version=2": FILES["toy.test"]},
    ],
    ids=[
        "zip",
        "zip-folder",
        "tar.gz",
        "tar.bz2",
        "tar",
        "tar.xz",
        "zip-of-gz",
        "two-files",
        "two-compressed",
        "odd-addresses",
    ],
)
def test_every_form_gives_the_same_files(folder, answers):
    with serving(answers) as (base, _):
        fetch.fetch(entry([base + path for path in answers]), folder)
    assert content(folder) == FILES
    assert list(folder.parent.iterdir()) == [folder]


def test_one_file_at_an_address_without_its_name(folder):
    files = {"toy.data": FILES["toy.data"]}
    with serving({"/files/5976039": gzip.compress(FILES["toy.data"])}) as (base, _):
        fetch.fetch(entry([base + "/files/5976039"], files=files), folder)
    assert content(folder) == files


def test_a_redirect_is_followed(folder):
    with serving({"/old.zip": (302, {"Location": "/new.zip"}, b""), "/new.zip": ZIP}) as (base, asked):
        fetch.fetch(entry([base + "/old.zip"]), folder)
    assert asked == ["/old.zip", "/new.zip"]
    assert content(folder) == FILES


def test_what_was_there_before_is_replaced_whole(folder):
    folder.mkdir(parents=True)
    (folder / "toy.data").write_bytes(b"old")
    (folder / "stray").write_bytes(b"old")
    with serving({"/a.zip": ZIP}) as (base, _):
        fetch.fetch(entry([base + "/a.zip"]), folder)
    assert content(folder) == FILES
    assert list(folder.parent.iterdir()) == [folder]


PAGE = b"<html>Service unavailable</html>"
FAILURES = {
    "503": ({"/toy.data": (503, {}, PAGE), "/toy.test": FILES["toy.test"]}, "503"),
    "page-with-200": ({"/toy.data": PAGE, "/toy.test": FILES["toy.test"]}, "another sha256"),
    "cut": (
        {"/toy.data": (200, {"Content-Length": 9999}, FILES["toy.data"][:100]), "/toy.test": FILES["toy.test"]},
        "100 bytes read",
    ),
    "cut-silently": ({"/toy.data": FILES["toy.data"][:100], "/toy.test": FILES["toy.test"]}, "another sha256"),
    "right-size-wrong-content": ({"/toy.data": OTHER["toy.data"], "/toy.test": OTHER["toy.test"]}, "another sha256"),
    "swapped": ({"/toy.data": FILES["toy.test"], "/toy.test": FILES["toy.data"]}, "another sha256"),
    "redirect-loop": ({"/toy.data": (302, {"Location": "/toy.data"}, b""), "/toy.test": b""}, "redirects"),
    "redirect-to-a-local-file": ({"/toy.data": (302, {"Location": "file:///etc/passwd"}, b"")}, "InvalidSchema"),
    "nonsense-header": ({"/toy.data": (200, {"Content-Length": "many"}, FILES["toy.data"])}, "toy.data"),
    "endless": ({"/toy.data": bytes(20 * 2**20), "/toy.test": b""}, "more than"),
    "cut-zip": ({"/a.zip": ZIP[: len(ZIP) // 2]}, "broken archive"),
    "page-instead-of-zip": ({"/a.zip": PAGE}, "neither an archive"),
    "zip-lacks-a-file": ({"/a.zip": zipped({"toy.data": FILES["toy.data"]})}, "toy.test was not in it"),
    "zip-swapped": ({"/a.zip": zipped(dict(zip(FILES, reversed(FILES.values()), strict=True)))}, "instead of"),
    "zip-wrong": ({"/a.zip": zipped(OTHER)}, sha256(FILES["toy.data"])),
}


@pytest.mark.parametrize(("answers", "words"), FAILURES.values(), ids=FAILURES)
def test_a_bad_address_leaves_nothing_and_the_next_one_is_tried(folder, answers, words):
    with serving({**answers, "/good.zip": ZIP}) as (base, _):
        bad = [base + path for path in answers]
        with pytest.raises(DataUnavailable) as error:
            fetch.fetch(entry(bad), folder, retries=0)
        assert words in str(error.value)
        assert nothing_is_left(folder)
        fetch.fetch(entry(bad, [base + "/good.zip"]), folder, retries=0)
    assert content(folder) == FILES


def test_a_failure_keeps_what_was_there(folder):
    folder.mkdir(parents=True)
    (folder / "toy.data").write_bytes(b"old")
    with pytest.raises(DataUnavailable):
        fetch.fetch(entry([dead_address()]), folder, retries=0)
    assert content(folder) == {"toy.data": b"old"}


def test_right_files_are_not_fetched_again(folder):
    with serving({"/a.zip": ZIP}) as (base, asked):
        first = fetch.fetch(entry([base + "/a.zip"]), folder)
        (folder / "note").write_bytes(b"mine")
        assert fetch.fetch(entry([base + "/a.zip"]), folder) == first
        assert asked == ["/a.zip"]
        (folder / "toy.test").write_bytes(OTHER["toy.test"])
        assert fetch.fetch(entry([base + "/a.zip"]), folder) == first
    assert first == {name: sha256(data) for name, data in FILES.items()}
    assert asked == ["/a.zip"] * 2
    assert content(folder) == FILES


def test_a_dead_address_then_a_good_one(folder):
    with serving({"/a.zip": ZIP}) as (base, _):
        fetch.fetch(entry([dead_address()], [base + "/a.zip"]), folder, retries=0)
    assert content(folder) == FILES


@pytest.mark.parametrize("first", [(503, {}, PAGE), FILES["toy.data"][:50]], ids=["503", "cut"])
def test_a_hiccup_is_tried_again(folder, first):
    files = {"toy.data": FILES["toy.data"]}
    with serving({"/toy.data": [first, FILES["toy.data"]]}) as (base, asked):
        fetch.fetch(entry([base + "/toy.data"], files=files), folder, retries=1)
    assert asked == ["/toy.data"] * 2
    assert content(folder) == files


def test_the_message_of_a_machine_without_network(folder, caplog):
    dead = dead_address()
    with pytest.raises(DataUnavailable) as error:
        fetch.fetch(entry([dead]), folder, retries=0)
    text = str(error.value)
    assert dead in text
    assert "mirror/toy-set/" in text and "--config mirror=mirror" in text
    for name, data in FILES.items():
        assert f"{name} ({len(data)} bytes), sha256 {sha256(data)}" in text
    assert "Traceback" not in text and "object at 0x" not in text and "pool" not in text
    assert [line for line in text.splitlines() if "no connection" in line] == [f"  - {dead}: no connection"]
    assert caplog.records == []
    assert all(len(line) < 400 for line in text.splitlines())


PACKERS = {
    "": lambda name, data: data,
    ".gz": lambda name, data: gzip.compress(data),
    ".bz2": lambda name, data: bz2.compress(data),
    ".xz": lambda name, data: lzma.compress(data),
    ".zip": lambda name, data: zipped({name: data}),
}


def fill(folder, files, suffix=""):
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / (name + suffix)).write_bytes(PACKERS[suffix](name, data))


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("place", ["toy-set", "toy_set", "elsewhere", "."])
def test_a_mirror_is_enough(folder, tmp_path, place, suffix):
    fill(tmp_path / "mirror" / place, FILES, suffix)
    fetch.fetch(entry([dead_address()], mirror_folder="elsewhere"), folder, mirror=tmp_path / "mirror")
    assert content(folder) == FILES


def test_a_mirror_is_asked_before_any_address(folder, tmp_path):
    fill(tmp_path / "mirror", FILES)
    with serving({"/a.zip": ZIP}) as (base, asked):
        fetch.fetch(entry([base + "/a.zip"]), folder, mirror=tmp_path / "mirror")
    assert asked == []


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_wrong_file_in_a_mirror_is_refused_and_the_address_asked(folder, tmp_path, suffix, caplog):
    fill(tmp_path / "mirror" / "toy-set", OTHER, suffix)
    with serving({"/a.zip": ZIP}) as (base, asked):
        fetch.fetch(entry([base + "/a.zip"]), folder, mirror=tmp_path / "mirror")
    assert asked == ["/a.zip"]
    assert content(folder) == FILES
    assert "was refused" in caplog.text and sha256(FILES["toy.data"]) in caplog.text


def test_a_good_copy_in_a_mirror_behind_a_wrong_one(folder, tmp_path):
    fill(tmp_path / "mirror" / "toy-set", OTHER)
    fill(tmp_path / "mirror", FILES)
    fetch.fetch(entry(), folder, mirror=tmp_path / "mirror")
    assert content(folder) == FILES


def test_all_attempts_stand_in_the_message(folder, tmp_path):
    fill(tmp_path / "mirror" / "toy-set", OTHER)
    dead = dead_address()
    with serving({"/a.zip": (503, {}, PAGE)}) as (base, _), pytest.raises(DataUnavailable) as error:
        fetch.fetch(entry([base + "/a.zip"], [dead]), folder, mirror=tmp_path / "mirror", retries=0)
    text = str(error.value)
    assert "was refused" in text and "503" in text and dead in text
    assert f"{tmp_path}/mirror/toy-set/ and run again" in text
    assert nothing_is_left(folder)


def trusting(*sources):
    """The entry with one file whose checksum nobody published."""
    trusted = entry(*sources)
    trusted["files"]["toy.test"]["sha256"] = TRUST
    return trusted


def test_trust_on_first_use_is_remembered_and_then_checked(folder, tmp_path):
    record = tmp_path / "trusted" / "toy-set.json"
    changed = zipped({**FILES, "toy.test": b"7,8\n" * 20})
    with serving({"/a.zip": [ZIP, changed]}) as (base, _):
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
        assert json.loads(record.read_text()) == {"toy.test": sha256(FILES["toy.test"])}
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
        before = record.read_bytes()
        (folder / "toy.data").unlink()
        with pytest.raises(DataUnavailable, match=sha256(FILES["toy.test"])):
            fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
    assert record.read_bytes() == before
    assert content(folder) == {"toy.test": FILES["toy.test"]}


def test_a_page_in_the_place_of_the_file_is_not_trusted(folder, tmp_path):
    """A server's apology has another size than the catalogue declares."""
    record = tmp_path / "toy-set.json"
    page = zipped({**FILES, "toy.test": b"<html>come back</html>\n"})
    with serving({"/a.zip": page, "/b.zip": ZIP}) as (base, _):
        with pytest.raises(DataUnavailable, match=r"toy\.test has 23 bytes .* instead of 80 bytes"):
            fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record, retries=0)
        assert not record.exists() and nothing_is_left(folder)
        fetch.fetch(trusting([base + "/a.zip"], [base + "/b.zip"]), folder, trusted=record, retries=0)
    assert json.loads(record.read_text()) == {"toy.test": sha256(FILES["toy.test"])}


def test_without_its_record_what_is_there_is_fetched_again(folder, tmp_path):
    """Deleting the record asks for trust anew; files that nobody vouches for are not that."""
    record = tmp_path / "toy-set.json"
    with serving({"/a.zip": ZIP}) as (base, asked):
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
        assert asked == ["/a.zip"]
        record.unlink()
        (folder / "toy.test").write_bytes(OTHER["toy.test"])
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record)
    assert asked == ["/a.zip"] * 2
    assert content(folder) == FILES


def test_a_file_that_fails_is_not_remembered(folder, tmp_path):
    record = tmp_path / "toy-set.json"
    with serving({"/a.zip": zipped({**OTHER})}) as (base, _), pytest.raises(DataUnavailable):
        fetch.fetch(trusting([base + "/a.zip"]), folder, trusted=record, retries=0)
    assert not record.exists()


def test_trust_needs_a_place_to_remember(folder):
    with pytest.raises(ConfigError, match=r"toy\.test is trust-on-first-use"):
        fetch.fetch(trusting(), folder)


@pytest.mark.parametrize("broken", ["", "[]", "{", '{"toy.test": "abc"}', '{"toy.test": 3}', '"text"'])
def test_a_broken_record_is_never_taken_for_none(folder, tmp_path, broken):
    record = tmp_path / "toy-set.json"
    record.write_text(broken)
    with pytest.raises(CorruptFile, match=r"toy-set\.json should map"):
        fetch.fetch(trusting(), folder, trusted=record)


def test_unavailable_says_why_only_where_nothing_can_be_done(tmp_path):
    fill(tmp_path / "full" / "toy_set", FILES, ".gz")
    fill(tmp_path / "half", {"toy.data": FILES["toy.data"]})
    bundled = entry()
    del bundled["files"], bundled["sources"]
    assert fetch.unavailable(bundled, None) is None
    assert fetch.unavailable(entry(["https://example.org/a.zip"]), None) is None
    assert fetch.unavailable(entry(), tmp_path / "full") is None
    for mirror in (None, tmp_path / "half"):
        reason = fetch.unavailable(entry(), mirror)
        assert "mirror-only" in reason and "toy.test" in reason and "toy-set/" in reason
        # It goes into results, whose bytes no folder of this machine may decide.
        assert str(tmp_path) not in reason
    assert "toy.data" not in fetch.unavailable(entry(), tmp_path / "half")


def big(*sources, **changes):
    """Two files that stay packed, of sizes that nobody published."""
    files = {name: {"at_most": 1000, "sha256": TRUST, "packed": True} for name in PACKED}
    return entry(*sources, on_request=bool(sources), **changes) | {"files": files}


PACKED = {"toy.bz2": bz2.compress(FILES["toy.data"]), "toy.tar.gz": tarred(FILES)}


def test_packed_files_stay_as_they_come(folder, tmp_path):
    """From addresses and from a mirror, there also under another layer of gzip."""
    record = tmp_path / "trusted.json"
    with serving({f"/x/{name}": data for name, data in PACKED.items()}) as (base, _):
        found = fetch.fetch(big([f"{base}/x/{name}" for name in PACKED]), folder, trusted=record)
    assert content(folder) == PACKED and json.loads(record.read_text()) == found
    fill(tmp_path / "plain", PACKED)
    fill(tmp_path / "twice" / "toy-set", PACKED, ".gz")
    for mirror in ("plain", "twice"):
        fetch.fetch(big(), tmp_path / f"from-{mirror}", mirror=tmp_path / mirror, trusted=record)
        assert content(tmp_path / f"from-{mirror}") == PACKED


def test_one_packed_file_at_an_address_without_its_name(folder):
    what = {"toy.bz2": {"at_most": 1000, "sha256": sha256(PACKED["toy.bz2"]), "packed": True}}
    with serving({"/files/5976039": PACKED["toy.bz2"]}) as (base, _):
        fetch.fetch(entry([f"{base}/files/5976039"]) | {"files": what}, folder)
    assert content(folder) == {"toy.bz2": PACKED["toy.bz2"]}


def test_a_packed_file_beyond_its_limit_is_refused(folder, tmp_path):
    answers = {"/toy.bz2": bytes(1001), "/toy.tar.gz": PACKED["toy.tar.gz"]}
    with serving(answers) as (base, _), pytest.raises(DataUnavailable, match=r"1001 bytes .* instead of at most 1000"):
        fetch.fetch(big([base + path for path in answers]), folder, trusted=tmp_path / "t.json", retries=0)
    assert nothing_is_left(folder)
    assert not (tmp_path / "t.json").exists()


def test_a_big_set_comes_only_on_request_or_from_the_mirror(tmp_path):
    address = ["https://example.org/toy.bz2"]
    reason = fetch.unavailable(big(address), None)
    assert "--config fetch='[toy-set]'" in reason and "toy.bz2, toy.tar.gz" in reason
    assert fetch.unavailable(big(address), None, ["adult"]) == reason
    assert fetch.unavailable(big(address), None, ["adult", "toy-set"]) is None
    fill(tmp_path / "half" / "toy-set", {"toy.bz2": b""})
    fill(tmp_path / "full" / "toy-set", PACKED)
    assert "into <mirror>/toy-set/" in fetch.unavailable(big(address), tmp_path / "half")
    assert fetch.unavailable(big(address), tmp_path / "full") is None


def test_bundled_sets_are_not_fetched(folder):
    bundled = entry(format="digits")
    del bundled["files"], bundled["sources"]
    with pytest.raises(ConfigError, match="no files to fetch"):
        fetch.fetch(bundled, folder)


def test_the_real_adult_from_a_mirror(folder, mirror):
    from pathlib import Path

    from dperm_pipeline.datasets import catalogue

    adult = catalogue.load(Path(__file__).parents[3] / "config/datasets.yaml")["adult"]
    fetch.fetch(adult | {"sources": []}, folder, mirror=mirror)
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == {
        name: what["bytes"] for name, what in adult["files"].items()
    }
