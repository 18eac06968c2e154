"""The figure and table of kifer2012-lasso show the rows, and say what is missing."""

import fake_rows
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from specified import assert_nothing_overlaps, assert_ticks_are_apart, words

from dperm.errors import ConfigError
from dperm_papers.kifer2012.lasso import figures as lasso
from dperm_pipeline.figures import style

COLOURS = {0.001: "#0072B2", 0.003: "#E69F00", 0.01: "#CC79A7"}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.lasso()


def lines_of(axis):
    return [line for line in axis.lines if line.get_marker() in list("os^D")]


def test_each_panel_has_a_line_for_each_strength_and_calibration(rows):
    figure = lasso.lasso(rows)
    assert len(figure.axes) == 3 * 2
    for axis in figure.axes:
        drawn = {(line.get_color(), line.get_markerfacecolor() == "white") for line in lines_of(axis)}
        assert drawn == {(colour, hollow) for colour in COLOURS.values() for hollow in (True, False)}
        assert len(lines_of(axis)) == 6


def test_lines_are_means_at_their_delta_and_levels_the_non_private_lasso(rows):
    figure = lasso.lasso(rows)
    for k, axis in enumerate(figure.axes):
        metric, delta = ("relative_error", "support", "overlap")[k // 2], (0.0, 1e-6)[k % 2]
        for share, colour in COLOURS.items():
            for calibration, hollow in (("tight", False), ("paper", True)):
                line = next(
                    line for line in lines_of(axis)
                    if (line.get_color(), line.get_markerfacecolor() == "white") == (colour, hollow)
                )  # fmt: skip
                here = rows[(rows["metric"] == metric) & (rows["delta"] == delta) & (rows["l1_share"] == share)]
                here = here[here["calibration"] == calibration]
                means = [here.loc[here["epsilon"] == epsilon, "value"].mean() for epsilon in line.get_xdata()]
                assert list(line.get_ydata()) == pytest.approx(means, rel=1e-12) and len(means) == 2
            level = rows[(rows["mechanism"] == "nonprivate") & (rows["metric"] == metric) & (rows["l1_share"] == share)]
            levels = [line.get_ydata()[0] for line in axis.lines if line.get_marker() == "None"]
            assert len(levels) == (0 if metric == "overlap" else 3)
            assert metric == "overlap" or level["value"].item() in levels


def test_one_data_set_and_metric_share_their_axis_and_counts_start_at_zero(rows):
    axes = lasso.lasso(rows).axes
    for k in (0, 2, 4):
        assert axes[k].get_ylim() == axes[k + 1].get_ylim()
    assert axes[0].get_yscale() == "log" and axes[2].get_yscale() == axes[4].get_yscale() == "linear"
    assert axes[2].get_ylim()[0] < 0 < axes[2].get_ylim()[1] and axes[4].get_ylim()[1] >= 1


@pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_no_text_leaves_the_figure_or_covers_another(rows, many):
    frame = rows
    if many:
        frame = pd.concat([rows, rows.assign(dataset="adult", epsilon=rows["epsilon"] * 3)])
        frame = pd.concat([frame, frame.assign(epsilon=frame["epsilon"] * 1.7)])
    with style.applied():
        figure = lasso.lasso(frame)
        assert_nothing_overlaps(figure)
    assert_ticks_are_apart(figure)


@pytest.mark.slow
def test_failures_are_said_and_not_drawn(rows):
    assert "did not converge" not in words(lasso.lasso(rows))
    lost = (rows["calibration"] == "tight") & (rows["epsilon"] == 1.0) & (rows["repeat"] == 0)
    figure = lasso.lasso(fake_rows.fail(rows, lost))
    # Three metrics, strengths and deltas, the levels of the non-private fit aside.
    assert "18 of 288 values did not converge and are left out." in words(figure)
    gone = fake_rows.fail(rows, rows["mechanism"] != "nonprivate")
    panels = lasso.lasso(gone).axes
    assert [text.get_text() for axis in panels for text in axis.texts] == ["no converged fit"] * 6


def test_too_many_strengths_are_refused(rows):
    more = pd.concat([rows, rows.assign(l1_share=0.1), rows.assign(l1_share=0.2)])
    with pytest.raises(ConfigError, match="5 are too many lines for one figure; at most 4"):
        lasso.lasso(more)


def test_the_table_holds_means_and_intervals(rows):
    plain, text = lasso.lasso_table(rows)
    assert len(plain) == len(text) == 2 * 2 * 3 * 2 + 3
    line = plain[(plain["delta"] == 1e-6) & (plain["epsilon"] == 1.0) & (plain["l1_share"] == 0.003)]
    line = line[line["calibration"] == "paper"].iloc[0]
    here = rows[(rows["delta"] == 1e-6) & (rows["epsilon"] == 1.0) & (rows["l1_share"] == 0.003)]
    here = here[here["calibration"] == "paper"]
    for metric in ("relative_error", "support", "overlap"):
        values = here.loc[here["metric"] == metric, "value"]
        low, high = stats.t.interval(0.95, 3, values.mean(), stats.sem(values))
        assert line[metric] == pytest.approx(values.mean())
        assert (line[f"{metric}_low"], line[f"{metric}_high"]) == pytest.approx((low, high), nan_ok=True)
    assert (line["repeats"], line["failed"]) == (4, 0)
    level = plain[np.isinf(plain["epsilon"]) & (plain["l1_share"] == 0.01)].iloc[0]
    there = rows[(rows["mechanism"] == "nonprivate") & (rows["metric"] == "support") & (rows["l1_share"] == 0.01)]
    assert level["support"] == there["value"].item() and np.isnan(level["overlap"]) and level["calibration"] == ""
    assert "nan" not in text.to_string().lower() and (text["calibration"] == "non-private").sum() == 3
