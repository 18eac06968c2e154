"""The house stands: a room imports only from floors below, and the two wings meet in tables alone (design)."""

import ast
from pathlib import Path

import pytest

import dperm

SRC = Path(dperm.__file__).parent
# Room -> (floor, wing). The ground floor and what lies under it belong to both wings.
ROOMS = {
    "errors": (-2, "both"),
    "catalogue": (-2, "both"),
    "files": (-1, "both"),
    "stamps": (-1, "both"),
    "worker": (-1, "both"),
    "one_run": (-1, "both"),
    "domain": (0, "both"),
    "noise": (0, "both"),
    "seeds": (0, "both"),
    "tables": (0, "both"),
    "script": (0, "both"),
    "yaml_files": (0, "both"),
    "multiple": (0, "both"),
    "forked": (1, "both"),
    "compiled": (0, "computing"),
    "feasible": (1, "computing"),
    "losses": (1, "computing"),
    "kernels": (1, "computing"),
    "accounting": (1, "computing"),
    "grid": (1, "computing"),
    "datasets": (1, "computing"),
    "solvers": (2, "computing"),
    "mechanisms": (3, "computing"),
    "experiments": (4, "computing"),
    "audit": (4, "computing"),
    "cli": (5, "computing"),
    "plan": (1, "showing"),
    "figures": (3, "showing"),
    "claims": (3, "showing"),
    "report": (4, "showing"),
}
FILES = sorted(path for path in SRC.rglob("*.py") if path != SRC / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def imported_rooms(source: str) -> set[str]:
    """Rooms of dperm that a source imports, inside functions too, and by name where the name stands in a string."""
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where one is"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("dperm."):
            names = [node.value.split()[0]]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("dperm.")}
    return rooms


def violations(room: str, source: str) -> list[str]:
    floor, wing = ROOMS[room]
    wrong = []
    for other in sorted(imported_rooms(source) - {room}):
        if other not in ROOMS:
            continue  # a public name of the package, or a word in a text
        other_floor, other_wing = ROOMS[other]
        if other_floor >= floor or ("both" not in (wing, other_wing) and wing != other_wing):
            wrong.append(f"{room} (floor {floor}, {wing}) imports {other} (floor {other_floor}, {other_wing})")
    return wrong


def test_every_room_has_a_floor():
    assert {room_of(path) for path in FILES} == set(ROOMS)


def test_imports_only_from_below():
    wrong = {str(path): violations(room_of(path), path.read_text(encoding="utf-8")) for path in FILES}
    assert {path: found for path, found in wrong.items() if found} == {}


def imports_snakemake(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "snakemake" for name in names):
            return True
    return False


def test_the_library_never_imports_snakemake():
    assert [str(path) for path in FILES if imports_snakemake(path)] == []


def test_no_file_is_about_too_much():
    every = [*FILES, *Path(__file__).parents[1].rglob("*.py")]
    assert [str(path) for path in every if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("figures", "from dperm.mechanisms import objective"),
        ("figures", "import dperm.experiments.kifer2012"),
        ("mechanisms", "def f():\n    from dperm import experiments"),
        ("losses", "from dperm import accounting"),
        ("mechanisms", "import importlib\nimportlib.import_module('dperm.figures.style')"),
        ("domain", "from dperm import tables"),
    ],
)
def test_the_rule_catches_a_wrong_import(room, source):
    assert violations(room, source)
