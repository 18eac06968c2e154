"""The README tells the truth: what it shows is the committed output of a run, its links and targets exist."""

import collections
import csv
import functools
import json
import math
import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import together

from dperm.errors import CorruptFile
from dperm_pipeline import claims

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
ASSETS = ROOT / "docs/assets"
# What no page may be without: answers to claims, then verdicts on guarantees.
VERDICTS = (
    "holds as printed", "holds when mended", "depends on", "undecided", "fails", "not run", "holds up", "refuted",
)  # fmt: skip


@pytest.fixture(scope="module")
def scripts():
    """The scripts that make the README from docs/assets, and docs/assets from a run; answers are kept, by folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "docs"))
        import readme_parts
        import summary_figure
        import update_assets

        patch.setattr(readme_parts, "answers", functools.cache(readme_parts.answers))
        yield collections.namedtuple("Scripts", "parts figure assets")(readme_parts, summary_figure, update_assets)


def rows(name):
    with (ASSETS / f"{name}.csv").open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def part(name, page=README):
    return re.search(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, flags=re.DOTALL)[1]


def test_what_stands_between_the_markers_is_made_of_the_assets(scripts):
    assert scripts.parts.filled(README, ASSETS) == README, "run make docs-assets"


def test_the_figure_of_all_verdicts_is_made_of_the_assets(scripts):
    assert (ASSETS / "summary.svg").read_text(encoding="utf-8") == scripts.figure.draw(ASSETS), "run make docs-assets"


def test_a_changed_number_is_noticed(scripts):
    page = README
    for name in re.findall(r"<!-- (\w+) -->", README):
        text = part(name)
        # The last number of each part: README.md against the ledgers.
        place = [found.span() for found in re.finditer(r"(?<![\w/-])\d+(?![\w-])", text)][-1]
        other = text[: place[0]] + str(int(text[slice(*place)]) + 1) + text[place[1] :]
        page = page.replace(text, other)
        assert part(name, page) == other != text
    assert scripts.parts.filled(page, ASSETS) == README


def test_counts_are_those_of_the_ledgers():
    header, _, *lines = (
        [cell.strip(" *") for cell in line.split("|")[1:-1]]
        for line in part("summary").splitlines()
        if line.startswith("|")
    )
    assert (*(cell[2:] for cell in header[1:-1]), header[-1]) == (*VERDICTS, "of these promised")
    counted = collections.Counter((row["paper"], row["kind"]) for row in rows("answers"))
    counted += collections.Counter((row["paper"], row["verdict"]) for row in rows("privacy"))
    for line in lines[:-1]:
        paper = re.match(r"\[(\w+)\]", line[0])[1]
        promised = sum(
            row["paper"] == paper and row["verdict"] == "refuted" and bool(row["claims"]) for row in rows("privacy")
        )
        assert [int(cell) for cell in line[1:]] == [*(counted[paper, verdict] for verdict in VERDICTS), promised]
    assert lines[-1] == ["all", *(str(sum(int(line[k]) for line in lines[:-1])) for k in range(1, len(header)))]
    assert sum(map(int, lines[-1][1:7])) == len(rows("answers"))


def test_headline_counts_are_those_of_the_ledger():
    words = re.search(r"^\*\*\d+ claims.*", part("summary"), re.MULTILINE)[0]
    told = [int(number) for number in re.findall(r"\d+", words)]
    headlines = [row["kind"] for row in rows("answers") if row["headline"] == "True"]
    given = [headlines.count(kind) for kind in VERDICTS[:6] if kind in headlines]
    beside = sum(row["beside"] == "True" for row in rows("claims"))
    assert told[0] == len(rows("answers")) and {sum(int(row["tests"]) for row in rows("answers")), beside} <= {*told}
    assert told[-len(given) - 1 :] == [len(headlines), *given]


def test_refuted_promises_are_those_of_the_ledger():
    refuted = [row for row in rows("privacy") if row["verdict"] == "refuted"]
    shown = [line.split("|") for line in part("ledger").splitlines()[2:]]
    assert len(shown) >= 7
    assert sum("no bound (an outcome that is impossible" in cells[6] for cells in shown) >= 1
    for cells in shown:
        paper, erratum, spent = cells[1].strip(), re.match(r" \[(\w+)\]", cells[3])[1], cells[6].strip(" *")
        # Rounded down; what an outcome of probability 0 gives is no number of epsilon.
        least, most = (float(spent[9:]), float(spent[9:]) * 1.001) if spent.startswith("at least ") else (600, math.inf)
        assert float(cells[4]) < least
        assert any(
            row["paper"] == paper
            and erratum in row["errata"].split()
            and least <= float(row["audit_lower_bound"]) * (1 + 1e-9) <= most
            for row in refuted
        ), cells
    # What is proved is not refuted, and what is refuted is no form of ours.
    assert {(row["calibration"], row["guarantee"]) for row in refuted} == {("paper", "none")}


def test_a_reading_beside_a_claim_is_no_promise_of_a_paper():
    of = {
        (row["mechanism"], row["variant"], row["neighbours"], row["calibration"]): row["claims"]
        for row in rows("privacy")
    }
    assert of["sparse", "samp_agg_gamma", "add_remove", "paper"] == "K-c18"
    assert of["tdil", "laplace", "replace", "paper"] == "J-c27"
    # Records replaced where they are added or removed, a solver that stops early, half of the noise.
    assert of["objective", "gamma", "replace", "paper"] == of["tddl", "loose-solver", "replace", "paper"] == ""
    assert {row["claims"] for row in rows("privacy") if row["variant"] == "half-noise"} == {""}


def test_figures_that_are_named_are_there_and_no_others():
    named = set(re.findall(r"\]\(docs/assets/([\w-]+\.svg)\)", README))
    assert {f"{paper}-" for paper in ("kifer2012", "jain2013", "dwork2018", "li2021")} <= {
        name[: name.index("-") + 1] for name in named if "-" in name
    }
    assert named == {path.name for path in ASSETS.glob("*.svg")}
    for name in named:
        assert ET.parse(ASSETS / name).getroot().tag.endswith("svg")


def test_every_figure_has_words_for_those_who_cannot_see_it():
    assert all(len(alt) > 40 for alt in re.findall(r"!\[(.*?)\]\(", README))


def test_the_run_says_what_made_it():
    run = json.loads((ASSETS / "run.json").read_text(encoding="utf-8"))
    assert run["scale"] == "paper" and f"scale={run['scale']}" in run["command"]
    assert re.fullmatch(r"[0-9a-f]{40}", run["commit"]), "renew the docs from a clean tree: make docs-assets"
    # One of the data sets is had from a folder alone (docs/data.md); the paper's own Covertype is there.
    assert {"covertype", "url-5700"} <= {*run["datasets"]} and " mirror=" in run["command"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", run["date"])
    assert {row["dataset"] for row in rows("claims") if row["verdict"] == "reproduced"} & set(run["datasets"])
    for name in ("claims", "privacy", "mutants"):
        assert re.fullmatch(r"[0-9a-f]{64}", run["sha256"][f"{name}.parquet"])


@pytest.fixture
def run(tmp_path):
    """A run's folder that holds what docs/assets were made of, as Parquet."""
    results = tmp_path / "results/paper"
    (results / "figures").mkdir(parents=True)
    for path in ASSETS.glob("*.svg"):
        shutil.copy(path, results / "figures")
    metadata = {b"dperm": json.dumps({"skipped": {"url": "not fetched"}, "versions": {"numpy": "2"}}).encode()}
    for name in ("claims", "privacy", "mutants"):
        frame = pd.DataFrame(rows(name) if name != "mutants" else [{"verdict": "refuted"}])
        for column in (
            "measured",
            "low",
            "high",
            "expected",
            "certified",
            "n",
            "held",
            "points",
            "epsilon",
            "delta",
            "audit_lower_bound",
        ):
            if column in frame:
                frame[column] = pd.to_numeric(frame[column])
        if name == "claims":
            frame["headline"] = frame["headline"] == "True"
        schema = claims.SCHEMA if name == "claims" else None
        table = pa.Table.from_pandas(frame.assign(reason="why", note="how"), schema=schema, preserve_index=False)
        pq.write_table(table.replace_schema_metadata(metadata), results / f"{name}.parquet")
    config = "scale: paper\nseed: 7\ndatasets: {adult: {title: Adult, rows: {train: 3}, licence: CC BY 4.0}}\n"
    (results / "config.yaml").write_text(config, encoding="utf-8")
    return results


