"""The figures of Theorems 5 and 12: lines are means and quantiles of the rows, and nothing vacuous is drawn."""

import fake_jain2013
import numpy as np
import pytest

from dperm_papers.jain2013.thm5 import drawing as thm5
from dperm_papers.jain2013.thm12 import figures as thm12


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.thm5()


@pytest.fixture(scope="module")
def figure(rows):
    return thm5.thm5(rows)


def line(axis, key, law):
    """The one line of a method on a law."""
    colour, marker = thm5._CURVES[key].colour, thm5._CURVES[key].marker
    style = "-" if law == "ten-directions" else "--"
    found = [one for one in axis.lines if one.get_color() == colour and one.get_linestyle() == style]
    assert len(found) == 1 and found[0].get_marker() in (marker, "None")
    return found[0]


def of(rows, key, law, **where):
    mechanism, variant, calibration = key
    where = {"mechanism": mechanism, "variant": variant, "calibration": calibration, "dataset": law, **where}
    part = rows[rows["metric"] == "error"]
    for name, value in where.items():
        part = part[part[name] == value]
    return part


@pytest.mark.parametrize("law", ["ten-directions", "decaying"])
def test_lines_are_means_over_repeats(rows, figure, law):
    for place, series, over in ((0, "total", "total"), (2, "queries", "queries"), (3, "features", "d")):
        for key in (("tddl", "", "paper"), ("tddl", "", "tight"), ("explicit_output", "", "tight")):
            means = of(rows, key, law, series=series, radius=1.0).groupby(over)["value"].mean()
            drawn = line(figure.axes[place], key, law)
            np.testing.assert_allclose(drawn.get_xdata(), means.index)
            np.testing.assert_allclose(drawn.get_ydata(), means)
    assert line(figure.axes[3], ("cms11", "", "paper"), law)


def test_the_constant_is_the_quantile_of_error_over_bound(rows, figure):
    part = of(rows, ("tddl", "", "paper"), "decaying", series="total", vacuous=0)
    ratio = (part["value"] / part["bound"]).groupby(part["total"]).quantile(0.95)
    np.testing.assert_allclose(line(figure.axes[4], ("tddl", "", "paper"), "decaying").get_ydata(), ratio)


def test_vacuous_answers_of_pinp_are_not_drawn(rows):
    vacuous = rows.copy()
    vacuous.loc[vacuous["series"] == "exchange", "vacuous"] = 1
    assert not thm5.thm5(vacuous).axes[5].lines
    shown = [one for one in thm5.thm5(rows).axes[5].lines if one.get_markerfacecolor() == "white"]
    assert shown


def test_the_deviation_is_drawn_by_its_quantile_below_the_bound():
    rows = fake_jain2013.thm12()
    figure = thm12.thm12(rows)
    disc = rows[rows["dataset"] == "disc"].groupby("queries")["value"].quantile(0.95)
    (drawn,) = [one for one in figure.axes[0].lines if one.get_color() == thm12._LAWS["disc"][1]]
    np.testing.assert_allclose(drawn.get_ydata(), disc)
    (bound,) = [one for one in figure.axes[0].lines if one.get_linestyle() == "--"]
    np.testing.assert_allclose(bound.get_ydata(), np.sqrt(np.log(20) / disc.index.to_numpy()))
