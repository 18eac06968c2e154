"""What a value of a raw column is: a number, a moment, one of the declared levels, or nothing. Each by itself.

Whatever stands there, no function raises, and none looks at another value: what it may be is declared.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time
from typing import Any

import numpy as np

# Ways to write that a value is missing; a declared level of the same spelling is a level.
MISSING = frozenset({"", "?", "NA", "N/A", "NaN", "nan", "null", "NULL"})
# What `placing` returns of a value that is missing, and of one that is no declared level.
ABSENT, UNKNOWN = -1, -2
_DAY = 86_400


def equal(one: Any, other: Any) -> bool:
    """Return whether two values are equal; a missing one (NaN, pandas' NA), which does not say, is equal to none.

    Parameters
    ----------
    one, other : object
    """
    try:
        found = one == other
        # An array is no value, whatever it holds.
        return np.ndim(found) == 0 and bool(found)
    except Exception:
        return False


def absent(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, what is not equal to itself, or a text that says so.

    Parameters
    ----------
    value : object
    """
    if value is None or not equal(value, value):
        return True
    # By its type: `isinstance` asks the object, which may raise.
    return issubclass(type(value), str) and value.strip() in MISSING


def read_number(value: Any) -> float | None:
    """Return a value as a float, or None where it is no number, or too large for one.

    Parameters
    ----------
    value : object
    """
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

    A time without a zone is taken as UTC.

    Parameters
    ----------
    value : object
    """
    try:
        if isinstance(value, np.datetime64):
            return float(value.astype("datetime64[us]").astype(np.int64)) / (_DAY * 1e6)
        if isinstance(value, str):
            value = datetime.fromisoformat(value.strip())
        if not isinstance(value, datetime):
            value = datetime.combine(value, time()) if isinstance(value, date) else None
        zoned = value.replace(tzinfo=UTC) if value.tzinfo is None else value
        return zoned.timestamp() / _DAY
    except Exception:
        return None


def placing(levels: Sequence[Any]) -> Callable[[Any], int]:
    """Return the function from a value to its place among the levels, to ABSENT where it is missing, else to UNKNOWN.

    Levels that are text match the value as text, without blanks around it; levels that are numbers match it as a
    number. A last level None takes all others.

    Parameters
    ----------
    levels : sequence
        Text, numbers, and None at most at the end.
    """
    texts = {level: place for place, level in enumerate(levels) if isinstance(level, str)}
    numbers = {float(level): place for place, level in enumerate(levels) if not isinstance(level, (str, type(None)))}
    rest = len(levels) - 1 if levels[-1] is None else UNKNOWN

    def place(value: Any) -> int:
        try:
            text = str(value).strip()
        except Exception:
            return ABSENT
        if text in texts:
            return texts[text]
        if absent(value) or text in MISSING:
            return ABSENT
        return numbers.get(read_number(value if type(value) in (bool, np.bool_) else text), rest)

    return place
