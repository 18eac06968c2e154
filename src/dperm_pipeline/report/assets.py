"""Libraries, scripts and styles of the page, and the data packed into it."""

import base64
import contextlib
import functools
import gzip
import hashlib
import importlib.metadata
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from markupsafe import Markup

from dperm_pipeline import files

# In this order; each file is a script or a style of its own.
SCRIPTS = ("page.js", "tables.js", "explorer.js", "search.js", "provenance.js")
STYLES = ("page.css", "privacy.css", "claims.css", "explorer.css", "provenance.css")
# What a page may weigh, in bytes: it is opened on phones.
LIMIT = 3_000_000
# Of a page, by its template; all others have tables alone.
LIBRARIES = {"start": (), "search": (), "choose": ("datatables", "vega")}
# Where Snakemake keeps what it remembers.
KEPT = Path(".snakemake/dperm-libraries")
# Where an SVG names points, and what of their numbers is too fine to be seen.
_PATH = re.compile(rb'(?<= d=")[^"]*|(?<= [xy]=")[^"]*')
_LONG = re.compile(rb"-?\d+\.\d{3,}")
# Paths side by side with one look, none of them filled; a look; and how many elements make it worth a name.
_STROKES = re.compile(
    rb'<path d="[^"]*" ((?:clip-path="[^"]*" )?style="fill: none;[^"]*")/>(?:\s*<path d="[^"]*" \1/>)+'
)
_LOOK = re.compile(rb' style="([^"]*)"')
_OFTEN = 10
# Runs before the first paint, so that the page does not flash in the other theme.
HEAD = """(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try { root.dataset.theme = localStorage.getItem("dperm-theme") || "auto"; } catch { root.dataset.theme = "auto"; }
})();"""


def pack(name: str, data: bytes) -> Markup:
    """Return a payload as an element of the page: gzip in base64, which `dperm.unpack(name)` reads back.

    No time is kept, so that equal data give equal characters.
    """
    text = base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0)).decode("ascii")
    # The text is base64, and `format` escapes the rest.
    return Markup('<script type="text/plain" data-packed id="packed-{}">{}</script>').format(name, text)


def compact(svg: bytes) -> bytes:
    """Return a figure of matplotlib as it looks, in fewer elements and characters, so that a page of them opens fast.

    Paths go to a hundredth of a point, which nobody sees; strokes one after the other that look alike, such as the
    bars of a line's intervals, are one; and how many elements look is said once.
    """
    svg = _PATH.sub(lambda path: _LONG.sub(_rounded, path.group(0)).replace(b"\n", b""), svg)
    svg = _STROKES.sub(_joined, svg)
    if b"</style>" not in svg:
        return svg
    often = [look for look, count in Counter(_LOOK.findall(svg)).items() if count >= _OFTEN]
    names = {look: b"s%d" % k for k, look in enumerate(often)}
    rules = b"".join(b".%s{%s}" % (name, look) for look, name in names.items())
    svg = _LOOK.sub(lambda found: b' class="%s"' % names[found[1]] if found[1] in names else found[0], svg)
    return svg.replace(b"</style>", rules + b"</style>", 1)


def _joined(found: re.Match) -> bytes:
    return b'<path d="%s" %s/>' % (b"".join(_PATH.findall(found[0])), found[1])


def _rounded(number: re.Match) -> bytes:
    return (b"%.2f" % float(number.group(0))).rstrip(b"0").rstrip(b".")


def weigh(pages: Mapping[str, str]) -> None:
    """Log a warning that names each page of `LIMIT` or more: better too large than none."""
    for name, page in pages.items():
        size = len(page.encode())
        if size >= LIMIT:
            logging.warning("%s has %.2f MB, and should have less than %g", name, size / 1e6, LIMIT / 1e6)


def styles() -> Markup:
    """Return the styles of all sections, one after the other."""
    return Markup("\n".join(_page(name) for name in STYLES))


def scripts() -> list[Markup]:
    """Return the scripts of all sections, each in a scope of its own."""
    return [Markup(f'(() => {{\n"use strict";\n{_page(name)}}})();') for name in SCRIPTS if _page(name)]


@functools.cache
def libraries() -> dict[str, str]:
    """Return the scripts that the page carries, by name; each leaves one name in `window`.

    `datatables` leaves DataTable, `vega` leaves vegaEmbed, vega and vegaLite.
    """
    module = resources.files("itables").joinpath("html", "dt_bundle.js").read_text(encoding="utf-8")
    # A page that allows scripts by their checksums alone cannot load a module from within: its export gets a name.
    code, found = re.subn(r"export\{[^}]*?([\w$]+) as default[^}]*\};?", r"window.DataTable=\1;", module)
    if found != 1:
        raise RuntimeError("itables' DataTables has no default export; report.assets must learn the new form")
    return {name: f"(()=>{{{text}\n}})();" for name, text in (("datatables", code), ("vega", _vega()))}


def _vega() -> str:
    """Return Vega and its parts as one script: as the last report put it together, if this release of vl-convert did.

    To put it together takes two seconds, more than all the rest of a report.
    """
    # Loaded here: only a report needs it, and it takes a while.
    import vl_convert

    kept = KEPT / f"vega-{vl_convert.__version__}.js"
    with contextlib.suppress(OSError, ValueError):
        digest, script = kept.read_text(encoding="utf-8").split("\n", 1)
        if digest == _digest(script):
            return script
    script = vl_convert.javascript_bundle()
    # Without such a folder, or on a full disk, the next report puts it together again.
    if KEPT.parent.is_dir():
        with contextlib.suppress(OSError), files.replacing(kept, durable=False) as path:
            path.write_text(f"{_digest(script)}\n{script}", encoding="utf-8", newline="\n")
    return script


def _digest(script: str) -> str:
    return hashlib.sha256(script.encode()).hexdigest()


@functools.cache
def packed_libraries() -> dict[str, Markup]:
    """Return the libraries packed: by name, elements of the page."""
    return {name: pack(f"library-{name}", code.encode()) for name, code in libraries().items()}


def versions() -> dict[str, str]:
    """Return the versions of the libraries that the page carries, by name."""
    import vl_convert

    return {
        "DataTables": f"(itables {importlib.metadata.version('itables')})",
        "Vega-Lite": f"{vl_convert.get_vegalite_versions()[-1]} (vl-convert {vl_convert.__version__})",
    }


def checksums(codes: Sequence[str]) -> str:
    """Return what a Content-Security-Policy's script-src says to allow scripts with these texts and no others."""
    digests = (hashlib.sha256(code.encode()).digest() for code in codes)
    return " ".join(f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in digests)


def _page(name: str) -> str:
    path = resources.files("dperm_pipeline.report").joinpath("page", name)
    return path.read_text(encoding="utf-8") if path.is_file() else ""
