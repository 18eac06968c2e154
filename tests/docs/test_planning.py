"""The planner's law is the one that docs/assets/frontier.csv gives, predicts as the page says, and the page runs."""

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/planning.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script():
    """docs/update_planner.py."""
    spec = importlib.util.spec_from_file_location("update_planner", ROOT / "docs/update_planner.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def cells(script):
    means, sets, _ = script.kept()
    return script.joined(means, sets)


@pytest.fixture(scope="module")
def lost(script, cells):
    return script.held_out(cells)


def test_the_law_is_what_the_cells_give_and_the_page_says_how_it_predicts(script, cells, lost):
    _, sets, held = script.kept()
    some = cells.iloc[::31]
    assert script.placed(some) == pytest.approx(some["place"].tolist(), abs=2e-4)
    again = script.law(cells, lost, sets, held["origin"])
    for task, lines in again["lines"].items():
        assert held["lines"][task].keys() == lines.keys()
        for name, one in lines.items():
            assert held["lines"][task][name] == pytest.approx(one, rel=1e-2)
    assert again["sets"] == held["sets"] and again["epsilons"] == held["epsilons"]
    assert np.array([*again["misses"].values()]) == pytest.approx(np.array([*held["misses"].values()]), abs=2e-3)
    assert script.filled(PAGE, cells, lost) == PAGE


def test_the_example_prints_what_the_page_shows(capsys):
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    names = {}
    exec(compile(block, "docs/planning.md", "exec"), names)
    assert f"```\n{capsys.readouterr().out}```\n" in PAGE and names["best"] == "ObjectivePerturbation"


def test_predicted_and_measured_errors_are_ranked_alike(script, cells, lost):
    tests = script.tested(cells, lost)
    for part in ("all cells, fitted to them", "all cells, each data set held out"):
        assert min(tests[part].values()) >= 0.8


def test_a_data_set_is_held_out(script, cells):
    """What is predicted of a set does not hang on what was measured of it."""
    several = cells[cells["task"] == "several"]
    digits = (several["dataset"] == "digits-10").to_numpy()
    first, second = (
        script.held_out(one) for one in (several, several.assign(lost=np.where(digits, 0.9, several["lost"])))
    )
    assert (first[digits] == second[digits]).all() and (first[~digits] != second[~digits]).any()
