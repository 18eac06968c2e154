"""Figures 4, 5, 7, S.1 to S.3 and Table 4 of li2021 show what is in the rows of li2021-simulations."""

import fake_rows
import numpy as np
import pytest

from dperm_papers.li2021.shared.drawing_lines import LASSOS, PUBLISHED
from dperm_papers.li2021.simulations import figures as simulations

# What the corrected figures show: (calibration, variant, target) -> colour, marker, whether hollow, dashes.
CORRECTED = {
    ("corrected", "vs_plus", "lasso"): ("#D55E00", "^", False, (0, None)),
    ("corrected", "vs_plus", "elastic_net"): ("#D55E00", "^", True, (0, (3.2, 1.4))),
    ("tight", "vs_plus", "lasso"): ("#D55E00", "None", False, (0, (5, 1.2, 1, 1.2))),
    ("corrected", "erm", "lasso"): ("#0072B2", "o", False, (0, None)),
    ("corrected", "erm", "elastic_net"): ("#0072B2", "o", True, (0, (3.2, 1.4))),
    ("tight", "erm", "lasso"): ("#0072B2", "None", False, (0, (5, 1.2, 1, 1.2))),
}
DELTAS = {"fig4": 1e-4, "figs1": 0.0, "fig5": 1e-4, "figs2": 0.0, "fig7": 1e-4, "figs3": 0.0}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.simulations()


def expected(form):
    """Give what tells the rows of each line, and its look: colour, marker, whether hollow, dashes."""
    if form:
        names = ("calibration", "variant", "target")
        for key, look in CORRECTED.items():
            yield {"mechanism": "napp", **dict(zip(names, key, strict=True))}, look
    for line in LASSOS if form else (*PUBLISHED, *LASSOS):
        dashes = (0, None) if line.line is None else line.line
        yield line.where, (line.colour, line.marker or "None", bool(line.hollow), dashes)


def drawn(axis, look):
    """Return the one line of this look."""
    colour, marker, hollow, dashes = look
    face = "white" if hollow else colour
    same = [
        line for line in axis.lines
        if (line.get_color(), line.get_marker(), line.get_markerfacecolor()) == (colour, marker, face)
        and line._unscaled_dash_pattern == dashes
    ]  # fmt: skip
    assert len(same) == 1
    return same[0]


def points(rows, where, metric, delta):
    """Return a line's values by falling Lambda, of the design linear-200 at epsilon = 0.4."""
    here = rows[(rows["dataset"] == "linear-200") & (rows["epsilon"] == 0.4) & (rows["metric"] == metric)]
    here = here if "lasso" in where["variant"] else here[here["delta"] == delta]
    for name, value in where.items():
        here = here[here[name] == value]
    return here.sort_values("step")["value"].to_numpy()


@pytest.mark.parametrize("name", ["fig4", "figs1"])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_selection_joins_the_mean_rates(rows, name, form):
    figure = getattr(simulations, name + form)(rows)
    assert len(figure.axes) == 4
    for where, look in expected(form):
        line = drawn(figure.axes[0], look)
        np.testing.assert_allclose(line.get_xdata(), points(rows, where, "fpr_mean", DELTAS[name]))
        np.testing.assert_allclose(line.get_ydata(), points(rows, where, "tpr_mean", DELTAS[name]))
        assert len(line.get_xdata()) == 5


@pytest.mark.parametrize("name", ["fig5", "figs2"])
@pytest.mark.parametrize("form", ["", "_corrected"])
def test_prediction_draws_errors_over_lambda(rows, name, form):
    figure = getattr(simulations, name + form)(rows)
    for where, look in expected(form):
        line = drawn(figure.axes[0], look)
        np.testing.assert_allclose(line.get_xdata()[::-1], np.geomspace(100, 0.05, 5))
        np.testing.assert_allclose(line.get_ydata()[::-1], np.exp(points(rows, where, "error_mean", DELTAS[name])))
    assert [axis.get_ylabel() for axis in figure.axes] == ["test MSE", "", "misclassified", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()


@pytest.mark.parametrize("name", ["fig7", "figs3"])
def test_retrieval_draws_shares_and_the_options_of_equation_13(rows, name):
    figure = getattr(simulations, name)(rows)
    assert len(figure.axes) == 8
    for axis, metric in zip(figure.axes[::2], ("share", None, "share_exceeding", "share_without_two"), strict=True):
        for where, look in expected("") if metric else ():
            if "lasso" not in where["variant"]:
                found = drawn(axis, look).get_ydata()[::-1]
                np.testing.assert_allclose(found, points(rows, where, f"{metric}_mean", DELTAS[name]))
    assert "over J" in figure.axes[4].get_title() and "no 2" in figure.axes[6].get_title()


@pytest.mark.parametrize("name", ["fig7_corrected", "figs3_corrected"])
def test_sound_retrieval_is_one_line(rows, name):
    (line,) = getattr(simulations, name)(rows).axes[0].lines
    np.testing.assert_allclose(line.get_ydata(), 1 - 2.5 / np.maximum(np.geomspace(0.05, 100, 5), 2.5))


def test_lost_fits_are_told(rows):
    mask = (rows["metric"] == "runs") & (rows["variant"] == "vs") & (rows["step"] == 1) & (rows["delta"] == 0.0)
    fewer = rows.assign(value=rows["value"].where(~mask, 3.0))
    assert mask.sum() == 4

    def words(figure):
        return " ".join(" ".join(text.get_text() for text in figure.texts).split())

    assert "did not converge" not in words(simulations.fig4(rows))
    total = int(4 * ((rows["metric"] == "runs") & (rows["mechanism"] == "napp")).sum())
    assert f"4 of {total} private fits did not converge and are left out" in words(simulations.fig4(fewer))


def test_table_4_is_the_papers(rows):
    plain, words = simulations.table4(rows)
    assert plain["design"].tolist() == ["linear-200", "logistic-500"]
    first, second = words.to_dict("records")
    assert first["n"] == "200" and first["x (16)"] == "Unif(−0.25, 0.25)"
    assert first["nonzero θ"] == "1 − 0.8k/7, k = 0, …, 7" and second["nonzero θ"] == "4 − 0.5k/7, k = 0, …, 7"
    assert first["y, η = ⟨x, θ⟩"] == "η + tN(0, 0.25², −0.5, 0.5)"
    # Erratum N9: the sign as printed.
    assert second["y, η = ⟨x, θ⟩"] == "Bern(1/(1 + exp(η)))"
    assert first["ε"] == "0.4, 1" and first["δ"] == "0, 10⁻⁴" and first["repeats"] == "4"
    assert first["ζ1, ζ2, ζ3"] == "1, 2.9, 1" and first["ζ2 in Θ"] == "5.7"