def test_assets_of_a_run_and_the_page_of_the_assets(scripts, run, tmp_path):
    (tmp_path / "docs/assets").mkdir(parents=True)
    (tmp_path / "docs/assets/old.svg").write_text("<svg/>", encoding="utf-8")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    scripts.assets.renew(run, "snakemake --cores 3 --config scale=paper", tmp_path)
    made = tmp_path / "docs/assets"
    assert not (made / "old.svg").exists()
    told = json.loads((made / "run.json").read_text(encoding="utf-8"))
    assert (told["seed"], told["scale"], told["not at hand"]) == (7, "paper", {"url": "not fetched"})
    assert told["datasets"] == {"adult": {"title": "Adult", "rows": {"train": 3}, "licence": "CC BY 4.0"}}
    page = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert part("summary", page) == part("summary") and part("ledger", page) == part("ledger")
    assert "`snakemake --cores 3 --config scale=paper`, seed 7" in part("run", page)
    # Every digit: what is read back from the ledger as CSV is what the ledger holds.
    read = pd.read_csv(made / "claims.csv")
    assert read["measured"].equals(pq.read_table(run / "claims.parquet").to_pandas()["measured"])


@together.over(
    "entry, more",
    [
        ({"files": {"a": {}}, "sources": []}, " mirror=FOLDER"),
        ({"files": {"a": {}}, "sources": ["https://a"]}, ""),
        ({}, ""),
    ],
)
def test_a_data_set_without_an_address_needs_a_mirror(scripts, entry, more):
    config = {"scale": "paper", "datasets": {"bundled": {}, "one": entry}}
    assert scripts.assets.usual(config) == f"snakemake --cores all --config scale=paper{more}"


