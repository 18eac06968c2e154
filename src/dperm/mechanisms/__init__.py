"""The mechanisms, looked up by name so that a job loads only the one it runs."""

import importlib
from types import ModuleType

# Name in configurations and rows -> module. Each module offers `release(...)`, its batched core.
REGISTRY = {
    "objective": "dperm.mechanisms.objective",
    "output": "dperm.mechanisms.output",
}


def module(name: str) -> ModuleType:
    """Return the module of a mechanism.

    Raises
    ------
    ValueError
        If there is no such mechanism; the message lists those there are.
    """
    if name not in REGISTRY:
        raise ValueError(f"mechanism {name!r} is not one of {', '.join(sorted(REGISTRY))}")
    return importlib.import_module(REGISTRY[name])
