"""Tables of raw columns, whoever made them: pandas, polars, Arrow, the dataframe interchange protocol, arrays."""

from typing import Any

import numpy as np
from scipy import sparse

from dperm.errors import DataError
from dperm.mechanisms.estimators.records import shaped


def opened(X: Any, *, empty: bool) -> Any:
    """Return a table whose columns `names` and `column` can take: X itself, or what a library made of it.

    Raises DataError or ValueError for what is no table, and without `empty` for one without records.
    """
    if sparse.issparse(X):
        raise ValueError("X is sparse: raw columns are dense; give them as a dataframe or an array")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise ValueError("Complex data not supported: X has a complex type; give real numbers")
    if not _framed(X):
        X = _interchanged(X) if hasattr(X, "__dataframe__") else shaped(X, always=True)
    if not (empty or records(X)):
        raise ValueError("X holds no records, while a minimum of 1 is required")
    return X


def _interchanged(X: Any) -> Any:
    try:
        from pyarrow.interchange import from_dataframe
    except ImportError:
        try:
            from pandas.api.interchange import from_dataframe
        except ImportError:
            raise DataError(
                f"X is a {type(X).__name__}, known by the dataframe interchange protocol alone, which needs pyarrow or "
                "pandas here: pip install pyarrow, or give an array"
            ) from None
    return from_dataframe(X)


def _framed(X: Any) -> bool:
    return hasattr(X, "__getitem__") and (hasattr(X, "columns") or hasattr(X, "column_names"))


def names(table: Any) -> list[str] | None:
    """Return the names of the columns; None of an array."""
    if not _framed(table):
        return None
    found = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if not all(isinstance(name, str) for name in found):
        raise DataError("X has columns whose names are no text; rename them, such as X.columns = X.columns.astype(str)")
    return found


def column(table: Any, name: str, place: int) -> np.ndarray:
    """Return the values of a column, by its name, of an array by its place."""
    if not _framed(table):
        return np.asarray(table[:, place])
    values = table[name]
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)


def records(table: Any) -> int:
    """Return how many records there are."""
    return table.num_rows if hasattr(table, "num_rows") else table.shape[0]
