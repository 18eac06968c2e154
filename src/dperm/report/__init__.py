"""The report: one page for people that stands alone, without network, script or any other file."""

import base64
import csv
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

from dperm import claims as verdicts_of
from dperm import figures as drawn
from dperm import files, tables
from dperm.errors import CorruptFile
from dperm.report import ledgers

TITLE = "Four papers on differentially private learning, reproduced"


def build(
    out_html: str | Path,
    *,
    claims: str | Path,
    privacy: str | Path,
    mutants: str | Path,
    figures: Sequence[str | Path],
    tables: Sequence[str | Path],
    rows: Sequence[str | Path],
    config: Mapping[str, Any],
    provenance: Mapping[str, Any],
    unavailable: Mapping[str, str],
) -> None:
    """Write the report; equal input gives equal bytes.

    Parameters
    ----------
    out_html : path
        Where to write.
    claims : path
        `claims.parquet`.
    privacy, mutants : path
        `privacy.parquet` and `mutants.parquet`, whose verdicts are counted; what is drawn from them is a section.
    figures : sequence of paths
        SVG files; each is embedded as an image of its own, so that ids inside them cannot clash.
    tables : sequence of paths
        Markdown or CSV files; of one table given as both, the Markdown is shown.
    rows : sequence of paths
        The `rows.parquet` of each experiment: listed with checksum and failures, and asked for the data sets in use.
    config : mapping
        The resolved configuration, JSON-serialisable; `scale` is shown as a badge.
    provenance : mapping
        Versions, seed, checksums of data, ...: shown as it is, nested mappings and lists included.
    unavailable : mapping
        From data sets that cannot be had on this machine to the reason.

    Raises
    ------
    CorruptFile
        If a figure is not SVG, a table is empty, or Parquet cannot be read.
    FileNotFoundError
        If an input does not exist.
    """
    listed = [_rows_file(Path(path)) for path in rows]
    judged = verdicts_of.read(claims)
    counted = judged["verdict"].value_counts()
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=False, keep_trailing_newline=True
    )
    package = resources.files("dperm.report")
    page = environment.from_string(package.joinpath("page.html").read_text(encoding="utf-8")).render(
        title=TITLE,
        css=package.joinpath("page.css").read_text(encoding="utf-8"),
        scale=config.get("scale", "unknown"),
        datasets=sorted({name for file in listed for name in file["datasets"]}),
        counts={verdict: int(counted.get(verdict, 0)) for verdict in verdicts_of.VERDICTS},
        unavailable=dict(sorted(unavailable.items())),
        verdicts=_groups(judged),
        privacy=ledgers.counts(privacy, ledgers.PRIVACY),
        mutants=ledgers.counts(mutants, ledgers.MUTANTS),
        figures=[_figure(Path(path)) for path in figures],
        tables=[_table(path) for path in _one_of_each(tables)],
        rows=listed,
        provenance=provenance,
        config=json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False),
    )
    files.write_text(out_html, page)


def _groups(judged: pd.DataFrame) -> list[dict[str, Any]]:
    """Gather the verdicts by claim, in the order of the file, with their numbers in words."""
    groups = []
    # A claim with two tests has two statements.
    for (paper, name, _), lines in judged.groupby(["paper", "id", "statement"], sort=False):
        first = lines.iloc[0]
        stated = lines.dropna(subset=["expected"]).drop_duplicates(["expected"])
        expected = ", ".join(
            f"{line.expected:.4g}" + (f" ({line.variant})" if len(stated) > 1 else "") for line in stated.itertuples()
        )
        group = {"paper": paper, "id": name, "statement": first["statement"], "place": first["place"]}
        groups.append({**group, "expected": expected, "rows": [_verdict(line) for line in lines.itertuples()]})
    return groups


def _verdict(line: Any) -> dict[str, str]:
    measured = "" if math.isnan(line.measured) else f"{line.measured:.3g}"
    if measured and not math.isnan(line.low):
        measured += f" [{line.low:.3g}, {line.high:.3g}]"
    n = "" if pd.isna(line.n) else str(line.n)
    words = {name: getattr(line, name) or "" for name in ("variant", "dataset", "verdict", "reason")}
    return {**words, "measured": measured, "n": n}


def _figure(path: Path) -> dict[str, str]:
    svg = path.read_bytes()
    if b"<svg" not in svg[:2000]:
        raise CorruptFile(f"{path} is not an SVG figure; delete it and run again")
    known = drawn.FIGURES.get(path.stem)
    uri = "data:image/svg+xml;base64," + base64.b64encode(svg).decode("ascii")
    title, caption, alt = (known.title, known.caption, known.alt) if known else (path.stem,) * 3
    source = known.source if known else "rows"
    return {"name": path.stem, "uri": uri, "title": title, "caption": caption, "alt": alt, "source": source}


def _one_of_each(paths: Sequence[str | Path]) -> list[Path]:
    """Keep one file of each table, the Markdown if there is one."""
    kept: dict[str, Path] = {}
    for path in map(Path, paths):
        if path.stem not in kept or path.suffix == ".md":
            kept[path.stem] = path
    return list(kept.values())


def _table(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    lines = _markdown_cells(text) if path.suffix == ".md" else list(csv.reader(text.splitlines()))
    if not lines:
        raise CorruptFile(f"{path} holds no table; delete it and run again")
    known = drawn.TABLES.get(path.stem)
    title, caption, source = (known.title, known.caption, known.source) if known else (path.stem, "", "rows")
    shown = {"name": path.stem, "title": title, "caption": caption, "source": source}
    return {**shown, "header": lines[0], "lines": lines[1:]}


def _markdown_cells(text: str) -> list[list[str]]:
    """Read back a pipe table as `figures.make_table` writes it; the rule under the header is left out."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith("|")]
    cells = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [line for k, line in enumerate(cells) if k != 1]


def _rows_file(path: Path) -> dict[str, Any]:
    read = tables.read(path, columns=["dataset", "status"])
    return {
        "name": f"{path.parent.name}/{path.name}",
        "rows": len(read),
        "failed": int((read["status"] == "failed").sum()),
        "datasets": read["dataset"].unique().tolist(),
        "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
    }
