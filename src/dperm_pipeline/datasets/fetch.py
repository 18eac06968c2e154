"""Get the files of a data set: from a mirror, or from the first address that answers with the right bytes."""

import contextlib
import functools
import json
import logging
import os
import secrets
import shutil
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from dperm.errors import ConfigError, CorruptFile, DataUnavailable
from dperm_pipeline import files
from dperm_pipeline.datasets import archives, catalogue, checksums, packages
from dperm_pipeline.datasets.catalogue import TRUST

log = logging.getLogger(__name__)
# What may stand behind the name of a file in a mirror.
_PACKED = ("", ".gz", ".bz2", ".xz", ".zip")
# Seconds without a byte before a server is given up.
TIMEOUT = 30


def fetch(
    entry: Mapping[str, Any],
    folder: str | Path,
    *,
    mirror: str | Path | None = None,
    trusted: str | Path | None = None,
    retries: int = 2,
) -> dict[str, str]:
    """Make `folder` hold the entry's files, each with the right size and SHA-256, and return these; or change nothing.

    Files that are there already, and whose checksums are known and right, are not brought again. A `mirror` is
    searched first, for `<name>/<file>`, `<name with _ for ->/<file>`, `<mirror_folder>/<file>` and `<file>`, each
    plain or behind it `.gz`, `.bz2`, `.xz` or `.zip`. `trusted` is the JSON file that remembers checksums found
    first (`trust-on-first-use`).

    DataUnavailable if no source has the right files: each attempt with its reason, the addresses, the folder that a
    file fetched by hand belongs into, and the checksums. ConfigError if the entry has no files to fetch, or asks
    for trust on first use where `trusted` is not given; CorruptFile if that record is broken.
    """
    catalogue.check(entry)
    if not entry.get("files"):
        raise ConfigError(f"{entry['name']} has no files to fetch (format {entry['format']!r}); leave out this step")
    expected = checksums.expected(entry, trusted)
    folder, attempts = Path(folder), []
    if found := _already(folder, expected):
        log.info("%s: %s are in %s already, and right", entry["name"], ", ".join(sorted(found)), folder)
        return found
    with _workspace(folder) as workspace:
        for describe, attempt in _sources(entry, mirror, retries):
            target = workspace / "files"
            shutil.rmtree(target, ignore_errors=True)
            target.mkdir()
            try:
                attempt(target, expected)
                found = {file: checksums.verified(_present(target / file), expected[file]) for file in expected}
            except (CorruptFile, DataUnavailable) as error:
                attempts.append(f"{describe}: {error}")
                continue
            # Only now: if nothing works, they all stand in the error.
            for attempt in attempts:
                log.warning("%s: not from %s", entry["name"], attempt)
            _remember(entry, found, trusted)
            _move(target, folder, workspace)
            log.info("%s: %s from %s", entry["name"], ", ".join(sorted(found)), describe)
            return found
    raise DataUnavailable(_by_hand(entry, expected, mirror, attempts))


def unavailable(entry: Mapping[str, Any], mirror: str | Path | None, asked: Collection[str] = ()) -> str | None:
    """Return why a data set cannot be had on this machine, or None if it can (nothing is downloaded or read).

    The reason goes into results, so it names no folder of this machine. `asked` are sets that are to be downloaded
    though they are big (`on_request` in the entry). ConfigError if the entry contradicts itself: this is the first
    that the pipeline asks of an entry.
    """
    catalogue.check(entry)
    missing = [file for file in entry.get("files", {}) if not list(_candidates(entry, file, mirror))]
    wanted = not entry.get("on_request") or entry["name"] in asked
    if not missing or (entry.get("sources") and wanted):
        return None
    name, files = entry["name"], ", ".join(missing)
    if entry.get("sources"):
        return (
            f"{name} is downloaded only on request: run with --config fetch='[{name}]' (or name it under fetch in "
            f"config/config.yaml), or put {files} into <mirror>/{name}/ and set the mirror"
        )
    return (
        f"{name} is mirror-only (it has no address), and no mirror is set that holds {files}; "
        f"put it into <mirror>/{name}/ (plain, .gz, .xz or .zip) and set mirror in config/config.yaml, or DPERM_MIRROR"
    )


