"""Rows read once for several claims: a file may hold millions, and each claim asks for some of them."""

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
    """What a file of rows holds for the questions that will be asked of it.

    - path: `rows.parquet`; None if the experiment was not selected, so that nothing may be asked.
    - questions: sequence of (columns, filters); all that `of` will be asked, filters in pyarrow's form, each an `in`;
      those about data sets that the file does not have are left out.
    """

    def __init__(self, path: str | Path | None, questions: Sequence[tuple[Sequence[str], Sequence[tuple]]]):
        self.path, self._questions, self._fits = path, questions, set()

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

    def of(self, columns: Sequence[str], filters: Sequence[tuple[str, str, list[Any]]]) -> pd.DataFrame:
        """Return the rows that pass all filters, as `dperm_pipeline.tables.read` gives them.

        - filters: sequence of (column, "in", values).
        - Raises CorruptFile: if the file is not Parquet.
        - Raises ValueError: if a column does not exist though no cell gave up, or is compared with values of another
          type.
        """
        held = self._held
        mask = np.ones(len(held), bool)
        for name, _, values in filters:
            self._check(name, values)
            mask &= select.among(held[name], values)
        found = held.loc[mask, list(columns)].reset_index(drop=True)
        # A column that lacks a value elsewhere in the file has lost its type.
        whole = {name: kind for name, kind in self._kinds.items() if name in found and found[name].dtype != kind}
        whole = {name: kind for name, kind in whole.items() if not found[name].isna().any()}
        return found.astype(whole) if whole else found

    @cached_property
    def _schema(self) -> pa.Schema:
        return pq.read_schema(self.path)

    @cached_property
    def _kinds(self) -> Mapping[str, Any]:
        """The columns whose type pandas changes where a value lacks."""
        fields = [field for field in self._schema if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type)]
        return {field.name: field.type.to_pandas_dtype() for field in fields}

    @cached_property
    def _held(self) -> pd.DataFrame:
        asked = [(columns, _by_column(filters)) for columns, filters in self._questions]
        asked = [(columns, filters) for columns, filters in asked if self.datasets.intersection(filters["dataset"])]
        columns = [*dict.fromkeys(name for names, filters in asked for name in (*names, *filters))]
        # Where all cells gave up, nobody wrote the experiment's own columns: they hold nothing.
        there = [name for name in columns if name in self._schema.names] if self.given_up else columns
        # What each question narrows is narrowed for all, to what any of them asks.
        common = [name for name in asked[0][1] if all(name in filters for _, filters in asked)]
        wide = [(name, "in", list(dict.fromkeys(v for _, filters in asked for v in filters[name]))) for name in common]
        wide = [question for question in wide if question[0] in there]
        return tables.read(self.path, columns=there, filters=wide).reindex(columns=columns)

    def _check(self, name: str, values: list[Any]) -> None:
        """Refuse what pyarrow cannot compare: by the types, which are looked at once."""
        kinds = (name, *sorted({type(value).__name__ for value in values}))
        if kinds in self._fits or (self.given_up and name not in self._schema.names):
            return
        try:
            self._schema.empty_table().filter(pq.filters_to_expression([(name, "in", values)]))
        except pa.ArrowException as error:
            raise ValueError(f"filters {name} in {values} do not fit {self.path}: {error}") from error
        self._fits.add(kinds)


@lru_cache(maxsize=1)
def _datasets(path: str, changed: int) -> set[str]:
    return set(tables.read(path, columns=["dataset"])["dataset"].unique())


def _by_column(filters: Sequence[tuple[str, str, list[Any]]]) -> dict[str, list[Any]]:
    # Of two filters on one column the wider question is asked of the file.
    found: dict[str, list[Any]] = {}
    for name, _, values in filters:
        found.setdefault(name, []).extend(values)
    return found
