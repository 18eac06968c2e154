"""Figure 6 of li2021 shows the rows: means over epsilon, both lassos, what the text states, and what is missing."""

import itertools

import fake_rows
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from dperm_papers.li2021.adult import figures as adult
from dperm_pipeline.figures import style

DRAW = {"paper": adult.fig6, "corrected": adult.fig6_corrected}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.li2021_adult()


def words(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).replace("\N{NO-BREAK SPACE}", " ").split())


def curves(axis):
    return [line for line in axis.lines if len(line.get_xdata()) == 3]


@pytest.mark.parametrize(("which", "count"), [("paper", 6), ("corrected", 4)])
def test_lines_are_the_means_of_adult_at_each_lambda(rows, which, count):
    figure = DRAW[which](rows)
    assert [axis.get_title() for axis in figure.axes] == ["adult, Λ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.1",
                                                          "adult, Λ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}1"]  # fmt: skip
    own = rows[(rows["dataset"] == "adult") & (rows["mechanism"] == "napp")]
    own = own[(own["calibration"] == "paper") == (which == "paper")]
    for axis, strength in zip(figure.axes, (0.1, 1.0), strict=True):
        here = own[own["strength"] == strength]
        means = {tuple(np.round(g, 12)) for g in here.groupby(["calibration", "variant", "epsilon"])["value"].mean()
                 .unstack().to_numpy()}  # fmt: skip
        assert {tuple(np.round(line.get_ydata(), 12)) for line in curves(axis)} == means and len(means) == count
        levels = rows[(rows["dataset"] == "adult") & (rows["mechanism"] == "nonprivate")]
        levels = set(levels.loc[levels["strength"] == strength, "value"])
        flat = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 2]
        assert set(flat) == levels and len(levels) == 2
        stated = [line.get_ydata()[0] for line in axis.lines if len(line.get_xdata()) == 1]
        assert stated == [0.155, 0.152]


def test_a_stand_in_is_named_and_not_held_against_adult_s_numbers(rows):
    figure = adult.fig6(rows[rows["dataset"] == "breast-cancer"])
    assert all(axis.get_title().startswith("breast-cancer") for axis in figure.axes)
    assert "Adult is not among the rows: breast-cancer stands in for it" in words(figure)
    assert "stands in" not in words(adult.fig6(rows))
    assert not any(len(line.get_xdata()) == 1 for axis in figure.axes for line in axis.lines)


def test_failures_are_said_and_left_out(rows):
    mask = (rows["variant"] == "vs") & (rows["dataset"] == "adult") & (rows["repeat"] == 0)
    assert "converge" not in words(adult.fig6(rows))
    assert "6 of 144 values did not converge and are left out" in words(adult.fig6(fake_rows.fail(rows, mask)))


@pytest.mark.parametrize("which", ["paper", "corrected"])
@pytest.mark.parametrize("epsilons", [(0.1, 1.0), tuple(np.arange(1, 11) / 10)])
def test_no_text_leaves_the_figure_or_covers_another(which, epsilons):
    with style.applied():
        figure = DRAW[which](fake_rows.li2021_adult(epsilons=epsilons))
        FigureCanvasAgg(figure).draw()
    boxes = [axis.get_tightbbox() for axis in figure.axes]
    caption, legend = figure.texts[0].get_window_extent(), figure.legends[0].get_window_extent()
    for box in (*boxes, caption, legend):
        assert figure.bbox.x0 - 1 <= box.x0 and box.x1 <= figure.bbox.x1 + 1
        assert figure.bbox.y0 - 1 <= box.y0 and box.y1 <= figure.bbox.y1 + 1
    assert caption.y1 <= legend.y0 + 1 and all(legend.y1 <= box.y0 + 1 for box in boxes)
    for axis in figure.axes:
        ticks = [label.get_window_extent() for label in axis.get_xticklabels() if label.get_visible()]
        assert all(left.x1 <= right.x0 for left, right in itertools.pairwise(ticks))
