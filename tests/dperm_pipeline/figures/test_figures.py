"""Figures and tables draw what is in the rows, the same bytes each time, and say in words what is not there."""

import csv
import functools
import itertools
import math
import re

import fake_rows
import numpy as np
import pandas as pd
import pytest
import together
from matplotlib.figure import Figure
from scipy import stats
from specified import assert_nothing_overlaps

from dperm.errors import ConfigError, CorruptFile, DataError
from dperm_papers.kifer2012.output import figures as kifer2012
from dperm_pipeline import figures
from dperm_pipeline.figures import style

FUNCTIONS = (
    kifer2012.output,
    *(
        pytest.param(function, marks=pytest.mark.slow)
        for function in (kifer2012.output_sweep, kifer2012.output_sweep_test)
    ),
)


@pytest.fixture(scope="module")
def rows():
    return fake_rows.rows(datasets=("breast-cancer", "diabetes"), epsilons=(0.1, 1.0), repeats=8)


@pytest.fixture(scope="module")
def plain(rows):
    """Draw the rows as they are, once for all tests that look at a figure; they change nothing in it."""
    return functools.cache(lambda function: function(rows))


def words(figure: Figure) -> str:
    """All text of the caption and inside panels, on one line."""
    texts = [text.get_text() for text in figure.texts]
    texts += [text.get_text() for axis in figure.axes for text in axis.texts]
    return " ".join(" ".join(texts).replace("\N{NO-BREAK SPACE}", " ").split())


def lines_of(axis, colour):
    return [line for line in axis.lines if line.get_color() == colour and len(line.get_xdata()) > 0]


def test_lines_and_bands_are_means_and_t_intervals_of_the_chosen_rows(rows, plain):
    figure = plain(kifer2012.output)
    axis = figure.axes[0]  # breast-cancer, excess risk
    here = rows[(rows["dataset"] == "breast-cancer") & (rows["metric"] == "excess_risk") & rows["chosen"]]
    here = here[(here["mechanism"] == "output") & (here["delta"] == 0.0)]
    drawn = [line for line in lines_of(axis, "#D55E00") if line.get_markerfacecolor() == "white"]
    assert len(drawn) == 1
    for epsilon, mean in zip(drawn[0].get_xdata(), drawn[0].get_ydata(), strict=True):
        values = here.loc[here["epsilon"] == epsilon, "value"].to_numpy()
        assert len(values) == 8
        assert mean == pytest.approx(values.mean(), rel=1e-12)
        interval = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
        assert style.mean_interval(values)[1:] == pytest.approx(tuple(interval), rel=1e-10)
    highs = {seg[1][1] for collection in axis.collections if hasattr(collection, "get_segments")
             for seg in collection.get_segments()}  # fmt: skip
    assert any(high == pytest.approx(style.mean_interval(values)[2], rel=1e-9) for high in highs)


def test_every_panel_has_each_method_with_each_noise_and_the_nonprivate_level(rows, plain):
    figure = plain(kifer2012.output)
    assert [axis.get_title() for axis in figure.axes[:2]] == ["breast-cancer", "diabetes"]
    assert len(figure.axes) == 2 * 2 * 2  # data sets, deltas, metrics
    for k, axis in enumerate(figure.axes):
        pure = k // 2 in (0, 2)
        colours = ["#0072B2", "#009E73", "#D55E00", *(["#56B4E9"] if pure else ["#CC79A7", "#E69F00"])]
        drawn = [line for line in axis.lines if line.get_marker() in list("os^PvD")]
        assert sorted(line.get_color() for line in drawn) == sorted(colours)
        assert {line.get_markerfacecolor() == "white" for line in drawn} == {pure}
    for column, dataset in enumerate(("breast-cancer", "diabetes")):
        level = rows[
            (rows["mechanism"] == "nonprivate") & (rows["dataset"] == dataset) & (rows["metric"] == "test_loss")
        ]
        for axis in (figure.axes[4 + column], figure.axes[6 + column]):
            assert any(list(line.get_ydata()) == [level["value"].iloc[0]] * 2 for line in axis.lines)
    assert "8 repeats" in words(figure) and "breast-cancer, diabetes" in words(figure)
    assert "Missing" not in words(figure) and "did not converge" not in words(figure)