def _candidates(entry: Mapping[str, Any], file: str, mirror: str | Path | None) -> Iterator[Path]:
    """The files of the mirror that may be this one, best first."""
    if mirror is None:
        return
    name = entry["name"]
    for part in dict.fromkeys((name, name.replace("-", "_"), entry.get("mirror_folder", "."), ".")):
        for path in (Path(mirror, part, file + suffix) for suffix in _PACKED):
            if path.is_file():
                yield path


def _sources(entry: Mapping[str, Any], mirror: str | Path | None, retries: int) -> Iterator[tuple[str, Any]]:
    """What to try, in order: (its description, a function that fills a folder)."""
    if mirror is not None:
        yield f"the mirror {mirror}", lambda target, expected: _from_mirror(entry, mirror, target, expected)
    for source in entry.get("sources", []):
        if isinstance(source, Mapping):
            yield _described(source), functools.partial(packages.download, source)
        else:
            yield _described(source), functools.partial(_download, source, retries=retries)


def _described(source: Mapping[str, Any] | list[str]) -> str:
    """A source in words: addresses that together hold all files, or a member of a package."""
    return packages.described(source) if isinstance(source, Mapping) else " and ".join(source)


def _from_mirror(entry: Mapping[str, Any], mirror: str | Path, target: Path, expected: Mapping[str, Any]) -> None:
    for file, what in expected.items():
        refused = []
        for path in _candidates(entry, file, mirror):
            try:
                _take(path, path.name, {file: what}, target)
                checksums.verified(target / file, what)
                break
            except CorruptFile as error:
                refused.append(f"{path} was refused: {error}")
        else:
            raise DataUnavailable("; ".join(refused) or f"it does not hold {file}")
        for refusal in refused:
            log.warning("%s: %s", entry["name"], refusal)


def _download(addresses: list[str], target: Path, expected: Mapping[str, Any], *, retries: int) -> None:
    """Download every address of one source and take the files out of what comes."""
    import pooch
    import requests

    limit = archives.most_bytes(sum(map(checksums.most, expected.values())))
    for number, address in enumerate(addresses):
        name = PurePosixPath(unquote(urlsplit(address).path)).name
        # Known before unpacking only where the address is the file itself; pooch then tries a broken one again.
        known = expected[name]["sha256"] if name in expected else TRUST
        arrived = target.parent / f"download-{number}"
        downloads = pooch.create(
            path=arrived.parent,
            base_url="",
            registry={arrived.name: None if known == TRUST else f"sha256:{known}"},
            urls={arrived.name: address},
            retry_if_failed=retries,
        )
        try:
            downloads.fetch(arrived.name, downloader=_limited(limit, name))
            _take(arrived, name, expected, target)
        except (requests.RequestException, ValueError) as error:
            raise DataUnavailable(_plain(error)) from error
        finally:
            arrived.unlink(missing_ok=True)


def _take(path: Path, name: str, expected: Mapping[str, Any], target: Path) -> None:
    """Take the wanted files out of one that is called `name`; one that is to stay packed is copied as it is."""
    packed = [file for file, what in expected.items() if what.get("packed")]
    # An address need not end in the file's name where it can only be this one.
    if len(expected) == len(packed) == 1 and name != f"{packed[0]}.gz":
        name = packed[0]
    if name in packed:
        shutil.copyfile(path, target / name)
    else:
        archives.unpack(path, name, {file: checksums.most(what) for file, what in expected.items()}, target)


