"""The engine draws what a specification says: facets, bands, levels, legend, and words on what is missing."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.patches import Patch
from specified import LINES, made, panel

from dperm_pipeline.figures import engine, style
from dperm_pipeline.figures.spec import (
    Column,
    Facet,
    Figure,
    Interval,
    Level,
    Line,
    Panel,
    Table,
    crossed,
    encoded,
    least,
    means,
    most,
    power,
    select,
)


def test_a_panel_for_each_value_of_a_facet_with_one_y_axis():
    figure = Figure([[panel(across=Facet("dataset", ("second", "first", "absent")))]])(made())
    assert [axis.get_title() for axis in figure.axes] == ["second", "first"]
    assert [axis.get_ylabel() for axis in figure.axes] == ["error", ""]
    assert figure.axes[0].get_ylim() == figure.axes[1].get_ylim()
    apart = Figure([[panel(across=Facet("dataset"), same_y="none")]])(made())
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


def test_what_a_text_states_at_one_place_is_a_point_where_its_rows_are():
    stated = Level(7.0, "stated", "black", where={"dataset": "first"}, fits=True, at=1.0, marker="x")
    figure = Figure([[panel(across=Facet("dataset"), levels=[stated], same_y="none")]])(made())
    first, second = figure.axes
    (point,) = [line for line in first.lines if line.get_marker() == "x"]
    assert (*point.get_xdata(), *point.get_ydata()) == (1.0, 7.0) and first.get_ylim()[1] > 7 > second.get_ylim()[1]
    assert not [line for line in second.lines if line.get_marker() == "x"]
    assert [handle.get_marker() for handle in figure.legends[0].legend_handles if handle.get_label() == "stated"] == [
        "x"
    ]


def test_a_path_has_bars_both_ways_or_a_band():
    rows = pd.DataFrame({"right": [0.0, 0.5, 0.2], "up": [1.0, 2.0, 3.0], "half": [0.1, 0.2, math.nan]})
    line = Line("", "black", x="right", y="up", statistic="path", reach=("half", "half"))
    bars, band = (Figure([[Panel([line.but(band=opacity)], xscale="linear")]])(rows).axes[0] for opacity in (None, 0.2))
    assert list(bars.lines[0].get_xdata()) == list(band.lines[0].get_xdata()) == [0.0, 0.5, 0.2]
    assert len(bars.collections) == 2 and len(band.collections) == 1
    # The band ends where there is no interval.
    ends = band.collections[0].get_paths()[0].vertices
    assert sorted({tuple(np.round(end, 6)) for end in ends}) == [(0.0, 0.9), (0.0, 1.1), (0.5, 1.8), (0.5, 2.2)]


def test_bars_have_caps_at_the_ends_of_the_interval():
    axis = Figure([[Panel([LINES[0].but(bars=0.8, caps=2.0)], statistic="mean")]])(made()).axes[0]
    line, *caps = axis.lines
    (bars,) = axis.collections
    own = engine.summary(made().query("mechanism == 'ours'"), "epsilon")
    for cap, end in zip(caps, ("low", "high"), strict=True):
        np.testing.assert_allclose(np.asarray(cap.get_ydata(), float), own[end])
    assert len(bars.get_segments()) == 3 and bars.get_zorder() < line.get_zorder()


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


def test_a_line_is_drawn_of_the_least_or_the_largest_value_of_a_column():
    rows = made().assign(n=[10, 20, 30] * 20)
    assert set(select(rows, {"epsilon": most, "n": least})["epsilon"]) == {10.0}
    assert select(rows, {"n": least})["n"].unique().tolist() == [10]


def test_a_stated_slope_starts_at_the_first_point():
    means = pd.Series([8.0, 1.0], index=[2.0, 8.0])
    assert power(-0.5, 2.0)(means).tolist() == [16.0, 8.0]


def test_hollow_markers_stand_where_a_column_says_so():
    rows = made().assign(vacuous=lambda rows: (rows["epsilon"] < 1).astype(int))
    axis = Figure([[Panel([LINES[0].but(hollow_if="vacuous")], statistic="mean")]])(rows).axes[0]
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    assert [list(line.get_xdata()) for line in hollow] == [[0.1]]


def test_dots_are_points_of_their_own():
    rows = made().assign(vacuous=lambda rows: (rows["epsilon"] < 1).astype(int))
    dots = {"s": 13, "lw": 0.9}
    axis = Figure([[Panel([LINES[0].but(hollow_if="vacuous", dots=dots)], statistic="mean")]])(rows).axes[0]
    (line,), (points,) = axis.lines, axis.collections
    assert line.get_marker() == "None" and points.get_sizes() == [13]
    np.testing.assert_array_equal(points.get_offsets(), np.column_stack([line.get_xdata(), line.get_ydata()]))
    assert [tuple(face[:3]) == (1, 1, 1) for face in points.get_facecolors()] == [True, False, False]
    bare = Figure([[Panel([LINES[0].but(line="none", marker="x", dots=dots)], statistic="mean")]])(rows).axes[0]
    assert not bare.lines and len(bare.collections[0].get_offsets()) == 3


def test_only_the_first_panel_of_a_row_has_labels_of_y():
    drawn = Figure([[panel(sharey="row"), panel(sharey="row", across=Facet("dataset"))]])(made())
    assert [axis.get_ylabel() for axis in drawn.axes] == ["error", "", ""]
    assert [axis.yaxis.get_tick_params()["labelleft"] for axis in drawn.axes] == [True, False, False]


def test_the_legend_leaves_out_what_has_no_rows_and_takes_artists():
    rows = made().query("mechanism == 'ours'")
    drawn = Figure([[panel()]], drawn_only=True)(rows)
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["ours"]
    drawn = Figure([[panel()]], legend=[LINES[1], Patch(label="vacuous")])(rows)
    assert [text.get_text() for text in drawn.legends[0].get_texts()] == ["theirs", "vacuous"]


def test_a_panel_s_own_legend_names_shades():
    line = Line(lambda epsilon: f"at {epsilon:g}", "#0072B2", shades="epsilon", statistic="mean")
    drawn = Figure([[Panel([line], "delta", legend={"loc": "lower left"})]])(made())
    assert [text.get_text() for text in drawn.axes[0].get_legend().get_texts()] == ["at 0.1", "at 1", "at 10"]
    assert not drawn.legends[0].get_texts()


def test_where_takes_values_several_and_predicates():
    rows = made()
    found = engine.select(rows, {"dataset": "first", "epsilon": (0.1, 1.0), "repeat": lambda repeat: repeat > 2})
    assert len(found) == 2 * 2 * 2 and set(found["epsilon"]) == {0.1, 1.0}


def test_an_axis_has_the_ticks_that_are_asked_for():
    rows = made()
    for asked, at_most, ticks in (
        ("all", None, [0.1, 1, 10]), (2, None, [0.1, 10]), ((1, 10, 1000), None, [1, 10]), ("powers", 2, [0.1, 10]),
    ):  # fmt: skip
        axis = Figure([[panel(xticks=asked, most=at_most)]])(rows).axes[0]
        assert list(axis.get_xticks()) == ticks
        assert [label.get_text() for label in axis.get_xticklabels()] == [style.number(tick) for tick in ticks]


def test_specifications_are_read_without_a_plot_library():
    code = (
        "import sys; from dperm_pipeline import places; places.drawn('FIGURES');"
        "sys.exit(any(name in sys.modules for name in ('matplotlib', 'pandas', 'dperm_pipeline.figures.engine')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_points_of_the_rows_break_where_one_has_no_mean_and_intervals_are_cut_at_the_axis():
    rows = pd.DataFrame(
        {"epsilon": [0.1, 1.0, 10.0, 100.0], "mean": [4.0, np.nan, 2.0, 1.0], "low": [3.0, np.nan, -1.0, 0.5]}
    )
    rows = rows.assign(high=rows["mean"] + 1)
    line = Line("ours", "#0072B2", statistic="points", band=0.2, bars=0.8, cut=True, more={"zorder": 3})
    figure = Figure([[Panel([line.but(aside=3.6)])]], width=lambda rows: 1.5 * len(rows))(rows)
    axis = figure.axes[0]
    assert figure.get_size_inches()[0] == 6.0
    assert np.isnan(axis.lines[0].get_ydata()[1]) and axis.lines[0].get_ydata()[0] == 4.0
    bars, band = axis.collections
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    bottom = axis.get_ylim()[0]
    assert ends == [[3.0, 5.0], [bottom, 3.0], [bottom, 2.0]] and 0.5 < bottom < 1
    assert band.get_zorder() < bars.get_zorder() < axis.lines[0].get_zorder()
    moved = axis.lines[0].get_transform().transform((1.0, 1.0)) - axis.transData.transform((1.0, 1.0))
    assert moved == pytest.approx([0.05 * figure.dpi, 0.0])


def test_a_band_ends_at_a_share_of_the_mean():
    line = LINES[0].but(statistic="mean", band=0.2, positive=0.999)
    axis = Figure([[Panel([line])]])(made()).axes[0]
    for x, mean in zip(*axis.lines[0].get_data(), strict=True):
        assert min(y for at, y in axis.collections[0].get_paths()[0].vertices if at == x) == pytest.approx(0.999 * mean)


def test_a_wide_panel_takes_columns_and_a_name_joins_y_axes():
    narrow = [panel(where={"dataset": name}, same_y="both") for name in ("first", "second", "first")]
    free = panel(wide=2, ylim="free", where={"dataset": "second"})
    figure = Figure([narrow, [free, panel(same_y="both")]])(made())
    assert len(figure.axes) == 5
    limits = [axis.get_ylim() for axis in figure.axes]
    at = {(axis.get_subplotspec().rowspan.start, axis.get_subplotspec().colspan.start): axis for axis in figure.axes}
    assert [len(at[place].get_subplotspec().colspan) for place in ((0, 0), (1, 0), (1, 2))] == [1, 2, 1]
    joined = [at[place].get_ylim() for place in ((0, 0), (0, 1), (0, 2), (1, 2))]
    assert len(set(joined)) == 1 and at[1, 0].get_ylim() != joined[0] and len(limits) == 5


def test_a_table_has_a_line_for_each_group_in_numbers_and_in_words():
    rows = made(n=300)
    rows.loc[(rows["dataset"] == "first") & (rows["repeat"] == 0), "status"] = "failed"
    columns = [
        Column("dataset", heading="data set"),
        Column("epsilon", heading="ε"),
        Interval("error", where={"mechanism": "ours"}),
        Column("steps", lambda part: None if part["epsilon"].iloc[0] > 1 else 3, heading="", whole=True),
        Column("failed", lambda part: int((part["status"] == "failed").sum())),
        Column("ratio", lambda part: math.nan, words=lambda value: "none" if math.isnan(value) else "some"),
    ]
    numbers, words = Table(columns, by=("dataset", "epsilon"), keep_failed=True)(rows)
    assert list(numbers) == ["dataset", "epsilon", "error", "error_low", "error_high", "steps", "failed", "ratio"]
    assert list(words) == ["data set", "ε", "error", "failed", "ratio"]
    assert list(words["data set"]) == ["first"] * 3 + ["second"] * 3 and set(words["ratio"]) == {"none"}
    assert (
        list(numbers["failed"]) == [2, 2, 2, 0, 0, 0] and numbers["steps"].isna().tolist() == [False, False, True] * 2
    )
    own = rows[(rows["mechanism"] == "ours") & (rows["status"] == "ok")]
    means = own.groupby(["dataset", "epsilon"])["value"].mean()
    assert list(numbers["error"]) == pytest.approx(list(means))
    first = numbers.iloc[0]
    assert words.loc[0, "error"] == f"{first['error']:.3g} [{first['error_low']:.3g}, {first['error_high']:.3g}]"
    backwards, _ = Table(columns, by=("dataset", "epsilon"), order=lambda part: -part["epsilon"].iloc[0])(rows)
    assert list(backwards["epsilon"]) == [10.0, 10.0, 1.0, 1.0, 0.1, 0.1]


def test_a_table_without_groups_has_a_line_for_each_row():
    spelled = Column("", "value", "in words", lambda value: "large" if value > 1 else "small")
    prepared = Table(
        [Column("dataset"), Column("largest", "value"), spelled], prepare=lambda rows: rows.nlargest(2, "value")
    )
    numbers, words = prepared(made())
    assert list(numbers["largest"]) == sorted(made()["value"])[:-3:-1]
    assert list(words["largest"]) == [f"{value:.3g}" for value in numbers["largest"]]
    assert list(numbers) == ["dataset", "largest"] and list(words["in words"]) == ["large", "large"]


def test_markers_stand_where_a_column_says_so():
    rows = made().assign(asked=lambda rows: rows["epsilon"] != 1.0)
    lines = [LINES[0].but(marked_if="asked"), LINES[1].but(marked_if="never")]
    axis = Figure([[Panel(lines, statistic="mean")]])(rows.assign(never=False)).axes[0]
    assert axis.lines[0].get_markevery() == [True, False, True] and axis.lines[1].get_marker() == "None"


def test_a_legend_of_ones_own_has_an_entry_for_each_shade():
    shades = Line(lambda epsilon: f"at {epsilon:g}", "#0072B2", shades="epsilon", markers=("o", "s"))
    legend = Figure([[panel()]], legend=[Line("first"), shades])(made()).legends[0]
    found = {text.get_text(): handle for text, handle in
             zip(legend.get_texts(), legend.legend_handles, strict=True)}  # fmt: skip
    assert set(found) == {"first", "at 0.1", "at 1", "at 10"}
    assert len({found[f"at {epsilon}"].get_color() for epsilon in ("0.1", "1", "10")}) == 3
    assert found["at 1"].get_marker() == "s"


def test_fixed_ends_of_a_logarithmic_axis_and_upper_ends_of_bands():
    lines = [line.but(statistic="points", band=0.2) for line in LINES]
    rows = means("mechanism", "epsilon")(made())
    fixed = Panel(lines, ylim=(1e-3, 10.0), yscale="log", yticks=(1e-3, 1.0))
    above = Panel(lines, whole_bands="above", same_y="none")
    left, right = Figure([[fixed, above]])(rows).axes
    assert left.get_yscale() == "log" and left.get_ylim() == (1e-3, 10.0) and list(left.get_yticks()) == [1e-3, 1.0]
    low, high = right.get_ylim()
    assert rows["low"].min() < low < rows["mean"].min() and high > rows["high"].max()


def test_a_panel_of_levels_alone_says_that_it_has_no_line():
    panel = Panel(LINES, levels=[Level(1.5, fits=True)], statistic="mean", empty="no fit")
    gone = made().assign(mechanism="neither")
    assert [text.get_text() for text in Figure([[panel]])(gone).axes[0].texts] == ["no fit"]
