"""What the rules say of their outputs to `snakemake --report`."""

from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined
from snakemake.io import is_flagged

from dperm import figures


@pytest.fixture(scope="module")
def marked(rules):
    """From each output that is marked for the report, by rule and name, to what is said of it."""
    return {
        (rule.name, name): output.flags["report"]
        for rule in rules.values()
        for name, output in rule.output.items()
        if is_flagged(output, "report")
    }


def test_what_is_in_the_report(marked):
    assert set(marked) == {
        ("draw_figure", "svg"), ("make_table", "csv"), ("make_table", "md"), ("judge_claims", "claims"),
        ("collect_privacy_ledger", "privacy"), ("collect_privacy_ledger", "mutants"), ("build_report", "html"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("output", "known"), [("svg", figures.FIGURES), ("csv", figures.TABLES), ("md", figures.TABLES)]
)
def test_where_figures_and_tables_stand(marked, output, known):
    kind = "figure" if output == "svg" else "table"
    said = next(flag for (_, name), flag in marked.items() if name == output)
    assert said.subcategory == f"{kind}s"
    papers = {"dwork2018", "jain2013", "kifer2012", "li2021"}
    for name, target in known.items():
        wildcards = SimpleNamespace(**{kind: name})
        category, labels = said.category(wildcards), said.labels(wildcards)
        assert category == (name.split("-")[0] if target.source == "rows" else "privacy")
        assert category in papers | {"privacy"}
        assert labels[kind] == name and labels["title"] == target.title
    assert said.labels(SimpleNamespace(**{kind: "nothing"}))["title"] == "nothing"


@pytest.mark.parametrize("hostile", ["plain words", "*a* `b` |c| d_ **e", r"\alpha_1 [1]_ ``x``"])
def test_captions_are_plain_words_in_every_case(marked, hostile):
    """Docutils marks what it cannot read as a system message, and eats stars and back-quotes."""
    for (_, name), said in marked.items():
        text = Path(said.caption.get_path_or_uri(secret_free=True)).read_text(encoding="utf-8")
        template = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(text)
        given = SimpleNamespace(
            wildcards=SimpleNamespace(scale="tiny"),
            params=SimpleNamespace(words={"title": "A title", "caption": hostile}, level=0.05, confidence=0.95),
            input=SimpleNamespace(rows="results/tiny/e/rows.parquet"),
        )
        html = publish_parts(template.render(snakemake=given), writer="html")["body"]
        assert "system-message" not in html and "Scale: tiny." in html
        if name in ("svg", "csv", "md"):
            assert f"<strong>A title.</strong>\n{hostile}</p>" in html