def _limited(limit: int, name: str):
    """Return a downloader for pooch that stops a server which does not."""
    import pooch

    def download(address: str, output: str, _: Any) -> None:
        # A bar only where somebody looks; the file is Capped, so requests' chunks are counted as they come.
        http = pooch.HTTPDownloader(progressbar=sys.stderr.isatty(), chunk_size=2**16, timeout=TIMEOUT)
        with Path(output).open("wb") as file:
            http(address, archives.Capped(file, limit, name), None)

    return download


def _plain(error: Exception) -> str:
    """One line a person can read, out of errors that wrap each other."""
    response = getattr(error, "response", None)
    if response is not None and response.status_code >= 400:
        return f"the server answered {response.status_code} {response.reason}"
    text = " ".join(str(error).split())
    if "does not match the known hash" in text:
        return "what came has another sha256: " + text.split("known hash:")[-1].split("Deleted")[0].strip(" .")
    # By name, most telling first: requests is not loaded where nothing is downloaded.
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if "Timeout" in kinds or "Read timed out" in text:
        return "no answer in time"
    known = {
        "SSLError": "no secure connection: its certificate, or the encryption, was not accepted",
        "ProxyError": "no connection through the proxy",
        "ConnectionError": "no connection",
    }
    plain = next((words for kind, words in known.items() if kind in kinds), None)
    return plain or f"{type(error).__name__}: {text.split('Caused by ')[-1]}"[:300]


def _present(path: Path) -> Path:
    if not path.is_file():
        raise CorruptFile(f"{path.name} was not in it")
    return path


def _already(folder: Path, expected: Mapping[str, Any]) -> dict[str, str] | None:
    """Return the checksums of files that need not be fetched, or None; a file nobody knows yet must be."""
    if any(what["sha256"] == TRUST for what in expected.values()):
        return None
    try:
        return {file: checksums.verified(_present(folder / file), what) for file, what in expected.items()}
    except CorruptFile:
        return None


def _remember(entry: Mapping[str, Any], found: Mapping[str, str], trusted: str | Path | None) -> None:
    first = {file: found[file] for file, what in entry["files"].items() if what["sha256"] == TRUST}
    if not first:
        return
    before = checksums.remembered(trusted)
    if before | first != before:
        log.warning("%s: trusted on first use and checked from now on (%s): %s", entry["name"], trusted, first)
        files.write_text(trusted, json.dumps(before | first, indent=2, sort_keys=True) + "\n")


@contextlib.contextmanager
def _workspace(folder: Path) -> Iterator[Path]:
    """A folder beside `folder`, so that the last step is a rename; gone afterwards whatever happens."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    workspace = folder.parent / f".{folder.name}.{secrets.token_hex(8)}"
    workspace.mkdir()
    try:
        yield workspace
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _move(target: Path, folder: Path, workspace: Path) -> None:
    for path in target.iterdir():
        with path.open("rb+") as written:
            os.fsync(written.fileno())
    if folder.exists():
        folder.rename(workspace / "old")
    target.rename(folder)


def _by_hand(entry: Mapping[str, Any], expected: Mapping[str, Any], mirror: Any, attempts: list[str]) -> str:
    """The one message of a machine without network: addresses, the folder to put the files in, the checksums."""
    place = Path(mirror or "mirror", entry["name"])
    again = "run again" if mirror else f"run again with --config mirror={place.parent}"
    lines = [
        f"{entry['name']} ({entry['title']}) could not be fetched:",
        *(f"  - {attempt}" for attempt in attempts),
        f"Put these files, plain or compressed (.gz, .bz2, .xz, .zip), into the folder {place}/ and {again}:",
        *(f"  - {file} ({checksums.size_of(what)}), sha256 {what['sha256']}" for file, what in expected.items()),
    ]
    if entry.get("sources"):
        lines.append("They come from (the first that answers):")
        lines += [f"  - {_described(source)}" for source in entry["sources"]]
    return "\n".join(lines)
