"""The figure of dwork2018-exppw draws what the rows say."""

import itertools

import fake_dwork2018
import numpy as np
import pandas as pd
import pytest

from dperm_papers.dwork2018.exppw import drawing as exppw
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.exppw()


@pytest.fixture(scope="module")
def figure(rows):
    with style.applied():
        return exppw.exppw(rows)


def drawn(axis, x, y):
    """Whether one of the lines is this one."""
    return any(
        len(line.get_xdata()) == len(x) and np.allclose(line.get_xdata(), x) and np.allclose(line.get_ydata(), y)
        for line in axis.get_lines()
    )


def test_panel_a_draws_the_largest_ratio_of_each_kind(rows, figure):
    ratios = rows[(rows["metric"] == "ratio") & (rows["variant"] == "")]
    for kind in ("exhaustive", "realizable", "flipped", "blocks"):
        for epsilon in (0.5, 1.0):
            top = ratios[(ratios["kind"] == kind) & (ratios["epsilon"] == epsilon)].groupby("bound")["value"].max()
            assert drawn(figure.axes[0], top.index, top)


def test_panel_c_draws_means_and_the_bound(rows, figure):
    sizes = rows[rows["series"] == "size"]
    for axis, flip in zip(figure.axes[2:], (0.0, 0.2), strict=True):
        for k in (1, 3):
            part = sizes[(sizes["flip"] == flip) & (sizes["k"] == k) & (sizes["epsilon"] == 1.0)]
            mean = part.groupby("n")["value"].mean()
            assert drawn(axis, mean.index, mean)
            n = int(part.loc[part["share"] == 1.0, "n"].iloc[0])
            assert drawn(axis, [n], [(np.e * (flip + 0.1) - flip) / 0.1])


def test_panel_b_draws_errors_and_what_is_allowed(rows, figure):
    ties = rows[(rows["series"] == "ties") & (rows["epsilon"] == 0.5)]
    for variant in ("sorted", "", "fresh"):
        mean = ties[(ties["metric"] == "error") & (ties["variant"] == variant)].groupby("domain")["value"].mean()
        assert drawn(figure.axes[1], mean.index, mean)
    allowed = ties[ties["metric"] == "allowed"].groupby("domain")["value"].first()
    assert drawn(figure.axes[1], allowed.index, allowed)
    for axis in figure.axes:
        low, high = axis.get_ylim()
        for line in axis.get_lines():
            y = np.asarray(line.get_ydata(), float)
            y = y[np.isfinite(y)]
            assert not len(y) or (low <= y.min() and y.max() <= high)


def test_every_epsilon_and_alpha_has_its_lines(rows):
    another = rows[rows["epsilon"] == 0.5]
    every = pd.concat([rows, another.assign(value=1.1 * another["value"], epsilon=0.2)], ignore_index=True)
    sizes = every[every["series"] == "size"]
    every = pd.concat([every, sizes.assign(alpha=0.02, value=2 * sizes["value"])], ignore_index=True)
    with style.applied():
        figure = exppw.exppw(every)
    titles = [axis.get_title().replace("\N{NO-BREAK SPACE}", " ") for axis in figure.axes]
    assert len(titles) == 6 and sum("α = 0.02" in title for title in titles) == 2
    for (place, alpha), epsilon in itertools.product(((2, 0.1), (4, 0.02)), (0.2, 0.5, 1.0)):
        part = every[(every["series"] == "size") & (every["alpha"] == alpha) & (every["epsilon"] == epsilon)]
        mean = part[(part["flip"] == 0) & (part["k"] == 3)].groupby("n")["value"].mean()
        assert drawn(figure.axes[place], mean.index, mean)
    labels = [text.get_text().replace("\N{NO-BREAK SPACE}", " ") for text in figure.legends[0].get_texts()]
    assert {"ε = 0.2", "ε = 0.5", "ε = 1"} <= set(labels)


def test_samples_are_counted(figure):
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "lifted: means over 4 samples" in words and "Err_P over 4 samples" in words
    assert "all labellings n = 14 (at ε = 8, where the bound is below their largest error, up to 0." in words
