"""The page for people, at `/`: one file, which loads nothing else and may run no script but its own."""

import base64
import hashlib
import re
from pathlib import Path

HTML = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")


def _hash(tag: str) -> str:
    """Return what a policy calls the one element of this kind."""
    (content,) = re.findall(f"<{tag}>(.*?)</{tag}>", HTML, flags=re.DOTALL)
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"


HEADERS = {
    "Content-Security-Policy": (
        f"default-src 'none'; script-src {_hash('script')}; style-src {_hash('style')}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
