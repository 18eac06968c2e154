"""The figure of dwork2018-stable: lines are what rows measured and the bounds beside it."""

import fake_dwork2018
import numpy as np
import pytest

from dperm_papers.dwork2018.stable import drawing as stable


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.stable()


@pytest.fixture(scope="module")
def figure(rows):
    return stable.stable(rows)


def of(rows, **where):
    return rows[np.logical_and.reduce([rows[key] == value for key, value in where.items()])].sort_values("n")


def lines(axis, colour, style):
    return [one for one in axis.lines if one.get_color() == colour and one.get_linestyle() == style]


@pytest.mark.parametrize("column", [0, 1])
def test_measured_lines_and_bounds(rows, figure, column):
    epsilon = (0.1, 1.0)[column]
    for line, (series, dataset, calibration, variant, bound_of, colour) in enumerate(
        (
            ("4.10", "signs", "tight", "", "tight", stable._TIGHT[0]),
            ("4.11", "abs", "paper", "", "printed", stable._PRINTED[0]),
            ("4.13", "hard", "corrected", "", "mended", stable._MENDED[0]),
            ("4.13", "sq", "corrected", "halved", "tight", stable._HALVED[0]),
        )
    ):
        axis = figure.axes[2 * line + column]
        where = {"series": series, "dataset": dataset, "calibration": calibration, "variant": variant}
        where |= {"epsilon": epsilon} | ({"curvature": 0.1} if series == "4.10" else {})
        (measured,), (bound,) = lines(axis, colour, "-"), lines(axis, colour, "--")
        own = of(rows, **where, bound_of="printed")
        np.testing.assert_allclose(measured.get_ydata(), own["value"] + own["bound"])
        np.testing.assert_allclose(bound.get_ydata(), of(rows, **where, bound_of=bound_of)["bound"])


def test_what_is_not_private_is_grey(rows, figure):
    (grey,) = lines(figure.axes[6], stable._NOT_PRIVATE, "-")
    own = of(rows, series="4.13", dataset="sq", calibration="paper", epsilon=0.1, bound_of="printed")
    np.testing.assert_allclose(grey.get_ydata(), own["value"] + own["bound"])
    assert not lines(figure.axes[6], stable._PRINTED[0], "-")


def test_stability_falls_from_twice_the_printed_rate(figure):
    axis = figure.axes[8]
    by_label = {one.get_label(): one for one in axis.lines}
    lin, halved = by_label["4.13 on lin"], by_label["4.13 on lin, halved step"]
    np.testing.assert_allclose(lin.get_ydata(), 2 * (1 - lin.get_xdata()), atol=1e-12)
    np.testing.assert_allclose(halved.get_ydata(), 1 - halved.get_xdata(), atol=1e-12)
    assert by_label["4.11"].get_ydata()[0] == pytest.approx(0.25)
    assert by_label["rate as printed"].get_ydata()[0] == 1 and by_label["rate of 4.13 mended"].get_ydata()[0] == 2
