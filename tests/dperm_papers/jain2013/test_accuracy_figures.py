"""Figure 2a and jain2013-url: lines are means over splits, and what stands in for a data set is said."""

import fake_jain2013
import fake_rows
import numpy as np
import pytest

from dperm_papers.jain2013.shared import drawing_accuracy as accuracy


def words(figure):
    return " ".join(text.get_text().replace("\n", " ") for text in figure.texts)


def labels(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def line(axis, key):
    """The one line of a method that has more than a level."""
    looks = accuracy._drawn(key)
    found = [
        one for one in axis.lines
        if one.get_color() == looks["color"] and one.get_marker() == looks["marker"] and one.get_linestyle() != "None"
    ]  # fmt: skip
    assert len(found) == 1
    return found[0]


@pytest.fixture(scope="module")
def rows():
    return fake_jain2013.covertype()


@pytest.fixture(scope="module")
def figure(rows):
    return accuracy.fig2a(rows)


@pytest.mark.parametrize("key", accuracy._METHODS)
def test_lines_are_means_over_splits(rows, figure, key):
    mechanism, calibration, variant = key
    own = rows[
        (rows["mechanism"] == mechanism) & (rows["calibration"] == calibration) & (rows["variant"] == variant)
        & (rows["metric"] == "accuracy") & rows["queries"].isin([0, 300])
    ]  # fmt: skip
    for place, penalty in enumerate(("C", "nC")):
        means = own[own["penalty"] == penalty].groupby("epsilon")["value"].mean()
        drawn = line(figure.axes[place], key)
        np.testing.assert_allclose(drawn.get_xdata(), means.index)
        np.testing.assert_allclose(drawn.get_ydata(), means)


def test_over_queries_and_by_scaling(rows, figure):
    own = rows[(rows["mechanism"] == "tddl") & (rows["calibration"] == "tight") & (rows["penalty"] == "C")]
    own = own[(own["metric"] == "accuracy") & (own["epsilon"] == 0.1)].groupby("queries")["value"].mean()
    np.testing.assert_allclose(line(figure.axes[2], ("tddl", "tight", "")).get_ydata(), own)
    names = [label.get_text() for label in figure.axes[4].get_yticklabels()]
    assert names == ["raw+unit", "min-max+unit", "min-max"]


def test_the_level_of_libsvm_stands_at_its_own_penalty(figure):
    levels = [[one.get_ydata()[0] for one in axis.lines if one.get_linestyle() == "--"] for axis in figure.axes[:2]]
    assert 0.69 in levels[0] and 0.69 not in levels[1]


def test_the_data_set_is_named_and_not_private_curves_are_marked(figure):
    assert "Data: covertype-16pct" in words(figure)
    assert "covertype-16pct stands in for it, and no number of its is Covertype's" in words(figure)
    marked = [label for label in labels(figure) if "not private" in label]
    assert len(marked) == 3 and any(label.startswith("bare") for label in marked)


def test_covertype_itself_stands_for_itself(rows):
    assert "stands in" not in words(accuracy.fig2a(fake_jain2013.covertype(dataset="covertype")))
    both = rows.assign(dataset="covertype", value=0.6)
    assert "Data: covertype." in words(accuracy.fig2a(fake_rows.pd.concat([rows, both], ignore_index=True)))


def test_url():
    rows = fake_jain2013.url()
    figure = accuracy.url(rows)
    assert "Data: url-5700" in words(figure) and "it is not a utility figure" in words(figure)
    assert "not a utility figure" not in words(accuracy.url(fake_jain2013.url(dataset="url")))
    own = rows[(rows["mechanism"] == "tddl") & (rows["calibration"] == "paper") & (rows["variant"] == "")]
    own = own[(own["total"] == 100) & (own["metric"] == "accuracy") & (own["queries"] == 300)]
    means = own.groupby("epsilon")["value"].mean()
    np.testing.assert_allclose(line(figure.axes[1], ("tddl", "paper", "")).get_ydata(), means)
    # A row of panels over epsilon, and one over T at each of both epsilons.
    assert len(figure.axes) == 3 * 2
    for epsilon, axis in zip((0.1, 1.0), figure.axes[3::2], strict=True):
        own = rows[(rows["mechanism"] == "tddl") & (rows["calibration"] == "tight") & (rows["total"] == 100)]
        own = own[(own["metric"] == "accuracy") & (own["epsilon"] == epsilon)].groupby("queries")["value"].mean()
        np.testing.assert_allclose(line(axis, ("tddl", "tight", "")).get_ydata(), own)
    # No curve leaves the panel.
    low, high = figure.axes[0].get_ylim()
    assert (
        rows.groupby(["mechanism", "calibration", "variant", "epsilon", "total"])["value"]
        .mean()
        .between(low, high)
        .all()
    )
