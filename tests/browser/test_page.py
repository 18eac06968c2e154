"""The page at work: it opens from disk alone, and what a reader clicks, types and opens does what it says."""

import os
import re
import subprocess
import sys

import plain
import pytest
from playwright.sync_api import expect
from settled import complete

from dperm_pipeline import claims

pytestmark = pytest.mark.slow

# Of the papers' pages any one would do.
PAGES = {"claims-table": "paper-kifer2012", "answers-table": "claims", "guarantees": "ledger"}


def info(page, table):
    """Return how many rows the table shows after filters and search."""
    words = page.locator(f"#{table}_info").inner_text()
    if "no rows" in words:
        return 0
    return int(re.search(r"of ([\d,]+) rows", words)[1].replace(",", ""))


def values(page, table, heading):
    """Return data-order of a column, of the rows that are on the screen, in their order."""
    cells = page.locator(f"#{table} > tbody > tr[id] > td[data-name='{heading}']")
    texts = cells.evaluate_all("cells => cells.map(cell => cell.dataset.order)")
    return [None if text == "" else float(text) for text in texts]


def choose(page, table, label, value):
    page.locator(f"#{table}_wrapper .filters").get_by_role("combobox", name=label, exact=True).select_option(value)


def test_every_page_opens_from_disk_whole(desk, run):
    """No error and no request (both are asked after every test), one h1, every figure drawn, below 3 MB."""
    figures = 0
    for name, path in run.pages.items():
        page = desk(name)
        assert page.url.startswith("file:") and page.locator("h1").count() == 1
        assert page.evaluate("document.compatMode") == "CSS1Compat"
        # Those far below are loaded when somebody comes near.
        sizes = page.locator("main figure > img").evaluate_all(
            "all => Promise.all(all.filter(image => image.checkVisibility()).map(async image => {"
            " image.loading = 'eager'; await image.decode(); return [image.naturalWidth, image.alt.length > 10]; }))"
        )
        assert all(width > 100 and described for width, described in sizes)
        figures += len(sizes)
        assert path.stat().st_size < 3e6
    assert figures >= 5


