"""examples/frontier: the table of docs/frontier.md is that of the rows, and what it runs is pinned."""

import hashlib
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest

from dperm_papers.frontier.linear.comparison import COMPARISON

FOLDER = Path(__file__).parents[2] / "examples/frontier"


def loaded(name):
    spec = importlib.util.spec_from_file_location(f"frontier_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_table_of_the_rows():
    table = loaded("table")
    lines = table.recorded()
    assert {line["dataset"] for line in lines} <= set(COMPARISON.datasets)
    assert len({line["method"] for line in lines}) == 5
    assert table.BLOCK.search(table.PAGE.read_text(encoding="utf-8"))[0] == table.table(lines)


def test_a_cell_is_the_mean_of_its_splits():
    line = {"method": "m", "neighbours": "replace", "dataset": "d", "epsilon": 1.0, "delta": 0.0}
    lines = [{**line, "split": 0, "error": 0.1}, {**line, "split": 1, "error": 0.3}]
    assert loaded("table").table(lines).splitlines()[-1] == "| d | replace one, δ = 0 | m | 20.0 ± 10.0 |"


def test_each_split_and_budget_is_a_line(tmp_path, monkeypatch, capsys):
    X, y = np.ones((4, 1)), np.array([1, 1, -1, -1])
    np.savez(tmp_path / "a-b-3.npz", X=X, y=y, Q=X, target=np.array([1, 1, 1, -1]))
    (tmp_path / "budgets.json").write_text(json.dumps({"epsilons": [1.0, 5.0], "delta": 1e-4}), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["", str(tmp_path)])

    def fit(X, y, epsilon, delta, seed):
        return None if epsilon > 2 else lambda Q: np.ones(len(Q))

    loaded("running").run("m", "replace", fit, pure=True)
    line = json.loads(capsys.readouterr().out)
    what = {"method": "m", "neighbours": "replace", "dataset": "a-b", "split": 3}
    assert line == {**what, "epsilon": 1.0, "delta": 0.0, "error": 0.25}


def test_what_is_there_and_right_is_not_fetched_again_and_what_is_wrong_never_taken(tmp_path, monkeypatch):
    fetch = loaded("fetch")
    kept = tmp_path / "kept/file.py"
    kept.parent.mkdir()
    kept.write_text("x = 1\n", encoding="utf-8")
    checksum = hashlib.sha256(kept.read_bytes()).hexdigest()
    # Nobody answers there.
    monkeypatch.setattr(fetch, "HOST", "http://127.0.0.1:9")
    sources = {"x": ("0", {"file.py": (checksum, "kept/file.py")})}
    assert fetch.fetch(tmp_path, sources) == [kept]
    kept.write_text("x = 2\n", encoding="utf-8")
    with pytest.raises(OSError, match=r"file\.py"):
        fetch.fetch(tmp_path, sources)
