"""Rows are what was added, in that order, under the columns that were known there."""

import math

import numpy as np
import pandas as pd
import pytest

from dperm.errors import ConfigError
from dperm_pipeline.experiments import Cell
from dperm_pipeline.rows import Rows

CELL = Cell("kifer2012", "kifer2012-x", 7, {"dataset": "adult", "epsilon": 0.5}, None, "output", "tight", "replace")


def test_a_number_for_each_repeat_under_the_columns_of_its_place():
    rows = Rows(variant="", delta=0.0)
    rows.at(delta=1e-6).add("risk", [1.0, math.nan, 3.0], ok=[True, True, False])
    rows.add("radius", 2, variant="ball")
    found = rows.frame()
    assert found["delta"].tolist() == [1e-6, 1e-6, 1e-6, 0.0] and found["repeat"].tolist() == [0, 1, 2, 0]
    assert found["status"].tolist() == ["ok", "unknown", "failed", "ok"]
    assert found["variant"].tolist() == ["", "", "", "ball"] and found["metric"].tolist() == ["risk"] * 3 + ["radius"]
    np.testing.assert_array_equal(found["value"], [1.0, np.nan, np.nan, 2.0])


def test_numbers_of_single_repeats_say_which():
    rows = Rows()
    for repeat in (3, 5):
        rows.add("risk", 0.5, repeat=repeat)
    assert rows.frame()["repeat"].tolist() == [3, 5]


def test_columns_go_along_the_second_axis():
    rows = Rows(name="a")
    rows.add("loss", [[1.0, 2.0], [3.0, 4.0]], ok=[[True, False], [True, True]], strength=np.array([0.1, 10.0]))
    rows.add("loss", 5.0, strength=1.0)
    expected = pd.DataFrame(
        {
            "name": "a", "strength": [0.1, 10.0, 0.1, 10.0, 1.0], "repeat": [0, 0, 1, 1, 0], "metric": "loss",
            "value": [1.0, np.nan, 3.0, 4.0, 5.0], "status": ["ok", "failed", "ok", "ok", "ok"],
        }
    )  # fmt: skip
    pd.testing.assert_frame_equal(rows.frame(), expected, check_like=True, check_dtype=False)


def test_repeats_are_counted_from_the_first_that_is_given():
    rows = Rows(name="a")
    rows.at(repeat=4).add("loss", 1.0)
    rows.add("loss", [2.0, 3.0], repeat=1)
    assert rows.frame()["repeat"].tolist() == [4, 1, 2]


def test_counts_stay_counts_and_what_is_lacking_is_missing():
    rows = Rows()
    rows.add("a", 1.0, n=3, name="x")
    rows.add("b", 1.0, n=4)
    found = rows.frame()
    assert found["n"].dtype == int and found["name"].isna().tolist() == [False, True]


def test_nothing_measured_is_an_error():
    with pytest.raises(ValueError, match=r"measured nothing; call rows\.add"):
        Rows().frame()


def test_a_cell_gives_its_columns():
    CELL.rows().at(delta=0.0).add("risk", 1.0)
    rows = CELL.rows()
    rows.add("risk", 1.0)
    (row,) = rows.frame().to_dict("records")
    assert {key: row[key] for key in ("paper", "mechanism", "calibration", "neighbours", "dataset", "epsilon")} == {
        "paper": "kifer2012", "mechanism": "output", "calibration": "tight", "neighbours": "replace",
        "dataset": "adult", "epsilon": 0.5,
    }  # fmt: skip
    assert CELL.rng("noise", 1.0).random() != CELL.rng("split").random()


def test_a_cell_runs_one_part_or_all_and_names_another():
    def cell(part):
        return Cell("jain2013", "jain2013-x", 7, {"part": part}, None)

    assert cell("all").parts("noise", "checks") == ("noise", "checks") and cell("all").parts() == ()
    assert cell("checks").parts("noise", "checks") == ("checks",)
    with pytest.raises(ConfigError, match="unknown part 'sums' of jain2013-x; known: noise, checks, all"):
        cell("sums").parts("noise", "checks")
    with pytest.raises(ConfigError, match="unknown part 'sums' of jain2013-x; known: all"):
        cell("sums").parts()
