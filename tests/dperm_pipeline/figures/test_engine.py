"""The engine draws what a specification says: facets, bands, levels, legend, and words on what is missing."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dperm_pipeline.figures import engine, style
from dperm_pipeline.figures.spec import DASHED, Facet, Figure, Level, Line, Panel, crossed, encoded, power

LINES = encoded("mechanism", {"ours": ("ours", "#0072B2", "o"), "theirs": ("theirs", "#D55E00", "s", DASHED)})


def made(**changed):
    """Rows of two mechanisms on two data sets at three epsilons, five repeats each."""
    rng = np.random.default_rng(1)
    places = [
        (mechanism, dataset, epsilon, repeat)
        for mechanism in ("ours", "theirs")
        for dataset in ("first", "second")
        for epsilon in (0.1, 1.0, 10.0)
        for repeat in range(5)
    ]
    rows = pd.DataFrame(places, columns=["mechanism", "dataset", "epsilon", "repeat"])
    return rows.assign(value=rng.uniform(1, 2, len(rows)), status="ok", delta=1e-6, **changed)


def panel(**more):
    return Panel(LINES, "epsilon", "error", statistic="mean", **more)


def words(figure):
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def test_a_panel_for_each_value_of_a_facet_with_one_y_axis():
    figure = Figure([[panel(across=Facet("dataset", ("second", "first", "absent")))]])(made())
    assert [axis.get_title() for axis in figure.axes] == ["second", "first"]
    assert [axis.get_ylabel() for axis in figure.axes] == ["error", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    apart = Figure([[panel(across=Facet("dataset"), together="none")]])(made())
    assert apart.axes[0].get_ylim() != apart.axes[1].get_ylim()


def test_rows_of_panels_for_each_value_of_a_facet():
    figure = Figure([[panel(), panel(title="again: {}")]], down=Facet("epsilon"), height=(1.0, 2.0))(made())
    assert len(figure.axes) == 6 and figure.get_size_inches()[1] == 7.0
    assert figure.axes[1].get_title() == "again: ε = 0.1".replace(" = ", "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}")


def test_lines_are_means_and_bands_their_95_percent_intervals():
    rows = made()
    axis = Figure([[Panel([line.but(band=0.2) for line in LINES], statistic="mean")]])(rows).axes[0]
    own = rows[(rows["mechanism"] == "ours") & (rows["epsilon"] == 1.0)]["value"].to_numpy()
    line = axis.lines[0]
    assert line.get_color() == "#0072B2" and list(line.get_xdata()) == [0.1, 1.0, 10.0]
    assert line.get_ydata()[1] == pytest.approx(own.sum() / 10)
    # Student's t with nine degrees of freedom: 2.262157.
    half = 2.262157162740992 * math.sqrt(((own - own.mean()) ** 2).sum() / 9 / 10)
    at = axis.collections[0].get_paths()[0].vertices
    ends = sorted({float(y) for x, y in at if x == 1.0})
    assert ends == pytest.approx([own.mean() - half, own.mean() + half])


def test_one_repeat_has_no_band():
    axis = Figure([[Panel([LINES[0].but(band=0.2)], statistic="mean")]])(
        made().query("repeat == 0 and dataset == 'first'")
    )
    points = engine.summary(made().query("repeat == 0 and dataset == 'first' and mechanism == 'ours'"), "epsilon")
    assert len(axis.axes[0].lines) == 1 and points["mean"].notna().all() and points["low"].isna().all()


def test_the_legend_says_each_label_once_and_levels_too():
    level = Level(lambda rows: rows["value"].max(), "the largest", line=":", fits=True)
    figure = Figure([[panel(across=Facet("dataset"), levels=[level])]])(made())
    legend = {text.get_text(): handle for text, handle in
              zip(figure.legends[0].get_texts(), figure.legends[0].legend_handles, strict=True)}  # fmt: skip
    assert sorted(legend) == ["ours", "the largest", "theirs"]
    assert legend["theirs"].get_marker() == "s" and legend["theirs"].get_color() == "#D55E00"
    rows = made()
    largest = rows.loc[rows["dataset"] == "first", "value"].max()
    assert any(list(line.get_ydata()) == [largest, largest] for line in figure.axes[0].lines)


def test_shades_are_named_by_their_value():
    line = Line(lambda epsilon: f"at {epsilon:g}", "#0072B2", shades="epsilon", statistic="mean")
    figure = Figure([[Panel([line], "delta")]])(made())
    assert sorted(text.get_text() for text in figure.legends[0].get_texts()) == ["at 0.1", "at 1", "at 10"]
    assert len({line.get_color() for line in figure.axes[0].lines}) == 3


def test_crossed_encodings_are_every_combination_and_the_first_look_counts():
    dashes = encoded("dataset", {"first": ("a", "#000000"), "second": ("b", None, None, ":")})
    lines = crossed(dashes, LINES)
    assert [line.where for line in lines] == [
        {"dataset": dataset, "mechanism": mechanism}
        for dataset in ("first", "second")
        for mechanism in ("ours", "theirs")
    ]
    assert [line.colour for line in lines] == ["#000000", "#000000", "#0072B2", "#D55E00"]
    assert lines[3].line == ":" and lines[3].marker == "s"


def test_failed_repeats_are_left_out_and_counted():
    rows = made()
    rows.loc[rows.index[:2], ["status", "value"]] = ["failed", 1e9]
    figure = Figure([[panel()]])(rows)
    assert "2 of 60 values did not converge and are left out." in words(figure)
    assert max(line.get_ydata().max() for line in figure.axes[0].lines) < 3
    assert "converge" not in words(Figure([[panel()]])(made()))


def test_a_point_without_any_repeat_is_named_and_not_drawn():
    rows = made()
    rows.loc[(rows["mechanism"] == "theirs") & (rows["epsilon"] == 0.1), "status"] = "failed"
    figure = Figure([[panel()]])(rows)
    assert "No value is left of theirs at ε\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}0.1." in " ".join(
        text.get_text().replace("\n", " ") for text in figure.texts
    )
    assert [list(line.get_xdata()) for line in figure.axes[0].lines] == [[0.1, 1.0, 10.0], [1.0, 10.0]]


def test_a_panel_without_a_value_says_so():
    figure = Figure([[panel(), panel(where={"dataset": "absent"})]])(made())
    assert [text.get_text() for text in figure.axes[1].texts] == ["nothing converged"]


def test_numbers_of_the_rows_stand_in_the_notes():
    rows = made().assign(n=[10, 20, 30] * 20, series=["a", "b", "a"] * 20)
    notes = ["{epsilon.all}; {n.max}; {n.max:series=b}; {repeat.count} repeats; {delta.first}"]
    said = words(Figure([[panel()]], notes=notes)(rows)).replace("\N{NO-BREAK SPACE}", " ")
    assert "ε = 0.1, 1, 10; n = 30; n = 20; 5 repeats; δ = 10⁻⁶" in said


def test_a_stated_slope_starts_at_the_first_point():
    means = pd.Series([8.0, 1.0], index=[2.0, 8.0])
    assert power(-0.5, 2.0)(means).tolist() == [16.0, 8.0]


def test_hollow_markers_stand_where_a_column_says_so():
    rows = made().assign(vacuous=lambda rows: (rows["epsilon"] < 1).astype(int))
    axis = Figure([[Panel([LINES[0].but(hollow_if="vacuous")], statistic="mean")]])(rows).axes[0]
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[0.1]]


def test_where_takes_values_several_and_predicates():
    rows = made()
    found = engine.select(rows, {"dataset": "first", "epsilon": (0.1, 1.0), "repeat": lambda repeat: repeat > 2})
    assert len(found) == 2 * 2 * 2 and set(found["epsilon"]) == {0.1, 1.0}


def test_an_axis_has_the_ticks_that_are_asked_for():
    rows = made()
    for asked, ticks in (("all", [0.1, 1, 10]), (2, [0.1, 10]), ((1, 10, 1000), [1, 10])):
        axis = Figure([[panel(xticks=asked)]])(rows).axes[0]
        assert list(axis.get_xticks()) == ticks
        assert [label.get_text() for label in axis.get_xticklabels()] == [style.number(tick) for tick in ticks]


def test_specifications_are_read_without_a_plot_library():
    code = (
        "import sys; from dperm_pipeline import places; places.drawn('FIGURES');"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'pandas', 'dperm_pipeline.figures.engine')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
