"""Rows of dwork2018's experiments at scale tiny, and their comparison with formulas written anew from the paper."""

import cells
import pytest


def rows_of(topic, part="all", **settings):
    """Rows of one part of an experiment with the tiny settings of its configuration, other than `settings`."""
    name = f"dwork2018-{topic}"
    told = cells.configured(name)
    known = {**told["settings"]["tiny"], **told.get("common", {}), **settings}
    return cells.rows(name, known, part=part)


def select(rows, **where):
    """Rows with these values, at least one; a list names several."""
    for name, value in where.items():
        rows = rows[rows[name].isin(value if isinstance(value, list) else [value])]
    assert len(rows), where
    return rows


def agree(rows, formula, column="value", **where):
    """Every such row's `column` is what the formula, a function of the row, says."""
    for row in select(rows, **where).itertuples():
        assert getattr(row, column) == pytest.approx(formula(row), rel=1e-8, abs=1e-11), row
