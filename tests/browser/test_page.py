"""The page at work: it opens from disk alone, and what a reader clicks, types and opens does what it says."""

import os
import re
import subprocess
import sys
from html import unescape
from urllib.parse import unquote

import plain
import pytest
from playwright.sync_api import expect
from settled import complete

from dperm_pipeline import claims


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


def test_it_opens_from_disk_whole(desk, run):
    """No error and no request (both are asked after every test), one h1, every figure drawn, below 8 MB."""
    assert desk.url.startswith("file:") and desk.locator("h1").count() == 1
    assert desk.evaluate("document.compatMode") == "CSS1Compat"
    sizes = desk.locator("main img").evaluate_all(
        "all => all.map(image => [image.naturalWidth, image.alt.length > 10])"
    )
    assert len(sizes) >= 5 and all(width > 100 and described for width, described in sizes)
    assert run.page.stat().st_size < 8e6


def test_every_link_within_has_its_place(run):
    """Also those to rows that stand on another page of their table; and no place has two."""
    markup = re.sub(r"<script.*?</script>", "", run.page.read_text(encoding="utf-8"), flags=re.S)
    places = [unescape(name) for name in re.findall(r'<[a-z][^>]*\sid="([^"]+)"', markup)]
    assert len(places) == len(set(places))
    links = {unquote(unescape(name)) for name in re.findall(r'href="#([^"]+)"', markup)}
    assert len(links) > 20 and links <= set(places)


def test_nothing_outside_is_named_as_a_source(run):
    text = run.page.read_text(encoding="utf-8")
    markup = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    assert not re.findall(r"<(?:img|script|link|iframe|source)[^>]*(?:src|href|srcset)=[\"'](?!data:)[^\"']", markup)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)[1]
    assert policy.startswith("default-src 'none'") and "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split("script-src")[1] and "http" not in policy


def test_hostile_words_of_data_are_only_words(desk, run):
    """What a file says is shown, never run: an alert or a request would fail this test."""
    if not run.made_up:
        pytest.skip("only the made-up run speaks of <script>")
    desk.locator("details.missing summary").click()
    expect(desk.locator("details.missing")).to_contain_text("<img src=x onerror=alert(1)>")
    assert desk.locator("img[src='x']").count() == 0


@pytest.mark.parametrize(
    ("table", "label"),
    [
        ("claims-table", "verdict"),
        pytest.param("answers-table", "paper", marks=pytest.mark.slow),
        pytest.param("claims-table", "paper", marks=pytest.mark.slow),
        ("guarantees", "verdict"),
        pytest.param("guarantees", "neighbours", marks=pytest.mark.slow),
    ],
)
def test_a_filter_shows_exactly_its_rows(desk, run, table, label):
    rows = plain.rows(run.page, table)
    assert info(desk, table) == len(rows)
    given = [row["attributes"][f"data-{label}"] for row in rows]
    value = min(set(given), key=lambda name: (given.count(name), name))
    choose(desk, table, label, value)
    assert info(desk, table) == given.count(value)
    shown = desk.locator(f"#{table} > tbody > tr[id]").evaluate_all(f"rows => rows.map(row => row.dataset.{label})")
    assert set(shown) == {value}
    choose(desk, table, label, "")
    assert info(desk, table) == len(rows)


def test_two_filters_and_a_search_combine(desk, run):
    rows = [row["attributes"] for row in plain.rows(run.page, "guarantees")]
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
    [("guarantees", "ε really spent"), pytest.param("claims-table", "measured", marks=pytest.mark.slow)],
)
def test_sorting_goes_by_the_exact_value(desk, run, table, heading):
    """Both ways, over all pages; what does not exist comes last."""
    stored = [plain.number(row["cells"][heading]) for row in plain.rows(run.page, table)]
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
    judged = claims.read(run.folder / "claims.parquet")
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
    expect(details.locator("img")).to_have_attribute("src", re.compile("^blob:"))
    assert details.locator("img").evaluate("async image => { await image.decode(); return image.naturalWidth; }") > 100
    button.click()
    expect(details).not_to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "false")


def test_the_command_is_copied(desk, run):
    row = desk.locator("#claims-table > tbody > tr[id]").first
    name = row.get_attribute("data-claim")
    row.locator("button.open").click()
    desk.locator("#claims-table .details").locator("button.copy").click()
    copied = desk.evaluate("navigator.clipboard.readText()")
    assert re.fullmatch(rf"snakemake .*\bresults/\w+/claims/{name}\.md\b.*", copied)


def test_a_refuted_guarantee_opens(desk):
    choose(desk, "guarantees", "verdict", "refuted")
    row = desk.locator("#guarantees > tbody > tr[id]").first
    row.locator("button.open").click()
    details = desk.locator("#guarantees .details")
    for words in ("neighbours", "event", "confidence", "refuted"):
        expect(details).to_contain_text(words)


