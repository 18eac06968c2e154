"""From the configuration to cells: read, validate, expand; nothing is computed here.

A *cell* is one mechanism at one grid point with all its repeats. Everything it needs to know is in one plain dictionary
(`Experiment.cells`). A job runs one cell or a few (`Experiment.jobs`, dperm_pipeline.plan.grids); their dictionaries
are its `params` slice and the metadata of its rows, so that a change in the configuration re-runs the jobs of which one
changed and no other.
"""

import dataclasses
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError
from dperm.mechanisms import REGISTRY
from dperm_pipeline import config_files, figures, places, settings
from dperm_pipeline.plan import audits as audit_jobs
from dperm_pipeline.plan import grids
from dperm_pipeline.plan.grids import Experiment

_CONFIG = "config/config.yaml or --config"
SCALES = ("tiny", "quick", "paper")


@dataclass(frozen=True)
class Plan:
    """The whole configuration, validated: what to run at each scale.

    `audits` maps each scale to its audits, by (path name of the mechanism, pair family), and `audit_jobs` to those of
    each job, by (path name of the mechanism, pair families); `errata` are the attacked budgets that name some.
    `designs` are the synthetic data that an experiment may name, selected or not.
    """

    scale: str
    seed: int
    mirror: str | None
    datasets: dict[str, dict[str, Any]]
    experiments: dict[tuple[str, str], Experiment]
    audits: dict[str, dict[tuple[str, str], dict[str, Any]]]
    audit_jobs: dict[str, dict[tuple[str, str], list[dict[str, Any]]]]
    audit: dict[str, Any]
    errata: list[dict[str, Any]]
    designs: tuple[str, ...]

    def of_scale(self, scale: str) -> list[Experiment]:
        """Return the selected experiments that have something to run at this scale, by name."""
        return [
            experiment for (at, _), experiment in sorted(self.experiments.items()) if at == scale and experiment.cells
        ]

    def skipped(self, scale: str) -> dict[str, str]:
        """Return the data sets that the selected experiments lack on this machine, with the reason."""
        lacking = (experiment.skipped for (at, _), experiment in sorted(self.experiments.items()) if at == scale)
        return {dataset: reason for skipped in lacking for dataset, reason in skipped.items()}

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
            "audit": self.audit,
            "audits": {f"{mechanism}/{pair}": job for (mechanism, pair), job in self.audits[scale].items()},
        }


def load(
    config: Mapping[str, Any],
    root: str | Path,
    *,
    unavailable: Callable[[Mapping[str, Any], str | None, Collection[str]], str | None] = lambda *_: None,
) -> Plan:
    """Validate the configuration, with what the command line put over it, and expand every experiment at every scale.

    `root` is the project's folder, with `config/` and `workflow/schemas/`; `unavailable` maps a catalogue entry,
    the mirror and the names under `fetch` to the reason why the data set cannot be had on this machine, or None.
    ConfigError is one message for all mistakes of a file: key, value, what is allowed, and the nearest key for a
    typo.
    """
    folder, schemas = Path(root) / "config", Path(root) / "workflow" / "schemas"
    config = dict(config)
    config_files.validate(config, schemas / "config.schema.yaml", _CONFIG)
    # To a schema 3.0 is an integer.
    seed = int(config["seed"])
    given = config.get("mirror")
    mirror = given or os.environ.get("DPERM_MIRROR") or None
    if mirror and not os.path.isdir(mirror):  # noqa: PTH112 - False too where no folder can have this name
        place = f"{_CONFIG}: mirror" if given else "environment variable DPERM_MIRROR"
        raise ConfigError(f"{place}: {mirror!r} is not a folder; give an existing one, or none to download")
    datasets = config_files.read(folder / "datasets.yaml", schemas / "datasets.schema.yaml")
    datasets = {name: {"name": name, **entry} for name, entry in datasets.items()}
    asked = config.get("fetch", [])
    _check_asked(asked, datasets)
    missing = {name: unavailable(entry, mirror, asked) for name, entry in datasets.items()}
    missing = {name: reason for name, reason in missing.items() if reason}
    experiments: dict[tuple[str, str], Experiment] = {}
    drawn: dict[tuple[str, str], Path] = {}
    for path in sorted((folder / "experiments").glob("*.yaml")):
        declared = read_experiment(path, schemas / "experiment.schema.yaml")
        mistakes = [*_contradictions(path, declared, datasets), *_unknown(declared)]
        for kind in ("figures", "tables"):
            for name in declared[kind]:
                first = drawn.setdefault((kind, name), path)
                if first != path:
                    mistakes.append(f"{kind}: {name!r} is declared by {first} too; one experiment draws it")
        if mistakes:
            raise ConfigError("\n".join(f"{path}: {mistake}" for mistake in mistakes))
        if declared["paper"] in config["papers"]:
            for scale in SCALES:
                experiments[scale, declared["experiment"]] = grids.expand(declared, scale, seed, missing)
    without = sorted(set(config["papers"]) - {experiment.paper for experiment in experiments.values()})
    if without:
        raise ConfigError(f"{_CONFIG}: papers: {', '.join(without)} has no experiment in config/experiments; remove it")
    declared = audit_jobs.read(folder / "audits.yaml", schemas / "audits.schema.yaml")
    jobs = {scale: audit_jobs.jobs(declared, config["audit"], scale, seed, config["papers"]) for scale in SCALES}
    designs = dict.fromkeys(name for known in places.experiments().values() for name in known.designs)
    return Plan(
        config["scale"], seed, mirror, datasets, experiments,
        {scale: audit_jobs.single(found) for scale, found in jobs.items()}, jobs, dict(config["audit"]),
        audit_jobs.errata(declared, config["papers"]), tuple(designs),
    )  # fmt: skip


