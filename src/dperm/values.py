"""What a value of a raw column is: a number, a moment, one of the declared levels, or nothing. Each by itself.

Whatever stands there, nothing raises, and none looks at another value: what it may be is declared. Nor does it
count how a value is typed, for readers and arrays type a whole column by the oddest of its records: with one that lacks
a value 1 is read as 1.0, with one that holds a word as "1", and True as 1.0 or "True".
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import numpy as np

from dperm.errors import ConfigError

# Ways to write that a value is missing; a declared level of the same spelling is a level.
MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"})
# What `placing` returns of a value that is missing, and of one that is no declared level.
ABSENT, UNKNOWN = -1, -2
_DAY = 86_400
_EPOCH, _TICK = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
# What readers take for a number, a truth or a day if all of a column are such.
_NUMBER = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)", re.ASCII | re.IGNORECASE)
_TRUTHS = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}
_DATED = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; a missing one (NaN, pandas' NA), which does not say, is equal to none."""
    try:
        found = one == other
        # An array is no value, whatever it holds.
        return np.ndim(found) == 0 and bool(found)
    except Exception:
        return False


def absent(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, what is not equal to itself, or a text that says so."""
    if value is None or not equal(value, value):
        return True
    # By its type: `isinstance` asks the object, which may raise.
    return issubclass(type(value), str) and value.strip() in MISSING


def read_number(value: Any) -> float | None:
    """Return a value as a float, or None where it is no number, or too large for one."""
    try:
        # `float` takes complex and masked numbers, with a warning, and of a longer object its only entry.
        if isinstance(value, (complex, np.complexfloating, np.ma.MaskedArray)):
            return None
        if hasattr(value, "__len__") and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0:
            return None
        return float(value)
    except Exception:
        # Whatever the object raises: which one it is must not show.
        return None


def read_moment(value: Any) -> float | None:
    """Return a date or time (of the standard library or NumPy, or a text in ISO 8601) as days since 1970, or None.

    A time without a zone is taken as UTC. The day 20050101 is one as a number as well.
    """
    try:
        if isinstance(value, np.datetime64):
            return float(value.astype("datetime64[us]").astype(np.int64)) / (_DAY * 1e6)
        if not isinstance(value, date):
            number = _as_number(value)
            if number is not None and not number.is_integer():
                return None
            value = datetime.fromisoformat(str(value).strip() if number is None else f"{int(number):08d}")
        if not isinstance(value, datetime):
            value = datetime.combine(value, time())
        zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        # Whole microseconds, as of NumPy's: not one bit may depend on the type.
        return float((zoned - _EPOCH) // _TICK) / (_DAY * 1e6)
    except Exception:
        return None


def _as_number(value: Any) -> float | None:
    """Return the number that a reader makes of a value in one column or another, or None; True is 1."""
    # By its type: `isinstance` asks the object, which may raise. Python's are the numbers that arrays list.
    text = str(float(value) if issubclass(type(value), np.floating) else value).strip()
    return _TRUTHS.get(text, float(text) if _NUMBER.fullmatch(text) else None)


def read_flag(value: Any) -> float | None:
    """Return what `read_number` does, and of a text that says true or false 1 or 0, as of a truth value."""
    found = read_number(value)
    return _TRUTHS.get(value.strip()) if found is None and issubclass(type(value), str) else found


def identity(value: Any) -> Any:
    """Return what makes a value the same level as another one, however it is typed.

    A number, a truth value or a text that says one is a float ("01", 1, 1.0 and True are one level); a date, or a text
    that begins with one, a moment; all else its text, without blanks around it.
    """
    number = _as_number(value)
    if number is not None:
        return number
    text = str(value).strip()
    moment = read_moment(value) if issubclass(type(value), date) or _DATED.match(text) else None
    return text if moment is None else ("moment", moment)


def placing(levels: Sequence[Any]) -> Callable[[Any], int]:
    """Return the function from a value to its place among the levels, to ABSENT where it is missing, else to UNKNOWN.

    A value is the level that has its `identity`. Levels are text, numbers, and None at most at the end, which takes all
    others. ConfigError if two levels are one.
    """
    places: dict[Any, int] = {}
    for place, level in enumerate(levels):
        if level is not None and places.setdefault(identity(level), place) != place:
            raise ConfigError(
                f"levels {levels[places[identity(level)]]!r} and {level!r} are one, and must be different: readers "
                "take a text for the number that it says where all of a column say one, and true for 1; rename one, as "
                "'no. 01', in the records too"
            )
    rest = len(levels) - 1 if levels[-1] is None else UNKNOWN

    def place(value: Any) -> int:
        try:
            text = issubclass(type(value), str)
            if not text and absent(value):
                return ABSENT
            found = identity(value)
        except Exception:
            return ABSENT
        if found in places:
            return places[found]
        return ABSENT if found in MISSING else rest

    return place
