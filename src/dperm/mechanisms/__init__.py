"""The mechanisms, looked up by name so that a job loads only the one it runs."""

import importlib
from types import ModuleType
from typing import NamedTuple

from dperm.catalogue import Catalogue


class Mechanism(NamedTuple):
    """A module that offers a batched core, and the calibrations that the core takes.

    The core is `release(...)`, which returns parameters; of a support selection `select(...)`, which returns sets; of
    one that works in rounds `run(...)`, which returns what the rounds gave.
    """

    module: str
    calibrations: tuple[str, ...]


# By the name in configurations and rows.
REGISTRY: Catalogue[str, Mechanism] = {
    "objective": Mechanism("dperm.mechanisms.objective", ("paper", "tight")),
    "output": Mechanism("dperm.mechanisms.output", ("paper", "tight")),
    "cms11": Mechanism("dperm.mechanisms.cms11", ("paper",)),
    "approximate_minima": Mechanism("dperm.mechanisms.approximate_minima", ("paper",)),
    "gradient": Mechanism("dperm.mechanisms.gradient", ("tight",)),
    "exp_mech": Mechanism("dperm.mechanisms.support.exp_mech", ("paper", "tight")),
    "samp_agg": Mechanism("dperm.mechanisms.support.samp_agg", ("paper", "corrected")),
    "sparse": Mechanism("dperm.mechanisms.sparse", ("paper", "corrected", "tight")),
    "napp": Mechanism("dperm.mechanisms.napp", ("paper", "corrected", "tight")),
    "pinp": Mechanism("dperm.mechanisms.kernel.pinp", ("paper", "corrected", "tight")),
    "tdil": Mechanism("dperm.mechanisms.kernel.tdil", ("paper", "corrected", "tight")),
    "tddl": Mechanism("dperm.mechanisms.kernel.tddl", ("paper", "corrected", "tight")),
    "rkhs_gaussian": Mechanism("dperm.mechanisms.kernel.rkhs", ("tight",)),
    "explicit_output": Mechanism("dperm.mechanisms.kernel.explicit", ("tight",)),
    "exppw": Mechanism("dperm.mechanisms.prediction.exppw", ("paper", "tight")),
    "averaged": Mechanism("dperm.mechanisms.prediction.averaged", ("paper", "tight")),
    "soft_majority": Mechanism("dperm.mechanisms.prediction.soft_majority", ("paper", "tight")),
    "stable_erm": Mechanism("dperm.mechanisms.prediction.stable_erm", ("paper", "tight")),
    "stable_sgd": Mechanism("dperm.mechanisms.prediction.stable_sgd", ("paper", "corrected", "tight")),
}


def module(name: str) -> ModuleType:
    """Return the module of a mechanism.

    - name: a key of `REGISTRY`.
    - Returns: module.
    - Raises ValueError: if there is no such mechanism; the message lists those there are.
    """
    if name not in REGISTRY:
        raise ValueError(f"mechanism {name!r} is not one of {', '.join(sorted(REGISTRY))}")
    return importlib.import_module(REGISTRY[name].module)
