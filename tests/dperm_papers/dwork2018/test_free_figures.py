"""dwork2018-free and dwork2018-dimension show what their rows say."""

import fake_dwork2018
import numpy as np
import pytest

from dperm_papers.dwork2018.dimension import figures as dimension
from dperm_papers.dwork2018.free import figures as free
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.free()


@pytest.fixture(scope="module")
def sizes():
    return fake_dwork2018.dimension()


def words(figure):
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def test_ratios_are_lines_one_for_each_n(rows):
    figure = free.free(rows)
    own = rows[(rows["metric"] == "ratio") & (rows["dataset"] == "sq")]
    lines = [line for line in figure.axes[1].lines if len(line.get_xdata()) == 3]
    for (_, group), line in zip(own.groupby("n"), lines, strict=True):
        np.testing.assert_allclose(line.get_ydata(), group.sort_values("scaled")["value"])
        np.testing.assert_allclose(line.get_xdata(), [0.3, 1.0, 3.0])
    assert [axis.get_title() for axis in figure.axes][-1] == "both parts equal" and "n = 30, 100" in words(figure)


def test_crossings_beside_those_of_the_terms(rows):
    axis = free.free(rows).axes[2]
    shown = {tuple(np.round(line.get_ydata(), 12)) for line in axis.lines}
    here = rows[(rows["metric"] == "crossing") & rows["dataset"].isin(["hard", "sq"])]
    for series, calibration, variant in (
        ("crossing", "paper", "halved"), ("crossing", "corrected", ""), ("algebra", "paper", ""),
        ("algebra", "corrected", ""),
    ):  # fmt: skip
        own = here[(here["series"] == series) & (here["calibration"] == calibration) & (here["variant"] == variant)]
        for _, group in own.groupby("dataset"):
            assert tuple(np.round(group.sort_values("n")["value"], 12)) in shown
    assert len(shown) == 8


def test_one_law_alone(rows):
    figure = free.free(rows[rows["dataset"] != "sq"])
    assert len(figure.axes) == 2 and len(figure.axes[1].lines) == 4


def test_sizes_are_means_with_intervals(sizes):
    figure = dimension.dimension(sizes)
    axis = figure.axes[0]
    look = style.look("stable_erm", "paper")
    own = sizes[
        (sizes["metric"] == "n_star") & (sizes["mechanism"] == "stable_erm") & (sizes["calibration"] == "paper")
    ]
    (line,) = [one for one in axis.lines if one.get_color() == look.colour and one.get_linestyle() == "-"]
    np.testing.assert_allclose(line.get_ydata(), own.groupby("p")["value"].mean())
    bars = np.array([path.vertices[:, 1] for bars in axis.collections for path in bars.get_paths()])
    for _, group in own.groupby("p"):
        assert np.isclose(bars, style.mean_interval(group["value"].to_numpy())[1:]).all(axis=1).any()
    gamma = sizes[(sizes["mechanism"] == "objective") & (sizes["delta"] == 0)].sort_values("p")
    shown = [tuple(line.get_ydata()) for line in axis.lines]
    for metric in ("n_star", "promised"):
        assert tuple(gamma.loc[gamma["metric"] == metric, "value"]) in shown
    assert style.number(0.2) in axis.get_ylabel() and axis.get_title() == style.equals("ε", 1.0)


def test_excess_over_n(sizes):
    axis = dimension.dimension(sizes).axes[-1]
    shown = [tuple(line.get_ydata()) for line in axis.lines]
    coins = sizes[sizes["dataset"] == "abs"].sort_values("n")
    for _, group in coins.groupby(["mechanism", "calibration"]):
        assert tuple(group["value"]) in shown
    assert len(shown) == 3


def test_every_line_is_in_the_legend(sizes):
    figure = dimension.dimension(sizes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert len(labels) == 9 and "Corollary 4.11" in labels and "without privacy" in labels
