"""Figures 4, 5, 7, S.1 to S.3 and Table 4 of li2021 show what is in the rows of li2021-simulations."""

import fake_rows
import numpy as np
import pytest

from dperm_papers.li2021.shared import drawing_panels as panels
from dperm_papers.li2021.simulations import (
    drawing_prediction as prediction,
)
from dperm_papers.li2021.simulations import (
    drawing_retrieval as retrieval,
)
from dperm_papers.li2021.simulations import (
    drawing_selection as selection,
)
from dperm_papers.li2021.simulations import (
    drawing_table4 as table4,
)
from dperm_pipeline import figures

MODULES = {"4": selection, "5": prediction, "7": retrieval, "s1": selection, "s2": prediction, "s3": retrieval}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.simulations()


def drawn(axis, curve):
    """The line of a curve that has points."""
    same = [
        line for line in axis.lines
        if line.get_color() == curve.colour and line.get_marker() == (curve.marker or "")
        and line.get_markerfacecolor() == curve.look["mfc"] and line._unscaled_dash_pattern == _dashes(curve)
    ]  # fmt: skip
    assert len(same) == 1
    return same[0]


def _dashes(curve):
    return (0, None) if curve.line == "-" else curve.line


def points(rows, curve, metric, delta):
    """A curve's values by falling Lambda, of the design linear-200 at epsilon = 0.4."""
    here = rows[(rows["dataset"] == "linear-200") & (rows["epsilon"] == 0.4) & (rows["metric"] == metric)]
    here = here[here["delta"] == delta] if curve.of_delta else here
    for name, value in curve.where.items():
        here = here[here[name] == value]
    return here.sort_values("step")["value"].to_numpy()


@pytest.mark.parametrize(("name", "delta"), [("fig4", 1e-4), ("figs1", 0.0)])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_selection_joins_the_mean_rates(rows, name, delta, form):
    figure = getattr(selection, name + form)(rows)
    assert len(figure.axes) == 4
    for curve in panels.CORRECTED_AND_LASSOS if form else panels.PUBLISHED_AND_LASSOS:
        line = drawn(figure.axes[0], curve)
        np.testing.assert_allclose(line.get_xdata(), points(rows, curve, "fpr_mean", delta))
        np.testing.assert_allclose(line.get_ydata(), points(rows, curve, "tpr_mean", delta))
        assert len(line.get_xdata()) == 5


@pytest.mark.parametrize(("name", "delta"), [("fig5", 1e-4), ("figs2", 0.0)])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_prediction_draws_errors_over_lambda(rows, name, delta, form):
    figure = getattr(prediction, name + form)(rows)
    for curve in panels.CORRECTED_AND_LASSOS if form else panels.PUBLISHED_AND_LASSOS:
        line = drawn(figure.axes[0], curve)
        np.testing.assert_allclose(line.get_xdata(), np.geomspace(100, 0.05, 5))
        np.testing.assert_allclose(line.get_ydata(), np.exp(points(rows, curve, "error_mean", delta)))
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["test MSE", "", "misclassified", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


@pytest.mark.parametrize(("name", "delta"), [("fig7", 1e-4), ("figs3", 0.0)])
def test_retrieval_draws_shares_and_the_options_of_equation_13(rows, name, delta):
    figure = getattr(retrieval, name)(rows)
    assert len(figure.axes) == 8
    for axis, metric in zip(figure.axes[::2], ("share", None, "share_exceeding", "share_without_two"), strict=True):
        for curve in panels.PUBLISHED if metric else ():
            np.testing.assert_allclose(drawn(axis, curve).get_ydata(), points(rows, curve, f"{metric}_mean", delta))
    assert "over J" in figure.axes[4].get_title() and "no 2" in figure.axes[6].get_title()


@pytest.mark.parametrize("name", ["fig7_corrected", "figs3_corrected"])
def test_sound_retrieval_is_one_line(rows, name):
    figure = getattr(retrieval, name)(rows)
    line = drawn(figure.axes[0], panels.RIDGE)
    np.testing.assert_allclose(line.get_ydata(), 1 - 2.5 / np.maximum(np.geomspace(100, 0.05, 5), 2.5))


def test_lost_fits_are_told(rows):
    mask = (rows["metric"] == "runs") & (rows["variant"] == "vs") & (rows["step"] == 1) & (rows["delta"] == 0.0)
    fewer = rows.assign(value=rows["value"].where(~mask, 3.0))
    assert mask.sum() == 4

    def words(figure):
        return " ".join(" ".join(text.get_text() for text in figure.texts).split())

    assert "did not converge" not in words(selection.fig4(rows))
    total = int(4 * ((rows["metric"] == "runs") & (rows["mechanism"] == "napp")).sum())
    assert f"4 of {total} private fits did not converge and are left out" in words(selection.fig4(fewer))


@pytest.mark.parametrize("number", MODULES)
@pytest.mark.parametrize("form", ["", "-corrected"])
def test_the_catalogue_reads_what_is_drawn(number, form):
    target = figures.FIGURES[f"li2021-fig{number}{form}"]
    module = MODULES[number]
    assert target.module == module.__name__
    assert set(target.metrics) == {*module.METRICS, "runs"}
    assert ("At delta = 0" in target.caption) == number.startswith("s")


def test_table_4_is_the_papers(rows):
    assert set(figures.TABLES["li2021-table4"].metrics) == {*table4.METRICS, "runs"}
    plain, words = table4.table4(rows)
    assert plain["design"].tolist() == ["linear-200", "logistic-500"]
    first, second = words.to_dict("records")
    assert first["n"] == "200" and first["x (16)"] == "Unif(−0.25, 0.25)"
    assert first["nonzero θ"] == "1 − 0.8k/7, k = 0, …, 7" and second["nonzero θ"] == "4 − 0.5k/7, k = 0, …, 7"
    assert first["y, η = ⟨x, θ⟩"] == "η + tN(0, 0.25², −0.5, 0.5)"
    # Erratum N9: the sign as printed.
    assert second["y, η = ⟨x, θ⟩"] == "Bern(1/(1 + exp(η)))"
    assert first["ε"] == "0.4, 1" and first["δ"] == "0, 10⁻⁴" and first["repeats"] == "4"
    assert first["ζ1, ζ2, ζ3"] == "1, 2.9, 1" and first["ζ2 in Θ"] == "5.7"
