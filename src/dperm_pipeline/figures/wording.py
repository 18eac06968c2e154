"""Words of a figure that speak of its rows: values of columns, by their symbols."""

import re

import pandas as pd

from dperm_pipeline.figures.looks import equals, number

# Column -> its symbol, where it is not its name.
SYMBOLS = {
    "epsilon": "ε", "delta": "δ", "alpha": "α", "beta": "β", "gamma": "γ", "1/alpha": "1/α", "total": "nλ",
    "queries": "T", "curvature": "λ", "strength": "Λ",
}  # fmt: skip


def filled(words: str, rows: pd.DataFrame) -> str:
    """Put values of columns into words, as `spec.Figure` says."""

    def value(found: re.Match) -> str:
        said, name, which, conditions = found.groups()
        here = rows
        for column, sign, wanted in re.findall(r"(\w+)([=>])([^,]+)", conditions or ""):
            column = here[column]
            here = here[column > float(wanted) if sign == ">" else column.astype(str) == wanted]
        if which == "count":
            return f"{here[name].nunique():,}"
        values = sorted(here[name].unique()) if which == "all" else here[name].iloc[:1]
        values = [here[name].agg(which)] if which in ("max", "min") else [*values]
        if any(isinstance(value, str) for value in values):
            return ", ".join(values)
        if said == "#":
            return ", ".join(map(number, values))
        return equals(said[:-1] if said else SYMBOLS.get(name, name), *values)

    return re.sub(r"{(#|\w+=)?(\w+)\.(max|min|first|all|count)(?::([^}]+))?}", value, words)