def test_nothing_outside_is_named_as_a_source(run):
    text = "".join(path.read_text(encoding="utf-8") for path in run.pages.values())
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    outside = r"<(?:img|script|link|iframe|source)[^>]*(?:src|href|srcset)=[\"'](?!data:|figures/)[^\"']"
    assert not re.findall(outside, markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("script-src")[1] and "http" not in policy


def test_hostile_words_of_data_are_only_words(desk, run):
    """What a file says is shown, never run: an alert or a request would fail this test."""
    if not run.made_up:
        pytest.skip("only the made-up run speaks of <script>")
    desk = desk("index")
    desk.locator("details.missing summary").click()
    expect(desk.locator("details.missing")).to_contain_text("<img src=x onerror=alert(1)>")
    assert desk.locator("img[src='x']").count() == 0


@pytest.mark.parametrize(
    ("table", "label"),
    [
        ("claims-table", "verdict"),
        ("answers-table", "paper"),
        ("claims-table", "form"),
        ("guarantees", "verdict"),
        ("guarantees", "neighbours"),
    ],
)
def test_a_filter_shows_exactly_its_rows(desk, run, table, label):
    desk, rows = desk(PAGES[table]), plain.rows(run.pages[PAGES[table]], table)
    assert info(desk, table) == len(rows)
    given = [row["attributes"][f"data-{label}"] for row in rows]
    value = min(set(given), key=lambda name: (given.count(name), name))
    choose(desk, table, label, value)
    assert info(desk, table) == given.count(value)
    shown = desk.locator(f"#{table} > tbody > tr[id]").evaluate_all(f"rows => rows.map(row => row.dataset.{label})")
    assert set(shown) == {value}
    # The address leads there again.
    address = desk.url
    assert f"#{table}?{label}=" in address
    choose(desk, table, label, "")
    assert info(desk, table) == len(rows)
    desk.evaluate("address => { location.hash = address; }", f"#{address.partition('#')[2]}")
    assert info(desk, table) == given.count(value)


def test_two_filters_and_a_search_combine(desk, run):
    rows = [row["attributes"] for row in plain.rows(run.pages["ledger"], "guarantees")]
    desk = desk("ledger")
    kept = [row for row in rows if row["data-paper"] == "kifer2012" and row["data-verdict"] == "refuted"]
    choose(desk, "guarantees", "paper", "kifer2012")
    choose(desk, "guarantees", "verdict", "refuted")
    assert info(desk, "guarantees") == len(kept) > 0
    desk.locator("#guarantees_wrapper").get_by_label("search").fill("no such mechanism")
    expect(desk.locator("#guarantees_wrapper")).to_contain_text("No row fits")
    desk.locator("#guarantees_wrapper").get_by_role("button", name="show all").click()
    assert info(desk, "guarantees") == len(rows)


@pytest.mark.parametrize(
    ("table", "heading"),
    [("guarantees", "ε really spent"), ("claims-table", "measured")],
)
def test_sorting_goes_by_the_exact_value(desk, run, table, heading):
    """Both ways, over all pages; what does not exist comes last."""
    stored = [plain.number(row["cells"][heading]) for row in plain.rows(run.pages[PAGES[table]], table)]
    desk = desk(PAGES[table])
    known = sorted(value for value in stored if value == value)
    desk.locator(f"#{table}_wrapper").get_by_label("rows on a page").select_option("-1")
    head = desk.locator(f"#{table} thead th").filter(has_text=re.compile(f"^{re.escape(heading)}"))
    for direction, expected in (("ascending", known), ("descending", known[::-1])):
        head.click()
        expect(head).to_have_attribute("aria-sort", direction)
        shown = values(desk, table, heading)
        assert [value for value in shown if value is not None] == expected
        assert all(value is None for value in shown[len(expected) :]) and len(shown) == len(stored)


def test_a_claim_opens(desk, run):
    """Statistic, place, expected value, figure and command; closed again by the same button."""
    judged, desk = claims.read(run.folder / "claims.parquet"), desk("paper-kifer2012")
    judged = judged[judged["paper"] == "kifer2012"]
    drawn = desk.locator("main figure img").evaluate_all("all => all.map(image => image.dataset.figure)")
    line = judged[(judged["verdict"] != "not run") & judged["figure"].isin(drawn)].iloc[0]
    desk.locator("#claims-table_wrapper").get_by_label("search").fill(line["id"])
    keys = {"claim": line["id"], "variant": line["variant"], "dataset": line["dataset"]}
    row = desk.locator("#claims-table tr" + "".join(f"[data-{key}='{value}']" for key, value in keys.items()))
    button = row.locator("button.open")
    button.click()
    expect(button).to_have_attribute("aria-expanded", "true")
    details = desk.locator(f"[id='{button.get_attribute('aria-controls')}']")
    expect(details).to_be_visible()
    expect(details).to_contain_text(line["place"])
    expect(details).to_contain_text(line["reason"])
    expect(details).to_contain_text(f"claims/{line['id']}.md")
    expect(details.locator("img")).to_have_attribute("src", re.compile("^figures/"))
    assert details.locator("img").evaluate("async image => { await image.decode(); return image.naturalWidth; }") > 100
    button.click()
    expect(details).not_to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "false")


def test_the_command_is_copied(desk, run):
    desk = desk("paper-kifer2012")
    row = desk.locator("#claims-table > tbody > tr[id]").first
    name = row.get_attribute("data-claim")
    row.locator("button.open").click()
    desk.locator("#claims-table .details").locator("button.copy").click()
    copied = desk.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(rf"snakemake .*\bresults/\w+/claims/{name}\.md\b.*", copied)


def test_a_refuted_guarantee_opens(desk):
    desk = desk("ledger")
    choose(desk, "guarantees", "verdict", "refuted")
    row = desk.locator("#guarantees > tbody > tr[id]").first
    row.locator("button.open").click()
    details = desk.locator("#guarantees .details")
    for words in ("neighbours", "event", "confidence", "refuted"):
        expect(details).to_contain_text(words)


def test_the_address_of_a_row_opens_it(visit, run):
    """Whatever page of its table it is on."""
    last = plain.rows(run.pages["ledger"], "guarantees")[-1]["attributes"]["id"]
    page = visit(at="ledger", hash=f"#{last}")
    expect(page.locator(f"[id='{last}']")).to_be_in_viewport()
    expect(page.locator(f"[id='{last}-details']")).to_be_visible()


def test_an_address_that_says_nothing_is_passed_over(visit):
    """No error, which is asked after every test."""
    assert visit(hash="#%").locator("h1").count() == 1


def test_counts_lead_to_their_rows(visit, run):
    """On another page."""
    page = visit()
    page.locator("#overview-kifer2012 td[data-name=guarantees] a").filter(has_text="refuted").click()
    complete(page)
    rows = [row["attributes"] for row in plain.rows(run.pages["ledger"], "guarantees")]
    refuted = [row for row in rows if row["data-verdict"] == "refuted" and row["data-paper"] == "kifer2012"]
    assert info(page, "guarantees") == len(refuted) > 0
    expect(page.locator("#guarantees")).to_be_in_viewport()


