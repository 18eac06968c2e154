"""The figure and table of Samp-Agg: lines, bounds and counts are those of the rows."""

import math

import fake_rows
import numpy as np
import pytest
from chosen_rows import of
from specified import assert_nothing_overlaps, words

from dperm_papers.kifer2012.theorem8 import figures as theorem8
from dperm_pipeline.figures import style


@pytest.fixture(scope="module")
def rows():
    return fake_rows.theorem8()


def test_bounds_are_drawn_where_they_say_anything(rows):
    figure = theorem8.theorem8(rows)
    assert len(figure.axes) == 6
    exact, bound = figure.axes[0].lines[2:4]  # s = 2, p = 1,000
    here = of(rows, row="theorem-8", p=1000, s=2)
    np.testing.assert_allclose(exact.get_ydata(), of(here, metric="recovery").sort_values("k")["value"])
    stated = of(here, metric="recovery_bound").sort_values("k")["value"].to_numpy()
    assert (stated <= 0).any() and (stated > 0).any()
    np.testing.assert_allclose(bound.get_ydata(), stated[stated > 0])
    # The failure's bound is above the failure.
    exact, bound = figure.axes[2].lines[2:4]
    shared = np.isin(exact.get_xdata(), bound.get_xdata())
    assert (exact.get_ydata()[shared] <= bound.get_ydata()).all()


def test_the_caption_names_a_vacuous_bound(rows):
    here = of(rows, row="theorem-8", p=1000, s=3)
    stated = of(here, metric="recovery_bound").set_index("k")["value"]
    assert stated.loc[64] <= 0 < stated.loc[512]
    exact = of(here, metric="recovery", k=64)["value"].iloc[0]
    text = words(theorem8.theorem8(rows))
    bound, drawn = text.split("So at p = 1000, s = 3, k = 64: bound ")[1].split(" Runs")[0].split(", exact ")
    assert float(bound.replace("\N{MINUS SIGN}", "-")) == pytest.approx(stated.loc[64], rel=0.05)
    assert drawn == f"{style.number(float(f'{exact:.2g}'))}."


def test_runs_are_means_beside_the_exact_line(rows):
    axis = theorem8.theorem8(rows).axes[4]
    line, points = axis.lines
    here = of(rows, row="run", metric="recovery", s=2, p=8)
    np.testing.assert_allclose(points.get_ydata(), here.groupby("k")["value"].mean())
    unanimous = of(rows, row="unanimous", metric="recovery", s=2, p=8).sort_values("k")
    np.testing.assert_allclose(line.get_ydata(), unanimous["value"])


def test_failed_runs_are_said_and_left_out(rows):
    mask = (rows["row"] == "run") & (rows["repeat"] == 0)
    broken = fake_rows.fail(rows, mask)
    failed = int((mask & (rows["metric"] == "recovery")).sum())
    figure = theorem8.theorem8(broken)
    assert f"{failed} of " in words(figure) and "did not converge and are left out" in words(figure)
    kept = of(rows[~mask], row="run", metric="recovery", s=2, p=8).groupby("k")["value"].mean()
    np.testing.assert_allclose(figure.axes[4].lines[1].get_ydata(), kept)


@pytest.mark.slow
def test_without_runs_there_is_no_panel_for_them():
    figure = theorem8.theorem8(fake_rows.theorem8(designs=("votes",)))
    assert len(figure.axes) == 4 and "Runs" not in words(figure)


def test_enough_blocks_are_tabulated(rows):
    plain, shown = theorem8.theorem8_table(rows)
    line = plain[(plain["p"] == 30) & (plain["s"] == 2)].iloc[0]
    # p exp(-epsilon k/(4 s)) = 0.1 and = 1.
    assert 30 * math.exp(-0.5 * line["k, Theorem 8"] / 8) == pytest.approx(0.1)
    assert 30 * math.exp(-0.5 * line["bound above 0 from k"] / 8) == pytest.approx(1.0)
    falls = of(rows, row="theorem-8", metric="log_failure", p=30, s=2).sort_values("k")
    (k0, f0), (k1, f1) = falls[["k", "value"]].to_numpy()[:2]
    assert line["k, exact"] == pytest.approx(k0 + (math.log(0.1) - f0) / (f1 - f0) * (k1 - k0))
    assert line["k, exact"] < line["k, Theorem 8"]
    few, few_shown = theorem8.theorem8_table(rows[rows["k"] <= 8])
    assert few["k, exact"].isna().all() and set(few_shown["k, exact"]) == {"–"}
    assert list(shown["p"]) == ["30", "30", "1000", "1000"]


@pytest.mark.slow
def test_no_text_leaves_the_figure_or_covers_another(rows):
    with style.applied():
        figure = theorem8.theorem8(rows)
        assert_nothing_overlaps(figure)
