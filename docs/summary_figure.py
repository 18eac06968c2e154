"""The figure at the top of README.md: every verdict and every guarantee at a glance, as plain SVG."""

import math
from pathlib import Path
from xml.sax.saxutils import escape

import readme_parts

from dperm_pipeline.claims import answers

WIDTH, TOP, ROW = 860, 70, 66
BARS, DOTS = (104, 290), (446, 386)
# Answer -> fill and ink: colours of Okabe & Ito (2008), darker under white text. Bars have text and dots have shapes:
# nothing is told by colour alone.
LOOKS = {
    "holds as printed": ("#00795a", "#ffffff"),
    "holds when mended": ("#0072B2", "#ffffff"),
    "depends on": ("#8a5a9e", "#ffffff"),
    "undecided": ("#E69F00", "#222222"),
    "fails": ("#b94700", "#ffffff"),
    "not run": ("#c9c9c9", "#222222"),
}
BLUE, RED, INK, SOFT, LINE = "#0072B2", "#b94700", "#222222", "#595959", "#dddddd"
# Shares of the claim at the ends of the axis of dots; what is beyond them stands there.
LEAST, MOST = 0.1, 1000.0
# Kind of guarantee -> shape, in the order of the legend.
KINDS = ("proved, holds up", "no proof, holds up", "promised, refuted", "not promised, refuted")


def draw(assets: Path) -> str:
    """Return the figure, from claims.csv and privacy.csv; equal ledgers give equal text.

    Parameters
    ----------
    assets : path
        docs/assets.

    Returns
    -------
    str
        SVG.
    """
    answered, privacy = readme_parts.answers(assets), readme_parts.read(assets / "privacy.csv")
    attacked = [
        row for row in privacy if row["verdict"] != "not audited" and row["variant"] not in readme_parts.CONTROLS
    ]
    bottom = TOP + ROW * len(readme_parts.SECTIONS)
    height = bottom + 74
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        _text(BARS[0], 26, "What became of the claims", weight="600", size=15),
        _text(BARS[0], 46, "one answer a claim, by stated statistical tests", fill=SOFT),
        _text(DOTS[0], 26, "What became of the guarantees", weight="600", size=15),
        _text(DOTS[0], 46, "ε certified by an attack, over the ε that is claimed", fill=SOFT),
    ]
    for tick, words in {0.1: "≤ 0.1", 1: "1", 10: "10", 100: "100", 1000: "1000"}.items():
        heavy = tick == 1
        parts.append(
            f'<line x1="{_x(tick):.1f}" x2="{_x(tick):.1f}" y1="{TOP - 8}" y2="{bottom}" '
            f'stroke="{INK if heavy else LINE}" stroke-width="{1.5 if heavy else 1}"/>'
        )
        parts.append(_text(_x(tick), bottom + 16, words, anchor="middle", fill=INK if heavy else SOFT))
    parts.append(_text(_x(1) + 5, TOP + 2, "the claim", size=11, fill=INK))
    for k, paper in enumerate(readme_parts.SECTIONS):
        middle = TOP + ROW * k + ROW / 2
        parts.append(_text(BARS[0] - 12, middle + 4, paper, anchor="end", weight="600"))
        parts += _bar([answer.kind for answer in answered if answer.paper == paper], middle)
        parts += _dots([row for row in attacked if row["paper"] == paper], middle)
    parts += _legend(bottom + 44)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _x(share: float) -> float:
    """Return where a share of the claim stands."""
    share = min(max(share, LEAST), MOST)
    return DOTS[0] + DOTS[1] * math.log(share / LEAST) / math.log(MOST / LEAST)


def _text(x, y, words, *, anchor="start", fill=INK, weight="400", size=13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" font-weight="{weight}" '
        f'font-size="{size}">{escape(words)}</text>'
    )


def _bar(kinds: list[str], middle: float) -> list[str]:
    """Draw the answers to one paper's claims as shares, with their counts."""
    parts, x = [], float(BARS[0])
    for kind, (fill, ink) in LOOKS.items():
        count = kinds.count(kind)
        width = BARS[1] * count / max(len(kinds), 1)
        if not count:
            continue
        parts.append(f'<rect x="{x:.1f}" y="{middle - 15:.1f}" width="{width:.1f}" height="30" fill="{fill}"/>')
        words = f"{answers.GLYPHS[kind]} {count}"
        # A label needs about 8 pixels a letter; a narrower segment has its count in the table.
        if width > 8 * len(words) + 4:
            parts.append(_text(x + width / 2, middle + 4.5, words, anchor="middle", fill=ink, weight="600"))
        x += width
    return parts


def _dots(rows: list[dict[str, str]], middle: float) -> list[str]:
    """Draw one paper's guarantees, those at the same place one above the other."""
    columns: dict[int, list[tuple[int, float]]] = {}
    for row in rows:
        share = readme_parts.share(row)
        refuted = row["verdict"] == "refuted"
        kind = 3 - bool(row["claims"]) if refuted else int(row["guarantee"] == "none")
        columns.setdefault(round(_x(share) / 8), []).append((kind, _x(share)))
    parts = []
    for _, marks in sorted(columns.items()):
        step = min(8.0, (ROW - 14) / len(marks))
        for k, (kind, x) in enumerate(sorted(marks)):
            parts.append(_mark(kind, x, middle + step * (k - (len(marks) - 1) / 2), rim=step > 5))
    return parts


def _mark(kind: int, x: float, y: float, *, rim: bool = True) -> str:
    """Draw a dot; with a white rim where it may touch others without being lost among them."""
    white = f'stroke="#ffffff" stroke-width="{0.6 if rim else 0}"'
    if kind >= 2:
        look = f'fill="{RED}" {white}' if kind == 2 else f'fill="#ffffff" stroke="{RED}" stroke-width="1.4"'
        return f'<path d="M{x:.1f} {y - 4.5:.1f}l4.5 4.5l-4.5 4.5l-4.5 -4.5z" {look}/>'
    look = f'fill="{BLUE}" {white}' if kind == 0 else f'fill="#ffffff" stroke="{SOFT}" stroke-width="1.4"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.4" {look}/>'


def _legend(y: float) -> list[str]:
    parts, x = [], 24.0
    for k, (kind, (fill, _)) in enumerate(LOOKS.items()):
        if k == 3:
            x, y = 24.0, y + 18
        parts.append(f'<rect x="{x:.1f}" y="{y - 9:.1f}" width="10" height="10" fill="{fill}"/>')
        parts.append(_text(x + 14, y, f"{answers.GLYPHS[kind]} {kind}", size=11, fill=SOFT))
        x += 36 + 6.2 * (len(kind) + 2)
    x, y = float(DOTS[0]), y - 18
    for kind, words in enumerate(KINDS):
        if kind == 2:
            x, y = float(DOTS[0]), y + 18
        parts += [_mark(kind, x + 5, y - 4), _text(x + 14, y, words, size=11, fill=SOFT)]
        x += 28 + 5.6 * len(words)
    return parts