def test_a_run_without_a_figure_is_refused(scripts, run, tmp_path):
    (run / "figures/kifer2012-output.svg").unlink()
    with pytest.raises(FileNotFoundError, match=r"kifer2012-output\.svg; run snakemake for this figure first"):
        scripts.assets.renew(run, "snakemake", tmp_path)
    assert not list(tmp_path.glob("docs/assets/*"))


def test_a_ledger_that_refutes_a_proof_is_refused(scripts, run, tmp_path):
    path = run / "privacy.parquet"
    table = pq.read_table(path).to_pandas()
    table.loc[table["guarantee"] == "proved", "verdict"] = "refuted"
    pq.write_table(pa.Table.from_pandas(table), path)
    with pytest.raises(CorruptFile, match="refutes what is proved"):
        scripts.assets.renew(run, "snakemake", tmp_path)


def test_a_page_without_a_marker_is_refused(scripts):
    with pytest.raises(CorruptFile, match="0 pairs of markers <!-- ledger -->"):
        scripts.parts.filled(README.replace("<!-- /ledger -->", ""), ASSETS)


def test_links_lead_somewhere():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_make_targets_that_are_named_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = set(re.findall(r"(?<=[`\n(])make ([a-z-]+)", README))
    assert {"reproduce", "test", "resume", "help", "bench"} <= named <= targets
