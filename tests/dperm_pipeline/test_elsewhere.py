"""What others' implementations had stands beside a run's rows, and is no result of the run."""

import json

import numpy as np
import pandas as pd
import pytest

from dperm_papers.frontier.linear import figures as linear
from dperm_pipeline import elsewhere, figures, places, tables
from dperm_pipeline.plan import drawings
from dperm_pipeline.report import explorer

NAME, METHOD = "frontier-linear", "diffprivlib LogisticRegression"
OURS = {"paper": "frontier", "experiment": NAME, "mechanism": "objective", "variant": "", "calibration": "tight",
        "neighbours": "replace", "guarantee": "proved", "dataset": "adult", "epsilon": 1.0, "delta": 0.0,
        "metric": "error", "status": "ok", "method": "objective", "setting": ""}  # fmt: skip


@pytest.fixture
def there(tmp_path):
    """Rows of two splits with errors .2 and .3, and another's that are .1, .1 and, on a third split, .9."""
    path = tmp_path / NAME / "rows.parquet"
    frame = pd.DataFrame([{**OURS, "repeat": k, "value": value} for k, value in enumerate((0.2, 0.3))])
    tables.write(frame, path, metadata={})
    given = {"method": METHOD, "neighbours": "replace", "dataset": "adult", "epsilon": 1.0, "delta": 0.0}
    lines = [{**given, "split": k, "error": error} for k, error in enumerate((0.1, 0.1, 0.9))]
    lines += [{**lines[0], "dataset": "covertype"}, {**lines[0], "epsilon": 0.5}, {**lines[0], "method": "dperm NAPP"}]
    head = {"scale": "paper", "seed": 7, "methods": {METHOD: {"source": "x", "version": "1", "sha256": []}}}
    other = tmp_path / "frontier" / "linear" / "elsewhere.jsonl"
    other.parent.mkdir(parents=True)
    other.write_text("\n".join(map(json.dumps, [head, *lines])), encoding="utf-8")
    return path, other


def test_rows_are_those_of_the_runs_splits_and_say_where_they_are_from(there):
    rows, other = tables.read(there[0]), there[1]
    found = elsewhere.beside(rows, other)
    assert found["value"].tolist() == [0.2, 0.3, 0.1, 0.1]
    added = found[found["mechanism"] == elsewhere.MECHANISM]
    assert set(added["variant"]) == {"x 1"} and set(added["setting"]) == {"scale paper, seed 7"}
    assert set(added["guarantee"]) == {"none"} and added["repeat"].tolist() == [0, 1]


def test_the_figure_and_the_table_show_it_and_say_whose_it_is(there, tmp_path):
    svg, md = tmp_path / "a.svg", tmp_path / "a.md"
    drawn = {"figures": {NAME: (svg, tmp_path / "a.png")}, "tables": {NAME: (tmp_path / "a.csv", md)}}
    figures.draw_all(there[0], **drawn, elsewhere=[there[1]])
    assert "diffprivlib (elsewhere)" in svg.read_text(encoding="utf-8")
    line = next(line for line in md.read_text(encoding="utf-8").splitlines() if "diffprivlib (elsewhere)" in line)
    assert "0.1 [0.1, 0.1]" in line
    figures.draw_all(there[0], **drawn)
    assert "elsewhere" not in svg.read_text(encoding="utf-8") + md.read_text(encoding="utf-8")
    for words in (linear.FIGURES[NAME].caption, linear.FIGURES[NAME].alt, linear.TABLES[NAME].caption):
        assert "measured elsewhere" in words


def test_the_explorer_offers_it_unproved_and_never_as_the_best(there, tmp_path):
    privacy = tmp_path / "privacy.parquet"
    entry = {**OURS, "variant": "gaussian", "audit_lower_bound": 0.9, "verdict": "holds up", "reason": ""}
    pd.DataFrame([entry]).to_parquet(privacy)
    found = explorer.payload([there[0]], privacy, [there[1]])
    every = explorer.view(found, found["begin"], every=True)["lines"]
    theirs, ours = every
    assert (theirs["label"].split(",")[0], theirs["mean"], theirs["real"]) == ("diffprivlib (elsewhere)", 0.1, False)
    assert theirs["words"].endswith("measured elsewhere: x 1") and theirs["gap"] is None
    assert ours["best"] and not theirs["best"] and ours["mean"] == pytest.approx(0.25)
    assert [line["mechanism"] for line in explorer.view(found, found["begin"])["lines"]] == ["objective"]
    alone = explorer.payload([there[0]], privacy)
    mine = [line for line in explorer.view(alone, alone["begin"])["lines"]]
    assert np.allclose([mine[0][name] for name in ("mean", "half")], [ours[name] for name in ("mean", "half")])


def test_what_is_committed_is_complete_and_an_input_of_its_own_drawing_alone():
    (path,) = places.elsewhere(NAME)
    rows = elsewhere.read(drawings.SRC.parent / path)
    assert set(rows["method"]) == {METHOD, "double-noise Newton (dp_newton)", "better-objpert (AMP)"}
    assert rows["value"].between(0, 1).all() and (rows["neighbours"] == "replace").equals(rows["delta"] == 0)
    assert places.elsewhere("kifer2012-output") == []
    drawn = drawings.Drawing(NAME, "frontier", "", {"figures": (NAME,), "tables": ()})
    assert drawn.elsewhere == [path] and [*drawn.params["sources"]] == [path]
