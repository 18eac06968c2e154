"""How records come in: as scikit-learn takes them, or, with clip=True, so that no record can be refused.

With `clip=True` (and, for labels, declared `classes`) `fit` is total: once the public arguments are valid, no record
raises, warns, or changes a message or a shape. Each record is mapped by itself to one of the declared domain,

    features    what is no number: NaN; NaN or infinity in a row: the zero row; rows too long: scaled down
                (`dperm.domain.tame_rows`, `bounded_rows`),
    targets     moved to the nearest number of the loss's domain, NaN to 0           (`dperm.losses.Loss.targets_of`),
    labels      whatever is not the positive label is the negative one; of several classes, whatever is none of
                them is the first                                            (`signs`, `places`),

so data sets that differ by one record are mapped to data sets that differ by at most one, under add/remove and
replace-one alike, and what a mechanism promises of the latter holds of the former. n may be 0. The number of columns
and the types of arrays are public. Lists have no type but that of their entries, so these are taken one by one, as
those of arrays of text and of Python objects are: NumPy would give all the type that the oddest of them asks for, and
look into entries that are lists themselves. An entry of a list of targets that is a list of one is that one. What
`float` or `==` of a Python object does beyond an answer or an error is its own.

Shapes and types that nobody takes are refused here, before scikit-learn sees them: its messages quote records, or say
how many there are.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dperm.errors import DataError, DomainViolation
from dperm.values import equal, read_number

_NUMBERS, _TEXT = "biuf", "US"
# Parameters on which it depends whether tests cover a solver (`covered`).
DECISIVE = ("tolerance", "method")
# The largest default of those whose `tolerance=None` means one that hangs on other parameters.
_COARSEST = 1e-6
# What NumPy takes for a number, and for nothing else.
_SCALARS = {bool, int, float, np.bool_, np.float32, np.float64, np.int32, np.int64}
# The types of what marks a missing label, beside NaN: of Python, of pandas.
_MARKS = {"NoneType", "NAType", "NaTType"}
# What to do about entries that no model takes, in this library: what scikit-learn advises learns from the records.
_CLIPPED = "clip=True (and classes, where targets are labels)"
_MISSING = "declare a place for what is missing: PublicEncoder, or SimpleImputer(strategy='constant'), learn nothing"
_WORDS = {
    "X": "turn categories into numbers by their public levels, as PublicEncoder or OneHotEncoder(categories=[...], "
    "handle_unknown='ignore') does in a Pipeline, which learns nothing from the records",
    "y": "real targets are asked for; labels go with loss='logistic', where the model has a loss, and with classes=",
}
_TAKE_SPARSE = (
    "ObjectivePerturbation, NoisyGradientDescent, PreconditionedGradientDescent, and the kernel models, of which "
    "RKHSGaussian is what to try first"
)


def total(estimator: Any, *, numeric: bool) -> bool:
    """Return whether no record can make `fit` fail or warn: with `clip` and, for labels, declared `classes`."""
    return bool(estimator.clip) and (numeric or estimator.classes is not None)


def stated(estimator: Any, *, numeric: bool) -> bool:
    """Return whether a statement says `total`: `total` does, and tests cover that each solver meets its target."""
    return total(estimator, numeric=numeric) and covered(estimator)


def covered(estimator: Any) -> bool:
    """Return whether tests cover its solver, and that of the estimator within it.

    They cover no tolerance finer than the default, nor li2021's Algorithm 1 as it is.
    """
    asked, method = (getattr(estimator, name, None) for name in DECISIVE)
    default = (getattr(type(estimator).__init__, "__kwdefaults__", None) or {}).get("tolerance")
    coarse = asked is None or (isinstance(asked, Real) and asked >= (_COARSEST if default is None else default))
    within = getattr(estimator, "estimator", None)
    return coarse and method != "literal" and (within is None or covered(within))


def check_flags(estimator: Any, *names: str) -> None:
    """Refuse parameters of these names that are neither True nor False."""
    for name in names:
        value = getattr(estimator, name)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name}={value!r} must be True or False")


def validated(estimator: Any, X: Any, y: Any, *, numeric: bool, **how: Any) -> tuple[Any, np.ndarray]:
    """Return X as floats and y as scikit-learn has them; where `fit` is total, NaN, infinity and no records pass too.

    The estimator gets `n_features_in_` and the features' names. What is refused raises TypeError (an entry that is no
    number, unless `fit` is total) or ValueError; where `fit` is total, for shapes and types alone. The message gives
    nothing of the data.

    - numeric: whether y are numbers; else labels.
    - **how: accept_sparse, for `validate_data`.
    """
    always = y is not None and total(estimator, numeric=numeric)
    y = _listed(_unmasked(y))
    with np.errstate(all="ignore"):
        rows = table(X, always=always)
        if y is not None:
            _check_single(y, always, numeric)
            if numeric:
                y = _numbers(_typed(y), "y", always)
            elif always and (isinstance(y, list) or _complex(y)):
                # Labels stay what they are: of 1 and 0.5 NumPy would make two floats, of 1 and 1j two complex numbers,
                # which scikit-learn refuses, and quotes.
                y = _boxed(alone(y if isinstance(y, list) else np.ravel(y).tolist()))
            if hasattr(y, "__len__") and getattr(y, "ndim", 1) and len(y) != rows.shape[0]:
                # scikit-learn would say how many there are.
                raise ValueError("X and y hold different numbers of records")
        _check_dense(estimator, rows, how)
        if y is None:
            # It says that y is required.
            validate_data(estimator, rows, None, dtype=np.float64, ensure_all_finite=False, **how)
        if type(rows) is np.ndarray and rows.dtype == np.float64:
            # Nothing is left to check or to convert, and scikit-learn takes long to find that out.
            found, estimator.n_features_in_ = rows, rows.shape[1]
        else:
            found = validate_data(
                estimator, rows, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=int(not always), **how
            )
        plain = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in _NUMBERS
        y = np.ascontiguousarray(y) if plain else column_or_1d(y, warn=True)
        if not always:
            _check_finite(found, "X", f"drop such records; or {_MISSING}; or pass {_CLIPPED}: such a row is then zeros")
            _check_finite(y, "y", f"drop such records; or pass {_CLIPPED}: that is then 0, or the first of the classes")
        if hasattr(X, "columns") and rows is not X:
            # Its names; a frame that was converted has lost them.
            validate_data(estimator, X, skip_check_array=True)
        return found, np.asarray(y, dtype=np.float64) if numeric else y


def queried(estimator: Any, X: Any, **how: Any) -> Any:
    """Return rows to predict as floats, of the columns that were fitted; `**how`: accept_sparse.

    Unfit rows raise TypeError or ValueError, whose message gives no value and no number of rows.
    """
    rows = table(X)
    validate_data(estimator, X if hasattr(X, "columns") else rows, reset=False, skip_check_array=True)
    _check_dense(estimator, rows, how)
    found = check_array(rows, dtype=np.float64, input_name="X", estimator=estimator, ensure_all_finite=False, **how)
    _check_finite(found, "X", _MISSING)
    return found


def _check_dense(estimator: Any, rows: Any, how: Mapping[str, Any]) -> None:
    """Refuse sparse rows where the model has no solver for them."""
    if sparse.issparse(rows) and not how.get("accept_sparse"):
        raise TypeError(
            f"Sparse data was passed for X, and {type(estimator).__name__} takes dense rows alone: X.toarray() where "
            f"memory allows; sparse rows are taken by {_TAKE_SPARSE}"
        )


def _check_finite(values: Any, name: str, remedy: str) -> None:
    """Refuse NaN and infinity in this library's words: scikit-learn's recommend models without privacy."""
    entries = values.data if sparse.issparse(values) else values
    if entries.dtype.kind == "O":
        held = entries.tolist()
        missing = not _MARKS.isdisjoint({type(entry).__name__ for entry in held})
        missing = missing or any(isinstance(entry, float) and entry != entry for entry in held)
    elif entries.dtype.kind == "f":
        missing = bool(np.isnan(entries).any())
        if not missing and not np.isfinite(entries).all():
            raise ValueError(f"Input {name} contains infinity; {remedy}")
    else:
        return
    if missing:
        raise ValueError(f"Input {name} contains NaN or another missing value; {remedy}")


def made_up(X: Any, classes: np.ndarray | None, *, known: bool) -> tuple[Any, np.ndarray]:
    """Return made-up rows, zeros of X's kind and width, and targets: one of each class, or of numbers two.

    - known: whether how many rows X has is public: as many then, up to a thousand, for some mechanisms need so many.
    """
    targets = np.zeros(2) if classes is None else classes
    targets = np.resize(targets, max(len(targets), min(X.shape[0], 1000) if known else 0))
    shape = len(targets), X.shape[1]
    return sparse.csr_array(shape) if sparse.issparse(X) else np.zeros(shape), targets


def weighed(given: Any, n: int, bound: float, *, clip: bool) -> np.ndarray:
    """Return sample weights as floats in [0, bound]; with `clip` what is no number is 0, and others go to the ends.

    Raises TypeError or ValueError for a shape or type, DomainViolation for a weight; no message gives a value or n.
    """
    with np.errstate(all="ignore"):
        w = np.asarray(_numbers(_typed(_listed(_unmasked(given))), "sample_weight", clip), dtype=np.float64)
        if w.ndim != 1 or len(w) != n:
            raise ValueError("sample_weight must be 1D, a weight for each record")
        if clip:
            return np.clip(np.nan_to_num(w, nan=0.0, posinf=bound, neginf=0.0), 0.0, bound)
    if not ((w >= 0) & (w <= bound)).all():
        raise DomainViolation(
            f"sample_weight holds a weight outside [0, {bound:g}], the declared `weight_bound`; declare the larger "
            "public bound, or pass clip=True"
        )
    return w


def table(X: Any, *, always: bool = False) -> Any:
    """Return X as a table of numbers (X itself if it is one), or refuse its shape or type.

    With `always` what is no number is NaN, and no records are records too. It raises TypeError or ValueError, and
    the message gives no value and no number of rows.
    """
    return _numbers(shaped(X, always=always), "X", always)


def shaped(X: Any, *, always: bool = False) -> Any:
    """Return X as it is if it has types, a list of rows as an array, or refuse its shape (ValueError), as `table`."""
    names = getattr(X, "column_names", getattr(X, "columns", ()))
    twice = [] if isinstance(X, list) else [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise DataError(
            f"X has more than once the column {', '.join(map(repr, twice))}; give each column a name of its own, or "
            "drop it from X"
        )
    rows = _typed_rows(_listed(_unmasked(X)))
    if len(rows.shape) != 2:
        raise ValueError(f"X has {len(rows.shape)} dimensions, not 2. Reshape your data to (records, columns)")
    if not rows.shape[1]:
        # scikit-learn's words, which its checks look for, without the number of records.
        raise ValueError("X has 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.")
    if not (always or rows.shape[0]):
        raise ValueError("X holds no records, while a minimum of 1 is required")
    return rows


def _check_single(y: Any, always: bool, numeric: bool) -> None:
    """Refuse targets that are not one a record, and complex ones, without a value and without their number."""
    if isinstance(y, list) and (numeric or always):
        # Taken entry by entry.
        return
    try:
        typed = y if hasattr(y, "shape") else np.asarray(y)
    except ValueError:
        typed = None
    if typed is None:
        # Lists of different lengths; raised here, so that NumPy's error is not its context.
        raise ValueError("y holds entries that are lists: give one number or label for each record")
    if len(typed.shape) != 1 and not (len(typed.shape) == 2 and typed.shape[1] == 1):
        columns = f" and {typed.shape[1]} columns" if len(typed.shape) == 2 else ""
        raise ValueError(
            f"y has {len(typed.shape)} dimensions{columns}: y should be a 1d array, one number or label for each record"
        )
    if _complex(typed) and not always:
        raise ValueError("Complex data not supported: y has a complex type; give real numbers, or labels")


def _complex(values: Any) -> bool:
    return getattr(getattr(values, "dtype", None), "kind", "") == "c"


def _listed(values: Any) -> Any:
    """Return what has no type of its own as a list: NumPy would give one record's type to all."""
    typed = any(hasattr(values, name) for name in ("dtype", "dtypes", "__array__", "__array_interface__"))
    several = isinstance(values, Iterable) and isinstance(values, Sized)
    if typed or not several or isinstance(values, (str, bytes, Mapping)):
        return values
    return list(values)


