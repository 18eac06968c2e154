"""The claims section: every verdict with its number, the statistic behind it, and the command that recomputes it."""

import json
import re
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from dperm_pipeline import claims, tables
from dperm_pipeline import figures as drawn
from dperm_pipeline.claims import answers, forms, words
from dperm_pipeline.report import errata as slips
from dperm_pipeline.report import sections

# Of the tables: by the rows' data-* keys.
_HEADLINE = {"label": "importance", "words": {"yes": "headline claims", "no": "other claims"}}
_ANSWER_FILTERS = {"paper": {"label": "paper"}, "verdict": {"label": "answer"}, "headline": _HEADLINE}
_FILTERS = {
    "paper": {"label": "paper"},
    "verdict": {"label": "verdict"},
    "headline": _HEADLINE,
    "form": {"label": "form", "words": {name: told for name, (told, _) in forms.FORMS.items()}},
    "test": {"label": "test"},
}
_CLAIM = re.compile(r"\b[KJDN]-c[0-9]{2}[a-z]?\b")
_CODE = re.compile(r"`([^`]+)`")


def context(claims_path: str | Path, *, scale: str, errata: Container[str] = ()) -> dict[str, Any]:
    """Return what the partial claims.html shows; `errata` are the ids that the page lists and texts are linked to.

    `answers` (a dict for each claim), `counts` (answer -> how many), `rows` (a dict for each verdict; both by paper
    and then in the file's order: `row` its id on the page, texts as they are shown, numbers in words and in full),
    `by_figure` (figure -> its claims), `rules` (test -> how it decides, of those in use), `forms` (of those in use,
    in words -> what they mean), `answer_options` and `options` (of the two tables, as JSON). CorruptFile if the file
    is not what `dperm_pipeline.claims.judge` writes.
    """
    judged = claims.read(claims_path)
    place = {paper: k for k, paper in enumerate(sections.in_order(judged["paper"]))}
    judged = judged.sort_values("paper", key=lambda papers: papers.map(place), kind="stable", ignore_index=True)
    answered = answers.answers(judged)
    selected = tables.metadata(claims_path).get("papers", ())
    chosen = selected if set(judged["paper"]) - set(selected) else ()
    # Once: a table of each claim and each figure would take most of the report's time.
    lines = list(judged.itertuples())
    first = {line.id: row_id(line.id, line.variant, line.dataset) for line in reversed(lines)}
    tests = _grouped(lines, lambda line: answers.number(line.id))
    used = {forms.form(line.variant) for line in lines}
    return {
        "answers": [_answer(answer, tests[answer.claim], errata, first) for answer in answered],
        "counts": sections.counted(pd.Series([answer.kind for answer in answered]), answers.ANSWERS),
        "rows": [_row(line, command(line.id, scale, chosen), errata, first) for line in lines],
        "by_figure": {figure: _claims(part) for figure, part in _grouped(lines, _figure).items()},
        "rules": {test: words.RULES[test] for test in sorted(judged["test"].unique())},
        "forms": dict(told for name, told in forms.FORMS.items() if name in used),
        "answer_options": json.dumps({"filters": _ANSWER_FILTERS}),
        "options": json.dumps({"filters": _FILTERS}),
    }


def _grouped(lines: Sequence[Any], name: Callable[[Any], str]) -> dict[str, list[Any]]:
    """Return the lines of each name, both in the order in which they come."""
    found: dict[str, list[Any]] = {}
    for line in lines:
        found.setdefault(name(line), []).append(line)
    return found


def row_id(name: str, variant: str, dataset: str) -> str:
    """Return the id of a verdict's row on the page, such as `claim-K-c38-tight-adult`."""
    return "-".join(filter(None, ("claim", name, variant, dataset)))


def command(name: str, scale: str, papers: Sequence[str] = ()) -> str:
    """Return the command that decides one claim anew and makes no more than it lacks; no `papers` means all."""
    chosen = f" 'papers=[{','.join(papers)}]'" if papers else ""
    return f"snakemake --cores all results/{scale}/claims/{name}.md --config scale={scale}{chosen}"


