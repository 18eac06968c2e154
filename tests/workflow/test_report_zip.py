"""What Snakemake's own report of a finished run holds."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from dperm_pipeline import figures

OF_PAPER = re.compile(r"(dwork2018|jain2013|kifer2012|li2021)-")


def embedded(page, name):
    """The value of a variable that Snakemake writes into its page."""
    return json.loads(re.search(rf'<script id="{name}">\s*var {name} = (.*?);\s*</script>', page, re.DOTALL)[1])


@pytest.mark.slow
def test_the_zip_holds_every_figure_table_and_ledger_with_its_words(finished):
    said = finished.make("report-zip")
    assert said.splitlines()[-1] == "results/tiny/report.zip"
    results = finished.folder / "results/tiny"
    with zipfile.ZipFile(results / "report.zip") as file:
        assert file.testzip() is None
        page = file.read("report/report.html").decode("utf-8")
        entries = embedded(page, "results")
        for path, entry in entries.items():
            assert file.read(f"report/{entry['data_uri']}") == (finished.folder / path).read_bytes()
        # The pages that the first one leads to, and their figures, lie beside it.
        index = Path("report", entries["results/tiny/report/index.html"]["data_uri"]).parent
        for path in (results / "report").rglob("*.*"):
            if path.is_file() and path.name != ".snakemake_timestamp":
                assert file.read(str(index / path.relative_to(results / "report"))) == path.read_bytes()
    shown = {p for kind in ("figures/*.svg", "tables/*.csv", "tables/*.md") for p in results.glob(kind)}
    shown |= {results / name for name in ("claims.parquet", "privacy.parquet", "mutants.parquet", "report/index.html")}
    assert set(entries) == {str(path.relative_to(finished.folder)) for path in shown} and len(shown) >= 11
    categories = embedded(page, "categories").items()
    of = {(category, part, path) for category, parts in categories for part in parts for path in parts[part]}
    assert {path for _, _, path in of} == set(entries)
    for category, part, path in of:
        entry, name = entries[path], path.split("/")[-1].rsplit(".", 1)[0]
        assert "system-message" not in entry["caption"] and "Scale: tiny." in entry["caption"]
        assert entry["labels"]["title"]
        if path.split("/")[-2] in ("figures", "tables"):
            target = (figures.FIGURES if part == "figures" else figures.TABLES)[name]
            assert category == (OF_PAPER.match(name)[1] if OF_PAPER.match(name) else "privacy")
            assert part == path.split("/")[-2] and entry["labels"][part.removesuffix("s")] == name
            assert plain(target.caption) in plain(re.sub(r"<[^>]+>", "", entry["caption"]))


def plain(words):
    """Without spaces and markup: what is escaped in HTML is left out too."""
    return re.sub(r"&\w+;|[\s<>&\"']", "", words)


def test_without_a_report_it_says_what_to_do(project):
    with pytest.raises(AssertionError, match=r"there is no results/tiny/report/index\.html; run make reproduce first"):
        project.make("report-zip")
