"""The figure of Theorem 8: lines are means of the rows, hollow where vacuous."""

import fake_jain2013
import numpy as np
import pytest

from dperm_papers.jain2013.thm8 import figures as thm8


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.thm8()


def lines(axis, colour, style):
    return [one for one in axis.lines if one.get_color() == colour and one.get_linestyle() == style]


def test_lines_are_means_and_vacuous_points_hollow(rows):
    figure = thm8.thm8(rows)
    grid = rows[(rows["series"] == "grid") & (rows["metric"] == "error") & (rows["d"] == 2)]
    for key in (("tdil", "paper"), ("tdil", "tight"), ("cms11", "paper")):
        own = grid[(grid["mechanism"] == key[0]) & (grid["calibration"] == key[1])]
        (line,) = lines(figure.axes[0], thm8._CURVES[key].colour, "-")
        np.testing.assert_allclose(line.get_ydata(), own.groupby("total")["value"].mean())
    printed = grid[(grid["mechanism"] == "tdil") & (grid["calibration"] == "paper")]
    hollow = [
        one for one in lines(figure.axes[0], thm8._CURVES["tdil", "paper"].colour, "None")
        if one.get_markerfacecolor() == "white"
    ]  # fmt: skip
    assert set(np.concatenate([one.get_xdata() for one in hollow])) == set(printed[printed["vacuous"] == 1]["total"])


def test_the_cost_of_a_net_and_of_the_sampler(rows):
    figure = thm8.thm8(rows)
    digits = rows[(rows["metric"] == "net_digits") & (rows["total"] == 100_000)].sort_values("d")
    np.testing.assert_allclose(figure.axes[5].lines[0].get_ydata(), digits["value"])
    proposals = rows[rows["metric"] == "proposals"].groupby("d")["value"].mean()
    np.testing.assert_allclose(figure.axes[6].lines[0].get_ydata(), proposals)


def test_a_panel_without_a_crossing_says_so(rows):
    none = thm8.thm8(rows[rows["metric"] != "crossing"])
    assert "nothing crosses" in none.axes[3].texts[0].get_text()