def _unmasked(values: Any) -> Any:
    """Return a masked array as objects, NaN where the mask hides an entry: others would take what is hidden."""
    return values.astype(object).filled(np.nan) if isinstance(values, np.ma.MaskedArray) else values


def _typed(values: Any) -> Any:
    """Return what has a type as it is, else (lists) an array: of numbers if all entries are, else of objects."""
    if not isinstance(values, list):
        return values if hasattr(values, "dtype") or hasattr(values, "dtypes") else np.asarray(values)
    entries = alone(values)
    plain = _plain(entries)
    return _boxed(entries) if plain is None else plain


def alone(values: Any) -> list[Any]:
    """Return the entries of a list; of one that is a list of a single entry, as in a column, that entry."""
    return [_only(value) for value in values]


def _only(value: Any) -> Any:
    try:
        return value[0] if _is_row(value) and len(value) == 1 else value
    except Exception:
        # Whatever it raises where it is looked at: which one it is must not show.
        return value


def _is_row(value: Any) -> bool:
    try:
        if isinstance(value, Sequence):
            return not isinstance(value, (str, bytes, bytearray))
        return getattr(value, "ndim", 0) == 1
    except Exception:
        return False


def _typed_rows(values: Any) -> Any:
    """Return X as `_typed` returns y; a list must hold rows, each of as many entries as the others."""
    if not isinstance(values, list):
        return _typed(values)
    rows = [list(row) if _is_row(row) else None for row in values]
    if not rows or rows[0] is None:
        return _boxed(values)
    columns = len(rows[0])
    if any(row is None or len(row) != columns for row in rows):
        raise ValueError("rows of X hold different numbers of entries: each must have the same, public, columns")
    entries = [entry for row in rows for entry in row]
    plain = _plain(entries)
    return (_boxed(entries) if plain is None else plain).reshape(len(rows), columns)


