"""The numbers on the page are those in Parquet: every verdict, every guarantee, every count."""

import re

import numpy as np
import pandas as pd
import plain
import pytest

from dperm_pipeline import claims, tables
from dperm_pipeline.claims import answers
from dperm_pipeline.report import ledgers

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def judged(run):
    return claims.read(run.folder / "claims.parquet")


@pytest.fixture(scope="module")
def answered(judged):
    return pd.DataFrame(answers.answers(judged))


@pytest.fixture(scope="module")
def ledger(run):
    return tables.read_records(run.folder / "privacy.parquet")


def exact(rows, heading):
    return [plain.number(row["cells"][heading]) for row in rows]


def same(shown, stored):
    np.testing.assert_array_equal(np.asarray(shown, dtype=float), np.asarray(stored, dtype=float))


def test_every_verdict_stands_on_the_page_with_its_numbers(run, judged):
    key = ["id", "variant", "dataset", "verdict"]
    names = {"id": "data-claim", **{name: f"data-{name}" for name in key[1:]}}
    # The page has an order of its own.
    shown = sorted(
        plain.every(run.report, "claims-table"), key=lambda row: [row["attributes"][names[name]] for name in key]
    )
    judged = judged.sort_values(key)
    found = [[row["attributes"][names[name]] for name in key] for row in shown]
    assert found == judged[key].to_numpy().tolist()
    for heading, column in (("measured", "measured"), ("the paper says", "expected")):
        same(exact(shown, heading), judged[column])
    for row, line in zip(shown, judged.itertuples(), strict=True):
        words = " ".join(row["cells"]["more"]["text"].split())
        assert " ".join((line.reason or "").split()) in words
        assert line.verdict in row["cells"]["verdict"]["text"]
        assert row["cells"]["form"]["text"].startswith(line.words)
        ends = (row["cells"]["measured"][f"data-{end}"] for end in ("low", "high"))
        same([float(end or "nan") for end in ends], [line.low, line.high])


def test_what_people_read_is_the_number_that_is_sorted_by(run):
    """A cell's text rounds its own data-order: three digits of it at least."""
    read = 0
    for table, heading in (("claims-table", "measured"), ("guarantees", "claimed ε")):
        for row in plain.every(run.report, table):
            cell = row["cells"][heading]
            value = plain.number(cell)
            text = cell["text"].replace("−", "-").replace(",", "")
            first = re.match(r"\s*(-?[\d.]+(?:e[+-]?\d+)?|-?inf|-?infinity|-?∞)", text)
            if np.isnan(value):
                assert not re.match(r"\s*[\d-]", text)
            else:
                assert float(first[1].replace("∞", "inf")) == pytest.approx(value, rel=6e-3)
                read += 1
    assert read > 20


def test_every_guarantee_stands_on_the_page_with_its_numbers(run, ledger):
    shown = plain.every(run.report, "guarantees")
    assert len(shown) == len(ledger)
    keys = ["paper", "mechanism", "variant", "calibration", "neighbours", "guarantee", "verdict"]
    found = pd.DataFrame([{key: row["attributes"][f"data-{key}"] for key in keys} for row in shown])
    headings = {"epsilon": "claimed ε", "delta": "δ", "bound": "ε really spent"}
    found = found.assign(**{column: exact(shown, heading) for column, heading in headings.items()})
    found["neighbours"] = found["neighbours"].replace({"add/remove": "add_remove", "replace-one": "replace"})
    stored = ledger.rename(columns={"audit_lower_bound": "bound"})[[*keys, "epsilon", "delta", "bound"]]
    order = [*keys, "epsilon", "delta"]
    pd.testing.assert_frame_equal(
        found.sort_values(order, ignore_index=True), stored.sort_values(order, ignore_index=True),
        check_dtype=False, check_exact=True,
    )  # fmt: skip


def test_mutants(run):
    stored = tables.read_records(run.folder / "mutants.parquet")
    shown = plain.every(run.report, "broken")
    bounds = exact(shown, "mutant spends at least")
    verdicts = {row["attributes"]["data-name"]: row["attributes"]["data-verdict"] for row in shown}
    found = {name: (verdict, bound) for (name, verdict), bound in zip(verdicts.items(), bounds, strict=True)}
    assert found == {row.name: (row.verdict, row.mutant_bound) for row in stored.itertuples(index=False)}


def test_answers(run, answered):
    shown = plain.every(run.report, "answers-table")
    given = {row["attributes"]["data-claim"]: row["attributes"]["data-verdict"] for row in shown}
    assert given == dict(zip(answered["claim"], answered["kind"], strict=True))
    lows = dict(zip(answered["claim"], answered["low"], strict=True))
    same(exact(shown, "measured"), [lows[row["attributes"]["data-claim"]] for row in shown])


def test_counts_at_the_top_are_those_of_the_ledgers(run, desk, answered, ledger):
    overview = " ".join(desk("claims").locator("main").inner_text().split())
    overview += " " + " ".join(desk("ledger").locator("ul.counts").inner_text().split())
    for verdicts, given in ((answers.ANSWERS, answered["kind"]), (ledgers.PRIVACY, ledger["verdict"])):
        for verdict in verdicts:
            assert re.search(rf"\b{(given == verdict).sum()} ?[✓◐◇✗~–]? ?{verdict}", overview), (verdict, overview)


def test_counts_of_each_paper(run, desk, answered, ledger):
    for paper in answered["paper"].unique():
        row = desk("index").locator(f"tr[data-paper='{paper}']").first
        for heading, frame, column in (
            ("claims", answered, "kind"),
            ("headline claims", answered[answered["headline"]], "kind"),
            ("guarantees", ledger, "verdict"),
        ):
            words = " ".join(row.locator(f"[data-name='{heading}']").inner_text().split())
            for verdict, count in frame.loc[frame["paper"] == paper, column].value_counts().items():
                assert re.search(rf"\b{count}\b", words), (paper, heading, verdict, words)
