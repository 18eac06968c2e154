"""The catalogue of data sets, config/datasets.yaml: one plain dictionary an entry (docs/data.md explains the keys)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dperm.errors import ConfigError
from dperm.yaml_files import parse

TRUST = "trust-on-first-use"
# Keys that say how a set is called, cited and found: an edit of them changes no number.
_NO_NUMBER = frozenset({"title", "licence", "citation", "sources", "mirror_folder", "path", "on_request"})


def load(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read the catalogue for use from Python; the pipeline also holds it against workflow/schemas/datasets.schema.yaml.

    Each entry has its name under the key `name`. ConfigError if the file cannot be read, or `check` refuses an entry.
    """
    document = parse(path)
    if not isinstance(document, dict) or not all(isinstance(entry, dict) for entry in document.values()):
        raise ConfigError(f"{path}: must map names of data sets to their entries")
    entries = {name: {"name": name, **entry} for name, entry in document.items()}
    for entry in entries.values():
        check(entry)
    return entries


def numeric(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the slice of an entry that decides the bytes of its prepared file; `prepare` reads no more.

    Left out are title, licence, citation, addresses, whether it is fetched on request only, and where a user's own file
    lies.
    """
    return {key: value for key, value in entry.items() if key not in _NO_NUMBER}


def check(entry: Mapping[str, Any]) -> None:
    """Check what a JSON Schema cannot say: that keys agree with each other; ConfigError names entry, key and value."""
    for word in _contradictions(entry):
        raise ConfigError(f"config/datasets.yaml: {entry['name']}.{word}")


def _contradictions(entry: Mapping[str, Any]) -> Iterator[str]:
    target = entry["target"]
    # Where the files come from.
    packaged = [source for source in entry.get("sources", []) if isinstance(source, Mapping)]
    for source in packaged:
        if list(entry.get("files", {})) != [source["file"]]:
            yield f"sources: {source['file']!r} of a package must be the one file under files"
    for address in (address for source in entry.get("sources", []) if source not in packaged for address in source):
        try:
            urlsplit(address)
        except ValueError as error:
            yield f"sources: {address!r} is not an address ({error})"
    # Ranges and levels of features; what is a target is no feature.
    ranges = {f"ranges.{name}": limits for name, limits in entry.get("ranges", {}).items()}
    if entry["task"] == "regression":
        ranges["target.range"] = target["range"]
    for key, (low, high) in ranges.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            yield f"{key}: [{low}, {high}] is not a range; give two finite numbers, the lower first"
    levels = entry.get("levels", {})
    for column in sorted(set(levels) & set(entry.get("ranges", {}))):
        yield f"levels.{column}: {column!r} stands under ranges too; a column is a number or a factor, not both"
    if target["column"] in {*levels, *entry.get("ranges", {})}:
        yield f"target.column: {target['column']!r} stands under ranges or levels too; the target is not a feature"
    for column, values in levels.items():
        for value in repeated(values):
            yield f"levels.{column}: {value!r} stands there twice"
    if entry["task"] == "binary":
        for value in repeated([*labels(target["positive"]), *labels(target.get("negative", []))]):
            yield f"target: {value!r} stands twice among positive and negative; a label is one of them"
    for value in repeated(target.get("classes", [])):
        yield f"target.classes: {value!r} stands there twice"
    # Files and paths.
    for name in entry.get("files", {}):
        if Path(name).name != name or name in (".", ".."):
            yield f"files.{name}: must be a plain file name, without a folder"
    if "path" in entry and entry["format"] not in ("csv", "parquet"):
        yield f"path: only for the formats csv and parquet, not {entry['format']!r}"
    if not entry.get("path", "").isprintable() or set("{}") & set(entry.get("path", "")):
        yield f"path: {entry['path']!r} holds a brace (Snakemake fills them in) or a control character; rename the file"
    # Keys that need each other.
    if entry.get("sources") and not entry.get("files"):
        yield "sources: addresses without files; say under files what they hold, with bytes and sha256"
    if entry.get("on_request") and not entry.get("sources"):
        yield "on_request: nothing is fetched without sources; leave it out"
    if entry.get("scale") == "z-score":
        yield "scale: z-score takes mean and deviation of all records, so no guarantee would hold; use unit or raw"
    if entry["format"] == "svmlight":
        yield from _contradictions_of_rows(entry)


def _contradictions_of_rows(entry: Mapping[str, Any]) -> Iterator[str]:
    """Of a set whose features are rows already."""
    if not entry.get("unit_rows"):
        yield "unit_rows: rows of svmlight have no public bound of their own; set it true"
    if entry.get("ranges") or entry.get("levels"):
        yield "ranges: the columns of svmlight have no names; leave ranges empty, and levels out"
    splits = ("train", "test")[: len(entry["files"])]
    if len(entry["files"]) > 2:
        yield "files: svmlight reads one file (train) or two (train, test)"
    for key in ("sample", "source_rows"):
        if "test" in entry.get(key, {}) and "test" not in splits:
            yield f"{key}.test: there is no second file to take it from"


def labels(value: Any) -> list[Any]:
    """Return a label, or a list of labels, as a list."""
    return list(value) if isinstance(value, list) else [value]


def repeated(values: list[Any]) -> list[Any]:
    """Return the values that stand in a list more than once."""
    return [value for value, times in Counter(values).items() if times > 1]
