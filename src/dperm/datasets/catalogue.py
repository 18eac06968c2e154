"""The catalogue of data sets, config/datasets.yaml: one plain dictionary an entry (docs/data.md explains the keys)."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from dperm.errors import ConfigError

TRUST = "trust-on-first-use"
# What an address or an archive may hold beyond the files we want: other members, headers, a page around them.
SLACK_FACTOR, SLACK_BYTES = 1.1, 16 * 2**20


def load(path: str | Path) -> dict[str, dict[str, Any]]:
    """Read the catalogue for use from Python; the pipeline also holds it against workflow/schemas/datasets.schema.yaml.

    Parameters
    ----------
    path : path
        A YAML file: name of a data set -> its entry.

    Returns
    -------
    dict
        Each entry with its name under the key `name`.

    Raises
    ------
    ConfigError
        If the file cannot be read, or an entry contradicts itself (see `check`).
    """
    try:
        document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid YAML: {error}") from None
    if not isinstance(document, dict) or not all(isinstance(entry, dict) for entry in document.values()):
        raise ConfigError(f"{path}: must map names of data sets to their entries")
    entries = {name: {"name": name, **entry} for name, entry in document.items()}
    for entry in entries.values():
        check(entry)
    return entries


def check(entry: Mapping[str, Any]) -> None:
    """Check what a JSON Schema cannot say: that the keys of an entry agree with each other.

    Raises
    ------
    ConfigError
        Naming the entry, the key and the value.
    """
    for word in _contradictions(entry):
        raise ConfigError(f"config/datasets.yaml: {entry['name']}.{word}")


def _contradictions(entry: Mapping[str, Any]) -> Iterator[str]:
    target = entry["target"]
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
        for value in twice(values):
            yield f"levels.{column}: {value!r} stands there twice"
    if entry["task"] == "binary":
        for value in twice([*labels(target["positive"]), *labels(target.get("negative", []))]):
            yield f"target: {value!r} stands twice among positive and negative; a label is one of them"
    for name in entry.get("files", {}):
        if Path(name).name != name or name in (".", ".."):
            yield f"files.{name}: must be a plain file name, without a folder"
    if "path" in entry and entry["format"] not in ("csv", "parquet"):
        yield f"path: only for the formats csv and parquet, not {entry['format']!r}"
    if entry.get("sources") and not entry.get("files"):
        yield "sources: addresses without files; say under files what they hold, with bytes and sha256"


def labels(value: Any) -> list[Any]:
    """Return a label, or a list of labels, as a list."""
    return list(value) if isinstance(value, list) else [value]


def twice(values: list[Any]) -> list[Any]:
    """Return the values that stand in a list more than once."""
    return [value for value, times in Counter(values).items() if times > 1]


def most_bytes(size: int) -> int:
    """Return the bytes at which reading what should hold `size` bytes is given up: no bomb fills the disk."""
    return int(SLACK_FACTOR * size) + SLACK_BYTES
