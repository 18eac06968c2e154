"""The report stands alone, escapes what it is given, and leaves nothing out."""

import base64
import gzip
import hashlib
import html
import json
import math
import re
import shutil
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import fake_audits
import fake_rows
import figure_outline
import pandas as pd
import pytest

from dperm.errors import CorruptFile
from dperm_pipeline import claims, figures, report, tables
from dperm_pipeline.claims import answers
from dperm_pipeline.report import made, site
from dperm_pipeline.report.__main__ import main

HOSTILE = "<script>alert('x')</script> & \"quoted\""
VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """Checks that tags are balanced, and gathers what a page shows and links to."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.text, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        self.words_so_far = " ".join(" ".join(self.text).split())

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    @property
    def words(self):
        """All that is shown, of a page or a part of one that closes what it opens."""
        assert self.open == []
        return self.words_so_far

    def handle_data(self, data):
        if not self.open or self.open[-1] not in ("style", "script"):
            self.text.append(data)


# Of the figures and tables that there are; one has a table with | in its words.
SHOWN = (
    "audit-mutants", "kifer2012-bounds", "kifer2012-output", "kifer2012-table1", "privacy-ledger",
    "privacy-ledger-kifer2012",
)  # fmt: skip


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
        "config": {
            "scale": "quick",
            "seed": 2012,
            "mirror": HOSTILE,
            "datasets": {
                "digits": {"title": "Digits", "citation": "A. N. Author"},
                "diabetes": {"title": "A tenth of it", "citation": "A. N. Author", "sample": {"train": 9}},
            },
        },
        "provenance": {
            "packages": {"numpy": "2.4.6"},
            "made": "2026-01-02",
            "code": {"version": "1", "commit": "abcdef0123456789", "changed": True},
            "anything": {HOSTILE: [1, 2]},
        },
        "unavailable": missing,
        "errata": Path(__file__).parents[3] / "docs/errata.md",
        "origins": {"kifer2012-output": "kifer2012-output"},
    }


@pytest.fixture(scope="module")
def page(folder):
    """All pages, one after the other."""
    return whole(folder)


@pytest.fixture(scope="module")
def folder(inputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("report")
    report.build(out, **inputs)
    return out


def whole(folder):
    return "".join(path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.html")))


def test_the_first_page_tells_counts_data_sets_scale_and_run(folder, inputs):
    top = Page((folder / "index.html").read_text(encoding="utf-8")).words
    kinds = [answer.kind for answer in answers.answers(claims.read(inputs["claims"]))]
    for kind in answers.ANSWERS:
        assert not kinds.count(kind) or re.search(rf"\b{kinds.count(kind)} {kind}", top)
    assert "That befell 1 guarantees of 1 mechanisms, 1 hold up, and 0 were not attacked" in top
    assert "scale: quick" in top and "seed: 2012" in top and "commit: abcdef012345 and changes" in top
    assert "made: 2026-01-02" in top
    assert "data: digits" in top and "data: diabetes sample" in top and "data: adult" not in top
    assert "diabetes: sample A tenth of it" in top
    assert f"adult offline: {' '.join(HOSTILE.split())}" in top  # nothing stands in for it


OF_PAPERS = ("paper-kifer2012", "paper-jain2013", "paper-dwork2018", "paper-li2021")
PAGES = ("index", *OF_PAPERS, "claims", "ledger", "choose", "libraries", "provenance", "search")


def test_every_page_is_there_and_leads_to_all_others(folder):
    assert {path.name for path in folder.glob("*.html")} == {f"{name}.html" for name in PAGES}
    for path in folder.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        menu = re.findall(r'href="([^"]+)"', re.search(r"<nav.*?</nav>", text, re.DOTALL)[0])
        assert menu == [f"{name}.html" for name in PAGES]
        assert text.count('aria-current="page"') == 1 == len(re.findall("<h1", text))


def test_it_stands_alone(folder):
    """No link to anything outside the folder, every link to a place that is there, and no place twice."""
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    for name, parsed in pages.items():
        assert not [tag for tag, _ in parsed.tags if tag in ("iframe", "object", "embed")]
        assert len(parsed.ids) == len(set(parsed.ids))
        for _, attrs in parsed.tags:
            for key in {"src", "href"} & set(attrs):
                file, _, place = attrs[key].partition("#")
                place = unquote(place.partition("?")[0])
                assert attrs[key] == "data:," or (folder / (file or name)).is_file(), attrs[key]
                assert not place or place in pages[file or name].ids, attrs[key]


def test_old_addresses_of_the_one_page_lead_on(folder):
    """By the beginnings of ids, the longest first, as page.js looks them up."""
    found = site.moved({"claim-K-1": "a", "claim-K-2": "a", "claim-J-1": "b", "x": "a", "x-1": "b", "x-2": "a"})
    assert found == {"claim-J": "b", "claim-K": "a", "x": "a", "x-1": "b", "x-2": "a"}
    index = (folder / "index.html").read_text(encoding="utf-8")
    moved = json.loads(re.search(r'id="moved">(.*?)</script>', index, re.DOTALL)[1])
    pages = {path.name: Page(path.read_text(encoding="utf-8")) for path in folder.glob("*.html")}
    for name, parsed in pages.items():
        for place in (one for one in parsed.ids if not one.startswith("packed-")):
            if sum(place in other.ids for other in pages.values()) == 1 and place not in pages["index.html"].ids:
                words = place.split("-")
                beginnings = ["-".join(words[:k]) for k in range(len(words), 0, -1)]
                assert next((moved[one] for one in beginnings if one in moved), None) == name, place


def test_a_search_finds_claims_guarantees_figures_and_errata_where_they_are(folder):
    packed = payloads((folder / "search.html").read_text(encoding="utf-8"), "search")
    found = json.loads(gzip.decompress(base64.b64decode(packed[0])))
    assert {kind for kind, *_ in found} >= {"claim", "test", "guarantee", "figure", "table", "erratum", "mutant"}
    for _, address, title, words in found:
        file, _, place = address.partition("#")
        assert f'id="{html.escape(place)}"' in (folder / file).read_text(encoding="utf-8") and title and words
    assert ["figure", "paper-kifer2012.html#figure-kifer2012-output"] in [entry[:2] for entry in found]


def test_the_policy_allows_every_script_of_the_page_and_no_other(page):
    """A browser runs an inline script if the policy holds the SHA-256 of its text."""
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    allowed = set(rules["script-src"].split())
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/]{43}='", value) for value in allowed)
    run = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert rules["img-src"] == "'self' file: data:"
    run += [gzip.decompress(base64.b64decode(packed)).decode() for packed in payloads(page, "library-")]
    assert len(run) >= 4 and {sha256(code) for code in run} == allowed


def payloads(page, prefix):
    return re.findall(rf'<script type="text/plain" data-packed id="packed-{prefix}[^"]*"[^>]*>([^<]+)</script>', page)


def sha256(code):
    return f"'sha256-{base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()}'"


def test_figures_lie_beside_the_pages_with_alt_text_caption_numbers_code_and_command(page, folder, inputs):
    parsed = Page(page)
    images = {attrs["data-figure"]: attrs for tag, attrs in parsed.tags if tag == "img" and attrs["alt"].endswith(".")}
    for path in inputs["figures"]:
        name, known = path.stem, figures.FIGURES[path.stem]
        svg = (folder / images[name]["src"]).read_text(encoding="utf-8")
        drawn, numbers = figure_outline.outline(svg)
        elements, exact = figure_outline.outline(path.read_text(encoding="utf-8"))
        assert drawn == elements and numbers == pytest.approx(exact, abs=0.0051)
        assert images[name]["alt"] == known.alt and " ".join(known.caption.split()) in parsed.words
        width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg).groups()
        assert images[name]["width"] == str(math.ceil(float(width)))
        assert images[name]["height"] == str(math.ceil(float(height)))
        assert f"snakemake --cores all results/quick/figures/{name}.svg --config scale=quick" in parsed.words
        assert f"{known.module.replace('.', '/')}.py, line " in parsed.words
    (rows,) = inputs["rows"]
    frame = tables.read(rows)
    frame = frame[(frame["status"] == "ok") & (frame["metric"] == "test_loss") & (frame["epsilon"] == 1.0)]
    told = pd.read_csv(folder / "figures/kifer2012-output.csv")
    told = told[(told["metric"] == "test_loss") & (told["epsilon"] == 1.0)]
    keys = [key for key in told.columns if key not in ("mean", "standard_deviation", "repeats")]
    each = frame.astype({key: told[key].dtype for key in keys}).groupby(keys)["value"]
    expected = each.agg(mean="mean", standard_deviation="std", repeats="count").reset_index()
    told = told.sort_values(keys, ignore_index=True)
    pd.testing.assert_frame_equal(told, expected.sort_values(keys, ignore_index=True), check_dtype=False)


def test_a_figure_of_too_many_numbers_says_that_it_has_no_csv(inputs, monkeypatch):
    monkeypatch.setattr(made, "LONGEST", 1)
    name, (rows,) = "kifer2012-output", inputs["rows"]
    note = {"experiment": name, "repeats": 1, "own": True, "datasets": []}
    words = {"title": "", "caption": "", "alt": "", "width": 1, "height": 1, "claims": [], "note": note}
    figure = {"name": name, "svg": b"<svg/>", "source": "rows", **words}
    files = made.files([figure], [], {name: rows}, {name: name}, "quick")
    assert figure["csv"] == "" and [*files] == [f"figures/{name}.svg"]
    page = report.render("drawn.html", paper={"figures": [[figure]], "tables": []})
    assert "No CSV: its numbers are more than 1 lines" in page and "numbers (CSV)" not in page


def test_each_table_is_shown_once_in_full(page, inputs):
    """But for the ledgers, which have tables of their own."""
    parsed = Page(page)
    shown = [attrs["id"] for tag, attrs in parsed.tags if tag == "table" and attrs.get("class") == "numbers"]
    own = [path for path in inputs["tables"][1::2] if figures.TABLES[path.stem].source == "rows"]
    assert sorted(shown) == sorted(f"numbers-{path.stem}" for path in own) and own
    for path in own:
        lines = path.read_text(encoding="utf-8").splitlines()
        for line in (lines[0], *lines[2:]):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            assert " ".join(" ".join(cell.replace("\\|", "|").split()) for cell in cells) in parsed.words


def test_a_table_in_csv_is_shown_too(inputs, tmp_path):
    csv = [path for path in inputs["tables"] if path.name == "kifer2012-output.csv"]
    report.build(tmp_path, **{**inputs, "tables": csv})
    assert "excess_risk_low" in Page((tmp_path / "paper-kifer2012.html").read_text()).words


def test_what_the_rows_say_stands_beside_a_figure(page):
    """Two data sets with nine repeats, and ten of what the settings were chosen by; none of the third."""
    figure = re.search(r'<figure id="figure-kifer2012-output">.*?</figure>', page, re.DOTALL)[0]
    words = Page(figure).words
    assert "Its experiment: up to 10 repeats. Data: diabetes, digits. Rows: kifer2012-output/rows.parquet" in words
    assert "1 claim is decided on it" in words and 'href="#claim-K-c38' in figure


def test_a_page_that_is_too_large_is_written_and_said_to_be(inputs, tmp_path, caplog, monkeypatch):
    """The limit is 3 MB a page."""
    assert report.assets.LIMIT == 3_000_000
    monkeypatch.setattr(report.assets, "LIMIT", 500_000)
    report.build(tmp_path, **inputs)
    heavy = [path for path in tmp_path.glob("*.html") if path.stat().st_size >= 500_000]
    assert [path.name for path in heavy] == ["choose.html"] and len(caplog.records) == 1
    assert re.search(r"choose\.html has 0\.\d\d MB, and should have less than 0\.5", caplog.text)


def test_what_is_missing_is_not_said_to_have_no_stand_in(page):
    """A sample or a synthetic set may be in use beside a set that could not be had."""
    words = Page(page).words
    assert "1 data set could not be had on this machine; no number here is its. A sample or a synthetic set" in words
    assert "stands in for" not in words


def test_rows_are_listed_with_checksum_and_failures(page, inputs):
    words = Page(page).words
    assert hashlib.sha256(inputs["rows"][0].read_bytes()).hexdigest() in words
    assert re.search(r"kifer2012-output/rows\.parquet [\d,]+ [1-9]\d* ", words)  # rows, failed rows


def test_everything_given_is_escaped(page):
    words = Page(page).words
    assert "<script>alert" not in page and words.count(" ".join(HOSTILE.split())) >= 1
    assert "a < b & c" in words and "Section 1 <RW>" in words


def test_equal_input_gives_equal_bytes(page, folder, inputs, tmp_path):
    report.build(tmp_path, **inputs)
    assert whole(tmp_path) == page
    for path in (one for one in folder.rglob("*") if one.is_file()):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes()


def test_a_run_without_claims_figures_or_rows_still_has_a_page(inputs, tmp_path):
    claims.judge([], {}, tmp_path / "claims.parquet", unavailable={}, metadata={})
    nothing = {"claims": tmp_path / "claims.parquet", "figures": [], "tables": [], "rows": [], "unavailable": {}}
    report.build(tmp_path / "pages", **{**inputs, **nothing, "origins": {}})
    words = Page(whole(tmp_path / "pages")).words
    assert "No claim belongs to the selected papers." in words and "could not be had" not in words


def test_broken_inputs_are_named_and_leave_no_page(inputs, tmp_path):
    svg, table = tmp_path / "x.svg", tmp_path / "x.md"
    svg.write_text("<html>503</html>")
    table.write_text("")
    with pytest.raises(CorruptFile, match=r"x\.svg is not an SVG figure"):
        report.build(tmp_path / "pages", **{**inputs, "figures": [svg]})
    with pytest.raises(CorruptFile, match=r"x\.md holds no table"):
        report.build(tmp_path / "pages", **{**inputs, "tables": [table]})
    with pytest.raises(FileNotFoundError):
        report.build(tmp_path / "pages", **{**inputs, "rows": [tmp_path / "none.parquet"]})
    assert not (tmp_path / "pages").exists()


def test_the_closing_lines_say_where_how_long_and_what(inputs, page, tmp_path, capsys):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "config.yaml").write_text("scale: quick\n")
    folder = tmp_path / "results" / "quick"
    (folder / "report").mkdir(parents=True)
    for name in ("claims", "privacy", "mutants"):
        shutil.copy(inputs[name], folder / f"{name}.parquet")
    root = ["--root", str(tmp_path)]
    assert main(root) == 1 and "run snakemake for this scale first" in capsys.readouterr().err
    (folder / "report" / "index.html").write_text("x")
    assert main(["--since", str(time.time() - 90.5), "--cores", "all", *root]) == 0
    text = capsys.readouterr().out
    assert text.startswith("claims: ") and "privacy: 1 refuted, 1 holds up, 0 not audited" in text
    assert "objective (paper, replace, gamma) claims epsilon 1 at delta 0 and spends at least 1.4" in text
    # A busy machine takes its time.
    assert re.search(rf"report: {re.escape(str(folder))}/report/index.html \(1 min 3\d s\)", text)
    # The clock was set back in the run: no times.
    assert main(["--since", str(time.time() + 7200), *root]) == 0
    assert capsys.readouterr().out.endswith(f"report: {folder}/report/index.html\n")
    assert main([*root, "--config", "seed=3", "scale=paper"]) == 1
    assert "paper" in capsys.readouterr().err


def test_it_runs_as_a_module(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "dperm_pipeline.report", "--root", str(tmp_path), "scale=tiny"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and done.stderr.startswith("error: there is no ") and "Traceback" not in done.stderr
