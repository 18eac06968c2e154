"""The explorer: what is chosen is what is drawn and listed, and every number is the one that the rows give."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from playwright.sync_api import expect
from scipy import stats

from dperm_pipeline import tables

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

SOURCE, DELTA = "kifer2012-output", 1e-6


def change(page, name, choose):
    """Choose in one of the explorer's menus, and wait until the charts are drawn anew."""
    box = page.locator("#explorer-box")
    before = int(box.get_attribute("data-shown"))
    choose(page.locator(f"#explorer-{name}"))
    expect(box).not_to_have_attribute("data-shown", str(before))


def pick(page, name, words):
    """Choose the entry that these words begin, unless it is chosen or the only one."""
    control = page.locator(f"#explorer-{name}")
    options = control.locator("option").all_inner_texts()
    (label,) = [option for option in options if re.match(words, option)]
    if control.evaluate("control => control.selectedOptions[0].textContent") != label:
        change(page, name, lambda menu: menu.select_option(label=label))


def listed(page):
    """Return the rows of the explorer's table that are mechanisms: their keys and the cell of the mean."""
    return page.locator("#explorer-table tbody tr[data-mechanism]").evaluate_all(
        "rows => rows.map(row => ({...row.dataset, guarantee: row.cells[1].textContent.trim(), "
        "mean: Number(row.cells[2].dataset.order), shown: row.cells[2].textContent, "
        "interval: row.cells[3].textContent, "
        "n: Number(row.cells[5].dataset.order)}))"
    )


@pytest.fixture
def chosen(desk, run):
    """The explorer at a data set, metric and budget of kifer2012-output, and the rows of just that."""
    path = run.folder / SOURCE / "rows.parquet"
    if not path.exists():
        pytest.skip(f"the run holds no {SOURCE}")
    rows = tables.read(path)
    rows = rows[(rows["metric"] == "test_loss") & rows["chosen"] & (rows["status"] == "ok")]
    dataset = "breast-cancer" if "breast-cancer" in set(rows["dataset"]) else sorted(rows["dataset"])[0]
    page = desk("choose")
    # Menus from the first to the last: each offers what those before it leave.
    titles = yaml.safe_load((ROOT / "config/datasets.yaml").read_text(encoding="utf-8"))
    pick(page, "dataset", re.escape(titles[dataset]["title"]))
    pick(page, "neighbours", "add")
    pick(page, "source", r"a linear model \(Kifer 2012\)")
    pick(page, "metric", "loss per test row")
    return page, rows[(rows["dataset"] == dataset) & (rows["neighbours"] == "add_remove")]


def test_means_and_intervals_are_those_of_the_rows(chosen):
    """Mean over repeats and its Student interval, by another way than the page's."""
    page, rows = chosen
    table = page.locator("#explorer-table")
    if page.locator("#explorer-delta option").count() > 1:
        change(page, "delta", lambda menu: menu.select_option(index=menu.locator("option").count() - 1))
    epsilon, delta = (float(table.get_attribute(f"data-{name}")) for name in ("epsilon", "delta"))
    shown = listed(page)
    assert len(shown) >= 2
    for line in shown:
        own = rows[
            (rows["mechanism"] == line["mechanism"])
            & (rows["calibration"] == line["calibration"])
            & (rows["epsilon"] == epsilon)
            & (rows["delta"] == float(line["delta"]))
        ]
        if line.get("variant"):
            own = own[own["variant"] == line["variant"]]
        each = own.groupby("repeat")["value"].mean()
        assert line["mean"] == pytest.approx(each.mean(), rel=2e-4) and line["n"] == len(each)
        assert float(line["shown"]) == pytest.approx(line["mean"], rel=2e-3)
        low, high = stats.t.interval(0.95, len(each) - 1, each.mean(), stats.sem(each))
        assert [float(end) for end in line["interval"].strip("[]").split(", ")] == pytest.approx([low, high], rel=3e-3)
        assert float(line["delta"]) <= delta
    assert [line["mean"] for line in shown] == sorted(line["mean"] for line in shown)


