"""Figures 8 and S.4: the curves, areas and errors of the rows, by delta and calibration."""

import fake_rows
import numpy as np
import pytest

from dperm_papers.li2021.recycling import figures as recycling


@pytest.fixture(scope="module")
def rows():
    return fake_rows.recycling()


def of(rows, **where):
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows


# Variants, the uppermost first, and their colours.
PUBLISHED = {"erm-moor": "#0072B2", "vs-moor": "#009E73", "vs_plus-moor": "#D55E00"}
PROVED = {"erm": "#0072B2", "vs_plus": "#D55E00"}
FIGURES = [
    (recycling.fig8, "paper", 1e-4, PUBLISHED),
    (recycling.figs4, "paper", 0.0, PUBLISHED),
    (recycling.fig8_corrected, "corrected", 1e-4, PROVED),
    (recycling.figs4_corrected, "corrected", 0.0, PROVED),
]


@pytest.mark.parametrize(("draw", "calibration", "delta", "colours"), FIGURES)
def test_panels_show_their_rows(rows, draw, calibration, delta, colours):
    figure = draw(rows)
    assert len(figure.axes) == 4  # two epsilons; the ROC curve and the error
    own = of(rows, row="figure", calibration=calibration, delta=delta)
    for column, epsilon in enumerate((0.4, 1.0)):
        roc, error = figure.axes[column], figure.axes[2 + column]
        areas = {text.get_color(): text.get_text() for text in roc.texts}
        for variant, colour in colours.items():
            here = of(own, epsilon=epsilon)
            here = here[here["variant"].isin([variant, f"{variant}-recycled"])]
            means = [of(here, metric="auc", round=k)["value"].mean() for k in (0, 1)]
            assert areas[colour] == f"{means[0]:.2f} → {means[1]:.2f}"
            curves = [line for line in roc.lines if line.get_color() == colour]
            errors = [line for line in error.lines if line.get_color() == colour]
            assert [line.get_linestyle() for line in curves] == [line.get_linestyle() for line in errors] == ["--", "-"]
            for k in (0, 1):
                at = of(here, round=k).sort_values("strength", ascending=False)
                for axis, metric in ((curves[k].get_xdata(), "fpr_mean"), (curves[k].get_ydata(), "tpr_mean")):
                    np.testing.assert_allclose(axis, [0, *of(at, metric=metric)["value"], 1])
                drawn = errors[k].get_ydata()[np.argsort(-errors[k].get_xdata())]
                np.testing.assert_allclose(np.log(drawn), of(at, metric="log_mse_mean")["value"])
        level = of(own, metric="log_mse_zero", epsilon=epsilon)["value"].item()
        assert any(np.allclose(line.get_ydata(), np.exp(level)) for line in error.lines)


def test_the_caption_says_what_is_proved_and_the_noise(rows):
    words = [" ".join(text.get_text() for text in draw(rows).texts).replace("\n", " ") for draw, *_ in FIGURES]
    assert all("as published" in text and "Nothing is proved" in text for text in words[:2])
    assert all("What is proved" in text for text in words[2:])
    assert "10⁻⁴" in words[0] and "pure noise" in words[1]
    assert all("4 repeats" in text for text in words)
