"""The frame of the page: the top, the papers in two minutes, and one section for each paper."""

import csv
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from dperm.errors import CorruptFile
from dperm_pipeline import figures as drawn
from dperm_pipeline import places
from dperm_pipeline.claims import answers
from dperm_pipeline.report import errata, ledgers
from dperm_pipeline.report.rows_read import RowsSummary
from dperm_pipeline.target import Target

# Tables longer than this can be searched, sorted and paged.
LONG = 15
# What follows `X`, the figure as published, is drawn beside it.
CORRECTED = "-corrected"
_NUMBER = re.compile(r"-?(\d+\.?\d*(e[+-]?\d+)?|inf)(?![\w.])")
_NUMBERED = re.compile(r"\w+-(fig|figs|table)\d")
_NOTHING = ("", "–", "-", "—")
_LEDGERS = ("privacy", "mutants")
# Not a paper: what compares methods across them.
ACROSS = "frontier"
NOTHING = {"figures": [], "tables": []}
# The data set of a formula's rows.
_NO_DATA = "no-data"
_SIZE = re.compile(rb'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"')


def in_order(papers: Iterable[str]) -> list[str]:
    """Return papers, each once, as they appeared; a key without a folder comes last."""
    found = list(dict.fromkeys(papers))
    return [*(key for key in places.papers() if key in found), *(key for key in found if key not in places.papers())]


def counted(verdicts: pd.Series, all_of: Sequence[str]) -> dict[str, int]:
    """Return how often each verdict was given, zeros included."""
    given = verdicts.value_counts()
    return {verdict: int(given.get(verdict, 0)) for verdict in all_of}


def papers(claims: Sequence[Mapping[str, Any]], privacy: pd.DataFrame, verdicts: Sequence[str]) -> list[dict[str, Any]]:
    """Return a row of counts for each paper of which there is a claim or a guarantee.

    `key name title authors claims headline guarantees controls`: claims (`answers` of `verdicts.context`) and headline
    from answers to counts, guarantees from verdicts to counts, controls how many of the refuted guarantees are no
    paper's.
    """
    answered = pd.DataFrame(claims, columns=["paper", "kind", "headline"])
    headline = answered[answered["headline"] == "yes"]
    found = [*answered["paper"].unique(), *privacy["paper"].unique()]
    known = {
        **{paper: places.papers()[paper] for paper in places.papers() if paper in found},
        **{p: (p, "") for p in found if p not in places.papers()},
    }
    return [
        {
            "key": key,
            "name": places.called(key),
            "title": title,
            "authors": authors,
            "claims": counted(answered.loc[answered["paper"] == key, "kind"], answers.ANSWERS),
            "headline": counted(headline.loc[headline["paper"] == key, "kind"], answers.ANSWERS),
            "guarantees": counted(privacy.loc[privacy["paper"] == key, "verdict"], verdicts),
            "controls": int((ledgers.controls(privacy) & (privacy["paper"] == key)).sum()),
        }
        for key, (title, authors) in known.items()
    ]


