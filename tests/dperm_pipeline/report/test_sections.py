"""What the frame of the report is made of: counts, badges, notes, tables, and what is packed into the page."""

import base64
import gzip
import re
from pathlib import Path

import fake_rows
import jinja2
import pandas as pd
import pytest
import yaml

from dperm.errors import CorruptFile
from dperm_pipeline.report import assets, rows_read, sections

ROOT = Path(__file__).parents[3]
VERDICTS = ("refuted", "holds up", "not audited")


def test_papers_are_counted_by_verdict_and_headline():
    claims = [
        {"paper": "li2021", "kind": "holds as printed", "headline": "yes"},
        {"paper": "li2021", "kind": "fails", "headline": "no"},
        {"paper": "kifer2012", "kind": "holds as printed", "headline": "no"},
    ]
    privacy = pd.DataFrame(
        [("mine2030", "refuted", "laplace"), ("mine2030", "refuted", "half-noise"), ("li2021", "holds up", "erm")],
        columns=["paper", "verdict", "variant"],
    )
    counted = sections.papers(claims, privacy, VERDICTS)
    assert [paper["key"] for paper in counted] == ["kifer2012", "li2021", "mine2030"]
    li = counted[1]
    assert {kind: count for kind, count in li["claims"].items() if count} == {"holds as printed": 1, "fails": 1}
    assert {kind: count for kind, count in li["headline"].items() if count} == {"holds as printed": 1}
    assert li["guarantees"] == {"refuted": 0, "holds up": 1, "not audited": 0}
    assert counted[2]["title"] == "mine2030" and counted[2]["guarantees"]["refuted"] == 2
    # Half of the noise was put in by us: counted apart.
    assert [paper["controls"] for paper in counted] == [0, 0, 1]


def test_refuted_guarantees_are_gathered_by_mechanism_with_the_worst_one():
    def row(mechanism, epsilon, bound, *errata, verdict="refuted", variant="gamma", neighbours="add/remove", note=""):
        exact = {"epsilon": repr(epsilon), "bound": repr(bound)}
        return {
            "paper": "kifer2012", "mechanism": mechanism, "calibration": "paper", "verdict": verdict,
            "variant": variant, "exact": exact, "note": note, "share": bound / epsilon, "neighbours": neighbours,
            "epsilon": f"{epsilon:.4g}", "control": variant == "half-noise",
            "errata": [{"name": name} for name in errata],
        }  # fmt: skip

    beyond = [row("output", 1.0, 1.59996, "K10", "K1"), row("output", 3.0, 3.3, "K3", variant="ball")]
    ours = row("output", 1.0, 2.0, variant="half-noise", note="ours")
    line, other, last = sections.refuted(
        [
            *beyond,
            row("sparse", 1.0, 0.9, verdict="holds up"),
            ours,
            row("output", 1.0, 684.5, neighbours="replace-one", note="a formula"),
            row("tree", 1.0, 2.0, "K4", note="unsaid"),
        ]
    )
    assert (line["mechanism"], line["count"], line["laws"]) == ("output", 2, ["ball", "gamma"])
    assert (line["epsilon"], line["spends"], line["factor"]) == ("1", "at least 1.599", 1.59996)
    # The decisive erratum of each row, worst row first.
    assert line["errata"] == ["K10", "K3"] and line["notes"] == []
    # Another relation is another promise; an erratum or the reason why there is none.
    assert [found["neighbours"] for found in (line, other)] == ["add/remove", "replace-one"]
    assert (other["count"], other["errata"], other["notes"]) == (1, [], ["a formula"])
    assert other["spends"] == "no bound (an outcome that is impossible for the neighbour)"
    assert (last["errata"], last["notes"]) == (["K4"], [])


@pytest.mark.parametrize(
    ("name", "badge"),
    [
        ("covertype-16pct", "sample"), ("url-5700", "sample"), ("kdd-algebra", "sample"), ("kdd-like", "synthetic"),
        ("covertype-like", "synthetic"), ("hadamard", "synthetic"), ("adult", ""), ("covertype", ""), ("digits", ""),
    ],
)  # fmt: skip
def test_samples_and_synthetic_sets_of_the_catalogue_carry_a_badge(name, badge):
    catalogue = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))
    assert sections.badge(catalogue[name]) == badge


