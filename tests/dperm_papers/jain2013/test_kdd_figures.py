"""Figure 2b of jain2013 shows the rows: means over splits, ratios to least squares, the headline, what is missing."""

import fake_jain2013
import fake_rows
import numpy as np
import pytest

from dperm_papers.jain2013.kdd import drawing as kdd
from dperm_pipeline.figures import style

METHODS = 6


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.kdd()


def words(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).replace("\N{NO-BREAK SPACE}", " ").split())


def curves(axis):
    return {tuple(np.round(line.get_ydata(), 10)) for line in axis.lines if len(line.get_xdata()) == 3}


def means(frame):
    return {tuple(np.round(part, 10)) for part in frame.groupby(["mechanism", "calibration", "epsilon"])["value"].mean()
            .unstack().to_numpy()}  # fmt: skip


def test_lines_are_means_over_splits_and_ratios_are_paired(rows):
    figure = kdd.fig2b(rows)
    own = rows[rows["dataset"] == "kdd-algebra"]
    above, below = figure.axes[:2], figure.axes[2:]
    for axis, ratio, total in zip(above, below, (1.0, 100.0), strict=True):
        private = own[(own["mechanism"] != "nonprivate") & (own["total"] == total)]
        assert curves(axis) == means(private) and len(curves(axis)) == METHODS
        least = own[(own["variant"] == "least_squares") & (own["total"] == total)].set_index("repeat")["value"]
        relative = private.assign(value=private["value"] / private["repeat"].map(least))
        assert curves(ratio) == means(relative)
        flat = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 2]
        assert flat == [pytest.approx(least.mean()), 0.4, 0.9]
        assert ratio.get_ylim() == (0.9, 2.0)


def test_the_headline_is_marked_and_the_data_named(rows):
    titles = [axis.get_title().replace("\N{NO-BREAK SPACE}", " ") for axis in kdd.fig2b(rows).axes[:2]]
    assert titles == ["kdd-algebra, nλ = 1 *", "kdd-algebra, nλ = 100"]
    stand_in = kdd.fig2b(rows[rows["dataset"] == "kdd-like"])
    assert stand_in.axes[0].get_title().startswith("kdd-like, ")
    assert "kdd-algebra is not among the rows: kdd-like, a formula, stands in for it" in words(stand_in)
    assert "stands in" not in words(kdd.fig2b(rows)) and "4 splits" in words(kdd.fig2b(rows))


def test_failures_are_said_and_left_out(rows):
    mask = (rows["mechanism"] == "cms11") & (rows["dataset"] == "kdd-algebra") & (rows["repeat"] == 0)
    figure = kdd.fig2b(fake_rows.fail(rows, mask))
    assert "6 private rows did not converge" in words(figure) and "converge" not in words(kdd.fig2b(rows))
    left = rows[~mask & (rows["dataset"] == "kdd-algebra") & (rows["total"] == 1.0) & (rows["mechanism"] == "cms11")]
    assert means(left) <= curves(figure.axes[0])


def test_one_split_has_no_bands(rows):
    figure = kdd.fig2b(rows[rows["repeat"] == 0])
    with style.applied():
        figure.draw_without_rendering()
    assert "1 splits" not in words(figure)
