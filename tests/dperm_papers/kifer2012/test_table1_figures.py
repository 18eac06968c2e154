"""The figure and table of Table 1: slopes and lines are those of the rows."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from specified import words

from dperm_papers.kifer2012.table1 import figures as table1


@pytest.fixture(scope="module")
def rows():
    return fake_rows.table1()


def means(rows, **where):
    return of(rows, metric="excess_risk", status="ok", **where)


def test_slopes_are_those_between_the_means(rows):
    plain, words = table1.table1_table(rows)
    line = plain[(plain["row"] == "Theorem 4.2, Gaussian noise") & (plain["design"] == "hadamard")]
    line = line[line["calibration"] == "paper"].iloc[0]
    here = {"row": "theorem-4.2", "dataset": "hadamard", "calibration": "paper"}
    first, second = (means(rows, **here, n=10**5, p=p)["value"].mean() for p in (8, 16))
    assert line["slope in p"] == pytest.approx(np.log(second / first) / np.log(2), rel=1e-9)
    small, large = (means(rows, **here, n=n, p=16)["value"].mean() for n in (10**5, 10**6))
    assert line["slope in n"] == pytest.approx(np.log10(large / small), rel=1e-9)
    assert line["stated slope in p"] == 2.5 and len(words) == len(plain) == 18
    assert set(words.loc[words["design"] == "rademacher", "slope in n"]) == {"–"}
    assert set(words["slope in p at n = 100 p^2"][words["row"] != "Theorem 5, Gaussian noise"]) == {"–"}


def test_each_panel_holds_a_line_for_each_design_and_calibration(rows):
    figure = table1.table1(rows)
    assert [axis.get_title() for axis in figure.axes[:3]] == [title for title, *_ in table1.ROWS.values()]
    # The extremal design breaks the assumption of the third column, and no records were drawn at n = 100 p^2.
    for axis, expected in zip(figure.axes, (6, 6, 2, 6, 6, 4), strict=True):
        lines = [line for line in axis.lines if line.get_color() != "#777777"]
        assert len(lines) == expected
        # Records were drawn at one n only: a line over p, a marker over n.
        drawn = [len(line.get_xdata()) for line in lines if line.get_color() == "#000000"]
        assert drawn == [2 if axis.get_xlabel().startswith("p") else 1] * (2 if expected > 2 else 0)
    line = figure.axes[0].lines[0]
    expected = [means(rows, row="theorem-4.1", dataset="extremal", calibration="paper", n=10**5, p=p)["value"].mean()
                for p in (8, 16)]  # fmt: skip
    np.testing.assert_allclose(line.get_ydata(), expected)


def test_the_third_column_shows_what_decides_theorem_5(rows):
    """Over p the Hadamard design at n = 100 p^2, beside slope 0 and Theorem 31's bound for that design."""
    axis = table1.table1(rows).axes[2]
    here = {"row": "theorem-5", "dataset": "hadamard", "calibration": "paper", "sizing": "100 p^2"}
    stated, bound = (line.get_ydata() for line in axis.lines if line.get_color() == "#777777")
    measured = next(line for line in axis.lines if line.get_color() != "#777777")
    np.testing.assert_allclose(measured.get_ydata(), [means(rows, **here, p=p)["value"].mean() for p in (8, 16)])
    np.testing.assert_allclose(stated / measured.get_ydata()[0], 4.0)
    for p, drawn in zip((8, 16), bound, strict=True):
        n, delta, epsilon = 100 * p**2, 1e-6, 1.0
        beta_squared = 4 * p**3 * (8 * np.log(2 / delta) + 4 * epsilon) / epsilon**2
        noise = 4 * p * beta_squared * np.log(2) / (n * (2 * p / epsilon + n))
        assert drawn == pytest.approx(noise + 2 * p / epsilon * (p / 4) / (2 * n), rel=1e-9)
    assert "100 p²" in axis.get_xlabel()


def test_what_failed_is_said(rows):
    broken = rows.copy()
    mask = (broken["metric"] == "excess_risk") & (broken["repeat"] == 0) & (broken["row"] == "theorem-5")
    broken.loc[mask, ["value", "status"]] = [np.nan, "failed"]
    text = words(table1.table1(broken))
    assert "did not converge and are left out" in text
