"""What changes the fingerprint of a module, and what does not."""

import importlib

import pytest

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
