"""The report's claims: what is in claims.parquet stands on the page, with the command that decides each claim anew."""

import json
import math
import re
from html import unescape
from pathlib import Path

import pytest
import yaml

from dperm.errors import CorruptFile
from dperm_pipeline import claims, tables
from dperm_pipeline.claims import forms, words
from dperm_pipeline.report import assets, verdicts

ROOT = Path(__file__).parents[3]
CATALOGUES = {path.stem: path for path in sorted((ROOT / "resources/claims").glob("*.yaml"))}


def record(**own):
    return {
        "id": "K-c16", "paper": "kifer2012", "variant": "printed", "dataset": "adult", "verdict": "reproduced",
        "place": "Theorem 36; errata K6 and K99", "statement": "a < b", "measured": 0.123456789012345, "low": 0.1,
        "high": math.inf, "expected": 0.5, "certified": None, "n": 1200,
        "figure": "kifer2012-output", "reason": "as <b> says",
        "test": "weakest", "note": "As the weakest of K-c17 and K-c99: `<b>`.", "experiment": "kifer2012-output",
        "headline": True, "held": 2, "points": 3, "depends_on": "", "choice": "", "remark": "",
        "words": "as printed",
        "beside": False, **own,
    }  # fmt: skip


NOT_RUN = {"verdict": "not run", "headline": False, **dict.fromkeys(("measured", "low", "high", "expected", "n"))}


@pytest.fixture
def written(tmp_path):
    def write(*records):
        path = tmp_path / "claims.parquet"
        tables.write_records(records, claims.SCHEMA, path, metadata={})
        return path

    return write


@pytest.fixture
def context(written):
    records = [record(), record(id="K-c17", dataset="", **NOT_RUN, figure="privacy-ledger", test="ledger")]
    return verdicts.context(written(*records), scale="quick", errata={"K6"})


def test_numbers_are_short_for_people_and_whole_for_sorting(context):
    first, second = context["rows"]
    assert (first["shown"], first["expected_shown"], first["n"]) == ("0.123 [0.1, ∞]", "0.5", "1,200")
    exact = [float(first[key]) for key in ("measured", "low", "high", "expected")]
    assert exact == [0.123456789012345, 0.1, math.inf, 0.5]
    assert {second[key] for key in ("shown", "expected_shown", "n", "measured", "low", "high", "expected")} == {""}


def test_an_exact_value_is_told_without_an_interval(written):
    (row,) = verdicts.context(written(record(measured=2.0, low=2.0, high=2.0)), scale="quick")["rows"]
    assert (row["shown"], row["low"], row["high"]) == ("2", "2.0", "2.0")


def test_rows_are_told_apart_and_found_by_their_keys(context):
    assert [row["row"] for row in context["rows"]] == ["claim-K-c16-printed-adult", "claim-K-c17-printed"]
    assert [row["headline"] for row in context["rows"]] == ["yes", "no"]
    row = context["rows"][0]
    assert set(json.loads(context["options"])["filters"]) <= set(row)


def test_papers_come_in_the_order_in_which_they_appeared(written):
    made = written(
        record(id="D-c01", paper="dwork2018"), record(id="N-c01", paper="li2021"), record(id="J-c02", paper="jain2013"),
        record(id="J-c01", paper="jain2013"), record(id="K-c01"),
    )  # fmt: skip
    rows = verdicts.context(made, scale="quick")["rows"]
    assert [row["id"] for row in rows] == ["K-c01", "J-c02", "J-c01", "D-c01", "N-c01"]


def test_the_expected_value_stands_in_the_details_with_its_place(written):
    """And how the command is to be run, once."""
    from dperm_pipeline import report

    told = verdicts.context(written(record(expected=0.155), record(dataset="", expected=None)), scale="quick")
    text = report.render("tests.html", claims=told, tests=told["rows"], here={})
    more = re.findall(r'<td class="more">.*?</dl>', text, re.DOTALL)
    details = [unescape(re.sub(r"<[^>]+>", "", found)) for found in more]
    assert "said inTheorem 36; errata K6 and K99: 0.155\n" in details[0]
    assert "said inTheorem 36; errata K6 and K99\n" in details[1]
    assert text.count(". .venv/bin/activate") == 1


def test_each_claim_has_one_answer_above_its_tests(written):
    records = [
        record(test="exact"), record(test="exact", variant="tight-over-n", words="tight, over n"),
        record(id="K-c17", test="exact", verdict="not run"),
    ]  # fmt: skip
    context = verdicts.context(written(*records), scale="quick")
    first, second = context["answers"]
    assert (first["claim"], first["words"], first["points"]) == ("K-c16", "holds as printed", "2 of 3")
    assert [test["name"] for test in first["tests"]] == [
        "K-c16 as printed, on adult",
        "K-c16 tight, over n, on adult",
    ]
    assert {test["row"] for test in first["tests"]} <= {row["row"] for row in context["rows"]}
    assert (second["words"], len(second["tests"])) == ("not run", 1)
    assert {name: count for name, count in context["counts"].items() if count} == {"holds as printed": 1, "not run": 1}


def test_an_answer_has_beside_it_what_stood_before(written):
    from dperm_pipeline import report

    note = "Margin 0.1. Changed after outcomes were known (2026-11-25), for K6's sake: before, `not reproduced`."
    records = [
        record(note=note, test="exact"), record(note=note, test="exact", variant="tight"),
        record(id="K-c17", test="exact"),
    ]  # fmt: skip
    context = verdicts.context(written(*records), scale="quick", errata={"K6"})
    first, second = context["answers"]
    assert list(first["changed"]) == ["K-c16"] and second["changed"] == {}
    page = report.render("claims.html", claims=context, counts={"claims": context["counts"]})
    assert page.count("before, <code>not reproduced</code>") == 1 and "Margin 0.1" not in page


