"""What Snakemake makes of the rules: what each declares, what it needs, and what `all` reaches. Nothing is run."""

import inspect
import re
import shutil
from pathlib import Path

import pytest
import together
import yaml
from snakemake.exceptions import MissingInputException

from dperm_pipeline import plan
from dperm_pipeline.datasets import fetch

ROOT = Path(__file__).parents[2]
ROWS = "results/tiny/kifer2012-output/rows.parquet"
CELL = "results/tiny/kifer2012-output/cells/objective.tight.add-remove/breast-cancer_epsilon-1.parquet"
# Rule -> (a target of it, all other rules that must run before it when nothing is there yet).
BEFORE_ROWS = {"prepare_dataset", "fit_baseline", "run_cell"}
TARGETS = {
    "fetch_dataset": ("resources/downloads/adult.json", set()),
    "prepare_dataset": ("resources/prepared/breast-cancer.parquet", set()),
    "fit_baseline": ("results/tiny/kifer2012-output/baselines/breast-cancer.parquet", {"prepare_dataset"}),
    "run_cell": (CELL, {"prepare_dataset", "fit_baseline"}),
    "collect_rows": (ROWS, BEFORE_ROWS),
    "draw_kifer2012_output": ("results/tiny/figures/kifer2012-output.png", {*BEFORE_ROWS, "collect_rows"}),
    "draw_mutants": (
        "results/tiny/tables/audit-mutants.md",
        {*BEFORE_ROWS, "collect_rows", "run_audit", "collect_privacy_ledger"},
    ),
    "judge_claims": (
        "results/tiny/claims.parquet",
        {*BEFORE_ROWS, "collect_rows", "run_audit", "collect_privacy_ledger"},
    ),
    "judge_claim": ("results/tiny/claims/K-c38.md", {*BEFORE_ROWS, "collect_rows"}),
    "run_audit": ("results/tiny/audits/objective.tight/saturating.parquet", set()),
    "collect_privacy_ledger": ("results/tiny/privacy.parquet", {*BEFORE_ROWS, "collect_rows", "run_audit"}),
    "write_config": ("results/tiny/config.yaml", set()),
    "build_report": (
        "results/tiny/report",
        {
            *BEFORE_ROWS,
            "collect_rows",
            "run_audit",
            "collect_privacy_ledger",
            "draw",
            "judge_claims",
            "write_config",
        },
    ),
}
# Asked for by name alone, or by mistake.
APART = {"judge_claim", "unknown_drawing"}
# The ledger of other libraries, a target of its own; each makes what it makes in an environment of its own.
LIBRARIES = {"library_environment", "attack_library", "libraries_ledger"}
PAPERS = {"kifer2012", "jain2013", "li2021", "dwork2018", "frontier"}
# No code decides their bytes: what is fetched is held against its checksum, a configuration is written as it stands.
WITHOUT_CODE = {"fetch_dataset"}


@pytest.fixture(scope="module")
def everything(workflow):
    """All jobs of a run at scale paper."""
    return workflow.jobs(scale="paper")


@pytest.fixture(scope="module")
def planned(workflow):
    """All jobs that the targets here need at scale tiny, by each file that they make; those that make none, by rule."""
    jobs = workflow.jobs("all", *sorted(PAPERS), *(target for target, _ in TARGETS.values()))
    return {name: job for job in jobs for name in job.output or [job.rule]}


def needed(planned, target):
    """The jobs that a target needs: its own, and those that make what they read."""
    found, left = {}, [target]
    while left:
        name = left.pop()
        if name in planned and name not in found:
            found[name] = planned[name]
            left += planned[name].input
    return [*found.values()]


def kind(rule):
    """The name of its script: each experiment has a rule that draws."""
    return "draw" if rule.startswith("draw_") else rule


def of(jobs, rule):
    return [job for job in jobs if job.rule == rule]


def test_the_rules(rules):
    assert {kind(name) for name in rules} == {*map(kind, TARGETS), *APART, "all", *PAPERS, *LIBRARIES, "libraries"}
    scripts = {path.stem for path in (ROOT / "workflow/scripts").iterdir() if path.is_file()}
    assert scripts == {*map(kind, TARGETS), *LIBRARIES}


