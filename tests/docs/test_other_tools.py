"""Files that other tools read (citation, archive, code check, container, hosted checks) agree with the project."""

import json
import re
import tomllib
from pathlib import Path

import yaml

from dperm_pipeline import plan

ROOT = Path(__file__).parents[2]


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_who_cites_or_archives_reads_the_same_version_and_licence():
    project = tomllib.loads(text("pyproject.toml"))["project"]
    cited = yaml.safe_load(text("CITATION.cff"))
    archived, described = json.loads(text(".zenodo.json")), json.loads(text("codemeta.json"))
    assert {project["version"]} == {cited["version"], archived["version"], described["version"]}
    assert project["license"] == cited["license"] == archived["license"] == described["license"].rpartition("/")[2]
    assert cited["title"] == archived["title"] == yaml.safe_load(text("codecheck.yml"))["paper"]["title"]


def test_what_a_code_checker_looks_at_is_made_by_a_run():
    planned = plan.load({**yaml.safe_load(text("config/config.yaml")), "scale": "quick"}, ROOT)
    made = set(plan.Jobs(planned, ROOT).targets("quick"))
    listed = {entry["file"] for entry in yaml.safe_load(text("codecheck.yml"))["manifest"]}
    assert listed <= made


def test_container_and_hosted_checks_call_targets_that_exist():
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    steps = [
        step["run"]
        for job in yaml.safe_load(text(".github/workflows/checks.yml"))["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    called = [words for step in steps for words in re.findall(r"make ([a-z -]+)", step)]
    container = re.findall(r'make",? "?([a-z-]+)|make ([a-z-]+)$', text("Containerfile"), re.MULTILINE)
    called += ["".join(found) for found in container]
    assert len(called) == 4 and {target for words in called for target in words.split()} <= targets
    assert ".ci/run" in steps and (ROOT / ".ci/run").stat().st_mode & 0o100
