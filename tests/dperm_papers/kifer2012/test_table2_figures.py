"""The figure and table of Table 2: n90 is where the rows say, and what is outside the grid is said."""

import math

import fake_rows
import numpy as np
import pandas as pd
import pytest

from dperm_papers.kifer2012.table2 import drawing_needed
from dperm_papers.kifer2012.table2 import figures as table2


@pytest.fixture(scope="module")
def rows():
    return fake_rows.table2()


def test_n90_of_a_logistic_curve_is_exact():
    sizes = np.array([100.0, 400.0, 1000.0, 3000.0])
    right = 1 / (1 + (sizes / 250.0) ** -3.0)
    # 0.9 = 1/(1 + (n/250)^-3) where (n/250)^3 = 9.
    assert drawing_needed.least_size(sizes, right) == pytest.approx(250 * 9 ** (1 / 3), rel=1e-12)


def test_n90_outside_the_grid():
    sizes = np.array([100.0, 200.0])
    assert drawing_needed.least_size(sizes, np.array([0.95, 0.99])) == -math.inf
    assert drawing_needed.least_size(sizes, np.array([0.1, 0.89])) == math.inf


def test_the_table_holds_n90_its_law_and_its_work(rows):
    plain, words = table2.table2_table(rows)
    line = plain[plain["selection"] == "Exp-mech"].iloc[0]
    right = rows[(rows["metric"] == "right") & (rows["support"] == "exp_mech")]
    means = right.groupby("n")["value"].mean()
    (below, above) = means[means < 0.9].index.max(), means[means >= 0.9].index.min()
    assert below < line["n90"] < above and line["low"] <= line["n90"] <= line["high"]
    odds = np.log(means[[below, above]] / (1 - means[[below, above]])).to_numpy()
    share = (math.log(9) - odds[0]) / (odds[1] - odds[0])
    assert math.log(line["n90"]) == pytest.approx(math.log(below) + share * math.log(above / below), rel=1e-9)
    assert line["n90 / law"] == pytest.approx(line["n90"] / (line["s"] ** 3 * math.log(line["p"])))
    assert line["work"] == math.comb(int(line["p"]), int(line["s"]))
    assert "subsets" in words["work"].iloc[0] and "updates" in words["work"].iloc[1]


def test_what_is_beyond_the_grid_is_said(rows):
    short = rows[~((rows["support"] == "samp_agg") & (rows["row"] == "recovery") & (rows["n"] > 200))]
    plain, words = table2.table2_table(short)
    assert math.isnan(plain["n90"].iloc[1]) and words["n90"].iloc[1] == "beyond 200"
    text = " ".join(text.get_text() for text in table2.table2(short).texts)
    assert "Samp-Agg p = 12, s = 1: beyond 200" in " ".join(text.split())


def test_panels_show_the_means_and_the_laws(rows):
    figure = table2.table2(rows)
    assert len(figure.axes) == 6
    right, exp_mech, _, _, risk, compared = figure.axes
    means = rows[(rows["metric"] == "right") & (rows["support"] == "samp_agg")].groupby("n")["value"].mean()
    (line,) = [line for line in right.lines if line.get_color() == "#D55E00"]
    np.testing.assert_allclose(line.get_ydata(), means)
    (law,) = [line for line in exp_mech.lines if line.get_color() == "#777777"]
    x, y = law.get_xdata(), law.get_ydata()
    assert y[1] / y[0] == pytest.approx(x[1] / x[0])  # slope 1
    assert len(compared.lines) == 6
    # A line for each selection, and for Samp-Agg as printed at |theta*_j| = 1 and 1/2, with its name.
    assert len(risk.lines) == 5
    assert sorted(text.get_text() for text in risk.texts) == ["s = 1"] * 3 + ["|θ*| = 0.5", "|θ*| = 1"]
    printed = rows[(rows["row"] == "consistency") & (rows["divisor"] == "row") & (rows["magnitude"] == 0.5)]
    means = printed.groupby("ratio")["value"].mean()
    assert any(np.array_equal(line.get_ydata(), means) for line in risk.lines)


def test_risks_along_n_are_those_at_the_largest_p(rows):
    more = rows[(rows["row"] == "consistency") & (rows["support"] == "exp_mech")].copy()
    more["p"], more["value"] = 24, 2 * more["value"]
    axis = table2.table2(pd.concat([rows, more], ignore_index=True)).axes[4]
    (line,) = [line for line in axis.lines if line.get_color() == "#0072B2"]
    np.testing.assert_allclose(line.get_ydata(), more.groupby("ratio")["value"].mean())


def test_without_the_risks_there_are_three_panels(rows):
    figure = table2.table2(rows[rows["row"] == "recovery"])
    assert len(figure.axes) == 3


def test_what_failed_is_said(rows):
    broken = fake_rows.fail(rows, (rows["metric"] == "excess_risk") & (rows["repeat"] == 0))
    # Two of the 18 are drawn nowhere (mended and inside F), nor are their four repeats.
    text = " ".join(text.get_text() for text in table2.table2(broken).texts)
    drawn = (broken["metric"] == "right").sum() + (broken["metric"] == "excess_risk").sum() - 8
    assert f"16 of {drawn} values did not converge and are left out" in " ".join(text.split())
