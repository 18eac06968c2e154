"""Rows chosen by their columns, for the tests of experiments and figures."""


def of(rows, **where):
    """Return the rows that have these values."""
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def measured(rows, metric, **where):
    """Return the rows of a metric that have these values; there must be some."""
    found = of(rows, metric=metric, **where)
    assert len(found)
    return found


def number(rows, **where):
    """Return the value of the one row that has these values."""
    (found,) = of(rows, **where)["value"]
    return found