def test_the_summary_of_rows_holds_what_pandas_counts(tmp_path):
    frame = fake_rows.rows(datasets=("diabetes", "digits"), epsilons=(0.1, 1.0), repeats=7)
    frame = fake_rows.fail(frame, (frame["mechanism"] == "output") & (frame["repeat"] == 1))
    frame = frame[(frame["metric"] != "test_loss") | (frame["dataset"] == "digits")]
    path = fake_rows.write(frame, tmp_path / "kifer2012-output" / "rows.parquet")
    found = rows_read.summary(path)
    assert found.name == "kifer2012-output/rows.parquet" and found.rows == len(frame)
    assert found.failed == (frame["status"] == "failed").sum() > 0
    assert found.repeats == frame.groupby("metric", observed=True)["repeat"].nunique().to_dict()
    for name, part in frame.groupby("dataset", observed=True):
        assert found.datasets[name] == set(part["metric"])
    path.write_bytes(b"x")
    with pytest.raises(CorruptFile, match=r"rows\.parquet"):
        rows_read.summary(path)


def test_where_cells_average_the_rows_say_over_how_many(tmp_path):
    frame = fake_rows.of_figure("li2021-fig6")
    frame = pd.concat([frame, frame.head(2).assign(metric="runs", value=[300.0, 500.0])], ignore_index=True)
    found = rows_read.summary(fake_rows.write(frame, tmp_path / "li2021-adult" / "rows.parquet")).repeats
    assert found["runs"] == 500


def test_corrected_figures_stand_beside_their_own_and_numbered_ones_come_first():
    def figure(name):
        return {"name": name, "paper": name.partition("-")[0], "source": "rows"}

    names = ("li2021-moor", "li2021-fig10", "li2021-fig2-corrected", "li2021-fig2", "li2021-fig3-corrected", "own-x")
    ledger = {"name": "privacy-ledger-li2021", "paper": "privacy", "source": "privacy"}
    found = sections.by_paper([*map(figure, names), ledger], [])
    assert [section["key"] for section in found] == ["li2021", "own"]
    groups = [[one["name"].removeprefix("li2021-") for one in group] for group in found[0]["figures"]]
    assert groups == [["fig2", "fig2-corrected"], ["fig3-corrected"], ["fig10"], ["moor"]]


def test_a_table_is_sorted_by_the_numbers_that_its_cells_begin_with(tmp_path):
    path = tmp_path / "x.md"
    path.write_text("| a | b | c |\n| --- | --- | --- |\n| 1,000 [9, 11] | 2d | – |\n| −0.5 | 3 | 1e-06 |\n")
    (table,) = sections.tables([path], summaries={}, origins={})
    orders = [[cell["order"] for cell in line] for line in table["lines"]]
    assert orders == [["1000", None, ""], ["-0.5", None, "1e-06"]] and not table["long"]


def test_a_cell_with_a_pipe_survives_the_way_through_markdown():
    text = "| a | b |\n| --- | --- |\n| x \\| y | z |\n"
    assert sections.markdown_cells(text) == [["a", "b"], ["x | y", "z"]]


def test_a_payload_is_read_back_and_equal_data_give_equal_characters():
    packed = assets.pack("x", b"some words" * 99)
    assert packed == assets.pack("x", b"some words" * 99)
    found = re.fullmatch(r'<script type="text/plain" data-packed id="packed-x">([^<]+)</script>', packed)
    assert gzip.decompress(base64.b64decode(found[1])) == b"some words" * 99


def test_a_compact_figure_keeps_all_but_what_nobody_can_see():
    svg = (
        b'<svg viewBox="0 0 10.123456 5"><path d="M 1.23456 -2.00001 \nL 3 4.5 " style="stroke-width: 0.123456"/></svg>'
    )
    assert assets.compact(svg) == (
        b'<svg viewBox="0 0 10.123456 5"><path d="M 1.23 -2 L 3 4.5 " style="stroke-width: 0.123456"/></svg>'
    )


