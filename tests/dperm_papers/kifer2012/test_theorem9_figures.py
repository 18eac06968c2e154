"""The figure of Theorem 9: lines are means of the rows, bounds those at the smallest gamma, laws have their slopes."""

import fake_rows
import numpy as np
import pytest
from specified import words

from dperm_papers.kifer2012.theorem9 import figures as theorem9

COLOURS = {"exp_mech": "#0072B2", "samp_agg": "#D55E00", "right": "#009E73", "none": "#CC79A7"}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem9()


@pytest.fixture(scope="module")
def figure(rows):
    return theorem9.theorem9(rows)


def of(axis, colour, style):
    return [line for line in axis.lines if line.get_color() == colour and line.get_linestyle() == style]


def test_risk_over_n_and_its_bounds(rows, figure):
    axis = figure.axes[0]
    here = rows[(rows["dataset"] == "hadamard") & (rows["p"] == 16)]
    for support in ("exp_mech", "samp_agg"):
        means = here[(here["support"] == support) & (here["metric"] == "excess_risk")].groupby("n")["value"].mean()
        (line,) = of(axis, COLOURS[support], "-")
        np.testing.assert_allclose(line.get_xdata(), means.index)
        np.testing.assert_allclose(line.get_ydata(), means)
    bound = here[(here["support"] == "exp_mech") & (here["metric"] == "bound") & (here["gamma"] == 0.1)]
    (line,) = of(axis, COLOURS["exp_mech"], "--")
    np.testing.assert_allclose(line.get_ydata(), bound.sort_values("n")["value"])
    assert f"γ = {0.1}" in words(figure)


def test_the_noise_term_beside_slopes_one_and_four(rows, figure):
    axis = figure.axes[2]
    laws = [np.polyfit(np.log(line.get_xdata()), np.log(line.get_ydata()), 1)[0] for line in of(axis, "#777777", ":")]
    laws += [np.polyfit(np.log(line.get_xdata()), np.log(line.get_ydata()), 1)[0] for line in of(axis, "#777777", "--")]
    np.testing.assert_allclose(sorted(laws), [1, 4])
    (line,) = of(axis, COLOURS["right"], "-")
    exact = rows[(rows["metric"] == "noise_risk") & (rows["p"] == 16)].sort_values("s")["value"]
    np.testing.assert_allclose(line.get_ydata(), exact)


def test_the_single_stage_has_its_panel_where_it_was_run(rows, figure):
    ratios = rows[rows["metric"] == "risk_ratio"]
    (line,) = of(figure.axes[3], COLOURS["none"], "-")
    one = ratios[(ratios["row"] == "single-stage") & (ratios["sizing"] == "4n")]
    np.testing.assert_allclose(line.get_ydata(), [one["value"].mean()])
    for mechanism, colour in (("objective", "#56B4E9"), ("output", "#E69F00")):
        (line,) = of(figure.axes[3], colour, "-")
        here = ratios[(ratios["row"] == "earlier") & (ratios["mechanism"] == mechanism) & (ratios["sizing"] == "4n")]
        np.testing.assert_allclose(line.get_ydata(), [here.groupby("variant")["value"].mean().min()])
    without = theorem9.theorem9(rows[rows["metric"] != "risk_ratio"])
    assert not without.axes[3].axison
    assert "One stage" not in words(without)
