"""What the catalogue's notes tell of changes: which verdict stood before, and nothing that the ledger contradicts.

What stood before is in the history of the repository alone, not in its files; so of a note are tested that it says
what stood, and, where it says that nothing changed, that what it says stands still.
"""

import re
from pathlib import Path

import pandas as pd
import pytest
import real_claims
import together

from dperm_pipeline import claims
from dperm_pipeline.claims import answers, forms, words

ROOT = Path(__file__).parents[3]
QUOTED = r"`(holds \w+(?: \w+)?|fails|depends on[^`]*|undecided|not run|(?:not )?reproduced|inconclusive)`"
TOLD = (
    r"was said to|the claim failed|by which it failed|[Nn]o (outcome|verdict|answer) (of \w+ )?(changed|was published)"
)
# An entry that was a part of another, or had another name or label; its own tests were the same.
MOVED = r"parts? of|clause of|one entry|\bwas [KJDN]-c\d+|labelled|was called"
UNCHANGED = re.compile(r"[Nn]o (?:outcome|verdict|answer) (?:of it )?changed[^.]*")
# What was changed was the wording of a statement alone; its tests at several zeta have several verdicts.
SEVERAL = {"N-c59"}


@pytest.fixture(scope="module")
def notes():
    """Entry and note; an entry may stand several times, once for each part of its grid."""
    return [(claim["id"], " ".join(claim.get("note", "").split())) for claim in real_claims.of(*real_claims.PAPERS)]


@pytest.fixture(scope="module")
def ledger():
    numbers = ("measured", "low", "high", "expected", "certified", "n", "held", "points")
    path = ROOT / "docs/assets/claims.csv"
    return pd.read_csv(path, keep_default_na=False, na_values={name: [""] for name in numbers})


def silent(note):
    """Whether a note tells of a change and not of what stood before: a verdict, an answer, or that neither changed."""
    changed = re.split("(?:Changed|Mended) (?:again )?after", note, maxsplit=1)[1:]
    until = re.split(r"Until 20\d\d", note, maxsplit=1)[1:]
    told = f"{QUOTED}|{TOLD}"
    return any(not re.search(told, part) for part in changed) or any(
        not re.search(f"{told}|{MOVED}", part) for part in until
    )


def hidden(note):
    """The verdicts that stood before by a note, and that pages do not show, for nothing says that they were changed."""
    shown = words.changed(note)
    before = re.compile(rf"(?:before|[Uu]ntil|\bwas|\bwere)\b[^.]*{QUOTED}")
    return [found[0] for found in before.finditer(note[: len(note) - len(shown)])]


def untrue(entry, note, ledger):
    """What a note says has not changed, where the ledger has something else today.

    Verdicts that are quoted are those of the forms named before them. Answers are the claim's, or those of an entry
    that the note names, by which the claim is judged now. Where nothing is quoted, all tests that count have one
    verdict.
    """
    tests, numbers = ledger[ledger["id"] == entry], ledger["id"].map(answers.number)
    rows = [ledger[numbers == answers.number(entry)]]
    rows += [ledger[ledger["id"] == name] for name in re.findall(r"[KJDN]-c\d+[a-z]?", note)]
    found = {answer.words for of in rows for answer in answers.answers(of)}
    wrong = []
    for said in UNCHANGED.findall(note):
        quoted = re.findall(QUOTED, said)
        named = [form for form in ("printed", "mended", "corrected", "tight") if form in said.split("`")[0]]
        of = tests[tests["variant"].map(forms.form).isin(named)] if named else tests
        counted = {*tests[~tests["beside"]]["verdict"]}
        if not quoted and len(counted) > 1 and entry not in SEVERAL:
            wrong.append(f"{said}: which of {sorted(counted)}?")
        for quote in quoted:
            if quote in claims.VERDICTS and quote != "not run":
                right = {*of["verdict"]} == {quote} if named else quote in {*of["verdict"]}
            else:
                right = quote in found
            wrong += [] if right else [f"{said}: not {quote}"]
    return wrong


def test_a_test_that_was_changed_says_what_stood_before(notes):
    assert sum(bool(re.search("(Changed|Mended) (again )?after|Until 20", note)) for _, note in notes) > 150
    assert [entry for entry, note in notes if silent(note)] == []


def test_pages_show_every_verdict_that_stood_before(notes):
    assert {entry: found for entry, note in notes if (found := hidden(note))} == {}
    assert hidden(
        "A copy had a verdict, before `not reproduced`. Changed after outcomes were known: `fails` before."
    ) == ["before `not reproduced`"]


def test_what_a_note_says_has_not_changed_stands_in_the_ledger(notes, ledger):
    told = [(entry, note) for entry, note in notes if UNCHANGED.search(note)]
    assert len(told) > 20
    assert {entry: wrong for entry, note in told if (wrong := untrue(entry, note, ledger))} == {}


@together.over(
    "note, tells",
    [
        ("Changed after outcomes were known: the grid is wider.", False),
        ("Changed after outcomes were known: the grid is wider; before, it was `not reproduced`.", True),
        ("Mended again after outcomes were known: a sign; no verdict changed.", True),
        ("Until 2026-11-25 it was tested on both sides.", False),
        ("Until 2026-11-25 it was tested on both sides, and `inconclusive`.", True),
        ("Until 2026-11-25 it was N-c03a.", True),
    ],
)
def test_a_note_that_does_not_say_what_stood_before_is_found(note, tells):
    assert silent(note) is not tells


@together.over(
    "note, true",
    [
        # What a note of N-c53 said when tight was no longer reproduced.
        ("It stands beside the claim; no verdict changed: corrected and tight were `reproduced`.", False),
        ("It stands beside the claim; no verdict changed: corrected was `reproduced`.", True),
        ("No verdict changed: the claim `holds as printed`.", True),
        ("No verdict changed: the claim `fails`.", False),
        ("No verdict changed (tight was `inconclusive`).", False),
        ("No outcome changed.", True),
    ],
)
def test_a_note_that_the_ledger_contradicts_is_found(note, true, ledger):
    here = ledger.assign(verdict=ledger["verdict"].where(ledger["id"] != "N-c53", "reproduced"))
    here.loc[(here["id"] == "N-c53") & (here["variant"] == "tight"), "verdict"] = "not reproduced"
    assert (untrue("N-c53", note, here) == []) is true


def test_where_tests_that_count_differ_a_note_says_which_verdict_stood(ledger):
    here = ledger.assign(beside=False)
    here.loc[here["id"] == "N-c53", "verdict"] = "reproduced"
    assert untrue("N-c53", "No outcome changed.", here) == []
    here.loc[(here["id"] == "N-c53") & (here["variant"] == "tight"), "verdict"] = "inconclusive"
    assert len(untrue("N-c53", "No outcome changed.", here)) == 1
