"""The report's folder as a crate: each file is described, each link leads somewhere, and the run says what made it."""

import hashlib
import json

import pytest

from dperm_pipeline.report import crate

CONFIG = {"scale": "tiny", "seed": 7, "datasets": {"digits": {"title": "Digits, as bundled"}}}
PROVENANCE = {
    "span": {"last": 1_700_000_000.0},
    "code": {"version": "0.1.0", "commit": "abc", "changed": True},
    "packages": {"snakemake": "9.20.0"},
    "data": {"digits": {"sha256": "d1"}},
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "claims.parquet").write_bytes(b"claims")
    (tmp_path / "privacy.parquet").write_bytes(b"ledger")
    folder = tmp_path / "report"
    (folder / "figures").mkdir(parents=True)
    (folder / "index.html").write_text("<p>", encoding="utf-8")
    (folder / "figures/one.svg").write_text("<svg/>", encoding="utf-8")
    return folder


def written(folder, provenance=PROVENANCE):
    above = folder.parent
    crate.write(
        folder,
        claims=above / "claims.parquet",
        privacy=above / "privacy.parquet",
        config=CONFIG,
        provenance=provenance,
    )
    return json.loads((folder / crate.METADATA).read_text(encoding="utf-8"))


def links(value):
    if isinstance(value, dict):
        found = [value["@id"]] if set(value) == {"@id"} else []
        return found + [link for one in value.values() for link in links(one)]
    return [link for one in value for link in links(one)] if isinstance(value, list) else []


def test_each_file_is_there_with_its_bytes_and_each_link_leads_to_an_entity(folder):
    entities = {one["@id"]: one for one in written(folder)["@graph"]}
    assert len(entities) == len(written(folder)["@graph"])
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {crate.METADATA}
    assert {one["@id"] for one in entities["./"]["hasPart"]} == there >= {"run/Snakefile", "figures/one.svg"}
    for name in there:
        content = (folder / name).read_bytes()
        assert entities[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert entities[name]["contentSize"] == str(len(content))
    for link in links(list(entities.values())):
        assert link in entities or link.startswith("https://"), link


def test_the_run_says_what_ran_on_what_and_what_came_out(folder):
    entities = {one["@id"]: one for one in written(folder)["@graph"]}
    run = entities["#run"]
    assert run["instrument"] == entities["./"]["mainEntity"] == {"@id": "run/Snakefile"}
    assert {one["@id"] for one in run["object"]} == {"run/config.yaml", "#data-digits"}
    assert entities["#data-digits"]["value"] == "d1" and entities["#data-digits"]["description"] == "Digits, as bundled"
    assert {one["@id"] for one in run["result"]} == {"run/claims.parquet", "run/privacy.parquet", "index.html"}
    assert run["endTime"] == entities["./"]["datePublished"] == "2023-11-14T22:13:20+00:00"
    assert entities["run/Snakefile"]["version"] == "0.1.0, commit abc, with uncommitted changes"
    assert "ComputationalWorkflow" in entities["run/Snakefile"]["@type"]
    # Those that a validator of the three profiles looks for.
    assert len(entities["./"]["conformsTo"]) == 3 and all(
        one["@id"] in entities for one in entities["./"]["conformsTo"]
    )


def test_the_same_run_gives_the_same_bytes(folder):
    written(folder)
    first = (folder / crate.METADATA).read_bytes()
    written(folder)
    assert (folder / crate.METADATA).read_bytes() == first


def test_a_run_of_which_no_time_is_known_has_none(folder):
    entities = {one["@id"]: one for one in written(folder, {**PROVENANCE, "span": None, "code": {}})["@graph"]}
    assert "endTime" not in entities["#run"] and entities["run/Snakefile"]["version"] == "unknown"