def _plain(entries: list[Any]) -> np.ndarray | None:
    """Return entries as an array of numbers if all of them are plain numbers, none too large; else None."""
    if not all(type(entry) in _SCALARS for entry in entries):
        return None
    try:
        array = np.array(entries)
    except OverflowError:
        return None
    return array if array.dtype.kind in _NUMBERS else None


def _boxed(entries: Any) -> np.ndarray:
    """Return an array of these objects, whatever they are."""
    array = np.empty(len(entries), dtype=object)
    for place, entry in enumerate(entries):
        array[place] = entry
    return array


def _numbers(values: Any, name: str, always: bool) -> Any:
    """Return what has a type of numbers as it is; of text and objects each entry by itself as a float.

    What is no number, or too large for one, is NaN if `always`, else an error.
    """
    types = values.dtypes if hasattr(values, "dtypes") and len(values.shape) == 2 else [values.dtype]
    kinds = {getattr(dtype, "kind", "O") for dtype in types}
    if kinds <= set(_NUMBERS):
        return values
    if "c" in kinds:
        raise ValueError(f"Complex data not supported: {name} has a complex type; give real numbers")
    if not kinds <= set(_NUMBERS + _TEXT + "O"):
        raise ValueError(f"{name} has the type {', '.join(map(str, types))}; give numbers")
    array = np.asarray(values, dtype=object)
    found = [read_number(value) for value in array.ravel().tolist()]
    if not always and None in found:
        raise TypeError(
            f"{name} holds an entry that is no number: float's argument must be a string or a real number, and not too "
            f"large; {_WORDS[name]}; or drop or mend such records"
        )
    return np.array(found, dtype=np.float64).reshape(array.shape)


def signs(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return +1 where a label is `classes[1]` and -1 elsewhere, whatever stands there."""
    return np.where(_is(y, classes, 1), 1.0, -1.0)


def places(y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return which of the classes each label is, as a float; 0 where it is none of them, whatever stands there."""
    found = np.zeros(len(y))
    for place in range(1, len(classes)):
        found[_is(y, classes, place)] = place
    return found


def _is(y: np.ndarray, classes: np.ndarray, place: int) -> np.ndarray:
    """Return where a label is this one of the classes."""
    alike = any(y.dtype.kind in kinds and classes.dtype.kind in kinds for kinds in (_NUMBERS, _TEXT))
    # Of different types labels are compared one by one, as Python does: '1' is not 1.
    return y == classes[place] if alike else np.array([equal(label, classes[place]) for label in y.tolist()], bool)
