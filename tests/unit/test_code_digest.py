"""What changes the fingerprint of a module, and what does not."""

import ast
import importlib

import pytest

MODULE = importlib.import_module("dperm.plan.code_digest")
SOURCE = '"""Words."""\nREGISTRY = {"a": 1}\nSTEP = 2\n\n\ndef f(x):\n    """More."""\n    return x + STEP\n'


def fingerprint(monkeypatch, source):
    monkeypatch.setattr(MODULE, "_tree", lambda module: ast.parse(source))
    return MODULE._fingerprint.__wrapped__("any")


@pytest.mark.parametrize(
    ("old", "new"),
    [("Words", "Other words"), ("More", "Less"), ("STEP = 2", "STEP = 2  # why"), ('"a": 1', '"a": 1, "b": 2')],
)
def test_words_and_catalogue_entries_change_nothing(monkeypatch, old, new):
    """A new experiment, mechanism or figure is registered without running the others again."""
    assert old in SOURCE
    assert fingerprint(monkeypatch, SOURCE) == fingerprint(monkeypatch, SOURCE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"), [("STEP = 2", "STEP = 3"), ("x + STEP", "x - STEP"), ("REGISTRY", "REGISTERS")]
)
def test_code_does(monkeypatch, old, new):
    assert fingerprint(monkeypatch, SOURCE) != fingerprint(monkeypatch, SOURCE.replace(old, new, 1))


def test_the_tree_itself_is_left_alone(monkeypatch):
    """Two digests in one process are the same."""
    tree = ast.parse(SOURCE)
    monkeypatch.setattr(MODULE, "_tree", lambda module: tree)
    assert MODULE._fingerprint.__wrapped__("any") == MODULE._fingerprint.__wrapped__("any")
    assert ast.dump(tree) == ast.dump(ast.parse(SOURCE))
