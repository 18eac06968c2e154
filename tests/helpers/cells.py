"""Cells of experiments, as a plan would give them but for their settings, and the rows of some."""

import functools
from pathlib import Path

import pandas as pd
import yaml

from dperm_pipeline import experiments

CONFIG = Path(__file__).parents[2] / "config" / "experiments"


@functools.cache
def configured(experiment):
    """What the configuration says of an experiment."""
    return yaml.safe_load((CONFIG / f"{experiment}.yaml").read_text(encoding="utf-8"))


def cell(experiment, settings, *, seed=1, part="all", point=None, **entry):
    """A cell; `entry` differs from the first mechanism that is configured. `part` where there is no `point`."""
    return {
        "experiment": experiment,
        "paper": experiment.partition("-")[0],
        "seed": seed,
        **configured(experiment)["mechanisms"][0],
        **entry,
        "point": point or {"part": part},
        "settings": settings,
    }


def bare(cell):
    """The cell of the fit without privacy beside this one: it has no mechanism."""
    return {key: value for key, value in cell.items() if key not in ("mechanism", "calibration", "neighbours")}


def rows(experiment, settings, *, calibrations=None, points=(None,), **fixed):
    """The rows of a cell for each of these calibrations (the first that is configured) and points."""
    calibrations = calibrations or [configured(experiment)["mechanisms"][0]["calibration"]]
    return pd.concat(
        [
            experiments.run(cell(experiment, settings, calibration=calibration, point=point, **fixed))
            for calibration in calibrations
            for point in points
        ],
        ignore_index=True,
    )