@together.over("name", TARGETS)
def test_what_a_rule_declares(rules, name):
    rule = rules[name]
    for declared in ("log", "benchmark", "threads", "resources", "params", "message", "output"):
        assert getattr(rule.ruleinfo, declared), f"{name} has no {declared}"
    assert {"mem_mb", "runtime"} <= set(rule.ruleinfo.resources[1])
    assert ("code" in rule.params.keys()) == (name not in WITHOUT_CODE)  # noqa: SIM118 - Snakemake's list of names
    assert not rule.is_checkpoint
    assert not rule.shellcmd


@together.over("name", TARGETS)
def test_the_script_of_a_rule(rules, name):
    script = (Path(rules[name].basedir) / rules[name].script).resolve()
    assert script.name == f"{kind(name)}.py"
    assert script.is_file()
    assert len(script.read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("name", TARGETS)
def test_what_a_target_needs(planned, name):
    target, before = TARGETS[name]
    jobs = needed(planned, target)
    assert {kind(job.rule) for job in jobs} == {kind(name), *before}
    job = planned[target]
    assert job.rule == name
    assert job.message and "{" not in job.message
    assert job.threads == 1
    assert 0 < job.resources["mem_mb"] <= 4000 and 0 < job.resources["runtime"] <= 60
    if name not in WITHOUT_CODE:
        assert len(bytes.fromhex(job.params["code"])) == 32


def test_all_reaches_every_rule(everything):
    assert {kind(job.rule) for job in everything} == {*map(kind, TARGETS), "all"} - APART


@together.over("paper", sorted(PAPERS))
def test_the_target_of_a_paper(planned, paper):
    jobs = needed(planned, paper)
    assert {kind(job.rule) for job in jobs} == {paper, *BEFORE_ROWS, "collect_rows", "draw"}
    of_all = {path for job in needed(planned, "all") for path in job.output}
    assert {path for job in jobs for path in job.output} <= of_all


def test_snakemake_makes_of_the_rules_what_the_plan_says(everything, monkeypatch):
    """Input, output, params, code, log and benchmark of each job; the rules add a message and resources."""
    # As the workflow is planned here: without a mirror.
    monkeypatch.delenv("DPERM_MIRROR", raising=False)
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text(encoding="utf-8"))
    jobs = plan.Jobs(plan.load({**config, "mirror": None}, ROOT, unavailable=fetch.unavailable), ROOT)
    known, scale = {**jobs.at("paper"), **jobs.of_datasets}, "paper/"
    found = {job.output[0]: job for job in everything if job.rule != "all"}
    assert set(jobs.at("paper")) <= set(found) <= set(known)
    for output, job in found.items():
        planned = known[output]
        paths = [path for given in planned.input.values() for path in ([given] if isinstance(given, str) else given)]
        assert (job.rule, job.output, job.input) == (planned.rule, [*planned.output], paths)
        code = {} if job.rule in WITHOUT_CODE else {"code": planned.code}
        assert job.params == {**planned.params, **code}
        place = f"{scale * output.startswith('results/')}{planned.label}"
        assert (job.log, job.benchmark) == ([f"logs/{place}.log"], f"benchmarks/{place}.tsv")


def test_every_file_has_one_maker(everything):
    """No two jobs write the same output, log or benchmark, and what a job reads is made or is part of the project."""
    made = [path for job in everything for path in job.output]
    said = [path for job in everything for path in (*job.log, job.benchmark) if path != "None"]
    assert len(made + said) == len({*made, *said})
    assert all(path.startswith(("results/paper/", "resources/downloads/", "resources/prepared/")) for path in made)
    assert all(path.startswith(("logs/", "benchmarks/")) for path in said)
    for path in {path for job in everything for path in job.input} - set(made):
        assert (ROOT / path).is_file(), path


