"""The figure of dwork2018-softmajority: what it draws is in the rows."""

import fake_dwork2018
import numpy as np
import pytest

from dperm_papers.dwork2018.softmajority import figures as softmajority
from dperm_pipeline.figures import style


def lines(axis):
    return [(np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)) for line in axis.get_lines()]


def drawn(axis, x, y):
    """Whether one of the lines is this one."""
    return any(len(a) == len(x) and np.allclose(a, x) and np.allclose(b, y) for a, b in lines(axis))


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.softmajority()


def test_records_are_drawn_over_both_axes(rows):
    with style.applied():
        figure = softmajority.softmajority(rows)
    records = rows[rows["metric"] == "records"]
    for column, epsilon in enumerate((0.5, 1.0)):
        for row, over in enumerate(("alpha", "d")):
            axis = figure.axes[2 * row + column]
            part = records[(records["over"] == over) & (records["epsilon"] == epsilon) & (records["dataset"] == "pts")]
            for form, delta in (("promised", 0), ("printed", 0), ("best", 0), ("least", 0), ("least", epsilon / 3)):
                own = part[(part["form"] == form) & (part["delta"] == delta)].sort_values(over, ascending=over == "d")
                assert drawn(axis, 1 / own["alpha"] if over == "alpha" else own["d"], own["value"])
            assert drawn(axis, 1 / own["alpha"] if over == "alpha" else own["d"], own["bound"])
            assert "pts" in axis.get_title()
    assert len(lines(figure.axes[4])) == 3 and "thr" in figure.axes[4].get_title()


def test_margins_are_drawn_for_every_rule(rows):
    with style.applied():
        axis = softmajority.softmajority(rows).axes[5]
    part = rows[(rows["series"] == "margin") & (rows["epsilon"] == 0.5)]
    for form in ("soft", "prose", "laplace", "best"):
        own = part[part["form"] == form].sort_values("margin")
        assert drawn(axis, own["margin"], own["value"])
    low, _ = axis.get_ylim()
    assert low <= part.loc[part["form"] == "soft", "value"].min()


def test_one_epsilon_leaves_the_other_column_empty(rows):
    one = rows[(rows["epsilon"] != 0.5) | (rows["over"] == "epsilon")]
    with style.applied():
        figure = softmajority.softmajority(one)
    assert [axis.axison for axis in figure.axes] == [True, False, True, False, True, True]
