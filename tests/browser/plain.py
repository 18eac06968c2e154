"""The page as it is written, before any script: its tables read back by the keys that their rows carry."""

import functools
import math
from html.parser import HTMLParser
from pathlib import Path


class _Rows(HTMLParser):
    """Gathers the rows of one table: attributes of the row, and text and attributes of each cell by its heading."""

    def __init__(self, table: str):
        super().__init__()
        self.table, self.rows, self.inside, self.depth = table, [], False, 0
        self.cell = None

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if tag == "table":
            self.inside = self.inside or given.get("id") == self.table
            self.depth += self.inside
        if not self.inside:
            return
        if tag == "tr" and self.depth == 1:
            self.rows.append({"attributes": given, "cells": {}})
        if tag == "td" and self.depth == 1 and self.rows:
            self.cell = {"text": "", **given}
            self.rows[-1]["cells"][given.get("data-name", given.get("class", len(self.rows[-1]["cells"])))] = self.cell

    def handle_endtag(self, tag):
        if tag == "table" and self.inside:
            self.depth -= 1
            self.inside = self.depth > 0
        if tag == "td":
            self.cell = None

    def handle_data(self, data):
        if self.cell is not None:
            self.cell["text"] += data


@functools.cache
def rows(page: Path, table: str) -> list[dict]:
    """Return the body rows of the table with this id: `attributes` of each, and `cells` by their heading."""
    parser = _Rows(table)
    parser.feed(page.read_text(encoding="utf-8"))
    parser.close()
    return [row for row in parser.rows if row["cells"]]


def every(folder: Path, table: str) -> list[dict]:
    """Return the rows of the tables with this id on all pages of a folder."""
    return [row for page in sorted(folder.glob("*.html")) for row in rows(page, table)]


def number(cell: dict) -> float:
    """Return what a cell says its exact value is; NaN where there is none."""
    text = cell["data-order"]
    return math.nan if text == "" else float(text)
