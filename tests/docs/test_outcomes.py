"""Prose cannot contradict the answers: what it says of a claim's outcome is made of the ledger, and marked."""

import re
from pathlib import Path

import pandas as pd
import pytest
import real_claims
import together

from dperm.errors import CorruptFile
from dperm_pipeline.claims import answers

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def pages(outcomes):
    return {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in outcomes.PAGES}


def test_prose_has_the_answers_and_numbers_of_the_ledger(pages, outcomes, tables, docs_script):
    ledger = docs_script("readme_parts").judged(ROOT / "docs/assets")
    assert [name for name, page in pages.items() if outcomes.filled(page, ledger) != page] == [], "make docs-assets"
    assert [name for name, page in pages.items() if tables.filled(page, ledger) != page] == [], "make docs-assets"
    # No marker is misspelt, and there are many.
    for page in pages.values():
        assert len(outcomes.MARKER.findall(page)) == len(re.findall(r"<!-- /?(?:answer|verdict)\b[^>]*-->", page)) / 2
    assert sum(len(outcomes.MARKER.findall(page)) for page in pages.values()) > 150


def test_no_sentence_tells_an_outcome_by_hand(pages, outcomes):
    """A sentence that fires is marked, or says in other words what was measured (docs/outcomes.py)."""
    assert {name: found for name, page in pages.items() if (found := outcomes.unmarked(page))} == {}


def test_nor_does_the_article(outcomes):
    """There `#claim` names a claim and says its answer, from the ledger, too."""
    sections = sorted((ROOT / "docs/article/sections").glob("*.typ"))
    assert len(sections) > 5
    for path in sections:
        # Without calls and labels.
        text = re.sub(r'#\w+\("[^)]*\)|<\w+>$', "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert outcomes.unmarked(text) == [], path.name


def test_every_claim_that_a_page_names_is_there(pages, outcomes):
    entries = {claim["id"] for claim in real_claims.of(*real_claims.PAPERS)}
    known = entries | {answers.number(name) for name in entries}
    for name, page in pages.items():
        # Changes tell of entries that were; code has examples.
        text = re.sub(r"<!-- (\w+) -->\n.*?<!-- /\1 -->|```.*?```", "", page, flags=re.DOTALL)
        assert {word for word in outcomes.NAME.findall(text) if "-" in word} <= known, name


def rows(*tests):
    """A ledger: claim, variant, data set and verdict of each test; those of K-c90 stand beside the claims."""
    return pd.DataFrame(
        [
            {
                "id": claim, "paper": "kifer2012", "variant": variant, "dataset": dataset, "verdict": said,
                "place": "Theorem 1", "statement": f"{claim} is so.", "measured": 1.0, "low": 1.0, "high": 1.0,
                "expected": 1.0, "certified": float("nan"), "n": 1.0, "held": float("nan"), "points": float("nan"),
                "figure": "kifer2012-output", "reason": "", "test": "exact", "note": "", "experiment": "x",
                "depends_on": "zeta" if "over" in variant else "", "choice": variant if "over" in variant else "",
                "remark": "", "words": variant, "beside": claim == "K-c90", "headline": False,
            }
            for claim, variant, dataset, said in tests
        ]
    )  # fmt: skip


LEDGER = rows(
    ("K-c30", "printed", "adult", "not reproduced"),
    ("K-c31a", "printed", "adult", "reproduced"),
    ("K-c32", "printed", "adult", "reproduced"),
    ("K-c33", "printed", "adult", "inconclusive"),
    ("K-c90", "printed", "adult", "reproduced"),
    ("K-c90", "printed", "digits", "inconclusive"),
    ("K-c90", "tight", "adult", "not reproduced"),
)


@together.over(
    "kind, what, told",
    [
        ("answer", "K-c30", "fails"),
        ("answer", "K-c31", "holds as printed"),
        ("answer", "K-c31a", "holds as printed"),
        ("answer", "K-c31 K-c32", "hold as printed"),
        ("answer", "K-c31 K-c30 K-c32", "hold as printed (K-c31, K-c32), fails (K-c30)"),
        ("answer", "K-c33", "is undecided"),
        ("verdict", "K-c31", "reproduced"),
        ("verdict", "K-c90 tight", "not reproduced"),
        ("verdict", "K-c90 printed digits", "inconclusive"),
        ("verdict", "K-c90 printed", "reproduced in 1 and inconclusive in 1 of 2 tests"),
    ],
)
def test_a_contradiction_is_mended(outcomes, kind, what, told):
    wrong = f"It (<!-- {kind} {what} -->broken<!-- /{kind} -->) is."
    assert outcomes.filled(wrong, LEDGER) == f"It (<!-- {kind} {what} -->{told}<!-- /{kind} -->) is."


@together.over(
    "marker",
    ["answer K-c34", "answer K-c90", "verdict K-c34", "verdict K-c30 mended", "verdict K-c30 printed digits"],
)
def test_what_the_ledger_does_not_have_is_named(outcomes, marker):
    page = f"<!-- {marker} -->x<!-- /{marker.split()[0]} -->"
    with pytest.raises(CorruptFile, match=marker.split(maxsplit=1)[1]):
        outcomes.filled(page, LEDGER)


MARKED = "<!-- answer K-c30 -->fails<!-- /answer -->"


@together.over(
    "page, fires",
    [
        ("Since then K-c30 holds.", True),
        ("(K-c30, of all bounds) It is\nrefuted.", True),
        ("- c30: not reproduced on Adult", True),
        (f"K-c30 {MARKED}. So K-c31 holds, too.", True),
        (f"K-c30 {MARKED}, and that is right.", True),
        ("| K-c30 | 0.5 | undecided |", True),
        ("| it holds | 0.5 | tests (K-c30) |", False),
        ("Theorem 4 holds. K-c30 is on its slope.", False),
        (f"K-c30 {MARKED}: the slope is 1.", False),
        (f"| K-c30 | {MARKED} | 0.5 |", False),
        ("<!-- claims -->\n| K-c30 | **holds** |\n<!-- /claims -->", False),
        ("```\nK-c30 holds\n```", False),
        # Where a page tells what was found, a claim has its answer, whatever the words.
        ("**What was found.** The slope is 1 (K-c30).", True),
        ("**Found.**\n- The slope is 1 (K-c30).", True),
        (f"**Found.**\n- K-c30 {MARKED}: 1. The slope is 1 (K-c31).", True),
        (f"**Found.**\n- The slope is 1 (K-c30 {MARKED}).", False),
        ("**Found.**\n- It is 1.\n\n**Tests.** Those of K-c30.", False),
        ("**Found.**\n- It is 1.\n\n## K-c30\nThe slope of K-c30.", False),
    ],
)
def test_an_outcome_that_is_typed_by_hand_is_found(outcomes, page, fires):
    assert bool(outcomes.unmarked(page)) == fires
