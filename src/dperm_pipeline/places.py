"""Experiments, figures and tables, found by their place: no list names them.

An experiment `<paper>-<name>` is the folder `dperm_papers/<paper>/<name>` (a hyphen in the name is an underscore
there):

- `settings.py`: EXPERIMENT, what it reads of a configuration;
- `experiment.py`: `run`, and `baseline` where it has one;
- `figures.py`: FIGURES and TABLES, in words, where something is drawn from its rows;
- `comparison.py`: COMPARISON, where its methods may be compared at an equal budget;
- `elsewhere.jsonl`: what others' implementations had on its splits, where somebody measured it
  (`dperm_pipeline.elsewhere`).

A paper is the folder `dperm_papers/<paper>`; its TITLE and AUTHORS stand in its `__init__.py`.

A plan reads the first and the last of all folders, a job those of its own alone.
"""

import dataclasses
import functools
import importlib
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dperm_pipeline.settings import Experiment
from dperm_pipeline.target import Target

_PAPERS = "dperm_papers"
KINDS = ("FIGURES", "TABLES")


def package(experiment: str) -> str:
    """Return the package of an experiment, be there one or not."""
    paper, _, name = experiment.partition("-")
    return f"{_PAPERS}.{paper}.{name.replace('-', '_')}"


@functools.cache
def experiments() -> dict[str, Experiment]:
    """Return all experiments by name, sorted."""
    found = {path: importlib.import_module(f"{_module(path)}.settings") for path in _folders("settings.py")}
    return {name_of(path): module.EXPERIMENT for path, module in found.items()}


@functools.cache
def drawn(kind: str) -> dict[str, Target]:
    """Return all FIGURES or TABLES (`kind`) of experiments by name."""
    every = [_declared(path, kind) for path in _folders("figures.py")]
    return {name: target for targets in every for name, target in targets.items()}


@functools.cache
def comparisons() -> dict[str, Any]:
    """Return what the report's explorer offers, by experiment, in the order of the page."""
    found = {
        name_of(path): importlib.import_module(f"{_module(path)}.comparison") for path in _folders("comparison.py")
    }
    ranked = sorted(found, key=lambda name: (found[name].COMPARISON.rank, name))
    return {name: found[name].COMPARISON for name in ranked}


@functools.cache
def paper_keys() -> tuple[str, ...]:
    """Return the key of each paper, in the order in which the papers appeared; loads none of them."""
    # A key ends with the year.
    return tuple(sorted((path.parent.name for path in _root().glob("*/__init__.py")), key=lambda key: (key[-4:], key)))


@functools.cache
def papers() -> dict[str, tuple[str, str]]:
    """Return title and authors of each paper by key, in the order in which the papers appeared."""
    found = {key: importlib.import_module(f"{_PAPERS}.{key}") for key in paper_keys()}
    return {key: (module.TITLE, module.AUTHORS) for key, module in found.items()}


def called(paper: str) -> str:
    """Return a paper's key as people say it: `Kifer 2012`; what is no such key stays."""
    return f"{paper[:-4].capitalize()} {paper[-4:]}" if paper[-4:].isdigit() and paper[:-4].isalpha() else paper


def elsewhere(experiment: str) -> list[str]:
    """Return the file of what was measured elsewhere for an experiment, from the repository's folder; none or one."""
    folder = package(experiment).replace(".", "/")
    found = _root().parent / folder / "elsewhere.jsonl"
    return [f"src/{folder}/elsewhere.jsonl"] if found.is_file() else []


def name_of(path: Path) -> str:
    """Return the experiment of a folder."""
    return f"{path.parent.name}-{path.name.replace('_', '-')}"


def reported() -> tuple[str, ...]:
    """Return the modules that `drawn` and `comparisons` load: what the report says of figures, tables and methods."""
    return tuple(f"{_module(path)}.{kind}" for kind in ("figures", "comparison") for path in _folders(f"{kind}.py"))


def find(kind: str, name: str) -> Target | None:
    """Return one figure or table, and load the words of no experiment that does not mention it."""
    for path, text in _words_of_figures().items():
        if f'"{name}"' in text:
            target = _declared(path, kind).get(name)
            if target is not None:
                return target
    return None


@functools.cache
def _words_of_figures() -> dict[Path, str]:
    # A plan looks for hundreds of figures.
    return {path: (path / "figures.py").read_text(encoding="utf-8") for path in _folders("figures.py")}


def _root() -> Path:
    # Found without being loaded: a job that reads a configuration does not hang on the papers' code.
    return Path(importlib.util.find_spec(_PAPERS).submodule_search_locations[0])


def _folders(file: str) -> Iterator[Path]:
    return (path.parent for path in sorted(_root().glob(f"*/*/{file}")))


def _module(path: Path) -> str:
    return f"{_PAPERS}.{path.parent.name}.{path.name}"


def _declared(path: Path, kind: str) -> dict[str, Target]:
    """Return the targets of one folder, who draws them by full name."""
    words = importlib.import_module(f"{_module(path)}.figures")
    found = {}
    for name, target in getattr(words, kind, {}).items():
        function, alt = name.partition("-")[2].replace("-", "_"), target.alt
        if kind == "TABLES":
            function += "_table"
        elif name in getattr(words, "TABLES", {}) and f"table {name}" not in alt:
            alt += f" The numbers are in the table {name}."
        found[name] = dataclasses.replace(
            target,
            alt=alt,
            function=target.function or function,
            module=target.module if "." in target.module else f"{_module(path)}.{target.module}",
            words=f"{_module(path)}.figures",
        )
    return found
