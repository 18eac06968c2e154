"""From a declared grid to cells and jobs.

A job holds one cell, or several of one mechanism: values in inner brackets on an axis share a job, so that
`epsilon: [[0.1, 0.3], 1.0]` is two jobs and three cells. Brackets only decide which cells are run and re-run together:
a cell's dictionary, seed and rows do not depend on them.
"""

import hashlib
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dperm_pipeline import places
from dperm_pipeline.settings import Axes, counts

# Longest words of one axis in a file's name; a file system takes 255 bytes in all.
_LONGEST = 80


@dataclass(frozen=True)
class Experiment:
    """One experiment at one scale.

    `cells` maps (mechanism slug, slug of the point) to the cell's dictionary, `jobs` (mechanism slug, slug of the
    batch) to the dictionaries of the cells that a job runs, in order; `baselines` the slug of its data axes to the
    dictionary of the baseline fit; there are none where cells make their own data. `skipped` maps data sets that cannot
    be had here to the reason. `starts_early`: its longest jobs would be the last ones of a run, alone.
    """

    name: str
    paper: str
    title: str
    figures: tuple[str, ...]
    tables: tuple[str, ...]
    cells: dict[tuple[str, str], dict[str, Any]]
    jobs: dict[tuple[str, str], list[dict[str, Any]]]
    baselines: dict[str, dict[str, Any]]
    skipped: dict[str, str] = field(default_factory=dict)
    starts_early: bool = False

    @property
    def datasets(self) -> list[str]:
        """Return the data sets in use, sorted."""
        return sorted({cell["point"]["dataset"] for cell in self.cells.values() if "dataset" in cell["point"]})


def expand(declared: Mapping[str, Any], scale: str, seed: int, missing: Mapping[str, str]) -> Experiment:
    """Return an experiment's cells and jobs at one scale, without those on data sets that are missing."""
    known = places.experiments()[declared["experiment"]]
    whole = counts(Axes) | counts(known.settings)
    plain = {name: _plain(value, name in whole) for name, value in settings(declared, scale).items()}
    axes = {axis: _plain(batches(values), axis in whole) for axis, values in declared["grid"][scale].items()}
    head = {"experiment": declared["experiment"], "paper": declared["paper"], "seed": seed}
    cells, jobs, baselines = {}, {}, {}
    for chosen in itertools.product(*axes.values()):
        batch = dict(zip(axes, chosen, strict=True))
        for values in itertools.product(*chosen):
            point = dict(zip(axes, values, strict=True))
            if point.get("dataset") in missing:
                continue
            data = {axis: point[axis] for axis in declared["data_axes"]}
            cell = {**head, "data": data, "point": point, "settings": plain}
            if "dataset" in data:
                # A fit without privacy to be measured against; a cell that makes its own data knows the minimum itself.
                baselines[slug(data)] = {**head, "point": data, "settings": plain}
                cell = {**head, "point": point, "baseline": slug(data), "settings": plain}
            for mechanism in declared["mechanisms"]:
                name = mechanism_slug(mechanism)
                cells[name, slug(point)] = {**cell, **mechanism}
                jobs.setdefault((name, slug(batch)), []).append(cells[name, slug(point)])
    return Experiment(
        declared["experiment"],
        declared["paper"],
        declared["title"],
        tuple(declared["figures"]),
        tuple(declared["tables"]),
        cells,
        jobs,
        baselines,
        {name: missing[name] for name in flat(declared["grid"][scale].get("dataset", [])) if name in missing},
        declared.get("starts_early", False),
    )


def batches(values: Collection[Any]) -> list[list[Any]]:
    """Return the values of one axis by job: those in inner brackets together, any other by itself."""
    return [value if isinstance(value, list) else [value] for value in values]


def flat(values: Collection[Any]) -> list[Any]:
    """Return the values of one axis without its inner brackets."""
    return [value for batch in batches(values) for value in batch]


def mistakes(declared: Mapping[str, Any]) -> Iterator[str]:
    """Give key, value and remedy of what is wrong with the inner brackets of a grid that keeps to the schema."""
    for scale, axes in declared["grid"].items():
        for axis, values in axes.items():
            place = f"grid.{scale}.{axis}"
            bracketed = [batch for batch in values if isinstance(batch, list)]
            # A job reads one data set and one baseline; cells that make their own data share nothing but the job.
            chooses = declared["data_axes"] if "dataset" in declared["data_axes"] else ()
            if bracketed and (axis == "dataset" or axis in chooses):
                yield (
                    f"{place}: {bracketed[0]} would share a job, and {axis!r} chooses what a job reads: one data set; "
                    "write its values without inner brackets"
                )
            yield from repeated(place, values)


def repeated(place: str, values: Collection[Any]) -> Iterator[str]:
    """Give the values that stand on an axis twice, in brackets or not: one file would be made by two jobs."""
    found = flat(values)
    for value in sorted({value for value in found if found.count(value) > 1}, key=found.index):
        yield f"{place}: {value!r} stands there twice; a value belongs to one job, so leave one of them out"


def settings(declared: Mapping[str, Any], scale: str) -> dict[str, Any]:
    """Return what happens inside a cell at one scale, what all scales share included."""
    return {**declared.get("common", {}), **declared["settings"][scale]}


def _plain(value: Any, whole: bool = False) -> Any:
    """Numbers are floats, counts are ints, whether or not the YAML writes a decimal point: seeds are made of them."""
    if isinstance(value, list):
        return [_plain(item, whole) for item in value]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return (int if whole else float)(value) if number else value


def mechanism_slug(mechanism: Mapping[str, str]) -> str:
    """Return the path name of a mechanism, `objective.tight.add-remove`."""
    return ".".join(mechanism[key].replace("_", "-") for key in ("mechanism", "calibration", "neighbours"))


def slug(point: Mapping[str, Any]) -> str:
    """Return the path name of a grid point, `adult_epsilon-0.1`, or of a batch of them, `adult_epsilon-0.1-0.3`.

    Looked up later, never parsed.
    """
    return "_".join(_words(axis, value if isinstance(value, list) else [value]) for axis, value in point.items())


def _words(axis: str, values: list[Any]) -> str:
    text = [value if isinstance(value, str) else repr(value).removesuffix(".0") for value in values]
    # No name of a value holds a point.
    names = ".".join(text) if isinstance(values[0], str) else f"{axis}-{'-'.join(text)}"
    return capped(names, text, lead=f"{axis}-")


def capped(names: str, values: Sequence[str], lead: str = "") -> str:
    """Return joined names as they are, or where several are too long for a file's name, the first, the last, a hash."""
    if len(values) == 1 or len(names) <= _LONGEST:
        return names
    fingerprint = hashlib.sha256(names.encode()).hexdigest()[:8]
    return f"{lead}{values[0]}-to-{values[-1]}-{len(values)}-{fingerprint}"
