"""From the configuration to cells: read, validate, expand; nothing is computed here.

A *cell* is one mechanism at one grid point with all its repeats: one job. Everything it needs to know is in one plain
dictionary (`Experiment.cells`), which is the job's `params` slice and the metadata of its rows, so that a change in the
configuration re-runs the cells whose dictionary changed and no other.
"""

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError
from dperm.plan import config_files

_CONFIG = "config/config.yaml or --config"
SCALES = ("tiny", "quick", "paper")


@dataclass(frozen=True)
class Experiment:
    """One experiment at one scale.

    `cells` maps (mechanism slug, scenario slug) to the cell's dictionary, `baselines` the slug of its data axes to the
    dictionary of the baseline fit. `skipped` maps data sets that cannot be had here to the reason.
    """

    name: str
    paper: str
    title: str
    figures: tuple[str, ...]
    tables: tuple[str, ...]
    cells: dict[tuple[str, str], dict[str, Any]]
    baselines: dict[str, dict[str, Any]]
    skipped: dict[str, str] = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """Return the data sets in use, sorted."""
        return sorted({cell["point"]["dataset"] for cell in self.cells.values() if "dataset" in cell["point"]})


@dataclass(frozen=True)
class Plan:
    """The whole configuration, validated: what to run at each scale."""

    scale: str
    seed: int
    mirror: str | None
    datasets: dict[str, dict[str, Any]]
    experiments: dict[tuple[str, str], Experiment]

    def of_scale(self, scale: str) -> list[Experiment]:
        """Return the selected experiments at this scale, by name."""
        return [experiment for (at, _), experiment in sorted(self.experiments.items()) if at == scale]

    def resolved(self, scale: str) -> dict[str, Any]:
        """Return everything that decides the numbers at this scale, for the record beside the results.

        The mirror is not in it: where a file comes from does not change its bytes, which are checked.
        """
        experiments = self.of_scale(scale)
        return {
            "scale": scale,
            "seed": self.seed,
            "datasets": {name: self.datasets[name] for name in sorted({d for e in experiments for d in e.datasets})},
            "experiments": {
                e.name: {
                    "cells": {f"{mechanism}/{scenario}": cell for (mechanism, scenario), cell in e.cells.items()},
                    "skipped": e.skipped,
                }
                for e in experiments
            },
        }


def load(
    config: Mapping[str, Any],
    root: str | Path,
    *,
    unavailable: Callable[[Mapping[str, Any], str | None], str | None] = lambda entry, mirror: None,
) -> Plan:
    """Validate the configuration and expand every selected experiment at every scale.

    Parameters
    ----------
    config : mapping
        The content of config/config.yaml, with what the command line put over it.
    root : path
        The project's folder, with `config/` and `workflow/schemas/`.
    unavailable : callable
        Maps a catalogue entry and the mirror to the reason why the data set cannot be had on this machine, or None.

    Raises
    ------
    ConfigError
        One message for all mistakes of a file: key, value, what is allowed, and the nearest key for a typo.
    """
    folder, schemas = Path(root) / "config", Path(root) / "workflow" / "schemas"
    config = dict(config)
    config_files.validate(config, schemas / "config.schema.yaml", _CONFIG)
    mirror = config.get("mirror") or os.environ.get("DPERM_MIRROR") or None
    if mirror and not Path(mirror).is_dir():
        raise ConfigError(f"{_CONFIG}: mirror: {mirror!r} is not a folder; give an existing one, or null to download")
    datasets = config_files.read(folder / "datasets.yaml", schemas / "datasets.schema.yaml")
    datasets = {name: {"name": name, **entry} for name, entry in datasets.items()}
    missing = {name: unavailable(entry, mirror) for name, entry in datasets.items()}
    missing = {name: reason for name, reason in missing.items() if reason}
    experiments = {}
    for path in sorted((folder / "experiments").glob("*.yaml")):
        declared = config_files.read(path, schemas / "experiment.schema.yaml")
        _check_experiment(path, declared, datasets)
        if declared["paper"] in config["papers"]:
            for scale in SCALES:
                experiments[scale, declared["experiment"]] = _expand(declared, scale, config["seed"], missing)
    without = sorted(set(config["papers"]) - {experiment.paper for experiment in experiments.values()})
    if without:
        raise ConfigError(f"{_CONFIG}: papers: {', '.join(without)} has no experiment in config/experiments; remove it")
    return Plan(config["scale"], config["seed"], mirror, datasets, experiments)


def _check_experiment(path: Path, declared: dict[str, Any], datasets: Mapping[str, Any]) -> None:
    """Check what a schema cannot: that names agree with each other."""
    name = declared["experiment"]
    if path.stem != name:
        raise ConfigError(f"{path}: experiment: {name!r} must be the file's own name, {path.stem!r}")
    if not name.startswith(declared["paper"] + "-"):
        raise ConfigError(f"{path}: experiment: {name!r} must start with its paper, {declared['paper']!r}")
    for scale, axes in declared["grid"].items():
        for axis in declared["data_axes"]:
            if axis not in axes:
                raise ConfigError(f"{path}: grid.{scale}: the data axis {axis!r} is missing")
        for dataset in axes.get("dataset", []):
            if dataset not in datasets:
                raise ConfigError(
                    f"{path}: grid.{scale}.dataset: {dataset!r} is not in config/datasets.yaml"
                    + config_files.nearest(dataset, datasets)
                )


def _expand(declared: dict[str, Any], scale: str, seed: int, missing: Mapping[str, str]) -> Experiment:
    settings = {**declared.get("common", {}), **declared["settings"][scale]}
    axes = declared["grid"][scale]
    head = {"experiment": declared["experiment"], "paper": declared["paper"], "seed": seed}
    cells, baselines = {}, {}
    for values in itertools.product(*axes.values()):
        point = dict(zip(axes, map(_plain, values), strict=True))
        if point.get("dataset") in missing:
            continue
        data = {axis: point[axis] for axis in declared["data_axes"]}
        baselines[slug(data)] = {**head, "point": data, "settings": settings}
        for mechanism in declared["mechanisms"]:
            cells[mechanism_slug(mechanism), slug(point)] = {
                **head, **mechanism, "point": point, "baseline": slug(data), "settings": settings,
            }  # fmt: skip
    return Experiment(
        declared["experiment"],
        declared["paper"],
        declared["title"],
        tuple(declared["figures"]),
        tuple(declared["tables"]),
        cells,
        baselines,
        {name: missing[name] for name in axes.get("dataset", []) if name in missing},
    )


def _plain(value: Any) -> Any:
    """Numbers of a grid are floats whether or not the YAML writes a decimal point: seeds are made of them."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def mechanism_slug(mechanism: Mapping[str, str]) -> str:
    """Return the path name of a mechanism, `objective.tight.add-remove`."""
    return ".".join(mechanism[key].replace("_", "-") for key in ("mechanism", "calibration", "neighbours"))


def slug(point: Mapping[str, Any]) -> str:
    """Return the path name of a grid point, `adult_epsilon-0.1`; looked up later, never parsed."""
    return "_".join(v if isinstance(v, str) else f"{axis}-{repr(v).removesuffix('.0')}" for axis, v in point.items())
