"""The engine's words: numbers of the rows in notes, titles and labels, words beside lines, and what is missing."""

import math

from specified import LINES, made, panel, words

from dperm_pipeline.figures.spec import Facet, Figure, Level


def test_numbers_of_the_rows_stand_in_the_notes():
    rows = made().assign(n=[10, 20, 30] * 20, series=["a", "b", "a"] * 20)
    notes = ["{epsilon.all}; {n.max}; {n.max:series=b}; {repeat.count} repeats; {delta.first}"]
    said = words(Figure([[panel()]], notes=notes)(rows)).replace("\N{NO-BREAK SPACE}", " ")
    assert "ε = 0.1, 1, 10; n = 30; n = 20; 5 repeats; δ = 10⁻⁶" in said
    rows = rows.assign(n=rows["epsilon"].map({0.1: 10, 1.0: 20, 10.0: 30}))
    notes = ["{β=n.max}, {#n.min}, {dataset.all}, {n.all:mechanism=ours,epsilon>0.5}, {repeat.count:dataset=absent}"]
    said = words(Figure([[panel()]], notes=notes)(rows)).replace("\N{NO-BREAK SPACE}", " ")
    assert said.endswith("β = 30, 10, first, second, n = 20, 30, 0")


def test_titles_labels_and_the_legend_speak_of_the_rows_too():
    lines = [line.but(label=f"{line.label}, {{epsilon.max}}") for line in LINES]
    across = Facet("dataset")
    figure = Figure([[panel(title="{}: {epsilon.min}", across=across).but(lines=lines, xlabel="ε to {#epsilon.max}")]])(
        made()[lambda rows: (rows["dataset"] == "first") | (rows["epsilon"] > 0.5)]
    )
    assert [axis.get_title() for axis in figure.axes] == ["first: ε\xa0=\xa00.1", "second: ε\xa0=\xa01"]
    assert figure.axes[0].get_xlabel() == "ε to 10"
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["ours, ε\xa0=\xa010", "theirs, ε\xa0=\xa010"]


def test_words_stand_at_the_end_of_a_line_beside_a_level_and_at_ticks():
    lines = [LINES[0].but(end={"text": "the end", "xytext": (3, 0)})]
    levels = [Level(0.3, upright=True, says={"text": "r/3", "xytext": (3, -8)})]
    axis = Figure([[panel(levels=levels, ywords="{:.0%}".format).but(lines=lines)]])(made()).axes[0]
    beside, end = axis.texts
    assert (beside.get_text(), beside.xy) == ("r/3", (0.3, 1))
    assert (end.get_text(), end.xy) == ("the end", (10.0, axis.lines[1].get_ydata()[-1]))
    assert end.get_color() == "#0072B2"
    assert all(label.get_text().endswith("%") for label in axis.get_yticklabels())
    nothing = Figure([[panel().but(lines=[lines[0].but(y=lambda rows: rows["value"] * math.nan)])]])(made())
    assert [text.get_text() for text in nothing.axes[0].texts] == ["nothing converged"]


def test_failed_repeats_are_left_out_and_counted():
    rows = made()
    rows.loc[rows.index[:2], ["status", "value"]] = ["failed", 1e9]
    figure = Figure([[panel()]])(rows)
    assert "2 of 60 values did not converge and are left out." in words(figure)
    # Panels of a facet hold parts of the same rows: each is counted once.
    assert "2 of 60 values did not" in words(Figure([[panel(across=Facet("dataset"))]])(rows))
    assert max(line.get_ydata().max() for line in figure.axes[0].lines) < 3
    # In however many panels a value is drawn.
    assert "2 of 60 values" in words(Figure([[panel(across=Facet("dataset")), panel()]])(rows))
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
