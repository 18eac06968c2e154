"""Claims that sum up others, and claims about points through the catalogue."""

import json

import pandas as pd
import pytest
import together
from claim_points import SCHEMA, claim, noise, table

from dperm_pipeline import claims, tables
from dperm_pipeline.claims import catalogue as catalogue_of
from dperm_pipeline.claims import ordered, weakest

# -- a summary of others ---------------------------------------------------------------------------------------------


@together.over(
    "verdicts, expected",
    [
        (["reproduced", "reproduced"], "reproduced"), (["reproduced", "inconclusive"], "inconclusive"),
        (["inconclusive", "not reproduced"], "not reproduced"), (["reproduced", "not run"], "inconclusive"),
        (["not run", "not run"], "not run"), (["reproduced"], "inconclusive"),
    ],
)  # fmt: skip
def test_a_summary_is_as_strong_as_its_weakest_member(verdicts, expected):
    names = ["N-c43", "N-c44"]
    records = [{"id": n, "variant": "printed", "verdict": v} for n, v in zip(names, verdicts, strict=False)]
    records += [{"id": "N-c43", "variant": "corrected", "verdict": "not reproduced"}]
    found = weakest.decide({"members": names, "variant": "printed"}, verdicts=records)
    assert found.verdict == expected and found.n == len(verdicts)


@pytest.mark.parametrize(("half", "expected"), [("reproduced", "reproduced"), ("not reproduced", "not reproduced")])
def test_the_halves_of_a_member_count(half, expected):
    records = [{"id": "N-c44", "variant": "printed", "verdict": "reproduced"}]
    words = "as printed, the contrast"
    records += [{"id": "N-c44", "variant": "printed-over-contrast", "words": words, "verdict": half}]
    records += [{"id": "N-c44", "variant": "corrected-over-contrast", "verdict": "not reproduced"}]
    records += [{"id": "N-c44", "variant": "printed-over-control", "verdict": "not reproduced", "beside": True}]
    found = weakest.decide({"members": ["N-c44"], "variant": "printed"}, verdicts=records)
    assert found.verdict == expected and found.n == 2 and f"N-c44 ({words}) {half}" in found.reason


def test_a_member_s_test_that_was_not_run_counts_for_neither_side_where_another_was():
    records = [{"id": "N-c44", "variant": "printed", "verdict": verdict} for verdict in ("reproduced", "not run")]
    found = weakest.decide({"members": ["N-c44"], "variant": "printed"}, verdicts=records)
    assert found.verdict == "reproduced" and found.n == 1


# -- through the catalogue -------------------------------------------------------------------------------------------


def judged(tmp_path, entries, rows):
    (tmp_path / "claims.yaml").write_text(json.dumps(entries))
    catalogue = catalogue_of.load(tmp_path / "claims.yaml", SCHEMA)
    tables.write(rows, tmp_path / "rows.parquet", metadata={})
    out = tmp_path / "claims.parquet"
    claims.judge(
        catalogue,
        {"li2021-simulations": tmp_path / "rows.parquet"},
        out,
        unavailable={"adult": "no mirror"},
        metadata={},
    )
    return claims.read(out)


def test_data_sets_are_pooled_where_they_are_points_and_apart_where_not(tmp_path):
    rows = table(
        lambda v, d, e, s: (1.0 if d == "linear-200" else -1.0) * (v == "vs_plus") + 0.01 * noise(13),
        datasets=("linear-200", "linear-500", "logistic-500"),
    )
    both = ["linear-200", "linear-500"]
    entries = [
        # A summary may stand before what it sums up.
        {**claim(id="N-c01", test="weakest", members=["N-c02", "N-c03"]), "datasets": both},
        claim(id="N-c02", test="ordered", datasets=both, margin=0.02),
        claim(
            id="N-c03", test="ordered", datasets=[*both, "digits", "adult"], margin=0.02, points=["epsilon", "strength"]
        ),
    ]
    for name in ("comparisons", "points", "metric", "datasets"):
        entries[0].pop(name)
    found = judged(tmp_path, entries, rows)
    assert found["id"].tolist() == ["N-c01", "N-c02", *["N-c03"] * 4]
    assert found["dataset"].tolist() == ["", "", "adult", "digits", *both]
    assert found["verdict"].tolist() == [
        "not reproduced", "not reproduced", "not run", "not run", "reproduced", "not reproduced",
    ]  # fmt: skip
    assert "1 of 2 points are above 0, 1 fail" in found["reason"][1]
    assert "unavailable: no mirror" in found["reason"][2] and "not in this scale's grid" in found["reason"][3]


def test_only_the_rows_that_a_claim_is_about_are_read(tmp_path, monkeypatch):
    rows = table(lambda *_: noise(14), datasets=("linear-200", "linear-500"), epsilons=(0.4, 1.0))
    rows = pd.concat([rows, rows.assign(metric="other")], ignore_index=True)
    seen = []

    def decide(rule, rows):
        seen.append(rows)
        return claims.Verdict("inconclusive", "")

    monkeypatch.setattr(ordered, "decide", decide)
    entry = claim(test="ordered", datasets=["linear-200"], variants={"printed": {"where": {"epsilon": [1.0]}}})
    judged(tmp_path, [entry], rows)
    assert [len(frame) for frame in seen] == [40]
    assert set(seen[0].columns) == {
        "dataset", "epsilon", "strength", "variant", "repeat", "metric", "value", "status",
    }  # fmt: skip
