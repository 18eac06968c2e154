"""Parse and encode a data set: from its files to a `Dataset` within public bounds."""

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.datasets import catalogue, checksums
from dperm.errors import ConfigError, CorruptFile, DataUnavailable

if TYPE_CHECKING:
    from dperm.datasets.prepared import Dataset

# Format in the catalogue -> (module, its function). Looked up by name, so that a job loads only the parser it uses.
FORMATS = {
    "adult": ("dperm.datasets.adult", "parse"),
    "breast-cancer": ("dperm.datasets.bundled", "breast_cancer"),
    "digits": ("dperm.datasets.bundled", "digits"),
    "diabetes": ("dperm.datasets.bundled", "diabetes"),
    "csv": ("dperm.datasets.own", "parse_csv"),
    "parquet": ("dperm.datasets.own", "parse_parquet"),
}


def module(entry: Mapping[str, Any]) -> str:
    """Return the name of the module that parses an entry: what its code digest is taken of, besides this one's.

    Raises
    ------
    ConfigError
        If no parser knows the format; the message lists those there are.
    """
    if entry["format"] not in FORMATS:
        raise ConfigError(
            f"config/datasets.yaml: {entry['name']}.format: {entry['format']!r} is not one of {', '.join(FORMATS)}"
        )
    return FORMATS[entry["format"]][0]


def prepare(entry: Mapping[str, Any], folder: str | Path | None = None) -> "Dataset":
    """Parse, encode and check a data set.

    Parameters
    ----------
    entry : mapping
        One entry of the catalogue, with its `name`.
    folder : path, optional
        Where `fetch` put the entry's files. Not needed for bundled sets and for a user's own file (`path`, taken from
        the current folder if it is relative).

    Raises
    ------
    CorruptFile
        If a file is not the one that the catalogue describes.
    DataUnavailable
        If a file is not there.
    DataError
        If a record does not fit what the entry declares (see `dperm.datasets.encode.encode`).
    ConfigError
        If the entry contradicts itself, or no parser knows its format.
    """
    # Here, because every job of the workflow imports this module for `module` alone.
    from dperm.datasets.encode import encode

    catalogue.check(entry)
    parse = getattr(importlib.import_module(module(entry)), FORMATS[entry["format"]][1])
    if "path" in entry:
        path = Path(entry["path"])
        found = {path.name: checksums.sha256(_there(entry, path))}
        return encode(parse(entry, path), entry, str(path), found)
    found = _checked(entry, folder)
    return encode(parse(entry, None if folder is None else Path(folder)), entry, entry["title"], found)


def _checked(entry: Mapping[str, Any], folder: str | Path | None) -> dict[str, str]:
    """Checked here again: a file may have been put there by hand, or damaged since."""
    expected = entry.get("files", {})
    if expected and folder is None:
        raise DataUnavailable(f"{entry['name']} needs {', '.join(expected)}; fetch it first, and give its folder")
    found = {}
    for file, what in expected.items():
        try:
            found[file] = checksums.verified(_there(entry, Path(folder, file)), what)
        except CorruptFile as error:
            raise CorruptFile(f"{error}; delete {folder} and fetch it again") from None
    return found


def _there(entry: Mapping[str, Any], path: Path) -> Path:
    if not path.is_file():
        remedy = f"mend {entry['name']}.path in config/datasets.yaml" if "path" in entry else "fetch it again"
        raise DataUnavailable(f"{entry['name']}: there is no file {path}; {remedy}")
    return path
