"""The house stands: library <- engine <- papers, and within each a room imports only from floors below (design)."""

import ast
from pathlib import Path

import together

import dperm

SRC = Path(dperm.__file__).parents[1]
# Package -> room -> floor. The packages themselves stand on each other in this order.
FLOORS = {
    "dperm": {
        "errors": -1,
        "catalogue": -1,
        "by_place": -1,
        "compiled": 0,
        "domain": 0,
        "noise": 0,
        "seeds": 0,
        "values": 0,
        "yaml_files": 0,
        "client": 1,
        "feasible": 1,
        "loss": 1,
        "losses": 2,
        "kernels": 1,
        "accounting": 1,
        "grid": 1,
        "laws": 1,
        "solvers": 3,
        "mechanisms": 4,
        "audit": 5,
        "planning": 5,
        "comparing": 6,
        "serve": 6,
        "cli": 7,
    },
    "dperm_pipeline": {
        "files": 0,
        "stamps": 0,
        "worker": 0,
        "one_run": 0,
        "progress": 0,
        "multiple": 0,
        "tables": 1,
        "rows": 1,
        "script": 1,
        "config_files": 2,
        "forked": 2,
        "datasets": 2,
        "plan": 6,
        "settings": 0,
        "target": 0,
        "names": 0,
        "places": 1,
        "elsewhere": 1,
        "audits": 3,
        "experiments": 4,
        "figures": 3,
        "claims": 4,
        "report": 5,
    },
}
ORDER = ["dperm", "dperm_pipeline", "dperm_papers"]
# What runs and what shows meet in rows alone; a drawing of a paper is on the side that shows.
RUNS, SHOWS = {"experiments", "audits", "datasets"}, {"figures", "claims", "report"}
FILES = sorted(path for package in ORDER for path in (SRC / package).rglob("*.py"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


def imported(source: str) -> set[str]:
    """Modules of ours that a source imports, inside functions too, and by name where the name stands in a string."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where one is"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if node.value.split(".")[0] in ORDER and " " not in node.value else set()
    return {name for name in found if name.split(".")[0] in ORDER and "." in name}


def shows(parts: list[str]) -> bool:
    return parts[-1] in ("figures", "comparison") or any(part.startswith("drawing") for part in parts)


def wrong(module: str, other: str) -> str | None:
    """Say what is wrong with an import, if anything."""
    mine, its = module.split("."), other.split(".")
    if ORDER.index(its[0]) > ORDER.index(mine[0]):
        return f"{module} imports {other}, of a package above"
    if mine[0] == its[0] == "dperm_papers":
        if mine[1] != its[1]:
            return f"{module} imports {other}, of another paper"
        return f"{module} draws and imports {other}" if shows(mine) and not shows([*its[:4]]) else None
    if mine[0] == "dperm_papers":
        if shows(mine) and (its[1] in RUNS or its[:2] in (["dperm", "mechanisms"], ["dperm", "solvers"])):
            return f"{module} draws and imports {other}, which computes"
        return f"{module} imports {other}, which shows" if its[1] in SHOWS and not shows(mine) else None
    if mine[0] != its[0] or len(mine) < 2:
        return None
    floors = FLOORS[mine[0]]
    if its[1] == mine[1] or its[1] not in floors:
        return None  # the same room, or a public name of the package
    return f"{module} imports {other}, not of a floor below" if floors[its[1]] >= floors[mine[1]] else None


def violations(module: str, source: str) -> list[str]:
    return [said for other in sorted(imported(source)) if (said := wrong(module, other))]


def test_every_room_has_a_floor():
    for package, floors in FLOORS.items():
        rooms = {
            path.relative_to(SRC / package).parts[0].removesuffix(".py") for path in FILES if package in path.parts
        }
        assert rooms - {"__init__"} == set(floors)


def test_imports_only_from_below():
    found = [said for path in FILES for said in violations(module_of(path), path.read_text(encoding="utf-8"))]
    assert found == []


def imports_snakemake(path: Path) -> bool:
    source = path.read_text(encoding="utf-8")
    # Most do not even name it, and need not be parsed.
    for node in ast.walk(ast.parse(source)) if "snakemake" in source else ():
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if any(name.split(".")[0] == "snakemake" for name in names):
            return True
    return False


def test_nothing_here_imports_snakemake():
    assert [str(path) for path in FILES if imports_snakemake(path)] == []


def test_no_file_is_about_too_much():
    every = [*FILES, *Path(__file__).parents[1].rglob("*.py")]
    assert [str(path) for path in every if len(path.read_text(encoding="utf-8").splitlines()) > 400] == []


@together.over(
    "module, source",
    [
        ("dperm.mechanisms.objective", "def f():\n    from dperm_pipeline import tables"),
        ("dperm.loss", "from dperm import accounting"),
        ("dperm.domain", "import importlib\nimportlib.import_module('dperm_pipeline.figures.style')"),
        ("dperm_pipeline.figures", "from dperm_papers.kifer2012.bounds import drawing"),
        ("dperm_pipeline.report", "from dperm_pipeline import plan"),
        ("dperm_papers.kifer2012.output.experiment", "from dperm_papers.jain2013.thm3 import experiment"),
        ("dperm_papers.kifer2012.output.experiment", "from dperm_pipeline.figures import style"),
        ("dperm_papers.kifer2012.bounds.drawing", "from dperm.mechanisms import objective"),
        ("dperm_papers.kifer2012.bounds.drawing", "import dperm_papers.kifer2012.output.experiment"),
    ],
)
def test_the_rule_catches_a_wrong_import(module, source):
    assert violations(module, source)
