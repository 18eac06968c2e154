"""The report stands alone, escapes what it is given, and leaves nothing out."""

import base64
import math
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser

import fake_audits
import fake_rows
import pandas as pd
import pytest

from dperm import claims, figures, report
from dperm.errors import CorruptFile
from dperm.report.__main__ import main

HOSTILE = "<script>alert('x')</script> & \"quoted\""
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers what a page shows and links to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.words = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.text.append(data)


# Of the figures and tables that there are; one has a table with | in its words.
SHOWN = ("audit-mutants", "kifer2012-bounds", "kifer2012-output", "kifer2012-table1", "privacy-ledger")


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Everything a report is built from, of two small data sets."""
    folder = tmp_path_factory.mktemp("results") / "quick"
    frame = fake_rows.rows(datasets=("diabetes", "digits"), epsilons=(0.1, 1.0), repeats=9)
    frame = fake_rows.fail(frame, (frame["mechanism"] == "output") & (frame["repeat"] == 1) & (frame["epsilon"] == 1.0))
    rows = fake_rows.write(frame, folder / "kifer2012-output" / "rows.parquet")
    catalogue = [
        {
            "id": "K-c38", "paper": "kifer2012", "place": "Section 1 <RW>", "statement": "a < b & c",
            "experiment": "kifer2012-output", "figure": "kifer2012-output", "test": "paired", "level": 0.05,
            "points": ["epsilon", "delta"], "metrics": ["excess_risk", "test_loss"], "measured": "test_loss",
            "ratio": "excess_risk", "datasets": ["adult", "digits"], "expected": 1.5,
            "variants": {"tight": {"where": {"chosen": True, "calibration": "tight"},
                                   "better": {"mechanism": "objective"}, "worse": {"mechanism": "output"}}},
        }
    ]  # fmt: skip
    missing = {"adult": f"offline: {HOSTILE}"}
    claims.judge(catalogue, {"kifer2012-output": rows}, folder / "claims.parquet", unavailable=missing, metadata={})
    privacy, mutants = fake_audits.write_ledgers(folder)
    sources = {"privacy": privacy, "mutants": mutants, "kifer2012-output": rows, "kifer2012-output-sweep": rows}

    def source(name, target):
        kind = name if target.source == "rows" else target.source
        if kind not in sources:
            sources[kind] = fake_rows.write(fake_rows.of_figure(name), folder / name / "rows.parquet")
        return sources[kind]

    svgs = [folder / "figures" / f"{name}.svg" for name in SHOWN if name in figures.FIGURES]
    for svg in svgs:
        drawn_from = source(svg.stem, figures.FIGURES[svg.stem])
        figures.draw(svg.stem, drawn_from, svg=svg, png=svg.with_suffix(".png"))
    tables = []
    for name, target in figures.TABLES.items():
        if name not in SHOWN:
            continue
        csv, md = (folder / "tables" / f"{name}.{suffix}" for suffix in ("csv", "md"))
        figures.make_table(name, source(name, target), csv=csv, md=md)
        tables += [csv, md]
    return {
        "claims": folder / "claims.parquet",
        "privacy": privacy,
        "mutants": mutants,
        "figures": svgs,
        "tables": tables,
        "rows": [rows],
        "config": {"scale": "quick", "seed": 2012, "mirror": HOSTILE},
        "provenance": {
            "versions": {"numpy": "2.4.6", HOSTILE: [1, 2]},
            "commit": "abc",
            "data": {"digits": "sha256 00"},
        },
        "unavailable": missing,
    }


@pytest.fixture(scope="module")
def page(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("report") / "index.html"
    report.build(out, **inputs)
    return out.read_text(encoding="utf-8")


def test_it_shows_verdicts_counts_data_sets_and_scale(page, inputs):
    words = Page(page).words
    judged = claims.read(inputs["claims"])
    for verdict in claims.VERDICTS:
        assert f"{(judged['verdict'] == verdict).sum()} {verdict}" in words
    assert "scale: quick" in words and "data: diabetes data: digits" in words and "data: adult" not in words
    assert "the text states 1.5" in words
    for line in judged.itertuples():
        assert " ".join(line.reason.split()) in words
    measured = judged[judged["dataset"] == "digits"].iloc[0]
    assert f"{measured['measured']:.3g} [{measured['low']:.3g}, {measured['high']:.3g}]" in words
    assert "adult offline:" in words  # the data set that nothing stands in for


def test_what_the_text_states_is_told_apart_by_variant():
    lines = {"paper": "kifer2012", "id": "K-c26", "statement": "s", "place": "p", "dataset": "x", "verdict": "not run",
             "reason": "", "measured": math.nan, "low": math.nan, "high": math.nan, "n": pd.NA}  # fmt: skip
    stated = [("over-n", -1.0), ("over-n", -1.0), ("over-p", 3.0)]
    (group,) = report._groups(pd.DataFrame([{**lines, "variant": v, "expected": e} for v, e in stated]))
    assert group["expected"] == "-1 (over-n), 3 (over-p)"
    (group,) = report._groups(pd.DataFrame([{**lines, "variant": v, "expected": -1.0} for v, _ in stated]))
    assert group["expected"] == "-1"


def test_it_stands_alone(page):
    """No script, no link to anything outside, images within, and a policy that forbids the rest."""
    parsed = Page(page)
    assert not [tag for tag, _ in parsed.tags if tag in ("script", "link", "iframe", "object")]
    sources = [value for _, attrs in parsed.tags for name, value in attrs.items() if name in ("src", "href", "srcset")]
    assert len(sources) == sum(name in figures.FIGURES for name in SHOWN) and all(
        source.startswith("data:image/svg+xml;base64,") for source in sources
    )
    assert not re.search(r"@import|url\(", page)
    assert "default-src 'none'" in page and 'name="viewport"' in page and "prefers-color-scheme: dark" in page
    assert len(parsed.ids) == len(set(parsed.ids))


def test_figures_are_embedded_whole_with_alt_text_and_caption(page, inputs):
    images = {attrs["alt"]: attrs["src"] for tag, attrs in Page(page).tags if tag == "img"}
    assert len(images) == len(inputs["figures"])
    for path in inputs["figures"]:
        image = images[figures.FIGURES[path.stem].alt]
        assert base64.b64decode(image.partition(",")[2]) == path.read_bytes()
        assert figures.FIGURES[path.stem].caption in Page(page).words


def test_guarantees_and_mutants_are_counted_in_a_section_of_their_own(page):
    words = Page(page).words
    assert "1 refuted" in words and "1 holds up" in words and "0 not audited" in words
    privacy, _, rest = page.partition('id="ledger"')[2].partition('id="figures"')
    assert (
        figures.FIGURES["privacy-ledger"].alt[:20] in privacy and figures.FIGURES["kifer2012-output"].alt[:20] in rest
    )


def test_every_table_is_shown_once_in_full(page, inputs):
    parsed = Page(page)
    for path in inputs["tables"][1::2]:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in (lines[0], *lines[2:]):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            assert " ".join(cell.strip().replace("\\|", "|") for cell in cells) in parsed.words
    shown = [attrs for tag, attrs in parsed.tags if tag == "table" and attrs.get("class") == "numbers"]
    assert len(shown) == sum(name in figures.TABLES for name in SHOWN)
    assert "---" not in parsed.words


def test_a_table_in_csv_is_shown_too(inputs, tmp_path):
    report.build(tmp_path / "a.html", **{**inputs, "tables": inputs["tables"][:1]})
    assert "excess_risk_low" in Page((tmp_path / "a.html").read_text()).words


def test_provenance_and_rows_are_listed(page, inputs):
    import hashlib

    words = Page(page).words
    assert "numpy 2.4.6" in words and "commit abc" in words and "digits sha256 00" in words
    assert hashlib.sha256(inputs["rows"][0].read_bytes()).hexdigest() in words
    assert re.search(r"kifer2012-output/rows\.parquet \d+ [1-9]\d* ", words)  # rows, failed rows
    assert '"seed": 2012' in words


def test_everything_given_is_escaped(page):
    assert "<script" not in page
    words = Page(page).words
    assert words.count(HOSTILE) >= 3  # reason, provenance key, unavailable
    assert "a < b & c" in words and "(Section 1 <RW>" in words


def test_equal_input_gives_equal_bytes(page, inputs, tmp_path):
    report.build(tmp_path / "again.html", **inputs)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page


def test_a_run_without_claims_figures_or_rows_still_has_a_page(inputs, tmp_path):
    claims.judge([], {}, tmp_path / "claims.parquet", unavailable={}, metadata={})
    nothing = {"claims": tmp_path / "claims.parquet", "figures": [], "tables": [], "rows": [], "unavailable": {}}
    report.build(tmp_path / "a.html", **{**inputs, **nothing})
    words = Page((tmp_path / "a.html").read_text()).words
    assert "No claim belongs to the selected papers." in words and "Figures" not in words


def test_broken_inputs_are_named_and_leave_no_page(inputs, tmp_path):
    svg, table = tmp_path / "x.svg", tmp_path / "x.md"
    svg.write_text("<html>503</html>")
    table.write_text("")
    with pytest.raises(CorruptFile, match=r"x\.svg is not an SVG figure"):
        report.build(tmp_path / "a.html", **{**inputs, "figures": [svg]})
    with pytest.raises(CorruptFile, match=r"x\.md holds no table"):
        report.build(tmp_path / "a.html", **{**inputs, "tables": [table]})
    with pytest.raises(FileNotFoundError):
        report.build(tmp_path / "a.html", **{**inputs, "rows": [tmp_path / "none.parquet"]})
    assert not (tmp_path / "a.html").exists()


def test_a_cell_with_a_pipe_survives_the_way_through_markdown():
    text = figures._markdown(["a", "b"], [["x | y", "z"]])
    assert report._markdown_cells(text) == [["a", "b"], ["x | y", "z"]]


def test_the_closing_lines_say_where_how_long_and_what(inputs, page, tmp_path, capsys):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("scale: quick\n")
    folder = tmp_path / "results" / "quick"
    (folder / "report").mkdir(parents=True)
    for name in ("claims", "privacy", "mutants"):
        shutil.copy(inputs[name], folder / f"{name}.parquet")
    root = ["--root", str(tmp_path)]
    assert main(root) == 1 and "run snakemake for this scale first" in capsys.readouterr().err
    (folder / "report" / "index.html").write_text(page)
    assert main(["--since", str(time.time() - 95.5), "--cores", "all", *root]) == 0
    text = capsys.readouterr().out
    assert text.startswith("claims: ") and "privacy: 1 refuted, 1 holds up, 0 not audited" in text
    assert "objective (paper, replace, gamma) claims epsilon 1 at delta 0 and spends at least 1.4" in text
    assert f"report: {folder}/report/index.html (1 min 35 s)" in text
    assert main([*root, "--config", "seed=3", "scale=paper"]) == 1
    assert "paper" in capsys.readouterr().err


def test_it_runs_as_a_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dperm.report", "--root", str(tmp_path), "scale=tiny"], capture_output=True, text=True
    )
    assert done.returncode == 1 and done.stderr.startswith("error: there is no ") and "Traceback" not in done.stderr
