"""The figure and table of the bounds: their numbers are counted from the rows."""

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from specified import words

from dperm_papers.kifer2012.bounds import drawing
from dperm_papers.kifer2012.bounds import figures as bounds
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_rows.bounds()


def line(rows, place, reading="printed", gamma=None):
    plain, words = bounds.bounds_table(rows)
    here = (plain["place"] == place) & (plain["reading"] == reading)
    here &= plain["gamma"].isna() if gamma is None else plain["gamma"] == gamma
    assert here.sum() == 1 and len(words) == len(plain)
    return plain[here].iloc[0], words[here].iloc[0]


def printed(rows, metric, row, **where):
    return of(rows, metric=metric, row=row, form="printed", **where)


@pytest.mark.slow
def test_the_table_counts_violations_and_finds_the_largest_ratio(rows):
    for gamma in (0.1, 0.9):
        for place, row in (("Theorem 30 (a)", "theorem-30-a"), ("Theorem 26.2", "theorem-26.2")):
            plain, _ = line(rows, place, gamma=gamma)
            ratios, hits = (printed(rows, metric, row, gamma=gamma) for metric in ("ratio", "violated"))
            assert plain["instances"] == len(ratios) and plain["violations"] == (ratios["value"] > 1).sum()
            assert plain["largest measured/bound"] == ratios["value"].max()
            assert plain["highest rate"] == max(
                group["value"].mean() for _, group in hits.groupby(["dataset", "problem"])
            )
    assert line(rows, "Theorem 30 (a)", gamma=0.9)[0]["violations"] > 0
    plain, words = line(rows, "Claim 22")
    assert plain["largest measured/bound"] == 1 + printed(rows, "excess", "claim-22")["value"].max()
    assert words["gamma"] == words["highest rate"] == words["largest difference"] == "–"
    plain, words = line(rows, "Lemma 15")
    assert plain["largest difference"] == printed(rows, "excess", "lemma-15")["value"].max()
    assert plain["violations"] == (printed(rows, "excess", "lemma-15")["value"] > 1e-9).sum() > 0
    assert words["largest measured/bound"] == "–"


def test_a_violation_within_the_slack_is_none(rows):
    changed = rows.copy()
    first = printed(rows, "excess", "lemma-24", dataset="hadamard", repeat=0, variant="gamma").index
    slack = printed(rows, "slack", "lemma-24", dataset="hadamard", repeat=0, variant="gamma").index
    changed.loc[first, "value"], changed.loc[slack, "value"] = 1e-3, 2e-3
    assert line(changed, "Lemma 24")[0]["violations"] == 0
    changed.loc[slack, "value"] = 1e-4
    assert line(changed, "Lemma 24")[0]["violations"] == 1


def test_ranges_and_rates_are_drawn_from_the_rows(rows):
    with style.applied():
        left, right = drawing.bounds(rows).axes
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[0] == "Definition 2.4" and names[-1] == "Lemma 24" and len(names) == 12
    place = names.index("Lemma 3")
    drawn = [part for part in left.lines if abs(part.get_ydata()[0] - place) < 0.4 and len(part.get_xdata()) == 2]
    ends = {
        part.get_color(): part.get_xdata() for part in drawn if part.get_linewidth() < 1 and part.get_xdata()[1] < 1
    }
    expected = 1 + printed(rows, "excess", "lemma-3", dataset="extremal")["value"]
    np.testing.assert_allclose(ends["#0072B2"], [expected.min(), expected.max()])
    shown = next(part for part in right.containers if part[0].get_marker() == "^")
    rate = [
        max(g["value"].mean() for _, g in printed(rows, "violated", "theorem-30-a", gamma=gamma).groupby("dataset"))
        for gamma in (0.1, 0.9)
    ]
    np.testing.assert_allclose(shown[0].get_ydata(), rate)
    assert [label.get_text() for label in right.get_xticklabels()] == ["0.1", "0.9"]


def test_fits_and_data_sets_are_counted_apart(rows):
    fewer = rows[~rows["row"].str.startswith("definition") | (rows["repeat"] < 4)]
    with style.applied():
        text = " ".join(drawing.bounds(fewer).texts[0].get_text().split())
    assert text.replace("\N{NO-BREAK SPACE}", " ").startswith("6 fits and 4 data sets (Definition 2) at each of p = 8;")


def test_what_could_not_be_measured_is_said(rows):
    broken = fake_rows.fail(rows, (rows["row"] == "definition-2.4") & (rows["metric"] != "slack"))
    with style.applied():
        figure = drawing.bounds(broken)
    text = words(figure)
    lost = ((rows["row"] == "definition-2.4") & (rows["metric"] != "slack")).sum()
    assert f"{lost} numbers could not be measured and are left out" in text
    assert "Definition 2.4" not in [label.get_text() for label in figure.axes[0].get_yticklabels()]
