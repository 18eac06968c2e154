"""dwork2018-realdata: lines are means over splits, the model is one level over queries, data sets are named."""

import fake_dwork2018
import numpy as np
import pandas as pd
import pytest

from dperm_papers.dwork2018.realdata import drawing as realdata
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.realdata()


@pytest.fixture(scope="module")
def figure(rows):
    return realdata.realdata(rows)


def line(axis, mechanism):
    found = [one for one in axis.lines if one.get_color() == style.look(mechanism, "tight").colour]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("mechanism", realdata._MECHANISMS)
def test_lines_are_means_over_splits(rows, figure, mechanism):
    for row, dataset in enumerate(("breast-cancer", "digits")):
        own = rows[(rows["dataset"] == dataset) & (rows["mechanism"] == mechanism)]
        for column, (series, over) in enumerate((("epsilon", "epsilon"), ("queries", "queries"), ("radius", "radius"))):
            means = own[own["series"] == series].groupby(over)["value"].mean()
            if means.empty:
                continue
            drawn = line(figure.axes[3 * row + column], mechanism)
            np.testing.assert_allclose(drawn.get_xdata(), means.index)
            np.testing.assert_allclose(drawn.get_ydata(), means)


def test_the_private_model_is_one_level_over_the_queries(rows, figure):
    own = rows[(rows["dataset"] == "digits") & (rows["mechanism"] == "objective") & (rows["series"] == "queries")]
    drawn = line(figure.axes[4], "objective")
    np.testing.assert_allclose(drawn.get_xdata(), [1, 100])
    np.testing.assert_allclose(drawn.get_ydata(), own["value"].mean())


def test_what_is_not_private_is_marked_and_data_are_named(rows, figure):
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert sum("not private" in label for label in labels) == 2 and len(labels) == len(set(labels)) == 8
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "Data: breast-cancer, digits" in words and "5 random splits (over R: 5)" in words
    for axis in figure.axes:
        levels = sorted(one.get_ydata()[0] for one in axis.lines if one.get_color() == style.NONPRIVATE.colour)
        np.testing.assert_allclose(levels, [0.05, 0.45])
        low, high = axis.get_ylim()
        assert low < 0.05 and high > 0.5


def test_splits_are_counted_by_panel_and_numbers_between_have_no_marker(rows):
    between = rows[(rows["mechanism"] == "soft_majority") & (rows["series"] == "queries") & (rows["queries"] == 1)]
    kept = rows[(rows["series"] != "radius") | (rows["repeat"] < 2)]
    figure = realdata.realdata(pd.concat([kept, between.assign(queries=7)], ignore_index=True))
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "5 random splits (over R: 2)" in words
    drawn = line(figure.axes[1], "soft_majority")
    assert list(drawn.get_xdata()) == [1, 7, 100] and drawn.get_markevery() == [True, False, True]
    assert all(line(figure.axes[1], name).get_markevery() == [True, True] for name in ("averaged", "exppw"))
    assert list(figure.axes[1].get_xticks()) == [1, 100]