def test_an_address_of_the_one_page_of_old_leads_on(visit, run):
    name = plain.rows(run.pages["paper-kifer2012"], "claims-table")[-1]["attributes"]["id"]
    page = visit(hash=f"#{name}")
    expect(page.locator(f"[id='{name}-details']")).to_be_visible()
    assert "paper-kifer2012.html#" in page.url


def test_a_search_looks_through_all_pages(visit):
    page = visit(at="claims")
    field = page.get_by_role("searchbox", name="search all pages")
    field.fill("objective against output perturbation")
    field.press("Enter")
    expect(page.locator("#search-found a").first).to_be_visible()
    page.locator("#search-found a[href='paper-kifer2012.html#figure-kifer2012-output']").click()
    expect(page.locator("#figure-kifer2012-output")).to_be_in_viewport()
    page.go_back()
    expect(page.locator("#search-found a").first).to_be_visible()
    page.get_by_role("searchbox", name="search all pages").fill("nosuchword")
    expect(page.locator("#search-count")).to_have_text("0 found.")


def test_dark_mode(desk):
    """It follows the system, and a button overrides that."""
    desk = desk("index")
    paper, button = "getComputedStyle(document.body).backgroundColor", desk.locator("#theme")
    light = desk.evaluate(paper)
    desk.emulate_media(color_scheme="dark")
    dark = desk.evaluate(paper)
    assert brightness(light) > 200 > 60 > brightness(dark)
    for name, colour in (("light", light), ("dark", dark), ("auto", dark)):
        button.click()
        assert button.inner_text().endswith(name) and desk.evaluate(paper) == colour


def test_the_chosen_colours_are_kept(visit):
    page = visit(scheme="light")
    for _ in range(2):
        page.locator("#theme").click()
    page.reload()
    complete(page)
    assert page.locator("#theme").inner_text().endswith("dark")
    assert brightness(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 60


def brightness(colour):
    return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3


def test_keyboard_alone(visit):
    """From the top: the skip link, then a claim found by search, opened with Enter and closed with Space."""
    page = visit(at="paper-kifer2012")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.locator("#claims-table_wrapper input[type=search]").focus()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('#claims-table button.open')"):
            break
    else:
        pytest.fail("no claim is reached with the tab key")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(page.locator("#claims-table .details")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.locator("#claims-table .details")).to_have_count(0)


def test_a_figure_is_turned_over_in_the_dark_and_large_by_itself(desk):
    page = desk("paper-kifer2012")
    image = page.locator("#figure-kifer2012-output img")
    filtered = "image => getComputedStyle(image).filter"
    assert image.evaluate(filtered) == "none"
    page.emulate_media(color_scheme="dark")
    assert "invert" in image.evaluate(filtered)
    page.emulate_media(media="print", color_scheme="dark")
    assert image.evaluate(filtered) == "none"
    links = page.locator("#figure-kifer2012-output .files a").evaluate_all(
        "all => all.map(a => a.getAttribute('href'))"
    )
    assert links == ["figures/kifer2012-output.svg", "figures/kifer2012-output.csv"]


def test_what_is_folded_away_is_printed(desk):
    desk = desk("claims")
    assert desk.locator("details.rules:not([open])").count() == 1
    desk.emulate_media(media="print")
    expect(desk.locator("details.rules[open]")).to_have_count(1)
    assert desk.locator("#answers-table button.open").first.evaluate("b => getComputedStyle(b).whiteSpace") == "nowrap"
    desk.emulate_media(media="screen")
    expect(desk.locator("details.rules[open]")).to_have_count(0)


def test_an_open_row_on_a_phone_has_one_background(visit):
    page = visit(at="ledger", width=390, scheme="dark")
    page.locator("#guarantees button.open").first.click()
    row = page.locator("#guarantees tr.opened")
    assert brightness(row.evaluate("row => getComputedStyle(row).backgroundColor")) < 60
    clear = "cells => cells.filter(cell => getComputedStyle(cell).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert row.locator("> *").evaluate_all(clear) == 0


@pytest.mark.parametrize(("needed", "outcome"), [("1", "error"), ("", "skipped")])
def test_a_missing_chromium_fails_where_it_is_needed(tmp_path, needed, outcome):
    """A skip would say of a browser that is not there that the page works in it."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"{__file__}::test_dark_mode"]
    environment = {**os.environ, "PATH": str(tmp_path), "DPERM_NEED_CHROMIUM": needed, "DPERM_REPORT": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert f"1 {outcome}" in done.stdout
