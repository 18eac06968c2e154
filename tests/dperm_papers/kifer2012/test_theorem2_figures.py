"""The figure and table of Theorem 2: curves, crosses and shares are those of the rows."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of

from dperm_papers.kifer2012.theorem2 import figures as theorem2

PAPER, REPLACED = "#009E73", "#D55E00"


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem2()


def test_a_panel_for_each_budget_with_its_promise(rows):
    figure = theorem2.theorem2(rows)
    assert len(figure.axes) == 2 * 1 + 2
    crosses = [
        (line.get_xdata()[0], line.get_ydata()[0])
        for axis in figure.axes
        for line in axis.lines
        if line.get_marker() == "x"
    ]
    # Pure privacy: at the foot of the panel.
    assert crosses == [(1.0, 1e-6), (1.0, 1e-6)]
    # Algorithm 1 in both directions, and read as replace-one.
    panel, head = figure.axes[1], {"metric": "profile", "epsilon": 1.0, "delta": 1e-6, "calibration": "paper"}
    drawn = [line.get_ydata() for line in panel.lines if line.get_color() == PAPER]
    here = of(rows, neighbours="add_remove", **head)
    low = panel.get_ylim()[0] * 1e-3
    for line, direction in zip(drawn, ("adding", "removing"), strict=True):
        expected = of(here, direction=direction).sort_values("at")["value"]
        np.testing.assert_allclose(line, np.maximum(expected, low))
    (line,) = [line for line in panel.lines if line.get_color() == REPLACED]
    np.testing.assert_allclose(line.get_xdata(), of(rows, neighbours="replace", **head).sort_values("at")["at"])


def test_scales_over_epsilon_leave_out_what_proves_nothing(rows):
    figure = theorem2.theorem2(rows)
    axis = figure.axes[2]
    assert not [line for line in axis.lines if line.get_color() == REPLACED and len(line.get_xdata())]
    (line,) = [line for line in axis.lines if line.get_color() == PAPER]
    np.testing.assert_allclose(line.get_ydata(), 2 / line.get_xdata())


def test_the_table_holds_the_largest_share_of_each_statement(rows):
    plain, words = theorem2.theorem2_table(rows)
    line = plain[(plain["statement"] == "smooth") & (plain["loss"] == "huber") & (plain["noise"] == "gamma")]
    line = line[(line["relation"] == "replace") & (line["calibration"] == "paper")].iloc[0]
    share = line["largest share of ε spent"]
    assert share == pytest.approx(1 + np.log1p(0.5), rel=1e-6) and line["at ε"] == 1.0
    assert list(plain["statement"].unique()) == ["smooth", "lasso", "ball", "box", "norm", "curvature"]
    assert len(words) == len(plain) and words["at δ"].isin(["0", "10⁻⁶"]).all()