def read_experiment(path: Path, head: Path) -> dict[str, Any]:
    """Read an experiment's file, and hold it against the schema of all and the settings that its own code declares.

    ConfigError if it does not keep to them. An experiment without code declares no settings: `_unknown` refuses it.
    """
    declared = config_files.parse(path)
    schema = config_files.read_schema(head)
    properties = schema["properties"]
    name = declared.get("experiment") if isinstance(declared, dict) else None
    if isinstance(name, str) and name in places.experiments():
        known = places.experiments()[name]
        grid, given = settings.grid_schema(known.axes), settings.schema(known.settings)
        properties = properties | {"grid": _at_scales(grid), "settings": _at_scales(given), "common": given}
    config_files.validate(declared, {**schema, "properties": properties}, str(path))
    return declared


def _at_scales(schema: Mapping[str, Any]) -> dict[str, Any]:
    every = {"type": "object", "additionalProperties": False, "required": [*SCALES]}
    return {**every, "properties": dict.fromkeys(SCALES, schema)}


def _check_asked(asked: Collection[str], datasets: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse a name that would silently do nothing."""
    big = [name for name, entry in datasets.items() if entry.get("on_request")]
    for name in asked:
        if name not in datasets:
            hint = config_files.nearest(name, big)
            raise ConfigError(f"{_CONFIG}: fetch: {name!r} is not in config/datasets.yaml{hint}")
        if name not in big:
            raise ConfigError(
                f"{_CONFIG}: fetch: {name!r} is not fetched on request: it comes, if it can, whenever a run needs it; "
                f"leave it out (on request: {', '.join(big)})"
            )


def _contradictions(path: Path, declared: dict[str, Any], datasets: Mapping[str, Any]) -> Iterator[str]:
    """Give what a schema cannot see: names that do not agree with each other."""
    name = declared["experiment"]
    if path.stem != name:
        yield f"experiment: {name!r} must be the file's own name, {path.stem!r}"
    if not name.startswith(declared["paper"] + "-"):
        yield f"experiment: {name!r} must start with its paper, {declared['paper']!r}"
    yield from grids.mistakes(declared)
    for scale, axes in declared["grid"].items():
        for axis in declared["data_axes"]:
            if axis not in axes:
                yield f"grid.{scale}: the data axis {axis!r} is missing"
        for dataset in grids.flat(axes.get("dataset", [])):
            if dataset not in datasets:
                hint = config_files.nearest(dataset, datasets)
                yield f"grid.{scale}.dataset: {dataset!r} is not in config/datasets.yaml{hint}"


def _unknown(declared: dict[str, Any]) -> Iterator[str]:
    """Give what the library cannot run or draw, at any scale: found here, and not in the middle of a run."""
    name = declared["experiment"]
    if name in places.experiments():
        yield from _unfit(declared, places.experiments()[name])
    else:
        hint = config_files.nearest(name, places.experiments())
        yield (
            f"experiment: {name!r} has no folder with a settings.py in src/dperm_papers "
            f"(docs/extending.md says how to add one){hint}"
        )
    for k, entry in enumerate(declared["mechanisms"]):
        asked, calibration = entry["mechanism"], entry["calibration"]
        if asked not in REGISTRY:
            hint = config_files.nearest(asked, REGISTRY)
            yield f"mechanisms.{k}.mechanism: {asked!r} is no module of src/dperm/mechanisms with CALIBRATIONS{hint}"
        elif calibration not in REGISTRY[asked].calibrations:
            offered = ", ".join(REGISTRY[asked].calibrations)
            yield f"mechanisms.{k}.calibration: {calibration!r} is not offered by {asked!r}: must be one of {offered}"
    for kind, drawn in (("figures", figures.FIGURES), ("tables", figures.TABLES)):
        for target in declared[kind]:
            if target not in drawn:
                hint = config_files.nearest(target, drawn)
                yield f"{kind}: {target!r} is in {kind.upper()} of no figures.py in src/dperm_papers{hint}"


def _unfit(declared: dict[str, Any], known: settings.Experiment) -> Iterator[str]:
    """Give what an experiment lacks, or would not read."""
    name = declared["experiment"]
    for scale in SCALES:
        axes, given = declared["grid"][scale], grids.settings(declared, scale)
        lacks = [
            f"grid.{scale}: the axis {axis!r} is missing; {name} needs it" for axis in known.axes if axis not in axes
        ]
        lacks += [
            f"settings.{scale}: the setting {item.name!r} is missing; {name} needs it, here or under common"
            for item in dataclasses.fields(known.settings)
            if item.name not in given
        ]
        yield from lacks
        for setting in settings.by_datasets(known.settings) & given.keys():
            for dataset in grids.flat(axes.get("dataset", [])):
                if dataset not in given[setting]:
                    hint = config_files.nearest(dataset, given[setting])
                    yield f"settings.{scale}.{setting}: {dataset!r} of the grid is missing; add it{hint}"
        if not lacks:
            try:
                known.settings(**given)
            except ConfigError as error:
                yield f"settings.{scale}.{error}"
    for k, entry in enumerate(declared["mechanisms"]):
        for key, only in known.fixed.items():
            if entry[key] != only:
                yield (
                    f"mechanisms.{k}.{key}: {entry[key]!r} would do nothing in {name}, which says itself what it "
                    f"runs: must be {only!r}"
                )