@pytest.mark.slow
def test_a_set_that_cannot_be_had_is_left_out_and_named(own_workflow):
    """Adult without an address and without a mirror; with a mirror it is back."""
    path = own_workflow.folder / "config/datasets.yaml"
    catalogue = yaml.safe_load(path.read_text(encoding="utf-8"))
    catalogue["adult"]["sources"] = []
    path.write_text(yaml.safe_dump(catalogue), encoding="utf-8")
    jobs = own_workflow.jobs(scale="paper")
    fetched = sorted(path for job in of(jobs, "fetch_dataset") for path in job.output)
    assert fetched == ["resources/downloads/covertype-7.json", "resources/downloads/covertype.json"]
    # (li2021-adult is an experiment, which has a stand-in.)
    assert not any(re.search("(?<!li2021-)adult", path) for job in jobs for path in (*job.input, *job.output))
    with_data = [job for job in of(jobs, "collect_rows") if "kifer2012-output" in job.output[0]]
    for job in (*with_data, *of(jobs, "judge_claims"), *of(jobs, "build_report")):
        assert "mirror-only" in job.params["skipped"]["adult"]
    assert all(set(job.params["skipped"]) == {"adult"} for job in with_data)
    # Nobody asked for the big ones, and the samples of a mirror are in none.
    everywhere = {"adult", "kdd-algebra", "url", "url-5700"}
    assert all(set(job.params["skipped"]) == everywhere for job in of(jobs, "judge_claims"))
    mirror = own_workflow.folder / "mirror/adult"
    mirror.mkdir(parents=True)
    # A mirror that does not help changes no params: what is skipped for the same lack is not judged again.
    without = of(own_workflow.jobs(scale="paper", mirror=str(mirror.parent)), "collect_rows")
    assert [job.params for job in without] == [job.params for job in of(jobs, "collect_rows")]
    for file in catalogue["adult"]["files"]:
        (mirror / file).touch()
    jobs = own_workflow.jobs(scale="paper", mirror=str(mirror.parent))
    assert sorted(job.message for job in of(jobs, "fetch_dataset")) == [
        "fetch adult",
        "fetch covertype",
        "fetch covertype-7",
    ]
    with_data = [job for job in of(jobs, "collect_rows") if "kifer2012-output" in job.output[0]]
    assert [job.params["skipped"] for job in with_data] == [{}]


@pytest.mark.slow
def test_what_an_edit_of_the_catalogue_runs_again(own_workflow):
    """The title and an address: nothing; a range: the preparation alone; a checksum: the fetch, too."""
    path = own_workflow.folder / "config/datasets.yaml"
    before = yaml.safe_load(path.read_text(encoding="utf-8"))

    def changed(**edits):
        path.write_text(yaml.safe_dump(before | {"adult": before["adult"] | edits}), encoding="utf-8")
        jobs = own_workflow.jobs("resources/prepared/adult.parquet")
        return {job.rule: (job.input, job.params) for job in jobs}

    same = changed()
    assert set(same) == {"fetch_dataset", "prepare_dataset"}
    edits = {"title": "Adult", "licence": "x", "citation": "x", "sources": [["https://example.org/a.zip"]]}
    assert changed(**edits) == same
    ranged = changed(ranges=before["adult"]["ranges"] | {"age": [0, 100]})
    assert {rule for rule in same if ranged[rule] != same[rule]} == {"prepare_dataset"}
    other = changed(files=before["adult"]["files"] | {"adult.data": {"bytes": 5, "sha256": "0" * 64}})
    assert {rule for rule in same if other[rule] != same[rule]} == set(same)


def test_a_file_of_my_own_is_prepared_from_where_it_is(own_workflow):
    with (own_workflow.folder / "config/datasets.yaml").open("a", encoding="utf-8") as catalogue:
        catalogue.write(
            "people: {title: People, task: binary, format: csv, path: my/people.csv, licence: private, citation: none,"
            " target: {column: tall, positive: 1}, ranges: {height: [0, 1]}, data_dependent: []}\n"
        )
    (own_workflow.folder / "my").mkdir()
    (own_workflow.folder / "my/people.csv").touch()
    (job,) = own_workflow.jobs("resources/prepared/people.parquet")
    assert (job.rule, job.input) == ("prepare_dataset", ["my/people.csv"])
    shutil.rmtree(own_workflow.folder / "my")
    with pytest.raises(MissingInputException, match=r"my/people\.csv"):
        own_workflow.jobs("resources/prepared/people.parquet")


def test_snakemake_still_has_what_common_sets():
    """A name that Snakemake has given up would be set without effect."""
    from snakemake import benchmark

    assert "BENCHMARK_INTERVAL_SHORT" in inspect.getsource(benchmark.ScheduledPeriodicTimer)
