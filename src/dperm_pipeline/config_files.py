"""Read YAML and validate it by a JSON Schema, with messages that a user can act on."""

import difflib
import functools
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema

from dperm.errors import ConfigError
from dperm.yaml_files import parse
from dperm_pipeline import places


def read(path: str | Path, schema: str | Path) -> dict[str, Any]:
    """Read a YAML file and validate it; ConfigError if it cannot be read, is not YAML, or breaks the schema."""
    document = parse(path)
    validate(document, schema, str(path))
    return document


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """To Python, `$` is also before a last line end: a name with one would become a path with one."""
    if isinstance(instance, str) and not re.search(re.sub(r"\$$", r"\\Z", pattern), instance):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _one_of_the_papers(validator: Any, value: bool, instance: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """The papers are folders, so no schema lists them: `is_paper: true` is an `enum` of those that there are."""
    if instance not in places.paper_keys():
        yield jsonschema.ValidationError("", validator="enum", validator_value=[*places.paper_keys()])


_KEYWORDS = {"pattern": _pattern, "is_paper": _one_of_the_papers}
_Validator = jsonschema.validators.extend(jsonschema.Draft202012Validator, _KEYWORDS)


def read_schema(path: str | Path) -> Mapping[str, Any]:
    """Return a schema from its YAML file, read once though many files are held against it: leave it as it is."""
    return _schema(str(path), _changed(path))


@functools.lru_cache(maxsize=32)
def _schema(path: str, changed: int) -> Mapping[str, Any]:
    return parse(path)


def _changed(path: str | Path) -> int:
    path = Path(path)
    return path.stat().st_mtime_ns if path.exists() else 0


@functools.lru_cache(maxsize=32)
def _validator(path: str, changed: int) -> jsonschema.Draft202012Validator:
    return _Validator(_schema(path, changed))


def validate(document: Any, schema: str | Path | Mapping[str, Any], name: str) -> None:
    """Hold a document against a schema, or the one in a YAML file.

    ConfigError lists all mistakes at once, a line each: file, key, value, what is allowed, nearest key.
    """
    _check_size(document, name)
    validator = _Validator(schema) if isinstance(schema, Mapping) else _validator(str(schema), _changed(schema))
    errors = sorted(validator.iter_errors(document), key=lambda error: [str(part) for part in error.absolute_path])
    lines = [f"{_key(document, error)}: {line}" for error in errors for line in _explain(error)]
    lines += [f"{key}: {_short(value)} is not a finite number" for key, value in _not_finite(document)]
    if lines:
        raise ConfigError("\n".join(f"{name}: {line}" for line in lines))


# Our largest file holds some thousands of values, in six levels.
_MOST_VALUES, _MOST_LEVELS = 200_000, 50


def _check_size(document: Any, name: str) -> None:
    """Refuse what would take for ever to look at: --config is read by Snakemake, which follows YAML's aliases."""
    values, total = [document], 0
    for _ in range(_MOST_LEVELS):
        total += len(values)
        inner = (
            value.values() if isinstance(value, dict) else value for value in values if isinstance(value, (dict, list))
        )
        values = list(itertools.islice(itertools.chain.from_iterable(inner), _MOST_VALUES + 1))
        if not values:
            return
        if total > _MOST_VALUES:
            break
    raise ConfigError(
        f"{name}: more than {_MOST_VALUES:,} values or {_MOST_LEVELS} levels, or a value that holds itself; give fewer"
    )


# No count or bound here is larger, and JSON Schema's integers have no end.
_LARGEST = 10**300


def _not_finite(document: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Find what a schema lets through: `.nan` (every comparison with it is false), and integers beyond any float."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for name, value in items:
        if (isinstance(value, float) and not math.isfinite(value)) or (
            isinstance(value, int) and abs(value) > _LARGEST
        ):
            yield f"{key}{name}", value
        yield from _not_finite(value, f"{key}{name}.")


# Words of a list that a message shows.
_LISTED = 20


def nearest(word: Any, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the closest known word, else the known ones, or the first of many."""
    known = sorted(map(str, known))
    close = difflib.get_close_matches(str(word), known, n=1)
    more = f" and {len(known) - _LISTED} more" if len(known) > _LISTED else ""
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known[:_LISTED])}{more}"


def _key(document: Any, error: jsonschema.ValidationError) -> str:
    """Return where a mistake is; an item of a list is called by its `id` where it has one."""
    words = []
    for part in error.absolute_path:
        document = document[part]
        words.append(_cut(str(document["id"] if isinstance(part, int) and _has_id(document) else part)))
    return ".".join(words) or "(top level)"


def _has_id(item: Any) -> bool:
    return isinstance(item, dict) and isinstance(item.get("id"), str)


def _explain(error: jsonschema.ValidationError) -> list[str]:
    """Put one schema error into words; a combination of schemas is explained by its most telling part."""
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = error.schema.get("properties", {})
        unknown = [name for name in error.instance if name not in known]
        return [f"unknown key {_short(name)}{nearest(name, known)}" for name in unknown]
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        return [f"the key {name!r} is missing" for name in missing]
    if error.validator in ("oneOf", "anyOf") and error.context:
        return _explain(jsonschema.exceptions.best_match(error.context))
    note = error.schema.get("description")
    unit = f" ({note})" if note else ""
    return [f"{_short(error.instance)} is not allowed{unit}: {_allowed(error)}"]


# Keyword of JSON Schema -> what it asks for, in words.
_WORDS = {
    "type": "must be {}",
    "enum": "must be one of {}",
    "const": "must be {}",
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be above {}",
    "exclusiveMaximum": "must be below {}",
    "multipleOf": "must be a multiple of {}",
    "minItems": "needs at least {} item(s)",
    "maxItems": "may hold at most {} item(s)",
    "minLength": "needs at least {} character(s)",
    "maxLength": "may hold at most {} characters",
    "minProperties": "needs at least {} key(s)",
    "uniqueItems": "must not hold the same value twice",
    "pattern": "must match {}",
}


def _allowed(error: jsonschema.ValidationError) -> str:
    value = error.validator_value
    words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    text = _WORDS.get(str(error.validator), error.message.replace("{", "{{").replace("}", "}}")).format(words)
    if error.validator == "enum" and isinstance(error.instance, str):
        close = difflib.get_close_matches(error.instance, [v for v in value if isinstance(v, str)], n=1)
        text += f"; did you mean {close[0]!r}?" if close else ""
    return text


def _short(value: Any) -> str:
    return _cut(repr(value))


def _cut(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
