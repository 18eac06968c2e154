"""The mechanisms. Each is found by the place of its file, so that a job loads only the one that it runs.

A module here is a mechanism if it declares its calibrations in one line, as `CALIBRATIONS = ("paper", "tight")`. Its
name in configurations and rows is that of its file, or the `NAME` that it declares as well. It offers a batched core: a
function that takes one of these calibrations and runs many repeats at once. `release(...)` returns parameters;
`select(...)`, of a support selection, returns sets; `run(...)`, of a mechanism in rounds, returns what the rounds gave.

Cores share these arguments, and say of them only what is special:

- X, y: shapes (n, p) and (n,). Rows with ||x||_2 <= domain.x_norm, which cores do not check: estimators do. Targets
  within the loss's domain, which they check.
- loss, domain: give zeta and lambda (`base.bounds`); where nothing keeps theta in a set, over all theta.
- budget: spent by each of the `repeats`, under `neighbours`.
- tolerance: in [1e-12, 1]; the solver's public target: theta lies within tolerance zeta/Delta of the minimiser.
- strength, share, size, bound: Lambda, r, s and B of the papers.

They raise InvalidBudget if a part of the budget is outside its range or no noise serves it, DomainViolation if the loss
is not bounded where theta is searched or a target is outside its domain, DataError if an array does not fit, and
ValueError for any other argument.
"""

import functools
import importlib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from dperm import by_place


class Mechanism(NamedTuple):
    """The module of a mechanism, and the calibrations that it offers."""

    module: str
    calibrations: tuple[str, ...]


@functools.cache
def _registry() -> dict[str, Mechanism]:
    found = {}
    for module, text in by_place.declaring(Path(__file__).parent, __name__, "CALIBRATIONS"):
        name = by_place.constant(text, "NAME") or module.rpartition(".")[2]
        found[name] = Mechanism(module, by_place.constant(text, "CALIBRATIONS"))
    return found


def __getattr__(name: str) -> dict[str, Mechanism]:
    """REGISTRY: all mechanisms by name, read when somebody asks."""
    if name != "REGISTRY":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _registry()


def module(name: str) -> ModuleType:
    """Return the module of a mechanism (name: a key of `REGISTRY`)."""
    if name not in _registry():
        raise ValueError(f"mechanism {name!r} is not one of {', '.join(sorted(_registry()))}")
    return importlib.import_module(_registry()[name].module)
