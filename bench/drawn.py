"""What figures and tables show, as numbers: stored from rows, and compared with what other code makes of them.

    python -m bench.drawn dump results/quick drawn.json [NAME ...]
    python -m bench.drawn compare before.json after.json

Of a figure: each panel's words, scales, limits and ticks, its lines, bands, points and texts. Of a table: its cells.
"""

import argparse
import csv
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

_TOLERANCE = 1e-9


def dump(results: Path, names: list[str]) -> dict[str, Any]:
    """Draw all figures and tables whose rows are in a folder of results, or those named."""
    found = {}
    for experiment, rows, drawn in _experiments(results):
        for kind, name in drawn:
            if not names or name in names or experiment in names:
                found[f"{kind}:{name}"] = _figure(name, rows) if kind == "figures" else _table(name, rows)
    return found


def _experiments(results: Path):
    """Give each experiment, its rows and its (kind, name): those of one folder."""
    from dperm_pipeline import figures

    owners: dict[str, list] = {}
    for kind in ("FIGURES", "TABLES"):
        for name, target in getattr(figures, kind).items():
            if target.source == "rows":
                _, paper, folder, _ = target.words.split(".")
                owner = f"{paper}-{folder.replace('_', '-')}/rows"
            else:
                owner = target.source
            owners.setdefault(owner, []).append((kind.lower(), name))
    for owner, drawn in sorted(owners.items()):
        rows = results / f"{owner}.parquet"
        if rows.exists():
            yield owner.split("/")[0], rows, drawn


def _figure(name: str, rows: Path) -> dict[str, Any]:
    from matplotlib.figure import Figure

    from dperm_pipeline import figures

    drawn = {}

    def keep(figure, path, **_):
        Path(path).write_bytes(b"")
        drawn.update(_shown(figure))

    with tempfile.TemporaryDirectory() as folder, mock.patch.object(Figure, "savefig", keep):
        figures.draw(name, rows, svg=Path(folder) / "figure.svg", png=Path(folder) / "figure.png")
    return drawn


def _table(name: str, rows: Path) -> dict[str, Any]:
    from dperm_pipeline import figures

    with tempfile.TemporaryDirectory() as folder:
        plain, words = Path(folder) / "table.csv", Path(folder) / "table.md"
        figures.make_table(name, rows, csv=plain, md=words)
        with plain.open(encoding="utf-8", newline="") as file:
            cells = [[_cell(text) for text in line] for line in csv.reader(file)]
        return {"cells": cells, "words": words.read_text(encoding="utf-8").splitlines()}


