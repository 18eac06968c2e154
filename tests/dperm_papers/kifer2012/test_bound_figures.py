"""The figure of the noise that the bound saves: its lines are those of the rows."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of

from dperm_papers.kifer2012.bound import figures as bound

COLOURS = {"paper": "#009E73", "twice": "#E69F00", "steps": "#CC79A7", "tight": "#0072B2", "needed": "#555555"}


@pytest.fixture(scope="module")
def rows():
    return fake_rows.bound()


def values(rows, **where):
    return of(rows, **where).sort_values(where["row"])["value"].to_numpy()


def line_of(axis, colour, style="-"):
    lines = [line for line in axis.lines if line.get_color() == colour and line.get_linestyle() == style]
    return lines


def test_the_first_panels_show_the_noise_where_the_worst_pair_was_searched(rows):
    figure = bound.bound(rows)
    for axis, relation in zip((figure.axes[0], figure.axes[4]), ("add_remove", "replace"), strict=True):
        for name in ("paper", "tight", "needed"):
            (line,) = line_of(axis, COLOURS[name])
            expected = values(
                rows, row="epsilon", neighbours=relation, sign="any", ridge_multiple=20.0, calibration=name
            )
            np.testing.assert_allclose(line.get_ydata(), expected)
    assert "20 λ/ε" in figure.axes[0].get_title().replace("\N{NO-BREAK SPACE}", " ")


def test_every_panel_says_what_is_compared(rows):
    axes = bound.bound(rows).axes
    for k in (0, 4):
        titles = [axis.get_title() for axis in axes[k : k + 4]]
        assert (
            len(set(titles)) == 4 and "the printed" in titles[1] and all(axis.get_ylabel() for axis in axes[k : k + 4])
        )
    assert "2 Hₑ₁(a) = δ" in axes[2].get_title() and "two steps" in axes[6].get_title()


def test_savings_are_shares_of_the_other_noise(rows):
    figure = bound.bound(rows)
    for k, relation, other in ((0, "add_remove", "twice"), (1, "replace", "steps")):
        for column, axis, names in (
            (1, "epsilon", ("paper",)),
            (2, "epsilon", (other,)),
            (3, "delta", ("paper", other)),
        ):
            panel = figure.axes[4 * k + column]
            for name in names:
                drawn = line_of(panel, COLOURS[name])  # the smallest multiple is the solid line
                head = {"row": axis, "neighbours": relation, "sign": "any", "ridge_multiple": 2.0}
                ours, theirs = (values(rows, **head, calibration=which) for which in ("tight", name))
                np.testing.assert_allclose(drawn[0].get_ydata(), 100 * (1 - ours / theirs))
    # Against the line the worst pair needs, the share is of our own noise.
    (grey,) = [line for line in figure.axes[1].lines if line.get_color() == COLOURS["needed"] and len(line.get_xdata())]
    head = {"row": "epsilon", "neighbours": "add_remove", "sign": "any", "ridge_multiple": 20.0}
    ours, least = (values(rows, **head, calibration=which) for which in ("tight", "needed"))
    np.testing.assert_allclose(grey.get_ydata(), 100 * (1 - least / ours))
