"""Declared settings: what a YAML may give, and that a declaration computes nothing."""

import ast
from dataclasses import dataclass
from pathlib import Path

import pytest
import together

import dperm_papers
from dperm.errors import ConfigError
from dperm_pipeline import config_files, settings
from dperm_pipeline.settings import by_dataset, name, names, number, numbers, tables


@dataclass(frozen=True)
class Declared:
    count: int = number("runs", low=1, high=10)
    share: float = number("a share", above=0, below=1)
    even: int = number("rows", low=0, step=2)
    power: list[int] = numbers("sizes", among=[2, 4])
    ends: list[float] = numbers("ends", least=2, most=2)
    word: str = name("a word")
    words: list[str] = names("designs", "disc", "ball")
    splits: dict[str, list[int]] = by_dataset("rows", length=2, low=1)
    column: dict[str, str] = by_dataset("a column")
    problems: dict[str, dict[str, list[int]]] = tables("problems", {"a": ("p", "n"), "b": ("p",)}, low=1)


RIGHT = {
    "count": [1, 10, 3.0],
    "share": [0.5],
    "even": [0, 2],
    "power": [[2], [4, 2]],
    "ends": [[1, 2.5]],
    "word": ["a-b"],
    "words": [["ball", "disc"]],
    "splits": [{"adult": [5, 5]}],
    "column": [{"adult": "age"}],
    "problems": [{"a": {"p": [1], "n": [2, 3]}}, {"b": {"p": [1]}}],
}
WRONG = [
    ("count", 0, "count: 0 is not allowed (runs): must be at least 1"),
    ("count", 11, "must be at most 10"),
    ("count", 1.5, "must be integer"),
    ("count", True, "must be integer"),
    ("share", 0, "share: 0 is not allowed (a share): must be above 0"),
    ("share", 1.0, "must be below 1"),
    ("even", 3, "even: 3 is not allowed (rows): must be a multiple of 2"),
    ("power", [3], "power.0: 3 is not allowed (sizes): must be one of 2, 4"),
    ("power", [], "power: [] is not allowed (sizes): needs at least 1 item(s)"),
    ("power", [2, 2], "must not hold the same value twice"),
    ("ends", [1.0], "needs at least 2 item(s)"),
    ("ends", [1.0, 2.0, 3.0], "may hold at most 2 item(s)"),
    ("word", "../a", "word: '../a' is not allowed (a word): must match"),
    ("words", ["bal"], "must be one of disc, ball; did you mean 'ball'?"),
    ("splits", {"adult": [5]}, "splits.adult: [5] is not allowed (rows): needs at least 2 item(s)"),
    ("column", {"adult": ""}, "column.adult: '' is not allowed (a column): needs at least 1 character(s)"),
    ("problems", {}, "needs at least 1 key(s)"),
    ("problems", {"c": {}}, "problems: unknown key 'c'; known: a, b"),
    ("problems", {"a": {"p": [1]}}, "problems.a: the key 'n' is missing"),
    ("problems", {"b": {"p": [0]}}, "problems.b.p.0: 0 is not allowed (problems): must be at least 1"),
    ("cuont", 1, "unknown key 'cuont'; did you mean 'count'?"),
]


@together.over("setting", RIGHT)
def test_what_is_declared_is_accepted(setting):
    for value in RIGHT[setting]:
        config_files.validate({setting: value}, settings.schema(Declared), "my.yaml")


@together.over(("setting", "value", "words"), WRONG)
def test_what_is_not_is_refused_in_words(setting, value, words):
    with pytest.raises(ConfigError) as error:
        config_files.validate({setting: value}, settings.schema(Declared), "my.yaml")
    assert str(error.value).startswith("my.yaml: ") and words in str(error.value)


def test_counts_and_what_is_said_of_each_data_set():
    assert settings.counts(Declared) == {"count", "even", "power"}
    assert settings.by_datasets(Declared) == {"splits", "column"}
    assert settings.counts(settings.Axes) == {"n", "p"}


def test_a_declaration_loads_and_computes_nothing():
    """So a plan may read all of them, and the digest of a job need not follow them."""
    for path in Path(dperm_papers.__file__).parent.glob("*/*/settings.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert modules <= {"dataclasses", "dperm_pipeline.settings", "dperm_papers.jain2013.shared.row_splits"}
        assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.FunctionDef, ast.Lambda))]
        # What a class holds beside its words are fields, whose values are among a job's params.
        held = [node for each in tree.body if isinstance(each, ast.ClassDef) for node in each.body]
        fields = [node for node in held if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call)]
        assert all(node in fields or isinstance(node, ast.Expr) for node in held), path


def test_code_takes_nothing_of_a_declaration_but_the_class_of_its_settings():
    """A number beside it, such as the designs that stand there, is in no digest."""
    for path in Path(dperm_papers.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dperm_papers"):
                taken = [alias.name for alias in node.names]
                assert "settings" not in taken and (not node.module.endswith(".settings") or taken == ["Settings"]), (
                    path
                )
            elif isinstance(node, ast.Import):
                assert not [alias.name for alias in node.names if alias.name.endswith(".settings")], path
