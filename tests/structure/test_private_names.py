"""Tests go in by public doors: no private name of a module or a class of ours is imported, read or replaced by one."""

import ast
import re
from itertools import pairwise
from pathlib import Path

import together

TESTS = Path(__file__).parents[1]
OURS = ("dperm", "dperm_pipeline", "dperm_papers")


def is_private(name: str) -> bool:
    return re.match("_[^_]", name) is not None


def imported_names(tree: ast.AST) -> set[str]:
    """Return the names under which a file knows modules of ours and what they hold."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            found |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name.split(".")[0] for alias in node.names if alias.name.split(".")[0] in OURS
            }
        elif (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Call | ast.Attribute)
            and ast.unparse(node.value).startswith(tuple(f"importlib.import_module('{name}" for name in OURS))
        ):
            found |= {ast.unparse(target) for target in node.targets}
    return found


def private_names(source: str) -> list[str]:
    """List the private names of ours that a file imports, reads (`module._name`) or names to replace them."""
    tree = ast.parse(source)
    ours, found = imported_names(tree), []

    def is_ours(node: ast.AST) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in ours

    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in OURS:
            found += [f"{node.module}.{alias.name}" for alias in node.names if is_private(alias.name)]
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and is_ours(node.value):
            found.append(ast.unparse(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # monkeypatch.setattr("dperm.losses._name", ...)
            named = re.fullmatch(rf"(?:{'|'.join(OURS)})[\w.]*\._[^_\W]\w*", node.value)
            found += [node.value] if named else []
        if isinstance(node, ast.Call | ast.Tuple):
            # monkeypatch.setattr(losses, "_name", ...), and the pair of both in a table of such
            parts = node.args if isinstance(node, ast.Call) else node.elts
            for thing, name in pairwise(parts):
                if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                    found += [f"{ast.unparse(thing)}.{name.value}"] if is_ours(thing) else []
    return found


def test_no_test_uses_a_private_name_of_ours():
    found = [
        f"{path.relative_to(TESTS)}: {name}"
        for path in sorted(TESTS.rglob("*.py"))
        if path != Path(__file__)
        for name in private_names(path.read_text(encoding="utf-8"))
    ]
    assert found == []


@together.over(
    "source",
    [
        "from dperm.losses import _make",
        "from dperm import losses\nlosses._make()",
        "import dperm\ndperm.losses._make()",
        "from dperm import NAPP\nNAPP._start(model)",
        "from dperm import losses\nmonkeypatch.setattr(losses, '_make', None)",
        "from dperm import losses\nplaces = [(losses, '_make')]",
        "monkeypatch.setattr('dperm.losses._make', None)",
        "import importlib\nlosses = importlib.import_module('dperm.losses')\nlosses._make()",
    ],
)
def test_the_check_finds_what_it_looks_for(source):
    assert private_names(source)


def test_methods_of_a_tests_own_class_and_dunders_are_free():
    assert (
        private_names("from dperm import NAPP\n\n\nclass Mine(NAPP):\n    def f(self):\n        self._mine = 1") == []
    )
    assert private_names("import dperm\ndperm.__all__") == []