@pytest.mark.parametrize(
    ("function", "metric"),
    [
        (kifer2012.output_sweep, "excess_risk"),
        pytest.param(kifer2012.output_sweep_test, "test_loss", marks=pytest.mark.slow),
    ],
)
def test_the_sweep_has_a_line_for_each_setting_and_rings_on_the_chosen_ones(function, metric, rows, plain):
    figure = plain(function)
    methods = list(fake_rows.METHODS)
    assert len(figure.axes) == len(methods) * 2
    for k, axis in enumerate(figure.axes):
        method, dataset = methods[k // 2], ("breast-cancer", "diabetes")[k % 2]
        deltas = sum(fake_rows.METHODS[method])
        rings = [line for line in axis.lines if line.get_markersize() == 8]
        drawn = [line for line in axis.lines if line.get_marker() in list("voDs^P") and line.get_markersize() != 8]
        assert len(drawn) == 3 * deltas
        ringed = {(x, y) for ring in rings for x, y in zip(*ring.get_data(), strict=True)}
        here = rows[(rows["dataset"] == dataset) & (rows["metric"] == metric) & rows["chosen"]]
        here = here[(here["mechanism"] == method[0]) & (here["calibration"] == method[1])]
        means = here.groupby(["epsilon", "delta"])["value"].mean()
        assert sorted(y for _, y in ringed) == pytest.approx(sorted(means), rel=1e-12)
        assert len(ringed) == 2 * deltas
        names = [text.get_text() for text in axis.get_legend().get_texts()] if k % 2 else []
        assert names == [*dict.fromkeys(rows[rows["mechanism"] == method[0]]["candidate"])] * (k % 2)


def test_steps_are_shades_and_clips_are_markers(rows):
    """So that nine settings of gradient descent are told apart; of a ridge multiple both change."""
    more = rows[rows["mechanism"] == "gradient"].assign(steps=100)
    more = more.assign(candidate=more["candidate"].astype(str).str.replace("30", "100"), chosen=False)
    axis = kifer2012.output_sweep(pd.concat([rows, more])).axes[-1]
    names, handles = axis.get_legend().get_texts(), axis.get_legend().legend_handles
    looks = {
        name.get_text(): (handle.get_color(), handle.get_marker()) for name, handle in zip(names, handles, strict=True)
    }
    assert len(looks) == len(set(looks.values())) == 6
    for clip in ("0.01", "0.1", "1"):
        assert looks[f"30 steps, clip {clip}"][1] == looks[f"100 steps, clip {clip}"][1]
        assert looks[f"30 steps, clip {clip}"][0] == looks["30 steps, clip 1"][0]
    # Nothing but the numbers orders settings: 100 steps are darker, and come after 30.
    assert sum(looks["100 steps, clip 1"][0]) < sum(looks["30 steps, clip 1"][0])
    assert list(looks)[:3] == ["30 steps, clip 0.01", "30 steps, clip 0.1", "30 steps, clip 1"]


def test_the_panels_of_one_data_set_and_metric_share_their_axis(plain):
    for function, panels in ((kifer2012.output, ((0, 2), (4, 6))), (kifer2012.output_sweep, (range(0, 12, 2),))):
        limits = [axis.get_ylim() for axis in plain(function).axes]
        for shared, column in itertools.product(panels, range(2)):
            assert len({limits[k + column] for k in shared}) == 1


def test_equal_lines_stand_side_by_side(plain):
    """Two methods with the same numbers: the data are not touched, the display is moved by points."""
    axis = plain(kifer2012.output).axes[0]
    tight, paper = (lines_of(axis, colour)[0] for colour in ("#0072B2", "#009E73"))
    assert list(tight.get_xdata()) == list(paper.get_xdata()) == [0.1, 1.0]
    places = [line.get_transform().transform((0.1, 0.5))[0] for line in (tight, paper)]
    assert 0.5 < (places[1] - places[0]) * 72 / axis.figure.dpi < 3


WIDE = [
    lambda rows: rows,
    lambda rows: fake_rows.rows(epsilons=(0.1, 3.0), multiples=(2.0, 200.0), repeats=3),
    lambda rows: fake_rows.rows(datasets=("digits",), epsilons=(1.0,), repeats=3),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    "drawn",
    [
        lambda rows: fake_rows.fail(rows, rows["mechanism"] == "output"),
        *(pytest.param(drawn, marks=pytest.mark.slow) for drawn in WIDE),
    ],
    ids=["failed", "whole", "wide", "one data set"],
)
def test_no_text_leaves_the_figure_or_covers_another(function, drawn, rows):
    with style.applied():
        figure = function(drawn(rows))
        assert_nothing_overlaps(figure)
    sizes = [label.get_fontsize() for axis in figure.axes for label in axis.get_xticklabels() + axis.get_yticklabels()]
    assert min(sizes) >= 7 and figure.texts[0].get_fontsize() >= 7


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_failed_method_is_said_in_words_and_not_drawn(function, rows):
    failed = (rows["mechanism"] == "output") & (rows["dataset"] == "diabetes") & (rows["epsilon"] == 0.1)
    figure = function(fake_rows.fail(rows, failed))
    assert "values did not converge and are left out" in words(figure)
    assert "No value is left of " in words(figure) and " at ε = 0.1." in words(figure)
    outputs = [line for axis in figure.axes[1::2] for line in axis.lines if line.get_marker() in "^voDs"]
    drawn = {float(x) for line in outputs for x, y in zip(*line.get_data(), strict=True) if np.isfinite(y)}
    missing = {float(x) for line in outputs for x, y in zip(*line.get_data(), strict=True) if np.isnan(y)}
    assert drawn == {0.1, 1.0} and missing == {0.1}
    # A cell that is not there at all breaks the line too.
    absent = [line for axis in function(rows[~failed]).axes[1::2] for line in axis.lines]
    assert {float(x) for line in absent for x, y in zip(*line.get_data(), strict=True) if np.isnan(y)} == {0.1}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_few_failed_repeats_are_counted(function, rows):
    failed = (rows["mechanism"] == "objective") & (rows["calibration"] == "tight") & (rows["dataset"] == "diabetes")
    failed &= (rows["delta"] == 0.0) & (rows["epsilon"] == 1.0) & (rows["repeat"] < 3)
    text = words(function(fake_rows.fail(rows, failed)))
    assert re.search(r"\b\d+ of \d+ values did not converge and are left out", text)
    assert "No value is left" not in text


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_panels_without_any_line_say_so(function, rows):
    everything = rows["mechanism"] != "nonprivate"
    assert words(function(fake_rows.fail(rows, everything))).count("no converged fit") >= 4


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_value_of_zero_makes_the_axis_linear_and_a_band_below_zero_is_cut(function, rows):
    zero = rows.copy()
    zero.loc[zero["metric"].isin(["excess_risk", "test_loss"]) & (zero["dataset"] == "diabetes"), "value"] = 0.0
    scales = {axis.get_yscale() for axis in function(zero).axes}
    assert scales == {"linear", "log"}
    wide = rows.copy()
    here = (wide["metric"] == "excess_risk") & (wide["mechanism"] == "output") & (wide["repeat"] > 0)
    wide.loc[here, "value"] = 1e-9
    for axis in function(wide).axes:
        assert axis.get_ylim()[0] > 0


@pytest.mark.parametrize("function", [*FUNCTIONS, kifer2012.output_table])
def test_two_chosen_multiples_at_one_point_are_an_error(function, rows):
    with pytest.raises(DataError, match=r"two settings are chosen at dataset=breast-cancer, .*mechanism=\w+"):
        function(rows.assign(chosen=True))


def test_a_method_without_a_look_is_drawn_by_its_name(rows):
    figure = kifer2012.output(
        rows.assign(calibration=rows["calibration"].where(rows["mechanism"] != "output", "corrected"))
    )
    labels = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert any("output, corrected" in label for label in labels)
    with pytest.raises(ConfigError, match="at most 3 above 0"):
        style.linestyles([0.0, 1e-9, 1e-8, 1e-7, 1e-6])


def test_the_table_holds_the_chosen_means_and_no_nan(rows, tmp_path):
    failed = (rows["mechanism"] == "output") & (rows["dataset"] == "diabetes") & (rows["epsilon"] == 0.1)
    failed |= (rows["mechanism"] == "output") & (rows["dataset"] == "breast-cancer") & (rows["repeat"] == 5)
    frame = fake_rows.fail(rows, failed)
    path = fake_rows.write(frame, tmp_path / "rows.parquet")
    figures.make_table("kifer2012-output", path, csv=tmp_path / "t.csv", md=tmp_path / "t.md")
    text, markdown = (tmp_path / "t.csv").read_text(), (tmp_path / "t.md").read_text()
    assert "nan" not in (text + markdown).lower() and "none" not in (text + markdown).lower()
    table = {
        (r["dataset"], float(r["epsilon"]), float(r["delta"]), r["method"]): r
        for r in csv.DictReader(text.splitlines())
    }
    assert len(table) == 2 * (2 * (4 + 5) + 1)
    line = table["breast-cancer", 0.1, 1e-6, "output"]
    here = frame[(frame["dataset"] == "breast-cancer") & (frame["epsilon"] == 0.1) & (frame["delta"] == 1e-6)]
    here = here[(here["mechanism"] == "output") & here["chosen"] & (here["status"] == "ok")]
    assert float(line["ridge_multiple"]) == 20.0 and line["steps"] == line["clip"] == ""
    assert (line["setting"], line["repeats"], line["failed"]) == ("multiple 20", "7", "1")
    descent = table["breast-cancer", 0.1, 1e-6, "noisy gradient descent"]
    assert (descent["ridge_multiple"], descent["steps"], descent["clip"]) == ("", "30", "0.1")
    for metric in ("excess_risk", "test_loss", "test_error"):
        values = here.loc[here["metric"] == metric, "value"]
        low, high = stats.t.interval(0.95, 6, values.mean(), stats.sem(values))
        assert float(line[metric]) == pytest.approx(values.mean(), rel=1e-12)
        assert (float(line[f"{metric}_low"]), float(line[f"{metric}_high"])) == pytest.approx((low, high), rel=1e-9)
    gone = table["diabetes", 0.1, 0.0, "output"]
    assert gone["excess_risk"] == gone["test_loss_low"] == gone["test_error"] == "" and gone["failed"] == "8"
    level = table["diabetes", math.inf, 0.0, "non-private"]
    assert level["ridge_multiple"] == level["test_loss_low"] == "" and float(level["test_loss"]) > 0
    lines = markdown.splitlines()
    assert len(lines) == 2 + len(table) and len({line.count("|") for line in lines}) == 1
    methods = [line.split(" | ")[3] for line in lines[2:6]]
    assert methods == ["objective, tight", "objective, Algorithm 1", "output", "CMS11, Algorithm 2"]
    assert "| diabetes | 0.1 | 0 | output | multiple 20 | – | – | – | 0 | 8 |" in lines


def test_unknown_names_are_answered_with_the_nearest_known_one(tmp_path):
    with pytest.raises(ConfigError, match=r"no figure 'kifer2012-outpt'; did you mean 'kifer2012-output'"):
        figures.draw("kifer2012-outpt", "rows.parquet", svg=tmp_path / "a.svg", png=tmp_path / "a.png")
    with pytest.raises(ConfigError, match=r"no table 'x'; there are: audit-mutants, .*kifer2012-output"):
        figures.make_table("x", "rows.parquet", csv=tmp_path / "a.csv", md=tmp_path / "a.md")
    with pytest.raises(ConfigError, match="no figure or table 'x'"):
        figures.modules("x")
    assert "dperm_papers.kifer2012.output.figures" in figures.modules("kifer2012-output-sweep")


def test_broken_rows_leave_no_figure_behind(rows, tmp_path):
    (tmp_path / "rows.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(CorruptFile, match=r"rows\.parquet"):
        figures.draw("kifer2012-output", tmp_path / "rows.parquet", svg=tmp_path / "a.svg", png=tmp_path / "a.png")
    fake_rows.write(rows.drop(columns="chosen"), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="no column or value 'chosen'"):
        figures.draw("kifer2012-output", tmp_path / "rows.parquet", svg=tmp_path / "a.svg", png=tmp_path / "a.png")
    assert not list(tmp_path.glob("*a.*"))


@together.over(
    "value, text",
    [(0.0, "0"), (0.3, "0.3"), (200.0, "200"), (1e-6, "10⁻⁶"), (2.5e-7, "2.5·10⁻⁷"), (1e5, "10⁵"), (math.inf, "∞")],
)
def test_numbers_are_written_as_people_write_them(value, text):
    assert style.number(value) == text


@pytest.mark.parametrize(
    ("low", "high"), [(1e-9, 5.0), (0.02, 0.9), (0.1, 14.0), (0.361, 0.377), (1.0, 1.0), (-1.0, 3.0), (0.0, 0.0)]
)
def test_axes_have_three_or_more_legible_ticks(low, high):
    axis = Figure().add_subplot()
    style.value_axis(axis.yaxis, low, high)
    bottom, top = axis.get_ylim()
    ticks = [tick for tick in axis.get_yticks() if bottom <= tick <= top]
    labels = axis.yaxis.get_major_formatter().format_ticks(ticks)
    assert bottom <= low and high <= top
    assert 2 <= len(ticks) <= 9 and len(set(labels)) == len(labels)
    assert max(map(len, labels)) <= 8


def test_shades_go_from_light_to_dark():
    light, middle, dark = style.shades("#0072B2", 3)
    assert sum(light) > sum(middle) > sum(dark) and all(0 <= part <= 1 for part in (*light, *dark))


@pytest.mark.parametrize("kind", ["FIGURES", "TABLES"])
def test_everything_has_words_beside_it(kind):
    known = getattr(figures, kind)
    for name, target in known.items():
        # All that the report shows of it: what changed is drawn, and shown, again.
        shown = {key: getattr(target, key) for key in ("title", "caption", "alt")}
        assert figures.words(name, known) == {**shown, "datasets": list(target.datasets)}
        assert target.title and target.caption.endswith((".", ")")), name
        assert target.alt or kind == "TABLES", name
    assert figures.words("nothing", known) is None


def test_the_alternative_text_names_the_table_of_the_same_name_once():
    alts = {name: target.alt for name, target in figures.FIGURES.items()}
    assert alts["kifer2012-output"].endswith("as a level. The numbers are in the table kifer2012-output.")
    assert "table" not in alts["kifer2012-output-sweep"]
    assert alts["kifer2012-theorem8"].count("table kifer2012-theorem8") == 1


def test_asking_for_names_does_not_load_matplotlib():
    import subprocess
    import sys

    asked = "from dperm_pipeline import figures; figures.modules('kifer2012-output')"
    code = f"import sys; {asked}; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert re.fullmatch("False", done.stdout.strip())