def test_only_real_guarantees_until_the_others_are_asked_for(chosen, run):
    """A mechanism that the ledger refutes, or nobody proved, is not listed as equal."""
    page, _ = chosen
    # At delta = 0, where all of this experiment's noise is gamma noise.
    pick(page, "delta", "0$")
    ledger = tables.read_records(run.folder / "privacy.parquet")
    ledger = ledger[(ledger["paper"] == "kifer2012") & (ledger["neighbours"] == "add_remove")]
    wrong = ledger[ledger["verdict"] == "refuted"]
    false = set(wrong[wrong["variant"] == "gamma"][["mechanism", "calibration"]].itertuples(index=False, name=None))
    before = listed(page)
    assert before and not [line for line in before if (line["mechanism"], line["calibration"]) in false]
    change(page, "every", lambda box: box.check())
    after = listed(page)
    assert false <= {(line["mechanism"], line["calibration"]) for line in after}
    added = [line for line in after if line["real"] == "false"]
    assert len(added) == len(after) - len(before) and all(line["guarantee"][0] in "✗?" for line in added)


def test_menus_and_caption_have_no_name_of_an_experiment(chosen):
    page, _ = chosen
    menus = page.locator("main select option").all_inner_texts()
    assert "a linear model (Kifer 2012)" in menus
    assert not [words for words in [*menus, page.locator("#explorer-caption").inner_text()] if SOURCE in words]


def test_another_budget_gives_other_numbers(chosen):
    """Epsilon moves the table, the caption and the chart; the chart is drawn by the library that the page carries."""
    page, _ = chosen
    options = page.locator("#explorer-epsilon option").all_inner_texts()
    first, found = listed(page), page.locator("#explorer-chart svg").inner_html()
    now = page.locator("#explorer-epsilon").evaluate("menu => menu.selectedOptions[0].textContent")
    other = next(option for option in options if option != now)
    change(page, "epsilon", lambda menu: menu.select_option(label=other))
    assert listed(page) != first and page.locator("#explorer-chart svg").inner_html() != found
    expect(page.locator("#explorer-caption")).to_contain_text(f"ε = {other}")
    # The address says what is chosen, and leads to it again.
    expect(page).to_have_url(re.compile(rf"#explorer\?.*epsilon={re.escape(other)}(&|$)"))
    assert page.locator("#explorer-lines svg").count() == 1
    assert page.evaluate("typeof vegaEmbed") == "function"


def test_what_has_a_proof_is_filled_and_a_line_has_one_point_at_each_epsilon(chosen):
    """The page's own style once emptied all marks, and two deltas of a method shared one line."""
    page, _ = chosen
    fills = page.locator(
        ":is(#explorer-chart, #explorer-lines) :is(.mark-symbol, .mark-area).role-mark path"
    ).evaluate_all("all => all.map(path => getComputedStyle(path).fill)")
    assert len(fills) > 3 and "none" not in fills
    drawn = page.locator("#explorer-lines .mark-line.role-mark path").evaluate_all(
        "all => all.map(path => path.getAttribute('d'))"
    )
    places = [[float(x) for x in re.findall(r"[ML]([-.\d]+),", path)] for path in drawn]
    assert places and all(line == sorted(set(line)) for line in places)


def test_every_choice_can_be_shown(visit):
    """Each data set, in both colour schemes: a table with numbers, a chart, and no error."""
    page = visit(at="choose", scheme="dark")
    for value in page.locator("#explorer-dataset option").evaluate_all("all => all.map(option => option.value)"):
        if page.locator("#explorer-dataset").input_value() != value:
            change(page, "dataset", lambda menu, value=value: menu.select_option(value))
        assert page.locator("#explorer-table tbody tr").count() > 0
        means = [line["mean"] for line in listed(page)]
        assert not np.isnan(pd.Series(means, dtype=float)).any()
        assert page.locator("#explorer-chart svg, #explorer-lines svg").count() >= 1
