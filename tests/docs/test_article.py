"""The article: each number in it is one of a row, every claim has its answer, and the same rows make the same bytes."""

import io
import json
import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pypdf
import pytest

ROOT = Path(__file__).parents[2]
SECTIONS = sorted((ROOT / "docs/article/sections").glob("*.typ"))
TABLES = {
    name: pd.read_csv(ROOT / f"docs/assets/{name}.csv", dtype=str, keep_default_na=False)
    for name in ("answers", "claims", "frontier", "privacy")
}


@pytest.fixture(scope="module")
def build():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import build_article

        yield build_article


@pytest.fixture(scope="module")
def made(build):
    """The pages' text and what is shown of rows, by one run of the compiler."""
    compiler = build.compiler(build.ASSETS)
    read = pypdf.PdfReader(io.BytesIO(compiler.compile(format="pdf")))
    return [page.extract_text() for page in read.pages], [
        found["value"] for found in json.loads(compiler.query("<shown>"))
    ]


@pytest.fixture
def pages(made):
    return made[0]


@pytest.fixture
def shown(made):
    return made[1]


def chosen(record):
    frame = TABLES[record["table"]]
    for field, value in record["where"].items():
        if isinstance(value, list):
            frame = frame[frame[field].isin(value)]
        else:
            frame = frame[frame[field] == value] if value[:1] != "!" else frame[frame[field] != value[1:]]
    return frame


def right(record):
    """Tell whether what is shown is what the rows say: in as many figures as are shown, or never rounded up."""
    rows, text = chosen(record), record["shown"]
    if not record["field"]:
        return text == len(rows)
    (value,) = rows[record["field"]]
    if record["field"] == "kind":
        return text == value
    if text == "none":
        return float(value) > 500
    if math.isinf(float(value)):
        return text == "∞"
    value = float(value) * (100 if record["percent"] else 1)
    if value == text:
        return True
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    if record["down"]:
        return 0 <= value * (1 + 1e-11) - text <= unit
    return abs(value - text) <= 0.5000001 * unit


def test_what_is_shown_of_a_row_is_what_the_row_says(shown):
    assert [record for record in shown if not right(record)] == []
    assert len(shown) > 400


def test_a_number_that_is_off_would_be_found(shown):
    record = next(one for one in shown if one["field"] == "low" and one["shown"])
    assert not right(record | {"shown": record["shown"] * 1.02})


def test_every_claim_stands_in_the_appendix_with_its_answer(pages):
    first = max(k for k, page in enumerate(pages) if "The answer to every claim" in page)
    text = re.sub(r"\s+", " ", " ".join(pages[first:]))
    rows = sorted((text.index(f" {row.claim} "), row.claim, row.kind) for _, row in TABLES["answers"].iterrows())
    ends = [place for place, *_ in rows[1:]] + [len(text)]
    for (start, claim, kind), end in zip(rows, ends, strict=True):
        assert text[start:end].count(kind) == 1, claim


def prose(source):
    """Return what a source says in words: without comments, calls, code, mathematics and names."""
    source = re.sub(r"//.*", "", source)
    return re.sub(r"\$[^$]*\$|`[^`]*`|\"[^\"]*\"|<[a-z-]+>|@[a-z0-9-]+", " ", source)


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.stem)
def test_no_number_of_a_row_is_typed(path):
    words = prose(path.read_text(encoding="utf-8"))
    assert re.findall(r"(?<![\w.])-?\d*\.\d+(?!\w)|\d+ ?%", words) == []


def test_it_is_whole(pages):
    assert 1 <= min(k for k, page in enumerate(pages) if "The answer to every claim" in page and k) <= 30


@pytest.mark.slow
def test_the_same_rows_make_the_same_bytes_and_other_rows_another_text(build, tmp_path):
    copy = shutil.copytree(build.ASSETS, tmp_path / "assets")
    assert build.pdf(copy) == build.pdf()
    TABLES["answers"].assign(kind="fails").to_csv(copy / "answers.csv", index=False)
    other = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(build.pdf(copy))).pages)
    assert other.count("fails") >= len(TABLES["answers"]) > other.count("holds as printed")
