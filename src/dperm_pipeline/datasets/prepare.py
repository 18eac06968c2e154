"""Parse and encode a data set: from its files to a `Dataset` within public bounds."""

import importlib
import os
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dperm.errors import ConfigError, CorruptFile, DataError, DataUnavailable, DpermError
from dperm_pipeline.datasets import catalogue, checksums

if TYPE_CHECKING:
    from dperm_pipeline.datasets.prepared import Dataset

# Format in the catalogue -> (module, its function). Looked up by name, so that a job loads only the parser it uses.
FORMATS = {
    "adult": ("dperm_pipeline.datasets.adult", "parse"),
    "breast-cancer": ("dperm_pipeline.datasets.bundled", "breast_cancer"),
    "digits": ("dperm_pipeline.datasets.bundled", "digits"),
    "diabetes": ("dperm_pipeline.datasets.bundled", "diabetes"),
    "hadamard": ("dperm_pipeline.datasets.synthetic", "hadamard"),
    "covertype": ("dperm_pipeline.datasets.covertype", "parse"),
    "covertype-like": ("dperm_pipeline.datasets.synthetic", "parse_covertype_like"),
    "kdd-like": ("dperm_pipeline.datasets.synthetic", "parse_kdd_like"),
    "spectrum": ("dperm_pipeline.datasets.simulated", "spectrum"),
    "rare": ("dperm_pipeline.datasets.simulated", "rare"),
    "categories": ("dperm_pipeline.datasets.simulated", "categories"),
    "svmlight": ("dperm_pipeline.datasets.svmlight", "parse"),
    "csv": ("dperm_pipeline.datasets.user_files", "parse_csv"),
    "parquet": ("dperm_pipeline.datasets.user_files", "parse_parquet"),
}
# Formats of a user's own file.
USER_FORMATS = ("csv", "parquet")


def module(entry: Mapping[str, Any]) -> str:
    """Return the name of the module that parses an entry: its code digest is taken of that, besides this one.

    ConfigError lists the formats if no parser knows this one.
    """
    if entry["format"] not in FORMATS:
        raise ConfigError(
            f"config/datasets.yaml: {entry['name']}.format: {entry['format']!r} is not one of {', '.join(FORMATS)}"
        )
    return FORMATS[entry["format"]][0]


def prepare(
    entry: Mapping[str, Any], place: str | Path | None = None, *, trusted: str | Path | None = None
) -> "Dataset":
    """Parse, encode and check a data set; the slice `catalogue.numeric` of its entry is enough.

    `place` is the folder where `fetch` put the entry's files, or the user's own file (by default the entry's `path`);
    bundled sets need none. `trusted` is the JSON file in which `fetch` remembered checksums (`trust-on-first-use`).

    CorruptFile if a file is not the one that the catalogue describes, DataUnavailable if it is not there; DataError
    if a record does not fit what the entry declares (no message quotes one); ConfigError if the entry contradicts
    itself, no parser knows its format, or it asks for trust on first use where `trusted` is not given.
    """
    # Here, because every job of the workflow imports this module for `module` alone.
    from dperm_pipeline.datasets.encode import encode

    catalogue.check(entry)
    parse = getattr(importlib.import_module(module(entry)), FORMATS[entry["format"]][1])
    if entry["format"] in USER_FORMATS:
        path = Path(entry["path"] if place is None else place)
        found = {path.name: checksums.sha256(_existing(entry, path))}
        with _without_values(entry):
            return encode(parse(entry, path), entry, str(path), found)
    found = _checked(entry, place, trusted)
    source = ", ".join(found) or f"the set {entry['name']} of {module(entry)}"
    with _without_values(entry):
        return encode(parse(entry, None if place is None else Path(place)), entry, source, found)


@contextmanager
def _without_values(entry: Mapping[str, Any]) -> Iterator[None]:
    """Report an error that nobody foresaw by its kind and place alone: what other libraries say may quote a record."""
    try:
        yield
    except (DpermError, OSError, MemoryError, ImportError):
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        # The innermost line of this folder.
        ours = [frame for frame in frames if Path(frame.filename).parent == Path(__file__).parent][-1]
        raise DataError(
            f"{entry['name']}: {type(error).__name__} at {Path(ours.filename).name}, line {ours.lineno}, which is a "
            "mistake in dperm: please report it. What the error says is left out, because it may quote a record"
        ) from None


def _checked(entry: Mapping[str, Any], folder: str | Path | None, trusted: str | Path | None) -> dict[str, str]:
    """Return the checksums of the files, checked again: one may have been put there by hand, or damaged since."""
    expected = checksums.expected(entry, trusted)
    if expected and folder is None:
        raise DataUnavailable(f"{entry['name']} needs {', '.join(expected)}; fetch it first, and give its folder")
    found = {}
    for file, what in expected.items():
        if what["sha256"] == catalogue.TRUST:
            raise DataUnavailable(f"{entry['name']}: {trusted} holds no checksum of {file}; {_again(folder)}")
        try:
            found[file] = checksums.verified(_existing(entry, Path(folder, file), _again(folder)), what)
        except CorruptFile as error:
            raise CorruptFile(f"{error}; {_again(folder)}") from None
    return found


def _again(folder: str | Path | None) -> str:
    # The pipeline keeps a receipt beside the folder, and fetches where there is none.
    return f"fetch it again (in the pipeline: delete {folder}.json and run again)"


def _existing(entry: Mapping[str, Any], path: Path, remedy: str | None = None) -> Path:
    if not os.path.isfile(path):  # noqa: PTH113 - False too where no file can have this name
        remedy = remedy or f"mend {entry['name']}.path in config/datasets.yaml"
        raise DataUnavailable(f"{entry['name']}: there is no file {path}; {remedy}")
    return path
