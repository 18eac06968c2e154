"""What changes the fingerprint of a module, and what does not."""

import ast
import importlib
from pathlib import Path

import pytest

from dperm import figures, worker

MODULE = importlib.import_module("dperm.plan.code_digest")
SOURCE = '"""Words."""\nREGISTRY = {"a": 1}\nSTEP = 2\n\n\ndef f(x):\n    """More."""\n    return x + STEP\n'


@pytest.fixture
def fingerprint(monkeypatch, tmp_path):
    path = tmp_path / "any.py"
    monkeypatch.setattr(MODULE, "_source", lambda module: path)

    def of(source):
        path.write_text(source, encoding="utf-8")
        return MODULE._read.__wrapped__("any")[1]

    return of


@pytest.mark.parametrize(
    ("old", "new"),
    [("Words", "Other words"), ("More", "Less"), ("STEP = 2", "STEP = 2  # why"), ('"a": 1', '"a": 1, "b": 2')],
)
def test_words_and_catalogue_entries_change_nothing(fingerprint, old, new):
    """A new experiment, mechanism or figure is registered without running the others again."""
    assert old in SOURCE
    assert fingerprint(SOURCE) == fingerprint(SOURCE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"), [("STEP = 2", "STEP = 3"), ("x + STEP", "x - STEP"), ("REGISTRY", "REGISTERS")]
)
def test_code_does(fingerprint, old, new):
    assert fingerprint(SOURCE) != fingerprint(SOURCE.replace(old, new, 1))


@pytest.mark.parametrize("old", ["REGISTRY = ", "REGISTRY: dict[str, int] = "])
def test_a_catalogue_may_be_annotated(fingerprint, old):
    source = SOURCE.replace("REGISTRY = ", old)
    assert fingerprint(source) == fingerprint(source.replace('"a": 1', '"a": 2'))
    assert fingerprint(source) == fingerprint(SOURCE)
    assert fingerprint("SIZES: dict = {1: 2}\n") != fingerprint("SIZES: dict = {1: 3}\n")


@pytest.mark.parametrize(
    "path", sorted(Path(figures.__file__).parent.glob("**/__init__.py")), ids=lambda p: p.parent.name
)
def test_a_caption_of_one_paper_draws_nothing_of_the_others_again(path):
    """All drawings hang on all catalogues' modules; a figure's own words are among its job's params."""
    source = path.read_text(encoding="utf-8")
    tree, edited = ast.parse(source), 0
    before = worker.fingerprint(tree)
    entries = [item.value for item in tree.body if ast.unparse(item).startswith(("FIGURES", "TABLES"))]
    for call in (node for entry in entries for node in ast.walk(entry) if isinstance(node, ast.Call)):
        for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
            if isinstance(argument, ast.Constant):
                argument.value, edited = f"other {argument.value}", edited + 1
    assert edited > 10
    assert worker.fingerprint(tree) == before
