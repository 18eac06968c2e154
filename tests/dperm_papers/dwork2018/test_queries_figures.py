"""dwork2018-queries: curves are means of their rows, levels and the attack stand where they should."""

import fake_dwork2018
import numpy as np
import pytest

from dperm_papers.dwork2018.queries import drawing as queries


@pytest.fixture(scope="module")
def rows():
    return fake_dwork2018.queries()


@pytest.fixture(scope="module")
def figure(rows):
    return queries.queries(rows)


def line(axis, colour, marker):
    (found,) = (one for one in axis.lines if one.get_color() == colour and one.get_marker() == marker)
    return np.array(found.get_xdata(), dtype=float), np.array(found.get_ydata(), dtype=float)


@pytest.mark.parametrize("name", queries._ACCOUNTANTS)
def test_curves_of_accountants(rows, figure, name):
    _, colour, marker = queries._ACCOUNTANTS[name]
    own = rows[rows["accountant"] == name]
    for place, (dataset, metric) in enumerate(
        (("flip", "accuracy"), ("digits", "accuracy"), ("no-data", "total_epsilon"))
    ):
        means = own[(own["dataset"] == dataset) & (own["metric"] == metric)].groupby("m")["value"].mean()
        x, y = line(figure.axes[place], colour, marker)
        np.testing.assert_allclose(x, means.index)
        np.testing.assert_allclose(y, means)


def test_consensus_student_and_levels(rows, figure):
    axis = figure.axes[0]
    rows = rows[rows["metric"] == "accuracy"]
    own = rows[rows["series"] == "consensus"].sort_values("m")
    np.testing.assert_allclose(line(axis, queries._CONSENSUS[1], "v")[1], own["value"])
    for place, dataset in enumerate(("flip", "digits")):
        student = rows[(rows["series"] == "student") & (rows["dataset"] == dataset)].groupby("m")["value"].mean()
        np.testing.assert_allclose(line(figure.axes[place], *queries._STUDENT[1:])[1], student)
    levels = {one.get_ydata()[0] for one in figure.axes[1].lines if one.get_color() == "#999999"}
    means = rows[(rows["mechanism"] == "nonprivate") & (rows["dataset"] == "digits")].groupby("variant")["value"].mean()
    assert levels == set(means)


def test_deltas_and_the_attack(rows, figure):
    axis = figure.axes[3]
    own = rows[(rows["series"] == "adaptive") & (rows["metric"] == "delta") & (rows["accountant"] == "bounded_range")]
    np.testing.assert_allclose(line(axis, queries._ATTACK[1], "x")[1], own["value"])
    assert [one.get_ydata()[0] for one in axis.lines if one.get_linestyle() == "--"] == [1e-6]
    assert axis.get_ylim()[0] > 0


def test_words(figure):
    text = " ".join(part.get_text().replace("\n", " ") for part in figure.texts)
    assert "δ = 10⁻⁶" in text.replace("\N{NO-BREAK SPACE}", " ") and "over a thousand shards" in text
    labels = [part.get_text() for part in figure.legends[0].get_texts()]
    assert "consensus, B = 10" in labels and "not private, all records" in labels
    assert figure.axes[0].get_title().startswith("flip, n = 60,000")
