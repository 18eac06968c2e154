"""The page at `/` as it is written; what it does is tested in Chromium (tests/browser/test_service_page.py)."""

import base64
import hashlib
import re

from dperm.serve import page


def test_its_policy_lets_its_own_script_and_style_run_and_nothing_else():
    policy = dict(part.split(" ", 1) for part in page.HEADERS["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'" and policy["connect-src"] == "'self'"
    for tag in ("script", "style"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", page.HTML, flags=re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{digest}'"
    assert "unsafe" not in page.HEADERS["Content-Security-Policy"]


def test_it_names_nothing_outside_and_writes_no_markup_from_data():
    assert not re.search(r"https?://|(?:src|href)=\"(?!data:)|\son\w+=|innerHTML|insertAdjacentHTML", page.HTML)
