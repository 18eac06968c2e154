"""How records come in: as scikit-learn takes them, or, with clip=True, so that no record can be refused.

With `clip=True` (and, for labels, declared `classes`) `fit` is total: once the public arguments are valid, no record
raises, warns, or changes a message or a shape. Each record is mapped by itself to one of the declared domain,

    features    what is no number: NaN; NaN or infinity in a row: the zero row; rows too long: scaled down
                (`dperm.domain.tame_rows`, `bounded_rows`),
    targets     moved to the nearest number of the loss's domain, NaN to 0           (`dperm.losses.Loss.targets_of`),
    labels      whatever is not the positive label is the negative one               (`signs`),

so data sets that differ by one record are mapped to data sets that differ by at most one, under add/remove and
replace-one alike, and what a mechanism promises of the latter holds of the former. n may be 0. The number of columns
and the types of arrays are public. Lists have no type but that of their entries, so these are taken one by one, as
those of arrays of text and of Python objects are: NumPy would give all the type that the oddest of them asks for. What
`float` or `==` of a Python object does beyond an answer or an error is its own.
"""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

_NUMBERS, _TEXT = "biuf", "US"


def total(estimator: Any, *, numeric: bool) -> bool:
    """Return whether no record can make `fit` fail or warn: with `clip` and, for labels, declared `classes`.

    Parameters
    ----------
    estimator : BaseEstimator
    numeric : bool
        Whether targets are numbers; else labels.

    Returns
    -------
    bool
    """
    return bool(estimator.clip) and (numeric or estimator.classes is not None)


def validated(estimator: Any, X: Any, y: Any, *, numeric: bool, **how: Any) -> tuple[Any, np.ndarray]:
    """Return X as floats and y as scikit-learn has them; where `fit` is total, NaN, infinity and no records pass too.

    Parameters
    ----------
    estimator : BaseEstimator
        With `clip` and, if it takes labels, `classes`; gets `n_features_in_` and the features' names, if X has them.
    X : array_like, shape (n, p)
    y : array_like, shape (n,)
    numeric : bool
        Whether y are numbers; else labels.
    **how
        For `validate_data`: accept_sparse.

    Returns
    -------
    X : ndarray or CSR, shape (n, p)
    y : ndarray, shape (n,)

    Raises
    ------
    TypeError
        If an entry is no number, and `fit` is not total. The message gives nothing of the data.
    ValueError
        If scikit-learn refuses them; where `fit` is total, for shapes and types alone.
    """
    always = y is not None and total(estimator, numeric=numeric)
    with np.errstate(all="ignore"):
        rows = _typed(X)
        if len(rows.shape) != 2:
            raise ValueError(f"X has {len(rows.shape)} dimensions, not 2. Reshape your data to (records, columns)")
        rows = _numbers(rows, "X", always)
        if numeric and y is not None:
            y = _numbers(_typed(y), "y", always)
        if not always:
            found, y = validate_data(estimator, rows, y, dtype=np.float64, y_numeric=numeric, **how)
        else:
            found = validate_data(
                estimator, rows, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0, **how
            )
            y = column_or_1d(y if hasattr(y, "dtype") else np.asarray(y, dtype=object), warn=True)
            check_consistent_length(found, y)
        if hasattr(X, "columns") and rows is not X:
            # Its names; a frame that was converted has lost them.
            validate_data(estimator, X, skip_check_array=True)
        return found, np.asarray(y, dtype=np.float64) if numeric else y


def _typed(values: Any) -> Any:
    """Return what has a type as it is, else (lists) an array: of numbers if all entries are, else of objects."""
    if hasattr(values, "dtype") or hasattr(values, "dtypes"):
        return values
    array = np.asarray(values)
    return array if array.dtype.kind in _NUMBERS else np.asarray(values, dtype=object)


def _numbers(values: Any, name: str, always: bool) -> Any:
    """Return what has a type of numbers as it is; of text and objects each entry by itself as a float.

    What is no number, or too large for one, is NaN if `always`, else an error. Complex numbers scikit-learn refuses.
    """
    types = values.dtypes if hasattr(values, "dtypes") and len(values.shape) == 2 else [values.dtype]
    kinds = {getattr(dtype, "kind", "O") for dtype in types}
    if kinds <= set(_NUMBERS) or kinds == {"c"}:
        return values
    if not kinds <= set(_NUMBERS + _TEXT + "O"):
        raise ValueError(f"{name} has the type {', '.join(map(str, types))}; give numbers")
    array = np.asarray(values, dtype=object)
    found = [_number(value) for value in array.ravel().tolist()]
    if not always and None in found:
        raise TypeError(
            f"{name} holds an entry that is no number: float's argument must be a string or a real number, and not too "
            "large; drop or mend such records first, or pass clip=True (and classes, where targets are labels)"
        )
    return np.array(found, dtype=np.float64).reshape(array.shape)


def _number(value: Any) -> float | None:
    """Return it as a float, or None."""
    if value is np.ma.masked:  # a NaN for `float`, with a warning
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def signs(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return +1 where a label is `classes[1]` and -1 elsewhere, whatever stands there.

    Parameters
    ----------
    y : ndarray, shape (n,)
    classes : ndarray, shape (2,)

    Returns
    -------
    ndarray, shape (n,)
    """
    alike = any(y.dtype.kind in kinds and classes.dtype.kind in kinds for kinds in (_NUMBERS, _TEXT))
    # Of different types labels are compared one by one, as Python does: '1' is not 1.
    positive = y == classes[1] if alike else np.array([_same(label, classes[1]) for label in y.tolist()], bool)
    return np.where(positive, 1.0, -1.0)


def _same(label: Any, other: Any) -> bool:
    """Return whether they are equal; a missing label (pandas' NA), which does not say, is equal to none."""
    try:
        return bool(np.all(label == other))
    except (TypeError, ValueError):
        return False
