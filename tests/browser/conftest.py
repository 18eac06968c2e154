"""The report in a real Chromium.

The page is built from a made-up run. To hold a real one against the same checks, name it (its Parquet is looked for in
the run's folder, two levels up): DPERM_REPORT=results/quick/report/index.html pytest tests/browser
"""

import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from settled import complete

ROOT = Path(__file__).parents[2]
ARTEFACTS = Path(__file__).parent / "artefacts"
# What a page that stands alone may ask for: itself, and what it made itself.
OWN = ("file:", "data:", "blob:")
SILENT = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


# A module's, no session's: while Playwright is up its event loop runs, and then Snakemake's planner refuses to.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, headless. Where it is missing the tests skip, or fail where DPERM_NEED_CHROMIUM is set."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        words = "the report is tested in Chromium, which is not installed; to install it: apt-get install chromium"
        pytest.fail(words) if os.environ.get("DPERM_NEED_CHROMIUM") else pytest.skip(words)
    expect.set_options(timeout=10_000)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(SILENT))
        yield browser
        browser.close()


def pages_of(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.glob("*.html"))}


@pytest.fixture(scope="session")
def run(tmp_path_factory, worker_id) -> SimpleNamespace:
    """The pages under test by name, and the folder of the run that they show."""
    named = os.environ.get("DPERM_REPORT")
    if named:
        page = Path(named).resolve()
        folder = Path(os.environ.get("DPERM_RESULTS", page.parents[1])).resolve()
        return SimpleNamespace(pages=pages_of(page.parent), report=page.parent, folder=folder, made_up=False)
    # One run for all workers, built by whoever comes first.
    base = tmp_path_factory.getbasetemp()
    folder = (base if worker_id == "master" else base.parent) / "made-up-report"
    folder.mkdir(exist_ok=True)
    page = folder / "report/index.html"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not page.exists():
            import made_up

            made_up.build(folder)
    return SimpleNamespace(pages=pages_of(page.parent), report=page.parent, folder=folder, made_up=True)


def opened(
    chromium, run, faults, *, at="index", width=1280, scheme="light", hash="", javascript=True, height=900
) -> Page:
    """Open the report offline and wait until it is complete; note what no page of ours may do."""
    context = chromium.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, java_script_enabled=javascript,
        offline=True, reduced_motion="reduce", permissions=["clipboard-read", "clipboard-write"],
    )  # fmt: skip
    context.set_default_timeout(20_000)
    page = context.new_page()
    page.on("console", lambda said: faults.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
    page.on("request", lambda sent: None if sent.url.startswith(OWN) else faults.append(f"asked {sent.url}"))
    page.on("dialog", lambda dialog: (faults.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
    page.goto(run.pages[at].as_uri() + hash)
    if javascript:
        complete(page)
    return page


@pytest.fixture
def visit(chromium, run):
    """Return a function that opens the report anew, at a width and in a colour scheme.

    After the test: whatever it did, the page logged no error and asked nobody for anything.
    """
    pages, faults = [], []

    def open_page(**options) -> Page:
        pages.append(opened(chromium, run, faults, **options))
        return pages[-1]

    yield open_page
    for page in pages:
        page.context.close()
    assert faults == []


@pytest.fixture(scope="module")
def _desk(chromium, run):
    faults = []
    page = opened(chromium, run, faults)
    assert faults == []
    yield page, faults
    page.context.close()


@pytest.fixture
def desk(_desk, run):
    """A function that gives a page of the report on a desktop screen, one for all tests that put up with it.

    It begins with no search, filter or order, nothing open, at the top of the page. After the test: as with `visit`.
    """
    page, faults = _desk
    faults.clear()
    page.emulate_media(media="screen", color_scheme="light")

    def at(name: str) -> Page:
        if page.url.partition("#")[0] != run.pages[name].as_uri():
            page.goto(run.pages[name].as_uri())
            complete(page)
        page.evaluate(CLEARED)
        return page

    yield at
    assert faults == []


CLEARED = """() => {
          const set = (control, value) => {
            if (control.value === value) return;
            control.value = value;
            control.dispatchEvent(new Event("change", { bubbles: true }));
          };
          for (const button of document.querySelectorAll("button.open[aria-expanded=true]")) button.click();
          for (const button of document.querySelectorAll("button.clear")) button.click();
          for (const control of document.querySelectorAll(".dt-length select")) set(control, "25");
          for (const control of document.querySelectorAll(".sort select")) {
            control.value = "";
            control.dispatchEvent(new Event("change", { bubbles: true }));
          }
          history.replaceState(null, "", location.pathname);
          document.activeElement?.blur();
          scrollTo(0, 0);
        }"""


@pytest.fixture
def keep():
    """Return a function that keeps a screenshot as an artefact of the test."""

    def shot(page: Page, name: str, full: bool = True) -> Path:
        ARTEFACTS.mkdir(exist_ok=True)
        path = ARTEFACTS / f"{name}.png"
        page.screenshot(path=path, full_page=full)
        return path

    return shot
