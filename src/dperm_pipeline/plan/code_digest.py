"""Fingerprints of code: what a job's result depends on, so that stale results are impossible.

Snakemake does not see an edit in an imported module. So each rule's `params` hold a digest of the modules that the job
loads inside dperm, taken of their syntax trees without docstrings: an edit of code changes it, an edit of a comment
does not. The modules are found by following the import statements, those inside functions too; a test compares the list
with what a fresh process really loads.

Declarations of settings are not followed (`dperm_pipeline.settings`, and the `settings.py` of an experiment): their
ranges and descriptions are only needed to make the plan, and the values are among the params.
"""

import ast
import contextlib
import functools
import hashlib
import importlib.metadata
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dperm import catalogue
from dperm.mechanisms import REGISTRY
from dperm_pipeline import files, places, worker

SRC = Path(__file__).parents[2]
# A new release of one of these may change numbers.
NUMERICAL = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "numba", "cvxpy", "clarabel")
# Where Snakemake keeps what it remembers.
KEPT = Path(".snakemake/dperm-digests")

_DECLARES = re.compile(r"dperm_pipeline\.settings|dperm_papers\.\w+\.\w+\.settings")

read_so_far: set[str] = set()


@functools.cache
def code_digest(*roots: str, packages: tuple[str, ...] = ()) -> str:
    """Return the SHA-256 over all modules that `roots` load inside dperm and the versions of packages they use.

    `packages` matter besides the numerical ones, such as matplotlib for a figure.
    """
    digest = hashlib.sha256()
    for module in modules(*roots):
        digest.update(f"{module} {read_module(module)[1]}\n".encode())
    for package in (*NUMERICAL, *packages):
        digest.update(f"{package} {_version(package)}\n".encode())
    return digest.hexdigest()


def cell_modules(experiment: str, mechanism: str | None = None) -> tuple[str, ...]:
    """Return the modules that a cell starts from, or the fit without privacy: what its code digest is taken of."""
    of_mechanism = () if mechanism is None else (REGISTRY[mechanism].module,)
    return ("dperm_pipeline.experiments", f"{places.package(experiment)}.experiment", *of_mechanism)


def attacked_modules(audits: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the modules of the mechanisms that audits attack; mutants are no mechanisms."""
    return tuple(sorted({REGISTRY[audit["mechanism"]].module for audit in audits if "mechanism" in audit}))


def announce() -> None:
    """Tell the jobs that this process starts of what code, and with which libraries, they were planned."""
    versions = {package: _version(package) for package in NUMERICAL}
    worker.announce({module: read_module(module)[1] for module in sorted(read_so_far)}, versions)


# Looked up once, though a hundred digests ask for the same few.
_version = functools.cache(importlib.metadata.version)


@functools.cache
def modules(*roots: str) -> tuple[str, ...]:
    """Return the names of all dperm modules that importing `roots` loads, sorted; packages on the way included."""
    found: set[str] = set()
    pending = [parent for root in roots for parent in _with_parents(root)]
    while pending:
        module = pending.pop()
        if module not in found and not _DECLARES.fullmatch(module):
            found.add(module)
            pending += read_module(module)[0]
    return tuple(sorted(found))


@functools.cache
def source_of(module: str) -> Path:
    base = SRC.joinpath(*module.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    raise ModuleNotFoundError(f"{module} is not a module of ours")


def _exists(module: str) -> bool:
    try:
        return bool(source_of(module))
    except ModuleNotFoundError:
        return False


@functools.cache
def read_module(module: str) -> tuple[tuple[str, ...], str]:
    """Return what a module imports inside dperm, and the fingerprint of its code."""
    read_so_far.add(module)
    fingerprint, *names = _read_once(source_of(module).read_bytes())
    # `from package import name`: the name may be a module or something inside the package.
    found = {parent for name in names if _exists(name) for parent in _with_parents(name)}
    return tuple(sorted(found)), fingerprint


def _read_once(source: bytes) -> list[str]:
    """Return the fingerprint of a source and all names of ours in its imports: from the last start, if there was one.

    To read all sources anew takes two seconds, a third of what a start of Snakemake costs.
    """
    kept = KEPT / hashlib.sha256(way_of_reading() + source).hexdigest()
    with contextlib.suppress(OSError):
        if words := kept.read_text(encoding="utf-8").split():
            return words
    fingerprint, statements = worker.fingerprint_and_imports(ast.parse(source))
    words = [fingerprint, *dict.fromkeys(name for node in statements for name in _named(node))]
    # Without such a folder, or on a full disk, the next start reads again.
    if KEPT.parent.is_dir():
        with contextlib.suppress(OSError), files.replacing(kept, durable=False) as path:
            path.write_text("\n".join(words), encoding="utf-8")
    return words


@functools.cache
def way_of_reading() -> bytes:
    """Return what decides besides a source what is read out of it."""
    readers = (__file__, worker.__file__, catalogue.__file__)
    return b"".join([sys.version.encode(), *(Path(path).read_bytes() for path in readers)])


def _named(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    aliases = [alias.name for alias in node.names]
    names = aliases if isinstance(node, ast.Import) else [str(node.module)] + [f"{node.module}.{a}" for a in aliases]
    return (name for name in names if name.split(".")[0] in catalogue.OURS)


def _with_parents(module: str) -> list[str]:
    """Return a module and the packages around it; an experiment's folder is none, and runs nothing."""
    parts = module.split(".")
    *parents, own = (".".join(parts[: i + 1]) for i in range(len(parts)))
    return [*filter(_exists, parents), own]
