"""A transformer that knows its columns from a schema alone, and learns nothing."""

import math
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dperm.domain import LEAST, MOST, number, one_of
from dperm.errors import DataError
from dperm.mechanisms.diagnostics import Encoded, keep
from dperm.mechanisms.public import schema as schemas
from dperm.mechanisms.public import tables

Divided = Literal["ranges", "length"]
CONSTANT = "(constant)"


class PublicEncoder(TransformerMixin, BaseEstimator):
    r"""Raw columns to rows within a public bound, by a schema that was declared before anybody saw the records.

    Numbers and dates go to [0, 1] by their range, factors to an indicator for each declared level. `fit` reads the
    schema and the names of the columns, no record; each record is then mapped by itself. So data sets that differ by
    one record (added, removed or replaced) become data sets that differ by one row, at no cost of privacy, and every
    row has ||x||_2 <= `x_norm`: what each column contributes has a length of at most 1.

    Parameters
    ----------
    schema : dict or path
        Column to `{"range": [low, high]}`, `{"levels": [...]}` (a last None takes all others) or `{"from": day, "to":
        day}`, each with `"missing": "indicator"` or a constant if wanted, or to "ignore"; a key with `*` or `?` is a
        pattern for columns that nothing else names. A path is that of a YAML file, which needs PyYAML. It must be
        public: what you would have written down before seeing the data.
    constant : bool, default=False
        Append a feature that is the same in every row.
    rows : {"ranges", "length"}, default="ranges"
        What divides a row so that it is no longer than `x_norm`. "ranges": the largest length that the schema allows,
        the same for every row, so that features stay comparable between rows. "length": the row's own length, so that
        every row (but a zero row) is as long as the bound, and signals are larger beside the noise.
    x_norm : float, default=1.0
        The bound: the estimators' `x_norm`.
    clip : bool, default=False
        Whether no record may raise or warn: numbers and dates out of range go to the nearest end; unknown levels, what
        is no number, and what is missing go to the place declared for what is missing, else count as 0. Else such
        records raise a DataError, which names the column and is for the curator's eyes.
    sparse : bool, default=False
        Return a CSR matrix.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn; names only where X has them.
    schema_, columns_ : dict, list
        The schema as it was given, and as it was read.

    Notes
    -----
    Which records were clipped, or refused, is private: `dperm.diagnostics(encoder)` counts them for the curator, of
    the last `transform`.

    References
    ----------
    docs/preprocessing.md. The papers (kifer2012, jain2013, dwork2018, li2021) assume rows within a public bound.

    Examples
    --------
    >>> import numpy as np
    >>> from dperm import PublicEncoder
    >>> encoder = PublicEncoder({"age": {"range": [0, 100]}, "eyes": {"levels": ["blue", "brown", None]}})
    >>> X = np.array([[50, "blue"], [100, "green"]], dtype=object)
    >>> encoder.fit_transform(X).round(3).tolist()
    [[0.354, 0.707, 0.0, 0.0], [0.707, 0.0, 0.0, 0.707]]
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'eyes=blue', 'eyes=brown', 'eyes=(other)']
    """

    # For `PrivacySession`: a step of a Pipeline that no record changes.
    learns_nothing = True

    def __init__(self, schema, *, constant=False, rows="ranges", x_norm=1.0, clip=False, sparse=False):
        self.schema = schema
        self.constant = constant
        self.rows = rows
        self.x_norm = x_norm
        self.clip = clip
        self.sparse = sparse

    def fit(self, X, y=None):
        """Read the schema, and hold it against the names of the columns; no record is looked at.

        Parameters
        ----------
        X : dataframe or array_like, shape (n, columns)
            An array has no names: its columns are those of the schema, in that order; with patterns x0, x1, ...
        y : object
            Ignored.

        Returns
        -------
        self

        Raises
        ------
        ConfigError
            If the schema is wrong.
        DataError
            If a column of X is missing, or not declared.
        ValueError
            If another parameter is wrong.
        """
        for name in ("constant", "clip", "sparse"):
            if not isinstance(getattr(self, name), bool | np.bool_):
                raise ValueError(f"{name}={getattr(self, name)!r} must be True or False")
        one_of("rows", self.rows, Divided)
        number("x_norm", self.x_norm, LEAST, MOST, ends="[]", remedy="it is the bound on every row; 1 is usual")
        self.schema_, table = schemas.load(self.schema), tables.opened(X, empty=self.clip)
        self.columns_ = schemas.columns(self.schema_, self._names(table))
        validate_data(self, X if hasattr(X, "shape") else table, skip_check_array=True)
        return self

    def _names(self, table: Any) -> list[str]:
        """Return the names of a table's columns, of an array those of the schema."""
        schema, named = self.schema_, tables.names(table)
        if named is not None:
            return named
        if any(set("*?") & set(name) for name in schema):
            return [f"x{place}" for place in range(table.shape[1])]
        if len(schema) != table.shape[1]:
            raise DataError(
                f"X has {table.shape[1]} columns without names, and the schema {len(schema)}: an array must have "
                f"those of the schema in its order: {', '.join(map(repr, schema))}"
            )
        return list(schema)

    def transform(self, X):
        """Return the rows.

        Parameters
        ----------
        X : dataframe or array_like, shape (n, columns)

        Returns
        -------
        ndarray or CSR, shape (n, p)

        Raises
        ------
        DataError
            If a column is missing or not declared; unless `clip`, if a value is missing and no place is declared for
            it, or is none that the column may hold. The message names the column and no value: that is in
            `dperm.diagnostics` of this object.
        """
        check_is_fitted(self, "columns_")
        table = tables.opened(X, empty=self.clip)
        present = self._names(table)
        schemas.columns(self.schema_, present)
        validate_data(self, X if hasattr(X, "shape") else table, reset=False, skip_check_array=True)
        with np.errstate(all="ignore"):
            return self._rows(self._read(table, present))

    def _read(self, table: Any, present: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return of each column the feature and the number of each record; keep for the curator what was amiss."""
        found, blocks, messages = Encoded({}, {}, {}, {}), [], []
        for column in self.columns_:
            values = tables.column(table, column.name, present.index(column.name))
            read = schemas.entries(column, values)
            for counts, mask in zip((found.missing, found.unknown, found.outside),
                                    (read.missing, read.unknown, read.outside), strict=True):  # fmt: skip
                counts[column.name] = int(mask.sum())
            for mask, what, remedy in (
                (
                    read.missing & (column.place is None),
                    "lacks a value",
                    "declare `missing`: 'indicator' or a constant",
                ),
                (read.unknown, _no_value(column), "correct it, or declare it"),
                (read.outside, _no_place(column), "declare the wider public range"),
            ):
                if mask.any():
                    found.first.setdefault(column.name, _shown(values[int(mask.argmax())]))
                    messages.append(f"column {column.name!r} {what}; {remedy}")
            away = read.unknown | read.missing
            place, worth = column.place or (0, 0.0)
            blocks.append((np.where(away, place, read.feature), np.where(away, worth, read.number)))
        keep(self, found)
        if messages and not self.clip:
            # One message, of the first: it depends on records, and gives nothing else of them.
            raise DataError(
                f"{messages[0]}, or pass clip=True, under which no record raises (which value it was is private: "
                "dperm.diagnostics of this object)"
            )
        return blocks

    def _rows(self, blocks: list[tuple[np.ndarray, np.ndarray]]) -> Any:
        """Return the rows, each divided; of every block a row has one feature."""
        widths = [len(column.features) for column in self.columns_]
        firsts = np.cumsum([0, *widths])
        at = np.column_stack([first + feature for first, (feature, _) in zip(firsts, blocks, strict=False)])
        numbers = np.column_stack([number for _, number in blocks])
        if self.constant:
            at = np.column_stack([at, np.full(len(at), firsts[-1])])
            numbers = np.column_stack([numbers, np.ones(len(at))])
        shape, longest = (len(at), int(firsts[-1]) + bool(self.constant)), math.sqrt(at.shape[1])
        if self.rows == "length":
            # In units of a power of two, which takes no digits, so that no square vanishes.
            numbers = np.ldexp(numbers, -np.frexp(numbers.max(axis=1, keepdims=True))[1])
            lengths = np.sqrt((numbers**2).sum(axis=1, keepdims=True))
            longest = np.where(lengths > 0, lengths, 1.0)
        # Inward by more than rounding comes to, so that no row ends above the bound.
        numbers *= self.x_norm * (1 - (shape[1] + 8) * np.finfo(float).eps) / longest
        if self.sparse:
            made = sparse.csr_array((numbers.ravel(), at.ravel(), np.arange(len(at) + 1) * at.shape[1]), shape=shape)
            made.eliminate_zeros()
            return made
        X = np.zeros(shape)
        np.put_along_axis(X, at, numbers, axis=1)
        return X

    def get_feature_names_out(self, input_features=None):
        """Return the names of the features: the column, or column=level, or (constant).

        Parameters
        ----------
        input_features : object
            Ignored.

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self, "columns_")
        names = [name for column in self.columns_ for name in column.features]
        return np.asarray([*names, *[CONSTANT] * bool(self.constant)], dtype=object)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.categorical = True
        tags.input_tags.allow_nan = bool(self.clip)
        return tags


def _no_value(column: schemas.Column) -> str:
    if column.levels:
        return f"holds a value that is not one of its {len(column.levels)} levels"
    return "holds a value that is no " + ("date (ISO 8601)" if column.moments else "number")


def _shown(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _no_place(column: schemas.Column) -> str:
    if column.moments:
        return "holds a date outside its range"
    return f"holds a number outside [{column.low:g}, {column.high:g}]"
