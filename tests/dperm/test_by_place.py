"""Declarations are found in the text of modules, which are not loaded."""

from dperm import by_place


def test_what_a_module_declares_is_found_without_loading_it(tmp_path):
    (tmp_path / "inner").mkdir()
    for path, text in {
        "one.py": 'raise RuntimeError\nWORDS = ("a", "b")\n',
        "two.py": "# WORDS = 1\nOTHER = WORDS = 2\n",
        "inner/__init__.py": 'WORDS = ("c",)\n',
        "inner/three.py": 'if True:\n    WORDS = ("d",)\n',
    }.items():
        (tmp_path / path).write_text(text, encoding="utf-8")
    found = dict(by_place.declaring(tmp_path, "any", "WORDS"))
    assert {name: by_place.constant(text, "WORDS") for name, text in found.items()} == {
        "any.one": ("a", "b"),
        "any.inner": ("c",),
    }
    assert by_place.constant(found["any.one"], "NAME") is None
