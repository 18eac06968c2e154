"""Rows that are read once for several claims are those that each would read alone."""

import math

import fake_rows
import numpy as np
import pandas as pd
import pytest
import together

from dperm_pipeline import tables
from dperm_pipeline.claims import select
from dperm_pipeline.claims.rows import Rows


@pytest.fixture
def path(tmp_path):
    """Rows of which some lack a whole number and a truth value."""
    frame = fake_rows.rows(datasets=("digits", "adult"), epsilons=(0.1, 1.0), repeats=3)
    frame["k"] = pd.array(np.arange(len(frame)) % 4, "Int64")
    frame["odd"] = pd.array(np.arange(len(frame)) % 2 == 1, "boolean")
    frame.loc[frame["dataset"] == "adult", ["k", "odd"]] = pd.NA
    return fake_rows.write(frame, tmp_path / "rows.parquet")


QUESTIONS = [
    (["dataset", "value", "metric"], [("dataset", "in", ["digits"]), ("metric", "in", ["test_loss", "slack"])]),
    (["dataset", "value", "k", "odd"], [("dataset", "in", ["digits"]), ("k", "in", [1, 3]), ("odd", "in", [True])]),
    (["epsilon", "mechanism"], [("dataset", "in", ["adult", "digits"]), ("epsilon", "in", [0.1])]),
    (["k"], [("dataset", "in", ["adult"])]),
    (["value"], [("dataset", "in", ["digits"]), ("dataset", "in", ["adult"])]),
    (["value"], [("dataset", "in", ["no such set"]), ("no such column", "in", [1])]),
]


@pytest.mark.parametrize("number", range(5))
def test_rows_read_once_are_those_read_one_by_one(path, number):
    columns, filters = QUESTIONS[number]
    found, alone = Rows(path, QUESTIONS).of(columns, filters), tables.read(path, columns=columns, filters=filters)
    texts = [name for name in alone if isinstance(alone[name].dtype, pd.CategoricalDtype)]
    assert texts == [name for name in found if isinstance(found[name].dtype, pd.CategoricalDtype)]
    pd.testing.assert_frame_equal(found.astype(dict.fromkeys(texts, str)), alone.astype(dict.fromkeys(texts, str)))


def test_rows_of_the_metrics_that_are_asked_for_are_counted(path):
    every = tables.read(path)
    assert Rows(path, QUESTIONS[:1]).at_most == every["metric"].isin(["test_loss", "slack"]).sum() > 0
    # The second question is about all metrics.
    assert Rows(path, QUESTIONS[:2]).at_most == len(every)
    assert Rows(None, QUESTIONS).at_most == Rows(path, []).at_most == 0


def test_a_question_that_does_not_fit_is_refused(path):
    wrong = (["value"], [("dataset", "in", ["digits"]), ("epsilon", "in", ["high"])])
    with pytest.raises(ValueError, match=r"'epsilon', 'in', \['high'\].* do not fit .*rows\.parquet"):
        Rows(path, [wrong]).of(*wrong)
    # Also where others ask for all of them, and the file is not asked.
    with pytest.raises(ValueError, match=r"epsilon in \['high'\] do not fit .*rows\.parquet"):
        Rows(path, [wrong, (["value", "epsilon"], wrong[1][:1])]).of(*wrong)


def test_where_all_cells_gave_up_the_columns_of_their_own_hold_nothing(path, tmp_path):
    """The rows of a baseline may be left; a column that a whole file lacks is still refused."""
    question = (["dataset", "value", "share"], [("dataset", "in", ["digits"]), ("repeat", "in", [0])])
    narrow = (["share"], [("dataset", "in", ["digits"]), ("share", "in", [0.1])])
    with pytest.raises(ValueError, match="has no column 'share'"):
        Rows(path, [question, narrow]).of(*question)
    rows = fake_rows.rows(datasets=("digits",), epsilons=(1.0,), repeats=3)
    left = rows[rows["mechanism"] == "nonprivate"]
    row = rows.head(1).assign(dataset="", metric=tables.GIVEN_UP, value=math.nan, status="failed")
    asked = Rows(fake_rows.write(pd.concat([left, row]), tmp_path / "lost.parquet"), [question, narrow])
    found = asked.of(*question)
    assert list(found) == question[0] and len(found) and found["share"].isna().all() and found["value"].notna().all()
    assert asked.of(*narrow).empty


def test_without_a_file_there_are_no_data_sets(path):
    assert Rows(None, []).datasets == set()
    assert Rows(path, []).datasets == {"adult", "digits"}


def test_text_is_sorted_by_its_letters_and_numbers_by_size():
    """Whatever the order in which the categories were first seen."""
    frame = pd.DataFrame(
        {
            "dataset": pd.Categorical(["b", "a", "b", "a"], categories=["b", "unused", "a"]),
            "epsilon": [10.0, 2.0, 2.0, 10.0],
            "repeat": 0,
            "metric": pd.Categorical(["m"] * 4),
            "value": [1.0, 2.0, 3.0, math.inf],
            "status": pd.Categorical(["ok", "ok", "failed", "ok"]),
        }
    )
    found = select.chosen({"id": "K-c01", "experiment": "e"}, frame, ["dataset", "epsilon"], "m")
    assert found["dataset"].tolist() == ["a", "a", "b", "b"] and found["epsilon"].tolist() == [2.0, 10.0, 2.0, 10.0]
    assert found["value"].isna().tolist() == [False, True, True, False]
    assert not isinstance(found["dataset"].dtype, pd.CategoricalDtype)


@together.over(
    "values", [[0.1], [1], [math.inf, -0.0], [math.nan, 1.0], [True], ["1.0"], [None], list(np.arange(20) / 10)]
)
def test_numbers_among_values_are_those_that_pandas_finds(values):
    for column in (pd.Series([0.1, 1.0, 0.0, math.nan, math.inf]), pd.Series([1, 0, 7])):
        np.testing.assert_array_equal(select.among(column, values), column.isin(values).to_numpy(dtype=bool))
