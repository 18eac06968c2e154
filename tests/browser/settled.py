"""When the report is complete; a module of its own, for a test cannot import from a conftest by name."""

from playwright.sync_api import Page


def complete(page: Page) -> None:
    """Wait until the page's own script has done its work: tables, figures, charts."""
    # Not wait_for_function: it evaluates a string in the page, which the page's policy forbids.
    page.wait_for_selector("html[data-settled=true]", state="attached", timeout=60_000)
