"""The page of the service in Chromium, before a real server: it asks, says what that cost, and what is wrong."""

import numpy as np
import pytest
import served
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

import dperm
from dperm.serve import files
from dperm.serve.service import Service
from dperm_papers.dwork2018.service import experiment

pytestmark = pytest.mark.slow

SCHEMA = {"age": {"range": [0, 100]}, "sector": {"levels": ["public", "private", None], "missing": "indicator"}}


def service():
    """A model of raw records, and a key for two new rows."""
    rng = np.random.default_rng(0)
    raw = np.column_stack([rng.integers(0, 100, 400), rng.choice(["public", "private"], 400)]).astype(object)
    encoder = dperm.PublicEncoder(SCHEMA, clip=True).fit(raw)
    labels = np.where(raw[:, 0].astype(float) > 50, "old", "young")
    estimator = dperm.SoftMajority(epsilon=8.0, queries=20, clip=True, classes=("old", "young"))
    columns = tuple(encoder.get_feature_names_out())
    made = Service(files.Model(estimator, encoder.transform(raw), labels, columns, encoder, {}), None, random_state=0)
    return made, served.key(made, share=2)


@pytest.fixture(scope="module")
def there():
    """The address of a server, and a key."""
    made, key = service()
    with experiment.served(made) as url:
        yield url, key


@pytest.fixture
def opened(chromium):
    """Return a function that opens the page of a server; afterwards: it said nothing and asked nobody else."""
    contexts, faults = [], []

    def visit(url, *, width=1280, scheme="light", refused=0):
        context = chromium.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
        page.on("request", lambda sent: None if sent.url.startswith((url, "data:")) else faults.append(sent.url))
        page.goto(url)
        expect(page.locator("#statement dt").first).to_have_text("Promise")
        return page

    visit.faults = faults
    yield visit
    for context in contexts:
        context.close()
    assert faults == []


def use(page, key):
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Use it").click()


def ask(page, age, sector):
    page.get_by_label("age (0 to 100)").fill(str(age))
    page.get_by_label("sector").select_option(sector)
    page.get_by_role("button", name="Ask").click()


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (390, "dark"), (1280, "light"), (1280, "dark")])
def test_it_fits_and_everybody_can_use_it(opened, there, keep, width, scheme):
    url, key = there
    page = opened(url, width=width, scheme=scheme)
    use(page, key)
    expect(page.get_by_role("heading", name="One query")).to_be_visible()
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    keep(page, f"service-{scheme}-{width}")


def test_an_answer_is_charged_once_and_the_share_ends(opened):
    made, key = service()
    with experiment.served(made) as url:
        page = opened(url)
        use(page, "dperm_00000000_" + "x" * 43)
        expect(page.locator("#key-wrong")).to_contain_text("give the key of an analyst")
        assert [words for words in opened.faults if "401" not in words] == []
        opened.faults.clear()
        use(page, key)
        expect(page.locator("#budget")).to_contain_text("2 of 2 left")
        ask(page, 90, "private")
        expect(page.locator("#said")).to_contain_text("cost 1 answer")
        answer = page.locator("#said b").inner_text()
        assert answer in ("old", "young")
        expect(page.locator("#budget")).to_contain_text("1 of 2 left")
        expect(page.locator("#budget")).to_contain_text("19 of 20 left")
        page.get_by_role("button", name="Ask").click()
        expect(page.locator("#said")).to_contain_text("free, for it was asked before")
        assert page.locator("#said b").inner_text() == answer
        ask(page, 10, "(missing)")
        expect(page.locator("#budget")).to_contain_text("0 of 2 left")
        assert opened.faults == []
        ask(page, 11, "(other)")
        expect(page.locator("#ask-wrong")).to_contain_text("0 remain of this key's share")
        assert page.locator("#answers tr").count() == 3
        assert [words for words in opened.faults if "403" not in words] == []
        opened.faults.clear()