def test_a_compact_figure_joins_strokes_that_look_alike_and_names_looks():
    look, other = 'style="fill: none; stroke: #000000"', 'style="fill: none; stroke: #0072b2"'
    bars = "\n ".join(f'<path d="M {k} 0 L {k} 1 " clip-path="url(#p)" {look}/>' for k in range(3))
    marks = "".join(f'<use xlink:href="#m" x="{k}" y="2" style="fill: #d55e00"/>' for k in range(12))
    svg = f'<svg><style type="text/css">*{{a: b}}</style>{bars}<path d="M 9 9 " {other}/>{marks}</svg>'
    found = assets.compact(svg.encode()).decode()
    joined = f'<path d="M 0 0 L 0 1 M 1 0 L 1 1 M 2 0 L 2 1 " clip-path="url(#p)" {look}/><path d="M 9 9 " {other}/>'
    named = "".join(f'<use xlink:href="#m" x="{k}" y="2" class="s0"/>' for k in range(12))
    assert found == f'<svg><style type="text/css">*{{a: b}}.s0{{fill: #d55e00}}</style>{joined}{named}</svg>'
    # Where no rule can stand, looks stay where they are.
    assert assets.compact(b"<svg>" + marks.encode() + b"</svg>") == b"<svg>" + marks.encode() + b"</svg>"
    # What is filled is a shape of its own.
    filled = svg.replace("fill: none", "fill: red")
    assert assets.compact(filled.encode()).decode().count("<path") == 4


def test_libraries_leave_one_name_and_keep_their_licences():
    codes = assets.libraries()
    assert re.search(r"window\.DataTable=[\w$]+;", codes["datatables"]) and "window.vegaEmbed=" in codes["vega"]
    assert "export{" not in codes["datatables"] and "SpryMedia Ltd - datatables.net/license" in codes["datatables"]
    assert all(code.startswith("(()=>{") and code.endswith("})();") for code in codes.values())


@pytest.mark.parametrize(
    ("name", "experiment", "repeats", "words"),
    [
        ("kifer2012-bound", {"q1": {"noise"}}, {"noise": 1}, "Computed: nothing is repeated. Data: q1. Rows:"),
        (
            "kifer2012-theorem4",
            {"extremal": {"excess_risk", "run_risk"}, "no-data": {"noise_length"}},
            {"excess_risk": 1, "noise_length": 1, "run_risk": 1000},
            "Computed: nothing is repeated. Data: extremal. Rows:",
        ),
        (
            "kifer2012-gap",
            {"extremal": {"excess_risk", "run_risk"}},
            {"excess_risk": 1, "run_risk": 1000},
            "Its experiment: up to 1,000 repeats. Data: extremal. Rows:",
        ),
        (
            "kifer2012-example1",
            {"q1": {"atom", "slack"}, "rademacher": {"slack"}},
            {"atom": 1, "slack": 2000},
            "Computed: nothing is repeated. Data: q1. Rows:",
        ),
        ("li2021-fig6", {"adult": {"error"}, "digits": {"error"}}, {"error": 9}, "Up to 9 repeats. Data: adult. Rows:"),
        ("li2021-fig6", {"breast-cancer": {"error"}}, {"error": 9}, "Up to 9 repeats. Data: breast-cancer. Rows:"),
    ],
)
def test_a_figure_says_what_it_was_drawn_from_and_no_more(tmp_path, name, experiment, repeats, words):
    svg = tmp_path / f"{name}.svg"
    svg.write_text('<svg viewBox="0 0 4 3"/>')
    summaries = {"run": rows_read.RowsSummary("run/rows.parquet", 1, 0, "", datasets=experiment, repeats=repeats)}
    (figure,) = sections.figures([svg], claims={}, summaries=summaries, origins={name: "run"})
    macros = jinja2.Environment(loader=jinja2.PackageLoader("dperm_pipeline.report", "page")).get_template(
        "macros.html"
    )
    said = re.sub("<[^>]+>", "", macros.module.note(figure))
    assert said.startswith(words)
