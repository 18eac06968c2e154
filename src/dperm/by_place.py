"""Modules found by where they stand and what they declare: no table names them, and nothing that computes is loaded.

A declaration is a line of its own, `CALIBRATIONS = ("paper", "tight")`, and is read from the module's text.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def declaring(folder: Path, package: str, name: str) -> Iterator[tuple[str, str]]:
    """Yield name and text of the modules under a folder that declare a name; a package by its `__init__`."""
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and re.search(rf"^{name} = ", text, re.MULTILINE):
            yield ".".join((package, *parts)), text


def constant(text: str, name: str) -> Any:
    """Return the constant of this name that a text declares in a line, or None."""
    found = re.search(rf"^{name} = (.+)$", text, re.MULTILINE)
    return ast.literal_eval(found[1]) if found else None