@pytest.mark.slow
def test_the_address_of_a_row_opens_it(visit, run):
    """Whatever page of its table it is on."""
    last = plain.rows(run.page, "guarantees")[-1]["attributes"]["id"]
    page = visit(hash=f"#{last}")
    expect(page.locator(f"[id='{last}']")).to_be_in_viewport()
    expect(page.locator(f"[id='{last}-details']")).to_be_visible()


@pytest.mark.slow
def test_an_address_that_says_nothing_is_passed_over(visit):
    """No error, which is asked after every test."""
    assert visit(hash="#%").locator("h1").count() == 1


def test_counts_lead_to_their_rows(desk, run):
    desk.locator("#overview .counts a").filter(has_text="refuted").first.click()
    refuted = [row for row in plain.rows(run.page, "guarantees") if row["attributes"]["data-verdict"] == "refuted"]
    assert info(desk, "guarantees") == len(refuted)
    expect(desk.locator("#guarantees")).to_be_in_viewport()


def test_dark_mode(desk):
    """It follows the system, and a button overrides that."""
    paper, button = "getComputedStyle(document.body).backgroundColor", desk.locator("#theme")
    light = desk.evaluate(paper)
    desk.emulate_media(color_scheme="dark")
    dark = desk.evaluate(paper)
    assert brightness(light) > 200 > 60 > brightness(dark)
    for name, colour in (("light", light), ("dark", dark), ("auto", dark)):
        button.click()
        assert button.inner_text().endswith(name) and desk.evaluate(paper) == colour


@pytest.mark.slow
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


@pytest.mark.slow
def test_keyboard_alone(visit):
    """From the top: the skip link, then a claim found by search, opened with Enter and closed with Space."""
    page = visit()
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


def test_a_figure_is_read_large_on_a_phone(visit):
    """By the keyboard alone: in a window that scrolls; Esc closes it, and the button has the focus again."""
    page = visit(width=390)
    button = page.locator("#figure-kifer2012-output").get_by_role("button", name="larger")
    button.focus()
    page.keyboard.press("Enter")
    window = page.get_by_role("dialog", name=page.locator("#figure-kifer2012-output h3").inner_text())
    image = window.locator("img")
    expect(image).to_be_visible()
    assert image.bounding_box()["width"] >= 1100 and len(image.get_attribute("alt")) > 10
    assert image.evaluate("image => image.parentElement.scrollWidth > image.parentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_have_count(0)
    expect(button).to_be_focused()
    # In the details of a claim too, where the figure is put in later.
    page.locator("#figure-kifer2012-output details.decided").evaluate("fold => { fold.open = true; }")
    page.locator("#figure-kifer2012-output details.decided a").first.click()
    page.locator("#claims-table .details figure").get_by_role("button", name="larger").click()
    page.get_by_role("dialog").get_by_role("button", name="close").click()
    expect(page.locator("dialog")).to_have_count(0)


def test_what_is_folded_away_is_printed(desk):
    folds = desk.locator("details.errata, details.rules")
    told = "all => all.map(fold => fold.open)"
    assert folds.count() == 5 and not any(folds.evaluate_all(told))
    desk.emulate_media(media="print")
    expect(desk.locator(":is(details.errata, details.rules)[open]")).to_have_count(5)
    assert desk.locator("#claims-table button.open").first.evaluate("b => getComputedStyle(b).whiteSpace") == "nowrap"
    desk.emulate_media(media="screen")
    expect(desk.locator(":is(details.errata, details.rules)[open]")).to_have_count(0)


@pytest.mark.slow
def test_an_open_row_on_a_phone_has_one_background(visit):
    page = visit(width=390, scheme="dark")
    page.locator("#guarantees button.open").first.click()
    row = page.locator("#guarantees tr.opened")
    assert brightness(row.evaluate("row => getComputedStyle(row).backgroundColor")) < 60
    clear = "cells => cells.filter(cell => getComputedStyle(cell).backgroundColor !== 'rgba(0, 0, 0, 0)').length"
    assert row.locator("> *").evaluate_all(clear) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("needed", "outcome"), [("1", "error"), ("", "skipped")])
def test_a_missing_chromium_fails_where_it_is_needed(tmp_path, needed, outcome):
    """A skip would say of a browser that is not there that the page works in it."""
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", f"{__file__}::test_dark_mode"]
    environment = {**os.environ, "PATH": str(tmp_path), "DPERM_NEED_CHROMIUM": needed, "DPERM_REPORT": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert f"1 {outcome}" in done.stdout
