"""For every reader: screen readers, keyboards, phones, paper, and browsers without scripts."""

import itertools
import re

import plain
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

pytestmark = pytest.mark.slow
PAGES = (
    "index", "paper-kifer2012", "paper-li2021", "claims", "ledger", "choose", "libraries", "provenance", "search",
)  # fmt: skip


def violations(page):
    """Return axe-core's serious and critical violations in words."""
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {one['help']}: {node['html'][:200]} | {node.get('failureSummary', '')[:300]}"
        for one in found
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:4]
    ]


def open_one_of_each(page):
    """Open a claim and a refuted guarantee, so that their details are looked at too."""
    for table in ("claims-table", "answers-table", "guarantees", "broken"):
        if not page.locator(f"#{table}").count():
            continue
        page.locator(f"#{table} > tbody > tr[id] button.open").first.click()
        expect(page.locator(f"#{table} .details").first).to_be_visible()
    for summary in page.locator("main details:not([open]) > summary").all():
        if summary.is_visible():
            summary.evaluate("summary => summary.parentElement.open = true")


def sideways(page):
    """Return how wide the page is."""
    return page.evaluate("document.documentElement.scrollWidth")


def small_targets(page):
    """Return the buttons, menus and inputs below 24 by 24 pixels, the least that WCAG 2.2 asks for."""
    small = page.locator("button, select, input").evaluate_all(
        "all => all.filter(e => e.checkVisibility())"
        ".map(e => [e.outerHTML.slice(0, 100), e.getBoundingClientRect()])"
        ".filter(([, box]) => box.height < 23.5 || box.width < 23.5)"
        ".map(([html, box]) => `${html} ${box.width} x ${box.height}`)"
    )
    return [line for line in small if 'type="checkbox"' not in line]


def check_outline(page):
    """Headings are in order, and sections and tables are named."""
    levels = page.locator("h1, h2, h3, h4").evaluate_all("all => all.map(heading => Number(heading.tagName[1]))")
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert page.locator("main > section:not([aria-labelledby]):not([aria-label])").count() == 0
    nameless = page.locator("table").evaluate_all(
        "all => all.filter(t => !t.caption && !t.ariaLabel && !t.getAttribute('aria-labelledby'))"
        ".map(t => t.outerHTML.slice(0, 100))"
    )
    assert nameless == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_and_we_find_no_serious_violation(visit, keep, scheme, width):
    """Each page is opened once for all that is looked at, and kept whole as an artefact: to open it takes longest."""
    for name in PAGES:
        page = visit(at=name, width=width, scheme=scheme)
        check_outline(page)
        if width == 390:
            assert small_targets(page) == [], name
        open_one_of_each(page)
        assert sideways(page) <= width, name
        assert violations(page) == [], name
        assert keep(page, f"{name}-{width}-{scheme}").stat().st_size > 10_000


@pytest.mark.parametrize("width", [320, 768])
def test_nothing_makes_the_page_scroll_sideways(visit, width):
    """At the widths above too."""
    for name in PAGES:
        page = visit(at=name, width=width)
        open_one_of_each(page)
        assert sideways(page) <= width, name


def test_verdicts_say_their_word(visit):
    """Never by colour alone: whatever is coloured as a verdict carries its word."""
    words = []
    for name in ("paper-kifer2012", "ledger"):
        words += visit(at=name).locator("td .mark, td .verdict").all_inner_texts()
    known = r"reproduced|not reproduced|inconclusive|not run|refuted|holds up|not audited|not caught|caught( by .*)?"
    assert len(words) > 30 and all(re.fullmatch(rf"\s*[✓✗~–]\s*({known})\s*", word) for word in words)


@pytest.mark.parametrize(
    ("name", "tables"), [("paper-kifer2012", ["claims-table"]), ("ledger", ["guarantees", "broken"])]
)
def test_on_paper_every_row_is_printed(visit, run, name, tables):
    """In light colours, whatever the screen shows; and afterwards the screen is as it was."""
    page = visit(at=name, scheme="dark")
    page.evaluate(
        """ids => addEventListener("beforeprint", () => {
          window.printed = Object.fromEntries(ids.map(
            id => [id, document.querySelectorAll(`#${id} > tbody > tr[id]`).length]));
        })""",
        tables,
    )
    pdf = page.pdf(format="A4")
    wanted = {table: len(plain.rows(run.pages[name], table)) for table in tables}
    assert page.evaluate("window.printed") == wanted
    assert pdf.startswith(b"%PDF") and len(re.findall(rb"/Type /Page\b", pdf)) > 1
    assert page.locator(f"#{tables[0]} > tbody > tr[id]").count() <= 25
    page.emulate_media(media="print", color_scheme="dark")
    colours = page.evaluate("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert [sum(map(int, re.findall(r"\d+", colour)[:3])) // 3 > 128 for colour in colours] == [True, False]
    for control in ("#theme", ".dt-search", ".filters", ".dt-paging"):
        assert not any(one.is_visible() for one in page.locator(control).all())


def test_without_javascript_every_word_number_and_figure_is_there(visit, run):
    page = visit(at="paper-kifer2012", javascript=False)
    assert page.locator("#claims-table > tbody > tr").count() == len(
        plain.rows(run.pages["paper-kifer2012"], "claims-table")
    )
    assert page.locator("figure > img").first.bounding_box()["width"] > 100
    expect(visit(javascript=False).locator("main .note").first).to_contain_text("JavaScript")
    more = visit(at="ledger", javascript=False).locator("#guarantees td.more").first
    expect(more).to_be_visible()
    assert len(more.inner_text()) > 80
