"""The figure of Example 1: its lines are those of the rows."""

import math

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from specified import words

from dperm_papers.kifer2012.example1 import figures as example1


@pytest.fixture(scope="module")
def rows():
    return fake_rows.example1()


def test_three_panels_with_the_limit_and_each_index(rows):
    figure = example1.example1(rows)
    cdf, profile, distance = figure.axes
    huber = of(rows, dataset="q1", loss="huber")
    limit = next(line for line in cdf.lines if line.get_color() == "#000000")
    expected = of(huber, metric="cdf", index=math.inf).sort_values(["at", "value"])
    np.testing.assert_allclose(limit.get_ydata(), expected["value"])
    assert len(cdf.lines) == 4 and len(profile.lines) == 8
    drawn = next(line for line in distance.lines if line.get_marker() == "o")
    np.testing.assert_allclose(drawn.get_ydata(), of(huber, metric="distance").sort_values("index")["value"])
    text = words(figure)
    assert f"{of(huber, metric='atom')['value'].item():.3f}" in text


def test_profiles_are_those_of_the_record_that_the_caption_names(rows):
    figure = example1.example1(rows)
    adding = next(
        line for line in figure.axes[1].lines if line.get_color() == "#000000" and line.get_linestyle() == "-"
    )
    here = of(rows, metric="profile", loss="huber", index=math.inf, direction="adding", target=0.05).sort_values("at")
    shown = adding.get_ydata()
    np.testing.assert_allclose(shown[shown > shown.min()], here["value"][shown > shown.min()])
    text = words(figure)
    assert "y = 0.05" in text
