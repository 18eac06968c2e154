"""dwork2018-generalization: markers are the largest ratios, curves the lemmas', quantiles those of the rows."""

import fake_dwork2018
import numpy as np
import pandas as pd
import pytest

from dperm_papers.dwork2018.generalization import drawing as generalization


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.generalization()


@pytest.fixture(scope="module")
def figure(rows):
    return generalization.generalization(rows)


def lines(axis, **looks):
    return [one for one in axis.lines if all(getattr(one, f"get_{key}")() == value for key, value in looks.items())]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_moments(rows, figure, k):
    colour = generalization._COLOURS[k]
    own = rows[(rows["metric"] == "log_ratio") & (rows["k"] == k)]
    for mechanism, (_, marker) in generalization._MECHANISMS.items():
        drawn = lines(figure.axes[0], color=colour, marker=marker)
        largest = own[own["mechanism"] == mechanism].groupby("epsilon")["value"].max()
        assert len(drawn) == 1
        np.testing.assert_allclose(drawn[0].get_ydata(), largest)
    straight = [one for one in lines(figure.axes[0], color=colour) if one.get_marker() == "None"]
    slopes = sorted(one.get_ydata()[0] / one.get_xdata()[0] for one in straight)
    np.testing.assert_allclose(slopes, [k, k**2])


def test_tails_are_at_the_largest_epsilon_that_was_drawn(rows, figure):
    axis = figure.axes[1]
    tail = rows[(rows["series"] == "tail") & (rows["epsilon"] == 1.0)]
    factors = tail[tail["metric"] == "factor"].pivot(index="gamma", columns="variant", values="value")
    drawn = [one for one in axis.lines if one.get_marker() == "None"]
    np.testing.assert_allclose(drawn[0].get_ydata(), factors["printed"])
    np.testing.assert_allclose(drawn[1].get_ydata(), factors["mended"])
    level, quantiles = (lines(axis, marker=mark)[0] for _, mark in generalization._MECHANISMS.values())
    np.testing.assert_allclose(level.get_ydata(), np.e)
    ratios = np.sort(tail[(tail["metric"] == "ratio") & (tail["mechanism"] == "exppw")]["value"])
    assert set(quantiles.get_ydata()) <= set(ratios) and (np.diff(quantiles.get_ydata()) <= 0).all()
    middle = quantiles.get_ydata()[list(quantiles.get_xdata()).index(0.5)]
    assert abs(np.searchsorted(ratios, middle) - len(ratios) / 2) <= 1


def test_quantiles_lie_between_their_ends():
    values = np.arange(1000.0)
    for beta in (0.01, 0.5, 0.9):
        middle, low, high = generalization._quantile(values, beta)
        assert low < middle < high and middle == pytest.approx(1000 * (1 - beta), abs=1)
        assert high - low == pytest.approx(2 * 1.96 * np.sqrt(1000 * beta * (1 - beta)), abs=2)


def test_samples_of_the_most_records_are_drawn_and_counted(rows):
    # Fewer samples of more records, as at scale paper.
    large = rows[(rows["series"] == "tail") & (rows["mechanism"] == "exppw") & (rows["repeat"] < 20)]
    figure = generalization.generalization(pd.concat([rows, large.assign(n=500)], ignore_index=True))
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "20 samples of n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}500" in words
    ratios = set(large.loc[(large["metric"] == "ratio") & (large["epsilon"] == 1.0), "value"])
    (quantiles,) = lines(figure.axes[1], marker=generalization._MECHANISMS["exppw"][1])
    assert set(quantiles.get_ydata()) <= ratios


def test_what_was_run_is_said(figure):
    words = " ".join(text.get_text().replace("\n", " ") for text in figure.texts)
    assert "30 samples of n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}50" in words and "n from 1 to 3" in words
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert any("as printed" in label for label in labels) and any("D13" in label for label in labels)
