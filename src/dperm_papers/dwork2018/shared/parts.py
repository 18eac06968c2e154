"""The axis `part` of experiments on laws: a cell computes one part of its experiment."""

from dperm.errors import ConfigError
from dperm_pipeline.experiments import Cell


def chosen(cell: Cell, *known: str) -> str:
    """Return the part that a cell computes; ConfigError if it is none of those that are known."""
    part = cell.point["part"]
    if part not in known:
        raise ConfigError(f"unknown part {part!r} of {cell.experiment}; known: {', '.join(known)}")
    return part