def test_a_test_is_shown_in_words(written):
    """Its name is the id of its row, and nothing that people read."""
    from dperm_pipeline import report

    shown = verdicts.context(written(record(variant="tight-over-n", words="tight, over n")), scale="quick")
    (row,) = shown["rows"]
    text = report.render("tests.html", claims=shown, tests=[row], here={})
    read = unescape(re.sub(r"<[^>]+>", "", text))
    assert "tight, over n" in read and "-over-" not in read
    assert row["row"] == "claim-K-c16-tight-over-n-adult" and f'id="{row["row"]}"' in text
    assert shown["forms"] == {"tight": forms.FORMS["tight"][1]}
    assert json.loads(shown["options"])["filters"]["form"]["words"]["printed"] == "as printed"


def test_claims_of_a_figure_are_counted_by_verdict(context):
    assert context["by_figure"]["privacy-ledger-kifer2012"] == [
        {"id": "K-c17", "place": record()["place"], "row": "claim-K-c17-printed", "verdicts": {"not run": 1}}
    ]


def test_what_is_on_the_page_is_linked_and_all_else_escaped(context):
    row = context["rows"][0]
    assert row["place"] == 'Theorem 36; errata <a href="#erratum-K6">K6</a> and K99'
    link = '<a href="#claim-K-c17-printed">K-c17</a>'
    assert row["note"] == f"As the weakest of {link} and K-c99: <code>&lt;b&gt;</code>."
    assert row["reason"] == "as &lt;b&gt; says"


def test_every_rule_is_explained(context):
    assert set(words.RULES) == set(claims.TESTS)
    assert set(words.GLYPHS) == set(claims.VERDICTS) and len(set(words.GLYPHS.values())) == len(claims.VERDICTS)
    assert set(context["rules"]) == {"ledger", "weakest"}


def test_a_hostile_variant_is_escaped_wherever_it_is_linked(written):
    hostile = '"><script>alert(1)</script>'
    (row, *_) = verdicts.context(written(record(variant=hostile, note="As K-c16.")), scale="quick")["rows"]
    assert "<script" not in row["note"] and row["note"].count('"') == 2
    assert "<script>alert" not in assets.pack(f"figure-{hostile}", b"1")


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"verdict": "maybe"}, r"claims\.parquet: unknown verdict 'maybe'; known: reproduced, .*run again"),
        ({"test": "tarot"}, r"claims\.parquet: unknown test 'tarot'; known: bound, .*run again"),
        ({"statement": None}, r"claims\.parquet: column 'statement' has empty cells; .*run again"),
        ({"headline": None}, r"claims\.parquet: column 'headline' has empty cells; .*run again"),
    ],
)
def test_what_no_run_writes_is_refused(written, own, said):
    with pytest.raises(CorruptFile, match=said):
        verdicts.context(written(record(), record(**own)), scale="quick")


def test_a_missing_file_is_told_with_the_remedy(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no .*claims\.parquet; run snakemake"):
        verdicts.context(tmp_path / "claims.parquet", scale="quick")


def test_a_run_of_some_papers_is_asked_for_these_again(tmp_path):
    path = tmp_path / "claims.parquet"
    both = [record(), record(id="J-c01", paper="jain2013")]
    for selected, end in (([], ""), (["kifer2012"], " 'papers=[kifer2012]'"), (["jain2013", "kifer2012"], "")):
        tables.write_records(both, claims.SCHEMA, path, metadata={"papers": selected})
        row = verdicts.context(path, scale="quick")["rows"][0]
        assert row["command"].endswith(f"--config scale=quick{end}")


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "claims.parquet").write_bytes(b"PAR1")
    with pytest.raises(CorruptFile, match=r"claims\.parquet"):
        verdicts.context(tmp_path / "claims.parquet", scale="quick")


def test_the_partial_shows_every_row_with_its_numbers_and_command(context):
    from dperm_pipeline import report

    page = report.render("claims.html", claims=context, counts={"claims": context["counts"]})
    page += report.render("tests.html", claims=context, tests=context["rows"], here={"kifer2012-output": (4, 3)})
    rows = re.findall(r'<tr id="([^"]+)"', page)
    assert rows == [row["row"] for name in ("answers", "rows") for row in context[name]]
    for row in context["rows"]:
        assert f'data-order="{row["measured"]}" data-low="{row["low"]}" data-high="{row["high"]}"' in page
        assert row["command"] in unescape(page) and f'data-copy="{row["command"]}"' in page
    assert "a &lt; b" in page and 'data-figure="kifer2012-output"' in page and '<dt id="rule-weakest">' in page


@pytest.mark.parametrize("paper", CATALOGUES)
def test_the_entries_of_a_claim_agree_whether_it_is_a_headline(paper):
    """Some of each paper are, some are not; a claim of parts is as its parts are."""
    told = {}
    for entry in yaml.safe_load(CATALOGUES[paper].read_text(encoding="utf-8")):
        told.setdefault(entry["id"][:5], set()).add(entry.get("headline", False))
    assert {len(said) for said in told.values()} == {1}
    assert 10 < sum(said == {True} for said in told.values()) < len(told) / 1.5
