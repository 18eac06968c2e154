"""The mechanisms, looked up by name so that a job loads only the one it runs."""

import importlib
from types import ModuleType
from typing import NamedTuple


class Mechanism(NamedTuple):
    """A module that offers `release(...)`, its batched core, and the calibrations that `release` takes.

    Parameters
    ----------
    module : str
    calibrations : tuple of str
    """

    module: str
    calibrations: tuple[str, ...]


# By the name in configurations and rows.
REGISTRY = {
    "objective": Mechanism("dperm.mechanisms.objective", ("paper", "tight")),
    "output": Mechanism("dperm.mechanisms.output", ("paper", "tight")),
}


def module(name: str) -> ModuleType:
    """Return the module of a mechanism.

    Parameters
    ----------
    name : str
        A key of `REGISTRY`.

    Returns
    -------
    module

    Raises
    ------
    ValueError
        If there is no such mechanism; the message lists those there are.
    """
    if name not in REGISTRY:
        raise ValueError(f"mechanism {name!r} is not one of {', '.join(sorted(REGISTRY))}")
    return importlib.import_module(REGISTRY[name].module)
