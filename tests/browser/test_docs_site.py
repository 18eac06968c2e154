"""The documentation as a site: built strictly, whole, and opened from disk without a network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import dperm
from dperm import audit, mechanisms

ROOT = Path(__file__).parents[2]
# What a browser fetches by itself; a link (a) waits for its reader.
LOADED = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "srcset", "object": "data"}

pytestmark = pytest.mark.slow


class Reader(HTMLParser):
    """Notes the ids of a page, what it loads, where it links, and its text outside of code."""

    def __init__(self, page: Path):
        super().__init__()
        self.ids, self.loaded, self.links, self.text, self.silent = set(), [], [], [], 0
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given["id"]} if "id" in given else set()
        if tag in LOADED and given.get(LOADED[tag]) and given.get("rel") != "canonical":
            self.loaded.append(given[LOADED[tag]])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        self.silent += tag in ("code", "script", "style")

    def handle_endtag(self, tag):
        self.silent -= tag in ("code", "script", "style")

    def handle_data(self, data):
        if not self.silent:
            self.text.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site's folder."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # Proxies that lead nowhere: whoever asks a network fails.
    nowhere = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
    environment = {**os.environ, **nowhere, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # A warning would be an error; what is said all the same is worth reading.
    assert "WARNING" not in done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site):
    """The pages, read, by their place; that for missing pages is written for a server."""
    found = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    return {path.relative_to(site).as_posix(): Reader(path) for path in found}


def test_every_page_is_there_and_in_the_navigation(pages):
    written = {
        path.relative_to(ROOT / "docs").with_suffix(".html").as_posix() for path in (ROOT / "docs").rglob("*.md")
    }
    assert {"privacy.html", "errata.html", "papers/li2021.html"} <= written <= set(pages)
    listed = {urlsplit(link).path for link in pages["index.html"].links}
    missing = {name for name in pages if not name.startswith("source/")} - listed
    assert missing <= {"index.html"}


def test_nothing_is_loaded_from_a_network(site, pages):
    for name, page in pages.items():
        assert page.loaded, name
        for address in page.loaded:
            assert not urlsplit(address).scheme or address.startswith("data:"), f"{name} loads {address}"
            assert not address.startswith("//"), f"{name} loads {address}"
    for style in site.rglob("*.css"):
        told = re.findall(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]*)", style.read_text(encoding="utf-8"))
        assert told == [], f"{style.name} loads {told}"


def test_every_link_and_every_file_that_is_loaded_exists(site, pages):
    for name, page in pages.items():
        for address in [*page.loaded, *page.links]:
            parts = urlsplit(address)
            if parts.scheme or (name.startswith("source/") and parts.fragment.startswith("__")):
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            place = target.resolve().relative_to(site.resolve()).as_posix()
            assert target.is_file(), f"{name} links to {address}"
            if parts.fragment and place in pages:
                assert unquote(parts.fragment) in pages[place].ids, f"{name} links to {address}"


def test_links_that_leave_docs_show_the_file(pages):
    text = "".join(pages["source/resources/claims/jain2013.yaml.html"].text)
    assert "resources/claims/jain2013.yaml" in text
    links = pages["papers/jain2013.html"].links
    assert "../source/resources/claims/jain2013.yaml.html" in links and "../privacy.html#11-kernels" in links


def test_mathematics_is_set(site, pages):
    for name, page in pages.items():
        if name.startswith(("source/", "api/")):
            continue
        assert not re.search(r"\\[a-z]{2,}|\$[\\a-zA-Z(]", "".join(page.text)), name
    text = (site / "privacy.html").read_text(encoding="utf-8")
    assert text.count("<math ") > 1000 and "arithmatex" not in text


def test_the_api_knows_every_public_name(pages):
    ids = {id for name, page in pages.items() if name.startswith("api/") for id in page.ids}
    members = {f"{module}.{name}" for package in (dperm, audit) for name, module in package.PUBLIC.items()}
    # Some names are modules, which have no member of their own name.
    modules = ("exact", "line", "one_run", "search", "trade_off")
    public = members - {f"dperm.audit.{name}.{name}" for name in modules}
    assert public | {mechanism.module for mechanism in mechanisms.REGISTRY.values()} <= ids
    assert "dperm.mechanisms.estimators.objective.ObjectivePerturbation.fit" in ids
    assert {f"estimators.html#{dperm.PUBLIC[name]}.{name}" for name in dperm.__all__} <= set(
        pages["api/index.html"].links
    )


def test_it_opens_from_disk_and_its_search_works(site, chromium):
    context = chromium.new_context(viewport={"width": 390, "height": 900}, offline=True)
    page, faults = context.new_page(), []
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "request", lambda sent: None if sent.url.startswith(("file:", "data:", "blob:")) else faults.append(sent.url)
    )
    for name in ("index.html", "privacy.html", "results.html", "papers/li2021.html", "api/estimators.html"):
        page.goto((site / name).as_uri())
        page.wait_for_selector("h1")
        # Wide tables and formulas scroll by themselves.
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
    page.set_viewport_size({"width": 1280, "height": 900})
    # A word without a hyphen: on the way, the search would warn of a query that ends in one.
    page.locator(".md-search__input").press_sequentially("quadrature")
    page.locator(".md-search-result__link[href*='privacy.html']").first.wait_for(state="attached")
    context.close()
    assert faults == []
