"""Figure 3: a panel for each design and lasso, lines through the means of the rows, nothing where distances are 0."""

import fake_rows
import numpy as np
import pytest

from dperm_papers.li2021.moor import figures as moor


@pytest.fixture(scope="module")
def rows():
    return fake_rows.moor()


def of(rows, **where):
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


def titles(figure):
    return [axis.get_title() for axis in figure.axes if axis.axison]


def test_lines_of_figure_3_are_means(rows):
    figure = moor.fig3(rows)
    assert len(figure.axes) == 6 and titles(figure)[:3] == ["linear, n = 200", "logistic, n = 500", "Poisson, n = 500"]
    for axis, k in ((figure.axes[0], 1), (figure.axes[3], 2)):
        assert len(axis.lines) == 4  # two methods, two epsilons
        for variant, line in zip(("erm-moor", "erm-moor", "erm", "erm"), axis.lines, strict=True):
            own = of(rows, row="figure", calibration="paper", dataset="linear-200", variant=variant, reference=k)
            matches = [
                np.allclose(
                    np.nan_to_num(line.get_ydata(), nan=1e-4), group.sort_values("strength")["value"], rtol=1e-9
                )
                for _, group in of(own, metric="distance_mean").groupby("epsilon")
            ]
            assert any(matches)
    # At Lambda = 100 the lasso and every estimate are 0.
    assert np.isnan(figure.axes[0].lines[0].get_ydata()[-1])
    assert "distance to lasso(2Λ)" in [axis.get_ylabel() for axis in figure.axes]
    assert "4 repeats" in " ".join(text.get_text() for text in figure.texts)


def test_rings_of_the_corrected_figure_lie_on_lines(rows):
    figure = moor.fig3_corrected(rows)
    axis = figure.axes[1]  # logistic
    rings = [line for line in axis.lines if line.get_marker() == "o"]
    lines = [line for line in axis.lines if line.get_linestyle() == "-"]
    assert len(rings) == len(lines) == 2
    for ring, line in zip(rings, lines, strict=True):
        y = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        kept = ~np.isnan(ring.get_ydata())
        assert kept.any()
        np.testing.assert_allclose(ring.get_ydata()[kept], [y[x] for x in ring.get_xdata()[kept]], atol=2e-4)
    # No elastic net will do for the Poisson design.
    assert {line.get_linestyle() for line in figure.axes[2].lines} == {"-"}


def test_one_design_alone_is_drawn(rows):
    figure = moor.fig3(of(rows, dataset="poisson-500"))
    assert titles(figure) == ["Poisson, n = 500"] * 2
