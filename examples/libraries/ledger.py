"""The ledger of other libraries: rows of all of them, judged together, as a table, a figure and a page.

    python examples/libraries/ledger.py FOLDER ROWS...      (lines of JSON from run.py)
    python examples/libraries/ledger.py --docs              (from docs/assets/libraries.jsonl into docs/libraries.md)

A claim is refuted where Holm's procedure over the whole table, family-wise level .05, rejects it.
"""

import html
import json
import math
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline import files, multiple
from dperm_pipeline.figures import style

ROOT = Path(__file__).parents[2]
ROWS, PAGE, FIGURE = (ROOT / "docs" / name for name in ("assets/libraries.jsonl", "libraries.md", "libraries.svg"))
LEVEL = 0.05
RELATIONS = {
    "add_remove": "add/remove",
    "replace": "replace one",
    "inputs": "inputs one sensitivity apart",
    "user": "all rows of a user",
}
KEY = ["library", "claim", "relation"]
_COLOURS = {"refuted": "#9C3F00", "not refuted": "#0072B2"}
_FURTHEST = 12.0


def read(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Return the rows of these files with `p_holm` and `verdict`, in their order; ValueError if one is there twice."""
    lines = [line for path in paths for line in Path(path).read_text(encoding="utf-8").splitlines()]
    rows = pd.DataFrame([json.loads(line) for line in lines])
    rows["exact"] = rows["exact"].astype(float)
    if (twice := rows.duplicated(KEY)).any():
        raise ValueError(f"there twice: {rows.loc[twice, KEY].to_numpy().tolist()}")
    rows["p_holm"] = multiple.adjusted(rows["p_value"])
    rows["verdict"] = rows["p_holm"].map(lambda p: "refuted" if p <= LEVEL else "not refuted")
    # A refutation without the line that explains it is not fit to be published.
    if (bare := (rows["verdict"] == "refuted") & (rows["because"] == "")).any():
        raise ValueError(f"refuted without a reason: {rows.loc[bare, KEY].to_numpy().tolist()}")
    return rows


def fallen(rows: pd.DataFrame) -> pd.DataFrame:
    """Return for each claim how many relations it was tried under, and under how many it is refuted."""
    each = rows.assign(refuted=rows["verdict"] == "refuted").groupby(KEY[:2], sort=False)
    return each.agg(tried=("refuted", "size"), refuted=("refuted", "sum")).reset_index()


def _number(value: float) -> str:
    if math.isnan(value):
        return ""
    return "∞" if math.isinf(value) else f"{value:.3g}"


def _p(value: float) -> str:
    return "1" if value == 1 else f"{value:.1g}" if value > 1e-99 else "< 1e-99"


def table(rows: pd.DataFrame) -> str:
    """Return the table of one library in Markdown."""
    words = [
        ("claim", "relation", "ε", "δ", "certified", "exact", "p", "p (Holm)", "pair", "verdict"),
        ("---",) * 10,
    ]
    for row in rows.itertuples():
        relation = RELATIONS[row.relation]
        words.append(
            (
                f"`{row.claim}`",
                relation,
                _number(row.epsilon),
                _number(row.delta),
                _number(row.certified),
                _number(row.exact),
                _p(row.p_value),
                _p(row.p_holm),
                row.pair,
                "**refuted**" if row.verdict == "refuted" else row.verdict,
            )
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in words)


def reasons(rows: pd.DataFrame) -> str:
    """Return the refuted claims of one library, each with the line that explains it."""
    found = rows[rows["verdict"] == "refuted"]
    lines = []
    for claim, some in found.groupby("claim", sort=False):
        relations = " and ".join(RELATIONS[name] for name in some["relation"])
        known = f" Known upstream: {some['known'].iloc[0]}." if some["known"].iloc[0] else ""
        lines.append(f"- `{claim}` ({relations}): {some['because'].iloc[0]}.{known}")
    return "\n".join(lines) or "No claim is refuted."


def blocks(rows: pd.DataFrame) -> dict[str, str]:
    """Return what stands between the marks of the page, by their names: the summary, and each library."""
    found = {}
    for name, some in rows.groupby("library", sort=False):
        promises = "\n".join(f"- {words}" for words in dict.fromkeys(some["promise"]))
        head = f"Version {some['version'].iloc[0]}. It promises:\n\n{promises}"
        found[name] = f"{head}\n\n{table(some)}\n\nWhat explains each refutation:\n\n{reasons(some)}"
    words = [
        ("library", "version", "claims", "rows", "refuted under every relation tried", "under one of two"),
        ("---",) * 6,
    ]
    for name, some in fallen(rows).groupby("library", sort=False):
        every, version = (
            int((some["refuted"] == some["tried"]).sum()),
            rows.loc[rows["library"] == name, "version"].iloc[0],
        )
        part = int(((some["refuted"] > 0) & (some["refuted"] < some["tried"])).sum())
        words.append((name, version, len(some), int(some["tried"].sum()), every, part))
    found["summary"] = "\n".join(f"| {' | '.join(map(str, line))} |" for line in words)
    return found


def written(page: str, rows: pd.DataFrame) -> str:
    """Return the page with its blocks written anew; ValueError if a block is not there once."""
    for name, text in blocks(rows).items():
        mark = rf"(?<=<!-- {name} -->\n).*?(?=\n<!-- /{name} -->)"
        page, count = re.subn(mark, lambda _, text=text: text, page, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"docs/libraries.md has {count} blocks <!-- {name} -->, and one was to be written")
    return page


def _short(claim: str) -> str:
    return textwrap.shorten(claim, 62, placeholder=" ...")


def figure(rows: pd.DataFrame) -> Figure:
    """Draw the certified bound of each row as a multiple of its claim, a line for each claim."""
    rows = rows[rows["epsilon"] > 1e-6]
    claims = list(dict.fromkeys(zip(rows["library"], rows["claim"], strict=True)))
    drawn = Figure(figsize=(7, 1.2 + 0.15 * len(claims)))
    axis = drawn.subplots()
    axis.grid(visible=False, axis="y")
    markers = {"add_remove": "o", "replace": "s"}
    for row in rows.itertuples():
        share = min(row.certified / row.epsilon, _FURTHEST)
        place = claims.index((row.library, row.claim))
        axis.plot(
            share,
            place,
            marker=markers.get(row.relation, "D"),
            color=_COLOURS[row.verdict],
            fillstyle="none" if row.relation == "replace" else "full",
            markersize=3.4,
            clip_on=False,
        )
    axis.axvline(1.0, color="#222222", linewidth=1.0, zorder=1)
    axis.set_yticks(range(len(claims)), [f"{library}: {_short(claim)}" for library, claim in claims], size=5)
    axis.set_ylim(len(claims) - 0.5, -0.5)
    axis.set_xlim(0, _FURTHEST)
    # The picture is long: its numbers stand at both ends.
    axis.tick_params(top=True, labeltop=True, axis="x")
    axis.set_xlabel("certified ε, as a multiple of the claimed ε (cut off at 12)")
    handles = [
        Line2D([], [], linestyle="", marker=marker, color="#555555", fillstyle=fill, label=label)
        for marker, fill, label in (
            ("o", "full", "add/remove"),
            ("s", "none", "replace one"),
            ("D", "full", "as the library states"),
        )
    ]
    handles += [Line2D([], [], color=colour, marker="o", linestyle="", label=word) for word, colour in _COLOURS.items()]
    words = ["Refuted: by Holm's procedure over the whole table, at family-wise level .05. Left of 1 nothing is said."]
    style.footer(drawn, handles, columns=5, lines=words)
    return drawn


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Save the figure as SVG, the same bytes for the same rows."""
    with style.applied():
        drawn = figure(rows)
        style.settle(drawn)
        with files.replacing(path) as temporary:
            drawn.savefig(temporary, metadata={"Date": None})


def main(folder: Path, paths: list[str]) -> None:
    """Write ledger.parquet, ledger.svg and index.html."""
    rows = read(paths)
    with files.replacing(folder / "ledger.parquet") as temporary:
        rows.drop(columns="counts").to_parquet(temporary, index=False)
    draw(rows, folder / "ledger.svg")
    shown = [
        "library",
        "version",
        *KEY[1:],
        "epsilon",
        "delta",
        "certified",
        "exact",
        "p_holm",
        "pair",
        "verdict",
        "because",
    ]
    body = rows[shown].to_html(index=False, border=0, na_rep="", float_format=lambda value: f"{value:.3g}")
    title = html.escape("Other libraries: claimed and certified epsilon")
    files.write_text(
        folder / "index.html",
        f'<!doctype html><meta charset="utf-8"><title>{title}</title><style>body{{font:14px sans-serif}}'
        f"td,th{{text-align:left;padding:2px 8px;vertical-align:top}}</style><h1>{title}</h1>"
        f'<img src="ledger.svg" alt="certified epsilon as a multiple of the claim">{body}\n',
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["--docs"]:
        found = read([ROWS])
        files.write_text(PAGE, written(PAGE.read_text(encoding="utf-8"), found))
        draw(found, FIGURE)
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