def refuted(guarantees: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the refuted guarantees of papers by mechanism, calibration and relation: how many, how far, by which slip.

    Controls are left out: nobody printed them. The keys are `paper mechanism calibration neighbours count laws
    epsilon spends factor errata notes`; epsilon, factor and what it spends, in words, of the one that is furthest
    beyond its claim; the erratum that decides each, worst first; notes where it is no slip of the paper.
    """
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for row in guarantees:
        if row["verdict"] == "refuted" and not row["control"]:
            key = tuple(row[name] for name in ("paper", "mechanism", "calibration", "neighbours"))
            groups.setdefault(key, []).append(row)
    order = {paper: k for k, paper in enumerate(places.papers())}
    lines = []
    for (paper, mechanism, calibration, neighbours), rows in sorted(
        groups.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0])
    ):
        worst = max(rows, key=lambda row: row["share"])
        lines.append(
            {
                "paper": paper,
                "mechanism": mechanism,
                "calibration": calibration,
                "neighbours": neighbours,
                "count": len(rows),
                "laws": sorted({row["variant"] for row in rows}),
                "epsilon": worst["epsilon"],
                "spends": ledgers.least(float(worst["exact"]["bound"])),
                "factor": worst["share"],
                # The decisive one of a row stands first; the others say what else is wrong with it.
                "errata": list(dict.fromkeys(row["errata"][0]["name"] for row in rows if row["errata"])),
                "notes": sorted({row["note"] for row in rows if not row["errata"]} - {""}),
            }
        )
    return lines


def badge(entry: Mapping[str, Any]) -> str:
    """Return `sample` or `synthetic` if the data set is not the whole of a published one, else nothing."""
    if str(entry.get("citation", "")).startswith("none"):
        return "synthetic"
    # Not to be had from whoever publishes the whole, or drawn from it.
    return "sample" if entry.get("sample") or (entry.get("files") and entry.get("sources") == []) else ""


def datasets(summaries: Iterable[RowsSummary], catalogue: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the data sets in use: `known`, those of the catalogue, and `made`, names of what experiments make up."""
    names = sorted({name for file in summaries for name in file.datasets if name})
    known = [
        {"name": name, "badge": badge(catalogue[name]), "title": catalogue[name].get("title", "")}
        for name in names
        if name in catalogue
    ]
    return {"known": known, "made": [name for name in names if name not in catalogue]}


def figures(
    paths: Sequence[str | Path],
    *,
    claims: Mapping[str, Sequence[Mapping[str, Any]]],
    summaries: Mapping[str, RowsSummary],
    origins: Mapping[str, str],
) -> list[dict[str, Any]]:
    """Return what the page shows of each SVG file; CorruptFile if it is not one.

    `name paper svg title caption alt source of width height claims note`: svg is the bytes of the file, the size in
    points, claims those decided on it (`by_figure` of `verdicts.context`), and note what the rows of its origin say
    of repeats and data sets.
    """
    return [_figure(Path(path), claims, summaries, origins) for path in paths]


def _figure(
    path: Path, claims: Mapping[str, Any], summaries: Mapping[str, RowsSummary], origins: Mapping[str, str]
) -> dict[str, Any]:
    svg = path.read_bytes()
    if b"<svg" not in svg[:2000]:
        raise CorruptFile(f"{path} is not an SVG figure", made=path)
    known = drawn.FIGURES.get(path.stem)
    title, caption, alt = (known.title, known.caption, known.alt) if known else (path.stem,) * 3
    size = _SIZE.search(svg[:2000])
    width, height = (math.ceil(float(number)) for number in size.groups()) if size else (640, 480)
    return {
        "name": path.stem,
        "paper": path.stem.partition("-")[0],
        "svg": svg,
        "title": title,
        "caption": caption,
        "alt": alt,
        "source": known.source if known else "rows",
        "of": known.paper if known else "",
        "width": width,
        "height": height,
        "size": (width, height),
        "claims": claims.get(path.stem, []),
        "note": _note(summaries.get(origins.get(path.stem, "")), known),
    }


def _note(rows: RowsSummary | None, known: Target | None) -> dict[str, Any]:
    """Return what the caption adds of the rows: their experiment, repeats and data sets."""
    if rows is None:
        return {}
    metrics, drawn_of = (known.metrics, known.datasets) if known else ((), ())
    asked = [metric for metric in metrics if metric in rows.repeats] or list(rows.repeats)
    repeats = max((rows.repeats[metric] for metric in asked), default=0)
    datasets = sorted(name for name, of in rows.datasets.items() if name != _NO_DATA and of & set(asked))
    datasets = [name for name in datasets if name in drawn_of] or datasets
    # What reads every metric may draw a formula beside what was repeated: then `repeats` speaks of a part of it.
    own = bool(metrics)
    return {"experiment": rows.name.partition("/")[0], "repeats": repeats, "datasets": datasets, "own": own}


def tables(
    paths: Sequence[str | Path], *, summaries: Mapping[str, RowsSummary], origins: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return `name title caption source header lines long note` of each table, of Markdown and CSV the Markdown.

    CorruptFile if a file holds no table.
    """
    return [_table(path, summaries, origins) for path in _one_of_each(paths)]


def _one_of_each(paths: Sequence[str | Path]) -> list[Path]:
    chosen: dict[str, Path] = {}
    for path in map(Path, paths):
        if path.stem not in chosen or path.suffix == ".md":
            chosen[path.stem] = path
    return list(chosen.values())


def _table(path: Path, summaries: Mapping[str, RowsSummary], origins: Mapping[str, str]) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    lines = markdown_cells(text) if path.suffix == ".md" else list(csv.reader(text.splitlines()))
    if not lines:
        raise CorruptFile(f"{path} holds no table", made=path)
    known = drawn.TABLES.get(path.stem)
    title, caption, source = (known.title, known.caption, known.source) if known else (path.stem, "", "rows")
    return {
        "name": path.stem,
        "path": path,
        "paper": path.stem.partition("-")[0],
        "title": title,
        "caption": caption,
        "source": source,
        "header": lines[0],
        "lines": _ordered(lines[1:]),
        "long": len(lines) > LONG + 1,
        "note": _note(summaries.get(origins.get(path.stem, "")), known),
    }


def _ordered(lines: Sequence[Sequence[str]]) -> list[list[dict[str, Any]]]:
    """Give the cells of a column of numbers the number that they begin with, by which it is sorted."""
    numbers = [[_leading(cell) for cell in line] for line in lines]
    columns = range(min(map(len, lines), default=0))
    exact = {k for k in columns if all(line[k] is not None for line in numbers)}
    return [
        [{"text": cell, "order": of[k] if k in exact else None} for k, cell in enumerate(line)]
        for line, of in zip(lines, numbers, strict=True)
    ]


def _leading(cell: str) -> str | None:
    """Return the number with which a cell begins, nothing where it says that there is none, or None for words."""
    if cell in _NOTHING:
        return ""
    found = _NUMBER.match(cell.replace("−", "-").replace(",", ""))
    return found.group(0) if found else None


def markdown_cells(text: str) -> list[list[str]]:
    """Read back a pipe table as `figures.make_table` writes it; the rule under the header is left out."""
    lines = [cells for cells in map(errata.cells_of, text.splitlines()) if cells]
    return lines[:1] + lines[2:]


def by_paper(figures: Sequence[dict[str, Any]], tables: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a section for each paper: its figures, each beside its corrected form if there is one, and its tables.

    The keys are `key title authors figures tables`, figures being groups of one or two. The ledgers' own figures
    and tables belong to no paper and are left out.
    """
    plots = _in_order(figure for figure in figures if figure["source"] not in _LEDGERS)
    numbers = _in_order(table for table in tables if table["source"] not in _LEDGERS)
    keys = in_order(shown["paper"] for shown in (*plots, *numbers))
    sections = []
    for key in keys:
        title, authors = places.papers().get(key, (key, ""))
        sections.append(
            {
                "key": key,
                "title": title,
                "authors": authors,
                "figures": _pairs([figure for figure in plots if figure["paper"] == key]),
                "tables": [table for table in numbers if table["paper"] == key],
            }
        )
    return sections


def _in_order(shown: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Order figures or tables: those that have a number in the paper first, 2 before 12."""

    def place(one: Mapping[str, Any]) -> tuple[bool, list[tuple[str, int]]]:
        parts = re.findall(r"(\D*)(\d*)", one["name"].partition("-")[2])
        return not _NUMBERED.match(one["name"]), [(words, int(digits or 0)) for words, digits in parts]

    return sorted(shown, key=place)


def _pairs(figures: Sequence[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Put each corrected figure beside the published one; alone where that was not drawn."""
    corrected = {figure["name"]: figure for figure in figures if figure["name"].endswith(CORRECTED)}
    published = {figure["name"] for figure in figures} - set(corrected)
    groups = []
    for figure in figures:
        beside = corrected.get(figure["name"] + CORRECTED)
        if beside is not None:
            groups.append([figure, beside])
        elif figure["name"] in published or figure["name"].removesuffix(CORRECTED) not in published:
            groups.append([figure])
    return groups
