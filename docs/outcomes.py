"""What hand-written prose says of a claim's outcome: put there from the verdicts, and found where it is not.

Two markers stand in the prose of README.md and docs. `<!-- answer K-c30 -->fails<!-- /answer -->` has the answer to a
claim, or to one entry of it (K-c26a); of several, `<!-- answer K-c24 K-c25 -->hold as printed<!-- /answer -->`.
`<!-- verdict K-c38 printed adult -->reproduced<!-- /verdict -->` has what became of the tests of one entry, those of a
form or a data set alone if they are named. update_tables.py fills them, and tests/docs/test_outcomes.py fails on any
difference, and on a sentence that names a claim and has a word of `WORDS` outside of them.
"""

import re
from pathlib import Path

import pandas as pd

from dperm.errors import CorruptFile
from dperm_pipeline import claims
from dperm_pipeline.claims import answers

ROOT = Path(__file__).parents[1]
# CHANGELOG.md is history: it says what was true once.
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/papers").glob("*.md"))]
NAME = re.compile(r"\b(?:[KJDN]-)?c\d\d[a-z]?\b")
# With these a sentence tells how a claim fared; "is met", "exceeds", "falls" and the like tell what was measured.
WORDS = re.compile(
    r"\b(holds?|held|fails?|failed|failing|reproduced?s?|undecided|inconclusive|(?:not|never|be|was|is|are) (?:be )?"
    r"run|decided|refuted?s?|disproved|confirm\w*|contradict\w*|true|false|right|wrong|shown|broken|breaks?|depends?)\b",
    re.IGNORECASE,
)
MARKER = re.compile(r"(<!-- (answer|verdict) ([^>\n]*) -->)(.*?)(<!-- /\2 -->)", re.DOTALL)
# Parts that scripts make, and code.
_MADE = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->|```.*?```", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) ?)|(?<=\s)(?=\*+(?:Found|Tests)\b)")
_SENTENCE = re.compile(r"(?<=[.?])\s+(?=[\W\dA-Z])")
_TOLD = re.compile(r"¦[^¦]*¦")
# Where a page begins to tell what was found, and where something else begins.
_FOUND = re.compile(r"\s*\*{0,2}(?:What was found|Found(?! here))\b")
_LEAD = re.compile(r"\s*(?:#|\*+[A-Z]|(?:Tests|Printed|Run|Why it|Order of)\b)")
# Verb phrase of one claim and of several.
_PHRASES = {
    "holds as printed": ("holds as printed", "hold as printed"),
    "holds when mended": ("holds when mended", "hold when mended"),
    "depends on": ("depends on", "depend on"),
    "undecided": ("is undecided", "are undecided"),
    "fails": ("fails", "fail"),
    "not run": ("is not run", "are not run"),
}


def filled(page: str, judged: pd.DataFrame) -> str:
    """Return a page whose markers have the answers and verdicts of a run's table of claims.

    Raises
    ------
    CorruptFile
        If a marker names a claim that has no answer, or tests that there are not.
    """
    made = {"answer": answered, "verdict": verdict}
    return MARKER.sub(lambda found: found[1] + made[found[2]](found[3].split(), judged) + found[5], page)


def answered(names: list[str], judged: pd.DataFrame) -> str:
    """Return what became of claims, as the verb that follows their names."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        of = judged["id"] if name[-1].isalpha() else judged["id"].map(answers.number)
        found = answers.answers(judged[of == name])
        if not found:
            raise CorruptFile(f"a page asks for the answer to {name}, which has none (markers: docs/outcomes.py)")
        kinds.setdefault(found[0].words, []).append(name)
    several = len(kinds) > 1
    return ", ".join(_phrase(kind, len(of)) + several * f" ({', '.join(of)})" for kind, of in kinds.items())


def _phrase(words: str, many: int) -> str:
    """Return an answer's words as a verb: `depends on zeta`, `are undecided`."""
    kind = next(kind for kind in _PHRASES if words.startswith(kind))
    return _PHRASES[kind][many > 1] + words.removeprefix(kind)


def verdict(wanted: list[str], judged: pd.DataFrame) -> str:
    """Return what became of the tests of an entry, of all or of one form and data set."""
    name, *where = wanted
    found = judged[judged["id"] == name]
    if found.empty:
        found = judged[judged["id"].map(answers.number) == name]
    for column, value in zip(("variant", "dataset"), where, strict=False):
        found = found[found[column] == value]
    if found.empty:
        raise CorruptFile(f"a page asks for the tests {' '.join(wanted)}, which are not there (docs/outcomes.py)")
    counts = found["verdict"].value_counts()
    if len(counts) == 1:
        return counts.index[0]
    told = (f"{name} in {counts[name]}" for name in claims.VERDICTS if name in counts)
    return f"{' and '.join(told)} of {len(found)} tests"


def unmarked(page: str) -> list[str]:
    """Return the sentences that name a claim and tell of its outcome outside of the markers.

    These are sentences with a word of `WORDS`, and where a page tells what was found those that have no marker for
    each claim that they name. A row of a table is one sentence if its first cell names a claim, else each cell is.
    """
    # What a marker is about stays, between bars that no page has.
    text = MARKER.sub(lambda found: f"¦{found[3]}¦", _MADE.sub("\n\n", page))
    sentences, found = [], False
    for paragraph in _PARAGRAPH.split(_COMMENT.sub("", text)):
        found = bool(_FOUND.match(paragraph)) or (found and not _LEAD.match(paragraph))
        sentences += [sentence for sentence in _parts(paragraph) if _untold(sentence, found)]
    return sentences


def _untold(sentence: str, found: bool) -> bool:
    """Return whether a sentence tells of a claim's outcome without a marker, or in a part on what was found should."""
    words = _TOLD.sub(" ", sentence)
    named, told = _names(words), _names(" ".join(_TOLD.findall(sentence)))
    return bool(named and (WORDS.search(words) or (found and not named <= told)))


def _names(text: str) -> set[str]:
    """Return the claims that are named, without the letter of their paper, which pages leave out in lists."""
    return {name.rpartition("-")[2] for name in NAME.findall(text)}


def _parts(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, on a line each."""
    line = " ".join(paragraph.split())
    if not line.startswith("|"):
        return _SENTENCE.split(line)
    return [line] if NAME.search(line.split("|")[1]) else line.split("|")
