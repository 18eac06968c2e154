"""What the rules say of their outputs to `snakemake --report`."""

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils.core import publish_parts
from jinja2 import Environment, StrictUndefined
from snakemake.io import is_flagged

from dperm_pipeline import figures

ALONE = {
    ("judge_claims", "results/tiny/claims.parquet"), ("collect_privacy_ledger", "results/tiny/privacy.parquet"),
    ("collect_privacy_ledger", "results/tiny/mutants.parquet"), ("build_report", "results/tiny/report"),
}  # fmt: skip
DRAWN = [
    (kind, name, suffix)
    for kind, known, suffixes in (("figures", figures.FIGURES, ("svg",)), ("tables", figures.TABLES, ("csv", "md")))
    for name in known
    for suffix in suffixes
]


@pytest.fixture(scope="module")
def marked(rules):
    """From each output that is marked for the report, by rule and path, to what is said of it."""
    return {
        (rule.name, re.sub(r"\{scale[^}]*\}", "tiny", output)): output.flags["report"]
        for rule in rules.values()
        for output in rule.output
        if is_flagged(output, "report")
    }


def test_what_is_in_the_report(marked):
    paths = {path for rule, path in marked if rule.startswith("draw_")}
    assert paths == {f"results/tiny/{kind}/{name}.{suffix}" for kind, name, suffix in DRAWN}
    assert {key for key in marked if key[1] not in paths} == ALONE


def test_where_figures_and_tables_stand(marked):
    flags = {path: flag for (_, path), flag in marked.items()}
    papers = {"dwork2018", "jain2013", "kifer2012", "li2021", "frontier"}
    for kind, name, suffix in DRAWN:
        target, said = getattr(figures, kind.upper())[name], flags[f"results/tiny/{kind}/{name}.{suffix}"]
        assert said.subcategory == kind
        assert said.category == (name.split("-")[0] if target.source == "rows" else "privacy")
        assert said.category in papers | {"privacy"}
        assert said.labels[kind.removesuffix("s")] == name and said.labels["title"] == target.title


def rendered(said, params, records):
    """The caption as Snakemake makes it: the same template for every output that is marked so."""
    text = Path(said.caption.get_path_or_uri(secret_free=True)).read_text(encoding="utf-8")
    template = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True).from_string(text)
    given = SimpleNamespace(
        wildcards=SimpleNamespace(scale="tiny"),
        params=SimpleNamespace(level=0.05, confidence=0.95, **params),
        input=SimpleNamespace(rows="results/tiny/e/rows.parquet"),
    )
    return publish_parts(template.render(snakemake=given, categories={"e": {"": records}}), writer="html")["body"]


@pytest.mark.parametrize("hostile", ["plain words", "*a* `b` |c| d_ **e", r"\alpha_1 [1]_ ``x``"])
def test_captions_are_plain_words_in_every_case(marked, hostile):
    """Docutils marks what it cannot read as a system message, and eats stars and back-quotes."""
    flags = {said.caption.get_path_or_uri(secret_free=True): (rule, said) for (rule, _), said in marked.items()}
    assert len(flags) == len(ALONE) + 1
    for rule, said in flags.values():
        words = {"figures/x": {"title": "A title", "caption": hostile}}
        html = rendered(said, {"words": words}, [SimpleNamespace(path=Path("results/tiny/figures/x.svg"))])
        assert "system-message" not in html and "Scale: tiny." in html
        if rule.startswith("draw_"):
            assert f"<strong>A title.</strong>\n{hostile}</p>" in html


def test_every_file_of_a_job_has_its_own_words(marked):
    """Snakemake fills in one caption after the other, in the order in which it lists the files."""
    said = next(flag for (rule, _), flag in marked.items() if rule == "draw_kifer2012_output")
    paths = [Path("results/tiny", path) for path in ("tables/x.csv", "figures/x.svg", "figures/y.svg")]
    words = {f"{path.parent.name}/{path.stem}": {"title": "T", "caption": f"It is {path}."} for path in paths}
    records = [SimpleNamespace(path=path) for path in paths]
    for record in records:
        record.caption = rendered(said, {"words": words}, records)
        assert f"It is {record.path}." in record.caption and record.caption.count("It is") == 1
