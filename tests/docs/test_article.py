"""The article: each number in it is one of a row, every claim has its answer, and the same rows make the same bytes."""

import functools
import io
import json
import math
import re
import shutil
from pathlib import Path

import pandas as pd
import pypdf
import pytest
import typst

from dperm_pipeline import multiple
from dperm_pipeline.claims.ledger import NO_BOUND

ROOT = Path(__file__).parents[2]
SECTIONS = sorted((ROOT / "docs/article/sections").glob("*.typ"))
TABLES = {
    name: pd.read_csv(ROOT / f"docs/assets/{name}.csv", dtype=str, keep_default_na=False)
    for name in ("answers", "claims", "frontier", "privacy")
} | {name: pd.read_json(ROOT / f"docs/assets/{name}.jsonl", lines=True) for name in ("auditors", "libraries")}
HOLM = multiple.adjusted(TABLES["libraries"].p_value)
TABLES["libraries"]["verdict"] = ["refuted" if p <= 0.05 else "not refuted" for p in HOLM]
FALLEN = (TABLES["libraries"].verdict == "refuted").groupby([TABLES["libraries"][key] for key in ("library", "claim")])
TABLES["libraries"]["falls"] = FALLEN.transform("mean").map(lambda share: {0: "none", 1: "every"}.get(share, "one"))


@pytest.fixture(scope="module")
def build():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import build_article

        yield build_article


@pytest.fixture(scope="module")
def made(build):
    """The file and what is shown of rows, by one run of the compiler."""
    compiler = build.compiler(build.ASSETS)
    read = pypdf.PdfReader(io.BytesIO(compiler.compile(format="pdf")))
    return read, [found["value"] for found in json.loads(compiler.query("<shown>"))]


@pytest.fixture
def shown(made):
    return made[1]


@pytest.fixture
def appendix(made):
    """The text of the appendix's pages, which are the last; pages with figures take seconds to read."""
    texts = []
    for page in reversed(made[0].pages):
        texts.insert(0, page.extract_text())
        if "The answer to every claim" in texts[0]:
            return texts
    pytest.fail("there is no appendix")


@functools.cache
def rows_where(table, *where):
    """The rows of which this is true; many records ask for the same ones."""
    if not where:
        return TABLES[table]
    frame, (field, value) = rows_where(table, *where[:-1]), where[-1]
    if isinstance(value, tuple):
        return frame[frame[field].isin(value)]
    if value[:1] == "~":
        return frame[frame[field].str.contains(value[1:], regex=False)]
    return frame[frame[field] == value] if value[:1] != "!" else frame[frame[field] != value[1:]]


def chosen(record):
    where = ((field, tuple(value) if isinstance(value, list) else value) for field, value in record["where"].items())
    return rows_where(record["table"], *where)


def right(record):
    """Tell whether what is shown is what the rows say: in as many figures as are shown, or never rounded up."""
    rows, text = chosen(record), record["shown"]
    if not record["field"]:
        return text == len(rows)
    if record.get("distinct"):
        return text == rows[record["field"]].nunique()
    if record.get("mean"):
        return abs(rows[record["field"]].mean() - text) <= 0.00050001
    if record.get("sum"):
        return text == rows[record["field"]].dropna().astype(int).sum()
    (value,) = rows[record["field"]]
    if record["field"] == "kind":
        return text == value
    if text == "none":
        return float(value) > NO_BOUND
    if math.isinf(float(value)):
        return text == "∞"
    value = float(value)
    if record["percent"]:
        return abs(100 * value - text) <= 0.05000001
    if value == text:
        return True
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    if record["down"]:
        return 0 <= value * (1 + 1e-11) - text <= unit
    return abs(value - text) <= 0.5000001 * unit


def test_what_is_shown_of_a_row_is_what_the_row_says(shown):
    assert [record for record in shown if not right(record)] == []
    assert len(shown) > 800


def test_a_number_that_is_off_would_be_found(shown):
    record = next(one for one in shown if one["field"] == "low" and one["shown"])
    assert not right(record | {"shown": record["shown"] * 1.02})


def test_every_claim_stands_in_the_appendix_with_its_answer(made, appendix):
    assert 15 <= len(made[0].pages) - len(appendix) <= 25
    text = re.sub(r"\s+", " ", " ".join(appendix))
    rows = sorted((text.index(f" {row.claim} "), row.claim, row.kind) for _, row in TABLES["answers"].iterrows())
    ends = [place for place, *_ in rows[1:]] + [len(text)]
    for (start, claim, kind), end in zip(rows, ends, strict=True):
        assert text[start:end].count(kind) == 1, claim


def typed(source):
    """Return the decimals and percentages that a source types itself: not in a name, a length or a paper's places."""
    source = re.sub(r'//.*|`[^`]*`|"[^"]*"|(Section|Theorem|Corollary) \d[\d.]*', " ", source)
    return re.findall(r"(?<![\w.])\d*\.\d+(?![\w.])|\d+ ?%", source)


@pytest.mark.parametrize("path", SECTIONS, ids=lambda path: path.stem)
def test_no_number_of_a_row_is_typed(path):
    assert typed(path.read_text(encoding="utf-8")) == []


def test_a_typed_number_would_be_found():
    source = 'Section 4.1, Theorem 4.12: $x = 1.5$ and 12.3 or 95 % of "0.1", `0.2` and #h(0.5cm)'
    assert typed(source) == ["1.5", "12.3", "95 %"]


@pytest.mark.slow
def test_the_same_rows_make_the_same_bytes_and_other_rows_another_text(build, tmp_path):
    copy = shutil.copytree(build.ASSETS, tmp_path / "assets")
    assert build.pdf(copy) == build.pdf()
    TABLES["answers"].assign(kind="fails").to_csv(copy / "answers.csv", index=False)
    other = " ".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(build.pdf(copy))).pages)
    assert other.count("fails") >= len(TABLES["answers"]) > other.count("holds as printed")
    claims = TABLES["claims"]
    claims.assign(measured=claims.measured.where(claims.id != "K-c26", "")).to_csv(copy / "claims.csv", index=False)
    with pytest.raises(typst.TypstError, match=r"no measured in claims of .*K-c26.*scale paper"):
        build.pdf(copy)
