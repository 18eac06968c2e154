"""What the registries say of experiments and mechanisms is what their code reads and takes."""

import ast
import dataclasses
import functools
import inspect
from pathlib import Path
from typing import get_args

import numpy as np
import together

from dperm import losses, mechanisms
from dperm.domain import Budget, Calibration, Domain
from dperm.mechanisms.kernel import pinp, tddl, tdil
from dperm.mechanisms.kernel.constants import Setting
from dperm.mechanisms.prediction import averaged, exppw, soft_majority, stable_erm, stable_gaussian, stable_sgd
from dperm_pipeline import places, plan

ROOT = Path(__file__).parents[3]
# What a configuration may ask for.
CALIBRATIONS = get_args(Calibration)


def test_experiments_declare_what_their_code_reads():
    """A declared setting or axis is asked for by name, in the module or in one that it shares with others.

    (One that is asked for and not declared is a KeyError in the first run.)
    """
    for name, experiment in places.experiments().items():
        module = f"{places.package(name)}.experiment"
        paper = ".".join(module.split(".")[:2])
        shared = [name for name in plan.modules(module) if name.startswith(f"{paper}.") and name.count(".") == 3]
        paths = [ROOT / "src" / Path(*name.split(".")).with_suffix(".py") for name in shared]
        nodes = [node for path in paths for node in ast.walk(ast.parse(path.read_text()))]
        asked = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        keys = [node.slice for node in nodes if isinstance(node, ast.Subscript)]
        asked |= {key.value for key in keys if isinstance(key, ast.Constant)}
        # The cell itself looks these up: for its data, and for the columns of its rows.
        asked |= {"dataset", "design", "part"}
        assert {*experiment.axes, *(field.name for field in dataclasses.fields(experiment.settings))} <= asked


# Of the mechanisms that start from answers or votes, or prepare them, what their calibration makes.
KERNEL = Setting(lipschitz=1.0, feature_norm=1.0, total=10.0, radius=1.0)
SCALED = {
    "tddl": functools.partial(tddl.scale, KERNEL, Budget(1.0, 1e-6), 10),
    "pinp": lambda calibration: pinp.constants(KERNEL, Budget(1.0, 1e-6), queries=10, calibration=calibration),
    "tdil": lambda calibration: tdil.constants(
        KERNEL, Budget(1.0, 1e-6), records=100, dimension=2, calibration=calibration
    ),
    "soft_majority": lambda calibration: soft_majority.probability(np.arange(3), 2, 1.0, calibration),
    "averaged": functools.partial(averaged.scale, 5, 1.0),
    "exppw": functools.partial(exppw.walk_bound, 0.1, 1.0),
    "stable_erm": lambda calibration: stable_erm.rate(1.0, 1.0, 10.0, calibration=calibration),
    "stable_gaussian": lambda calibration: stable_gaussian.calibrate(1.0, Budget(1.0, 1e-6), calibration=calibration),
    "stable_sgd": lambda calibration: stable_sgd.rate(1.0, 1.0, 1.0, 10, calibration=calibration),
}


def core_of(name):
    """What takes a calibration and nothing else, or None where a mechanism has one."""
    if name in SCALED:
        return SCALED[name]
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.5, 0.5, (20, 2)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    module = mechanisms.module(name)
    core = getattr(module, "release", None) or module.select
    # Only cms11, random features as printed and the choice of a support are for pure privacy alone.
    given = {
        "loss": losses.logistic(), "domain": Domain(x_norm=1.0, y_bound=1.0), "neighbours": "add_remove", "rng": rng,
        "budget": Budget(1.0, 0.0 if name in ("cms11", "exp_mech", "samp_agg", "random_features") else 1e-6),
        "omega": np.ones((2, 1)), "clip": 1.0, "distance": 1.0,
        "n_public": 20, "size": 1, "support": "samp_agg", "penalty": 1.0, "blocks": 2,
    }  # fmt: skip
    if name in ("napp", "truncated", "tuned"):
        given |= {
            "loss": "logistic",
            "penalty": "lasso",
            "strength": 1.0,
            "strengths": (1.0,),
            "point": -1e4,
            "low": 0.0,
        }
    parameters = inspect.signature(core).parameters
    if "calibration" not in parameters:
        return None
    given = {key: value for key, value in given.items() if key in parameters}
    return lambda calibration: core(X, y, **given, calibration=calibration)


@together.over("name", sorted(mechanisms.REGISTRY))
def test_mechanisms_declare_the_calibrations_that_they_take(name):
    """Asked for every calibration of a configuration, a mechanism refuses exactly those that it does not declare."""
    core, taken = core_of(name), []
    if core is None:
        assert name in ("explicit_output", "rkhs_gaussian") and mechanisms.REGISTRY[name].calibrations == ("tight",)
        return
    for calibration in CALIBRATIONS:
        try:
            core(calibration)
            taken.append(calibration)
        except ValueError as error:
            assert f"calibration={calibration!r}" in str(error)
    assert sorted(taken) == sorted(mechanisms.REGISTRY[name].calibrations)
