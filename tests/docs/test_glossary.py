"""docs/glossary.md explains every word that a statement, a verdict or a row may hold."""

import re
from pathlib import Path
from typing import get_args

from dperm import domain
from dperm_pipeline import claims, tables
from dperm_pipeline.audits import ledger

PAGE = (Path(__file__).parents[2] / "docs/glossary.md").read_text(encoding="utf-8")
SAID = set(re.findall(r"`([^`]+)`", PAGE))


def test_words_of_statements_verdicts_and_rows_are_explained():
    words = {*get_args(domain.Guarantee), *get_args(domain.Calibration), *get_args(domain.Neighbours)}
    assert words and words <= SAID
    assert {*claims.VERDICTS, *ledger.VERDICTS, *tables.STATUSES} - {"ok"} <= SAID


def test_a_word_is_explained_once():
    words = re.findall(r"^\| ([^|]+?) \|", PAGE, flags=re.MULTILINE)
    words = [word for word in words if word != "word" and set(word) != {"-"}]
    assert len(words) > 30 and len(words) == len(set(words))
