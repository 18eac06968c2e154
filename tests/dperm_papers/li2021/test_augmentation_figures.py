"""Figures 1 and 2, convergence, and Tables 1 to 3 of li2021: what is drawn is what stands in the rows."""

import fake_rows
import numpy as np
import pandas as pd
import pytest

from dperm_papers.li2021.augmentation import drawing_schematic
from dperm_papers.li2021.augmentation import figures as augmentation


@pytest.fixture(scope="module")
def rows():
    return fake_rows.augmentation()


def words(figure):
    return " ".join(text.get_text() for text in figure.texts).replace("\N{NO-BREAK SPACE}", " ")


def test_figure_1_has_every_curve_and_the_crosses(rows):
    figure = augmentation.fig1(rows)
    assert [axis.get_title() for axis in figure.axes[:3]] == ["lasso", "elastic net", "l₀.₅"]
    here = rows[(rows["row"] == "figure-1") & (rows["calibration"] == "paper") & (rows["target"] == "lasso")]
    drawn = [line for line in figure.axes[3].lines if line.get_color() == "#009E73"]
    curve = here[(here["form"] == "reached") & (here["metric"] == "modulus")].sort_values("at")
    np.testing.assert_allclose(np.concatenate([line.get_ydata() for line in drawn]), curve["value"])
    (crosses,) = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    made = here[(here["form"] == "augmented") & (here["metric"] == "regularizer")].sort_values("at")
    np.testing.assert_allclose(crosses.get_ydata(), made["value"])
    assert "2,000 drawn rows" in words(figure) and "κ = 0.5" in words(figure)


def test_corrected_curvatures_reach_the_line(rows):
    figure = augmentation.fig1_corrected(rows)
    for axis in figure.axes[3:]:
        curvature = np.concatenate([line.get_ydata() for line in axis.lines if line.get_color() == "#0072B2"])
        assert curvature.min() >= 2


def test_figure_2_stacks_add_up_and_the_budget_is_that_of_the_rows(rows):
    figure = drawing_schematic.fig2(rows)
    for place, case in ((0, "nothing"), (3, "some")):
        here = rows[(rows["row"] == f"schematic-{case}") & (rows["metric"] == "modulus")]
        for column, form in enumerate(("dp-erm", "napp")):
            tops = [bar.get_y() + bar.get_height() for bar in figure.axes[place + column].patches][5:]
            np.testing.assert_allclose(tops, here[here["form"] == form].sort_values("at")["value"])
    texts = [[text.get_text() for text in figure.axes[k].texts] for k in (2, 5)]
    assert "nothing is retrieved" in texts[0]
    assert any("50 %" in text for text in texts[1])
    assert "Λ = 1, Λ₀ = 1, 5 coefficients" in words(figure).replace("\n", " ")
    other = rows.assign(strength=rows["strength"] * 3)
    assert "Λ = 3, Λ₀ = 1, 5 coefficients" in words(drawing_schematic.fig2(other)).replace("\n", " ")


def test_convergence_draws_means_and_says_what_was_not_run(rows):
    figure = augmentation.convergence(rows)
    here = rows[(rows["row"] == "convergence") & (rows["dataset"] == "linear-500") & (rows["form"] == "limit")]
    means = here.groupby("rows_added")["value"].mean()
    lines = [line for line in figure.axes[0].lines if line.get_label() == "_nolegend_" or line.get_marker() == "o"]
    np.testing.assert_allclose(lines[0].get_ydata(), means)
    slope = [line for line in figure.axes[0].lines if line.get_color() == "#777777" and len(line.get_xdata()) > 1]
    x, y = next(line.get_data() for line in slope if line.get_ydata()[0] != line.get_ydata()[-1])
    np.testing.assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), -0.5)
    assert "not run at this scale" in [text.get_text() for text in figure.axes[1].texts]
    assert "3 at nₑ = 400" in words(figure)
    nothing = augmentation.convergence(rows[rows["dataset"] == "no-data"])
    assert all(axis.texts for axis in nothing.axes)


def test_tables(rows):
    plain, people = augmentation.table1(rows)
    assert list(people["Eq 3"]) == ["divides by 0", "b/(nₑ l′(0))"] * 3
    assert plain.loc[plain["e_y"] == "repaired", "error of the linear term"].max() < 1e-9
    plain, _ = augmentation.table2(rows)
    lasso = plain[plain["target"] == "lasso"].set_index("weights")
    assert lasso.loc["maximum (Table 2)", "w at |θ| = 0.5"] == 2
    assert lasso.loc["sum (Claim 2)", "P reached at 2"] == 8
    plain, people = augmentation.table3(rows)
    assert len(plain) == 5 and plain["minimum"].notna().all()
    plain, people = augmentation.table3(rows[rows["dataset"] == "no-data"])
    assert (people["minimum"] == "–").all()


def test_failed_fits_are_left_out(rows):
    here = pd.DataFrame(rows)
    lost = (here["row"] == "convergence") & (here["repeat"] == 0)
    figure = augmentation.convergence(fake_rows.fail(here, lost))
    assert "2 at nₑ = 400" in words(figure)