def _cell(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _shown(figure) -> dict[str, Any]:
    legends = [_legend(legend) for legend in figure.legends]
    return {
        "size": [*figure.get_size_inches()],
        "texts": [text.get_text() for text in figure.texts],
        "legends": legends,
        "title": figure.get_suptitle(),
        "panels": [_panel(axis) for axis in figure.axes],
    }


def _panel(axis) -> dict[str, Any]:
    from matplotlib.collections import LineCollection, PathCollection

    x, y = axis.get_xlim(), axis.get_ylim()
    lines = [_line(line) for line in axis.lines]
    bands = [_collection(band) for band in axis.collections if not isinstance(band, (LineCollection, PathCollection))]
    bars = [_collection(bar) for bar in axis.collections if isinstance(bar, LineCollection)]
    points = [_collection(point) for point in axis.collections if isinstance(point, PathCollection)]
    return {
        "title": [axis.get_title(), axis.get_title("left")],
        "labels": [axis.get_xlabel(), axis.get_ylabel()],
        "scales": [axis.get_xscale(), axis.get_yscale()],
        "limits": [*x, *y],
        "visible": axis.axison,
        "ticks": [_ticks(axis.xaxis, x), _ticks(axis.yaxis, y)],
        "lines": sorted(lines, key=_order),
        "bands": sorted(bands, key=_order),
        "bars": sorted(bars, key=_order),
        "points": sorted(points, key=_order),
        "patches": sorted((_patch(patch) for patch in axis.patches), key=_order),
        "texts": sorted([text.get_text(), *_numbers(text.get_position())] for text in axis.texts),
        "legend": _legend(axis.get_legend()) if axis.get_legend() else None,
    }


def _order(record: dict[str, Any]) -> str:
    """Sort what one panel draws by its looks, then by its points: what lies above what is told by zorder."""
    return json.dumps([record["look"], np.round(np.nan_to_num(record["at"], posinf=9e9), 6).tolist()], sort_keys=True)


def _numbers(values) -> list:
    return np.asarray(values, dtype=float).tolist()


def _line(line) -> dict[str, Any]:
    from matplotlib import colors

    marker = line.get_marker()
    marked = marker not in ("", "None", None, "none")
    look = {
        "colour": colors.to_hex(line.get_color(), keep_alpha=True),
        "line": str(line._unscaled_dash_pattern) if line.get_linestyle() not in ("None", "") else "none",
        "width": line.get_linewidth() if line.get_linestyle() not in ("None", "") else 0,
        "marker": str(marker) if marked else "",
        "face": _colour(line.get_markerfacecolor()) if marked else "",
        "edge": [_colour(line.get_markeredgecolor()), line.get_markeredgewidth()] if marked else "",
        "size": line.get_markersize() if marked else 0,
        "every": str(line.get_markevery()) if marked else "",
        "alpha": line.get_alpha(),
        "zorder": line.get_zorder(),
        "label": "" if str(line.get_label()).startswith("_") else line.get_label(),
    }
    x, y = line.get_xdata(orig=False), line.get_ydata(orig=False)
    x, y = np.broadcast_arrays(np.asarray(x, dtype=float), np.asarray(y, dtype=float))
    if x.size and x[0] > x[-1]:
        # A line that is drawn from right to left is the same line.
        x, y = x[::-1], y[::-1]
    return {"look": look, "at": [_numbers(x), _numbers(y)] if x.size else []}


def _colour(colour) -> str:
    from matplotlib import colors

    return colour if isinstance(colour, str) and colour == "none" else colors.to_hex(colour, keep_alpha=True)


def _collection(collection) -> dict[str, Any]:
    from matplotlib import colors

    vertices = [path.vertices for path in collection.get_paths()]
    offsets = collection.get_offsets()
    look = {
        "faces": [colors.to_hex(colour, keep_alpha=True) for colour in collection.get_facecolors()],
        "edges": [colors.to_hex(colour, keep_alpha=True) for colour in collection.get_edgecolors()],
        "widths": _numbers(collection.get_linewidths()),
        "zorder": collection.get_zorder(),
    }
    parts = [*vertices, np.asarray(offsets, dtype=float)]
    at = np.concatenate([np.asarray(part, dtype=float).reshape(-1, 2) for part in parts])
    # A band that is drawn from right to left is the same band.
    return {"look": look, "at": _numbers(np.unique(at, axis=0).T)}


def _patch(patch) -> dict[str, Any]:
    from matplotlib import colors

    path = patch.get_path().transformed(patch.get_patch_transform())
    look = {"face": colors.to_hex(patch.get_facecolor(), keep_alpha=True), "hatch": patch.get_hatch()}
    return {"look": look, "at": _numbers(path.vertices.T)}


def _ticks(axis, limits) -> list:
    low, high = sorted(limits)
    places = axis.get_majorticklocs()
    labels = [label.get_text() for label in axis.get_majorticklabels()]
    near = [low - abs(low) * 1e-9 <= place <= high + abs(high) * 1e-9 for place in places]
    shown = axis.get_major_ticks()[0].label1.get_visible() if len(places) else False
    return [[float(p), text if shown else ""] for p, text, inside in zip(places, labels, near, strict=False) if inside]


def _legend(legend) -> list:
    from matplotlib.lines import Line2D

    texts = [text.get_text() for text in legend.get_texts()]
    looks = [_line(handle)["look"] if isinstance(handle, Line2D) else type(handle).__name__
             for handle in legend.legend_handles]  # fmt: skip
    return [[text, look] for text, look in zip(texts, looks, strict=True)]


def compare(before: Any, after: Any, place: str = "", scale: float = 0.0) -> list[str]:
    """Return what differs, a line each; numbers beyond 1e-9 of the range of their list."""
    if isinstance(before, dict) and isinstance(after, dict):
        return [
            line
            for key in sorted({*before, *after})
            for line in compare(before.get(key, "absent"), after.get(key, "absent"), f"{place}/{key}", scale)
        ]
    if isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            return [f"{place}: {len(before)} before, {len(after)} after"]
        numbers = [abs(value) for value in (*before, *after) if isinstance(value, float) and np.isfinite(value)]
        widest = max(numbers, default=scale)
        pairs = enumerate(zip(before, after, strict=True))
        return [line for k, (one, other) in pairs for line in compare(one, other, f"{place}[{k}]", widest)]
    if isinstance(before, (int, float)) and isinstance(after, (int, float)):
        same = np.isclose(before, after, rtol=_TOLERANCE, atol=_TOLERANCE * scale, equal_nan=True)
        return [] if same else [f"{place}: {before} before, {after} after"]
    return [] if before == after else [f"{place}: {before!r} before, {after!r} after"]


def main() -> int:
    """Store what is drawn, or tell how two stores differ; 1 if they do."""
    parser = argparse.ArgumentParser(prog="python -m bench.drawn", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    dumped = commands.add_parser("dump", help="draw, and store what is shown")
    dumped.add_argument("results", type=Path, help="folder of one scale, results/quick")
    dumped.add_argument("out", type=Path)
    dumped.add_argument("names", nargs="*", help="experiments, figures or tables; without any: all")
    compared = commands.add_parser("compare", help="tell differences; what only the first has was not drawn again")
    compared.add_argument("before", type=Path)
    compared.add_argument("after", type=Path)
    arguments = parser.parse_args()
    if arguments.command == "dump":
        found = dump(arguments.results, arguments.names)
        arguments.out.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
        print(f"{len(found)} figures and tables")
        return 0
    before, after = (json.loads(path.read_text(encoding="utf-8")) for path in (arguments.before, arguments.after))
    differing = 0
    for name, shown in after.items():
        lines = compare(before.get(name, "absent"), shown)
        differing += bool(lines)
        print(f"{name}: {'equal' if not lines else f'{len(lines)} differences'}")
        for line in lines[:12]:
            print(f"    {line[:400]}")
    print(f"{len(after)} compared of {len(before)}, {differing} differ")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
