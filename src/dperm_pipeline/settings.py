"""What the pipeline knows of an experiment before it runs."""

import types
from collections.abc import Mapping
from typing import NamedTuple


class Experiment(NamedTuple):
    """What an experiment reads of a configuration.

    - axes: of the grid: all of them needed, no other used.
    - settings: under `settings` and `common`: all of them needed, no other used.
    - releases: false where rows are about formulas and exact laws: their budgets are none that anybody spent, and the
      privacy ledger does not list them.
    - fixed: mapping of str to str; from `mechanism`, `calibration`, `neighbours` to the one value that an entry of
      `mechanisms` may have: what the code does not read, so that no other would be run. Its rows say what was run
      themselves.
    """

    axes: tuple[str, ...]
    settings: tuple[str, ...]
    releases: bool = True
    fixed: Mapping[str, str] = types.MappingProxyType({})


def fixed(mechanism: str, calibration: str | None = None, neighbours: str | None = None) -> dict[str, str]:
    """Return `Experiment.fixed` of an experiment that reads none of the words given here.

    - calibration, neighbours: left out where the experiment runs whatever the configuration says.
    """
    entry = {"mechanism": mechanism, "calibration": calibration, "neighbours": neighbours}
    return {key: value for key, value in entry.items() if value is not None}
