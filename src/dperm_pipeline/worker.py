"""Check that this process has all libraries, and the same code of dperm as the process that planned the run.

On a cluster, or with a PYTHONPATH of another checkout, a job may meet another Python than the one that started it.
"""

import ast
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import sys
from pathlib import Path

from dperm.catalogue import catalogues
from dperm.errors import WorkerError

# How the process that starts a run tells its jobs what it is: (packages, modules of dperm) in JSON.
VARIABLE = "DPERM_PLANNED_BY"
REMEDY = "install what is in the lock file there with `make venv`, and start snakemake from .venv"
# What the pipeline needs besides the library's own dependencies.
_EXTRAS = ("convex", "pipeline")
_SRC = Path(__file__).parents[1]


def check_libraries() -> None:
    """Make sure that all of dperm's libraries are installed before anything is computed, else raise WorkerError."""
    missing = []
    for requirement in importlib.metadata.requires("dperm") or ():
        name = re.match(r"[\w.-]+", requirement)[0]
        if _is_wanted(requirement):
            try:
                importlib.metadata.version(name)
            except importlib.metadata.PackageNotFoundError:
                missing.append(name)
    if missing:
        raise WorkerError(f"{where()} lacks {', '.join(missing)}; {REMEDY}")


def _is_wanted(requirement: str) -> bool:
    """Return whether a requirement is one of the pipeline and of this Python, by its marker (after the semicolon)."""
    marker = requirement.partition(";")[2].strip()
    extra = re.fullmatch(r"extra == .(\w+).", marker)
    if not marker or extra:
        return not marker or extra[1] in _EXTRAS
    # Here, because a library that has another marker is rare, and every job asks.
    from packaging.markers import Marker

    return any(Marker(marker).evaluate({"extra": name}) for name in ("", *_EXTRAS))


def fingerprint(tree: ast.Module) -> str:
    """Return the SHA-256 of a module's code: its syntax tree without docstrings and catalogues.

    A catalogue is a dictionary of the module that is declared as such and holds words alone (`dperm.catalogue`): what
    there is, by name. With a number in it, or anything that computes, it is code like any other.
    """
    return fingerprint_and_imports(tree)[0]


def fingerprint_and_imports(tree: ast.Module) -> tuple[str, list[ast.Import | ast.ImportFrom]]:
    """Return the fingerprint of a module and its import statements, from one walk through its tree."""
    words: list[str] = []
    imports: list[ast.Import | ast.ImportFrom] = []
    _spell(tree, words, imports)
    return hashlib.sha256("\n".join(words).encode()).hexdigest(), imports


def _spell(node: ast.AST, words: list[str], imports: list) -> None:
    """Append what `ast.dump` would say, in one pass and a third of its time: every job and every plan waits for it."""
    words.append(type(node).__name__)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        imports.append(node)
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            _spell(value, words, imports)
        elif isinstance(value, list):
            words.append("[")
            for item in _counted(node, value) if name == "body" else value:
                if isinstance(item, ast.AST):
                    _spell(item, words, imports)
                else:
                    words.append(repr(item))
            words.append("]")
        else:
            words.append(repr(value))


def _counted(node: ast.AST, body: list[ast.AST]) -> list[ast.AST]:
    """Return the statements of a body without its docstring; of a module, without its catalogues."""
    documented = isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
    if documented and ast.get_docstring(node, clean=False) is not None:
        body = body[1:]
    if not isinstance(node, ast.Module):
        return body
    left_out = catalogues(node)
    return [item for item in body if item not in left_out]


def where() -> str:
    """Return the interpreter of this process and its machine, in words."""
    return f"the Python of this process, {sys.executable} on {platform.node()},"


def announce(fingerprints: dict[str, str], packages: dict[str, str]) -> None:
    """Tell the jobs that this process starts what planned them: fingerprints of modules, versions of packages."""
    modules = {name: [_bytes_of(_source(name)), fingerprint] for name, fingerprint in fingerprints.items()}
    os.environ[VARIABLE] = json.dumps([packages, modules], separators=(",", ":"))


def check_code() -> None:
    """Make sure that the modules of dperm that this process has loaded are those that planned the run.

    What jobs load is what their code digest is taken of, so that no edit of anything else matters; nor does an edit
    of a comment. Nothing is checked where nobody announced what planned the run. WorkerError names what differs: a
    stale dperm on a worker, or an edit in the middle of a run.
    """
    packages, modules = json.loads(os.environ.get(VARIABLE, "[{}, {}]"))
    for name, planned in packages.items():
        if (found := importlib.metadata.version(name)) != planned:
            raise WorkerError(f"{where()} has {name} {found}, and the run was planned with {planned}; {REMEDY}")
    loaded = sorted(name for name in sys.modules if name in modules)
    suspects = [name for name in loaded if _bytes_of(sys.modules[name].__file__) != modules[name][0]]
    if suspects:
        suspects = [name for name in suspects if _fingerprint_of(sys.modules[name].__file__) != modules[name][1]]
    if suspects:
        raise WorkerError(
            f"{where()} has another dperm, in {_SRC}, than the one that planned the run: {', '.join(suspects)} "
            "differs; if you have edited it since the run began, run again: what is finished is kept; else mend the "
            "worker's PYTHONPATH"
        )


def _source(module: str) -> Path:
    base = _SRC.joinpath(*module.split("."))
    package = base / "__init__.py"
    return package if package.is_file() else base.with_suffix(".py")


def _bytes_of(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()[:16]


def _fingerprint_of(path: str | Path) -> str:
    return fingerprint(ast.parse(Path(path).read_text(encoding="utf-8")))