def _answer(
    answer: answers.Answer, tests: Sequence[Any], errata: Container[str], first: Mapping[str, str]
) -> dict[str, Any]:
    """One claim's line: what became of it, the verdicts that this rests on, and what stood before."""
    # Tests of an entry share its note.
    changed = {line.id: told for line in tests if (told := words.changed(line.note))}
    return {
        **{key: getattr(answer, key) for key in ("claim", "paper", "place", "statement", "kind", "words", "where")},
        "row": f"answer-{answer.claim}",
        "shown": answer.range,
        "measured": _exact(answer.low),
        "expected": _exact(answer.expected),
        "expected_shown": words.number(answer.expected, 4),
        "form": forms.FORMS[answer.form][0],
        "quantity": answer.quantity,
        "points": answer.at_points,
        "headline": "yes" if answer.headline else "no",
        "tests": [
            {
                "row": row_id(line.id, line.variant, line.dataset),
                "name": test_name(line),
                "verdict": line.verdict,
                "beside": line.beside,
            }
            for line in tests
        ],
        "changed": {name: _linked(slips.links(told, errata), first) for name, told in changed.items()},
    }


def test_name(line: Any) -> str:
    """Return a test as people tell it from others of its claim, such as `K-c26a as printed, over n, on adult`."""
    return f"{line.id} {line.words}" + (f", on {line.dataset}" if line.dataset else "")


def _figure(line: Any) -> str:
    return drawn.of_claim(line.figure, line.paper)


def _claims(part: Sequence[Any]) -> list[dict[str, Any]]:
    """The claims of one figure: id, place, its first row, and how often each verdict was given."""
    found = []
    for name, lines in _grouped(part, lambda line: line.id).items():
        row = row_id(name, lines[0].variant, lines[0].dataset)
        verdicts = dict(Counter(line.verdict for line in lines))
        found.append({"id": name, "place": lines[0].place, "row": row, "verdicts": verdicts})
    return found


def _row(line: Any, again: str, errata: Container[str], first: Mapping[str, str]) -> dict[str, Any]:
    linked = {key: _linked(slips.links(getattr(line, key) or "", errata), first) for key in ("place", "reason", "note")}
    figure = _figure(line)
    known = drawn.FIGURES.get(figure) or drawn.TABLES.get(figure)
    return {
        **{
            key: getattr(line, key) or ""
            for key in ("id", "paper", "variant", "words", "dataset", "statement", "verdict")
        },
        **{key: getattr(line, key) for key in ("test", "experiment")},
        "figure": figure,
        **linked,
        **_numbers(line),
        "row": row_id(line.id, line.variant, line.dataset),
        "form": forms.form(line.variant),
        "headline": "yes" if line.headline else "no",
        "beside": line.beside,
        "figure_title": known.title if known else figure,
        "drawn": figure in drawn.FIGURES,
        "command": again,
    }


def _linked(text: Markup, first: Mapping[str, str]) -> Markup:
    """Link the claims that a text names to their first rows, and set `code` as code."""

    def link(found: re.Match) -> str:
        return Markup('<a href="#{}">{}</a>').format(first[found[0]], found[0]) if found[0] in first else found[0]

    return Markup(_CODE.sub(r"<code>\1</code>", _CLAIM.sub(link, text)))


def _numbers(line: Any) -> dict[str, str]:
    """The numbers of a verdict, short for people and as they stand in Parquet for sorting."""
    exact = {key: _exact(getattr(line, key)) for key in ("measured", "low", "high", "expected")}
    return {
        **exact,
        "shown": words.interval(line.measured, line.low, line.high),
        "expected_shown": words.number(line.expected, 4),
        "n": "" if pd.isna(line.n) else f"{line.n:,}",
    }


def _exact(value: float) -> str:
    return "" if pd.isna(value) else repr(float(value))
