"""Read the rows of a file once for several claims: a file may hold millions, and each claim needs only some of them."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from dperm_pipeline import tables
from dperm_pipeline.claims import select


class Rows:
    """What a file of rows (None: the experiment was not selected) holds for the questions that will be asked of it.

    A question is (columns, filters), filters in pyarrow's form, each an `in`; questions about data sets that the
    file does not have are left out.
    """

    def __init__(self, path: str | Path | None, questions: Sequence[tuple[Sequence[str], Sequence[tuple]]]):
        self.path = path
        self._questions = questions
        # Columns with the types of values that they can be compared with, once tried.
        self._comparable: set[tuple[str, ...]] = set()

    @cached_property
    def datasets(self) -> set[str]:
        """The data sets in the file; none if there is no file."""
        if self.path is None:
            return set()
        return _datasets(str(self.path), Path(self.path).stat().st_mtime_ns)

    @cached_property
    def given_up(self) -> list[str]:
        """Where the solvers of whole cells gave up, in words."""
        return [] if self.path is None else tables.given_up(self.path)

    @property
    def at_most(self) -> int:
        """How many rows the metrics that are asked for have in the file, whatever else narrows them."""
        if self.path is None or not self._questions:
            return 0
        counts = _metrics(str(self.path), Path(self.path).stat().st_mtime_ns)
        asked = [_by_column(filters).get("metric", list(counts)) for _, filters in self._questions]
        return sum(counts.get(metric, 0) for metric in set().union(*asked))

    def of(self, columns: Sequence[str], filters: Sequence[tuple[str, str, list[Any]]]) -> pd.DataFrame:
        """Return the rows that pass all filters, as `dperm_pipeline.tables.read` gives them.

        CorruptFile if the file is not Parquet; ValueError if a column does not exist though no cell gave up, or
        is compared with values of another type.
        """
        read = self._read
        mask = np.ones(len(read), bool)
        for name, _, values in filters:
            self._check(name, values)
            mask &= select.among(read[name], values)
        found = read.loc[mask, list(columns)].reset_index(drop=True)
        # A column of whole numbers has become floats if a value lacks elsewhere in the file.
        for name, kind in self._whole.items():
            if name in found and found[name].dtype != kind and not found[name].isna().any():
                found = found.astype({name: kind})
        return found

    @cached_property
    def _schema(self) -> pa.Schema:
        return pq.read_schema(self.path)

    @cached_property
    def _whole(self) -> Mapping[str, Any]:
        """The columns of whole numbers and of truth values, whose type pandas changes where a value lacks."""
        fields = [field for field in self._schema if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)]
        return {field.name: field.type.to_pandas_dtype() for field in fields}

    @cached_property
    def _read(self) -> pd.DataFrame:
        """The rows and columns that any question asks for."""
        asked = [(columns, _by_column(filters)) for columns, filters in self._questions]
        asked = [(columns, filters) for columns, filters in asked if self.datasets.intersection(filters["dataset"])]
        columns = list(dict.fromkeys(name for names, filters in asked for name in (*names, *filters)))
        # Where all cells gave up, nobody wrote the experiment's own columns: they hold nothing.
        present = [name for name in columns if name in self._schema.names] if self.given_up else columns
        # A column that every question narrows is narrowed to what any of them asks.
        filters = []
        for name in asked[0][1]:
            if name in present and all(name in narrowed for _, narrowed in asked):
                values = dict.fromkeys(value for _, narrowed in asked for value in narrowed[name])
                filters.append((name, "in", list(values)))
        found = tables.read(self.path, columns=present, filters=filters)
        # Names of categories as Python's text: each claim looks some up, which Arrow takes ten times as long for.
        named = {name: found[name] for name in found if isinstance(found[name].dtype, pd.CategoricalDtype)}
        named = {name: text.cat.rename_categories(text.cat.categories.astype(object)) for name, text in named.items()}
        return found.assign(**named).reindex(columns=columns)

    def _check(self, name: str, values: list[Any]) -> None:
        """Refuse values that pyarrow cannot compare with a column; each combination of types is tried once."""
        kinds = (name, *sorted({type(value).__name__ for value in values}))
        if kinds in self._comparable or (self.given_up and name not in self._schema.names):
            return
        try:
            self._schema.empty_table().filter(pq.filters_to_expression([(name, "in", values)]))
        except pa.ArrowException as error:
            raise ValueError(f"filters {name} in {values} do not fit {self.path}: {error}") from error
        self._comparable.add(kinds)


@lru_cache(maxsize=1)
def _datasets(path: str, changed: int) -> set[str]:
    return set(tables.read(path, columns=["dataset"])["dataset"].unique())


@lru_cache(maxsize=1)
def _metrics(path: str, changed: int) -> dict[str, int]:
    return tables.read(path, columns=["metric"])["metric"].value_counts().to_dict()


def _by_column(filters: Sequence[tuple[str, str, list[Any]]]) -> dict[str, list[Any]]:
    """Return from columns to the values asked for; of two filters on one column both, for `of` narrows further."""
    found: dict[str, list[Any]] = {}
    for name, _, values in filters:
        found.setdefault(name, []).extend(values)
    return found
