"""The figure of Exp-mech: its lines are those of the rows."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from matplotlib.backends.backend_agg import FigureCanvasAgg
from specified import assert_nothing_overlaps

from dperm_papers.kifer2012.theorem6 import figures as theorem6
from dperm_pipeline.figures import style

PRINTED = "#D55E00"


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem6()


def test_the_right_support_is_drawn_by_its_mean(rows):
    axis = theorem6.theorem6(rows).axes[0]
    assert len(axis.lines) == 2 * 2 * 2
    here = of(rows, dataset="rademacher", metric="right", calibration="paper", p=10, s=2)
    np.testing.assert_allclose(axis.lines[0].get_ydata(), here.groupby("n")["value"].mean())
    # Open markers tell the larger support.
    assert {line.get_markerfacecolor() for line in axis.lines} == {PRINTED, "#0072B2", "white"}


def test_the_excess_is_drawn_beside_its_bound(rows):
    axis = theorem6.theorem6(rows).axes[1]
    assert len(axis.lines) == 2 + 2 + 2
    bounds = of(rows, metric="bound", gamma=0.5, calibration="paper", p=10, s=2).groupby("n")["value"].first()
    np.testing.assert_allclose(axis.lines[4].get_ydata(), bounds)
    tail = theorem6.theorem6(rows).axes[2]
    here = of(rows, metric="quantile", calibration="paper", p=10, s=2, dataset="planted")
    here = here[here["n"] == here["n"].max()].sort_values("gamma")
    np.testing.assert_allclose(tail.lines[0].get_ydata(), here["value"])
    assert (tail.lines[0].get_ydata() <= tail.lines[2].get_ydata()).all()


def test_dashes_are_bounds_and_markers_tell_the_designs_apart(rows):
    for axis in theorem6.theorem6(rows).axes:
        measured = [line for line in axis.lines if line.get_marker() != "None"]
        assert measured and all(line.get_linestyle() == "-" for line in measured)
        assert all(line.get_linestyle() == "--" for line in axis.lines if line not in measured)
    markers = [line.get_marker() for line in theorem6.theorem6(rows).axes[1].lines[:4]]
    assert markers == ["o", "o", "D", "D"]


def test_the_stated_slope_is_three(rows):
    axis = theorem6.theorem6(rows).axes[3]
    measured, stated, _ = axis.lines
    s, value = stated.get_data()
    np.testing.assert_allclose(np.diff(np.log(value)) / np.diff(np.log(s)), 3.0)
    here = of(rows, metric="excess_risk", calibration="paper", p=10**6, n=10**8).sort_values("s")
    np.testing.assert_allclose(measured.get_ydata(), here["value"])


@pytest.mark.slow
def test_one_problem_and_one_data_set_are_drawn_too():
    rows = fake_rows.theorem6(features=(10,), supports=(2,), repeats=1)
    with style.applied():
        figure = theorem6.theorem6(rows)
        FigureCanvasAgg(figure).draw()
    assert "open ones" not in figure.texts[0].get_text()
    assert all(axis.lines for axis in figure.axes)


def test_no_text_leaves_the_figure_or_covers_another(rows):
    with style.applied():
        figure = theorem6.theorem6(rows)
        assert_nothing_overlaps(figure)
    titles = [axis.title.get_window_extent() for axis in figure.axes]
    assert titles[0].x1 < titles[1].x0 and titles[2].x1 < titles[3].x0
