"""The jobs of the project's plan: what each makes, reads, is given and depends on. Nothing here needs Snakemake."""

import functools
import json
from pathlib import Path

import pytest
import together

from dperm.audit.families import FAMILIES
from dperm.errors import ConfigError
from dperm_pipeline import config_files, figures, places, plan
from dperm_pipeline.datasets import fetch
from dperm_pipeline.plan import drawings, jobs

ROOT = Path(__file__).parents[3]
CONFIG = config_files.parse(ROOT / "config/config.yaml")


@functools.cache
def planned(mirror=None):
    return plan.Jobs(plan.load({**CONFIG, "mirror": mirror}, ROOT, unavailable=fetch.unavailable), ROOT)


@pytest.fixture(scope="module", autouse=True)
def no_mirror():
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("DPERM_MIRROR", raising=False)
        yield


@pytest.fixture(scope="module")
def every():
    """All jobs at scale paper, by what they make first."""
    return planned().at("paper")


def of(every, rule):
    return [job for job in every.values() if job.rule == rule]


def paths(given):
    return [path for named in given.values() for path in ([named] if isinstance(named, str) else named)]


@pytest.mark.parametrize(("scale", "most"), {"tiny": 200, "quick": 240, "paper": 350}.items())
def test_what_a_run_makes_is_made_and_what_a_job_reads_is_there(scale, most):
    """No file has two makers; each input is made by a job or is part of the project.

    A job costs a start of Python, and on a cluster a place in the queue: brackets in the grids keep them few.
    """
    found = {**planned().at(scale), **planned().of_datasets}
    made = [path for job in found.values() for path in job.output]
    assert len(made) == len(set(made)) and set(planned().targets(scale)) <= set(made)
    assert len({job.label for job in found.values()}) == len(found)
    for path in {path for job in found.values() for path in paths(job.input)} - set(made):
        assert (ROOT / path).is_file(), path
    assert most / 2 < len(planned().at(scale)) <= most


def test_params_are_plain_and_the_same_each_time(every):
    """A set, a time or an address in memory would run jobs again for nothing."""

    def written(found):
        return {output: json.dumps(job.params, allow_nan=False) for output, job in found.items()}

    again = plan.Jobs(plan.load({**CONFIG, "mirror": None}, ROOT, unavailable=fetch.unavailable), ROOT)
    assert written(again.at("paper")) == written(every)
    assert str(ROOT) not in "".join(written(every).values())


def test_a_cell_is_given_its_slice_of_the_configuration(every):
    for experiment in planned().plan.of_scale("paper"):
        at = {"scale": "paper", "experiment": experiment.name}
        (collect,) = [job for job in of(every, "collect_rows") if job.output == (jobs.ROWS.format(**at),)]
        assert len(collect.input["cells"]) == len(experiment.jobs)
        assert {*collect.input["cells"], *collect.input["baselines"]} == set(collect.params["made"])
        for (mechanism, scenario), cells in experiment.jobs.items():
            job = every[jobs.CELL.format(**at, mechanism=mechanism, scenario=scenario)]
            assert job.params == {"cells": cells} and job.output[0] in collect.input["cells"]
            if "dataset" not in cells[0]["point"]:
                assert paths(job.input) == []
                continue
            baseline = jobs.BASELINE.format(**at, scenario=cells[0]["baseline"])
            assert job.input == {
                "data": f"resources/prepared/{cells[0]['point']['dataset']}.parquet",
                "baseline": baseline,
            }
            assert every[baseline].input == {"data": job.input["data"]}


def test_jobs_of_minutes_that_read_no_data_start_first(every):
    """Snakemake's greedy scheduler would keep them for the end: it prefers jobs with large inputs."""
    early = {job.label.split("/")[0] for job in every.values() if job.priority}
    assert early == {"li2021-augmentation", "li2021-literal", "li2021-simulations"}


def test_an_audit_is_given_its_slice_of_the_configuration(every):
    """Pair families, and groups of mutants, that share a job stand in its params one after the other."""
    digests = {}
    audits = of(every, "run_audit")
    for job in audits:
        assert {audit["draws"] for audit in job.params["audits"]} == {CONFIG["audit"]["draws"]["paper"]}
        digests.setdefault(job.params["audits"][0]["family"], set()).add(job.code)
    # One digest for each family, and no two alike; of mutants, one for the groups of each job. By draws alone nothing
    # of ours is attacked: every law is known.
    number = {family: len(found) for family, found in digests.items()}
    assert number == dict.fromkeys(FAMILIES.keys() - {"black_box"}, 1) | {"mutants": number["mutants"]}
    assert len(set.union(*digests.values())) == sum(number.values())
    (collect,) = of(every, "collect_privacy_ledger")
    rows = {Path(job.output[0]).parent.name: job.output[0] for job in of(every, "collect_rows")}
    released = {path for name, path in rows.items() if places.experiments()[name].releases}
    assert len(released) < len(rows)
    assert set(paths(collect.input)) == {*(job.output[0] for job in audits), *released}
    # Errata are said in the ledger, and what is said of an attack does not run it again.
    assert {budget["errata"] for budget in collect.params["errata"]} >= {"K6", "D1"}
    assert not any("errata" in json.dumps(job.params) for job in audits)


def test_one_job_draws_all_of_an_experiment_or_a_ledger(every):
    expected = {
        e.name: (f"results/paper/{e.name}/rows.parquet", e.figures, e.tables)
        for e in planned().plan.of_scale("paper")
        if e.figures or e.tables
    }
    ledgers = tuple(f"privacy-ledger-{paper}" for paper in ("kifer2012", "jain2013", "dwork2018", "li2021"))
    expected["privacy"] = ("results/paper/privacy.parquet", ledgers, ("privacy-ledger",))
    expected["mutants"] = ("results/paper/mutants.parquet", (), ("audit-mutants",))
    found = {job.label.removeprefix("figures/"): job for job in every.values() if job.rule.startswith("draw_")}
    assert set(found) == set(expected)
    for source, (rows, drawn, tables) in expected.items():
        job = found[source]
        # Of one experiment others' implementations were measured elsewhere.
        others = ["src/dperm_papers/frontier/linear/elsewhere.jsonl"] if source == "frontier-linear" else []
        assert job.input == {"rows": rows, "elsewhere": others} and [*job.params["sources"]] == others
        assert sorted(job.output) == sorted(
            [f"results/paper/figures/{name}.{suffix}" for name in drawn for suffix in ("svg", "png")]
            + [f"results/paper/tables/{name}.{suffix}" for name in tables for suffix in ("csv", "md")]
        )
        # By these the script tells which file is which.
        assert (tuple(job.params["figures"]), tuple(job.params["tables"])) == (drawn, tables)


def test_code_is_that_of_the_mechanism_and_of_the_experiment(every):
    digests = {}
    for job in of(every, "run_cell"):
        cell = job.params["cells"][0]
        digests.setdefault((cell["experiment"], cell["mechanism"]), set()).add(job.code)
    assert {len(found) for found in digests.values()} == {1}
    assert len(set.union(*digests.values())) == len(digests)


def test_a_figures_module_is_in_the_digest_of_its_own_experiment_alone():
    own = "dperm_papers.kifer2012.output.figures"
    with_it = {n for n in {*figures.FIGURES, *figures.TABLES} if own in plan.modules(*figures.modules(n))}
    assert with_it == {n for n in {*figures.FIGURES, *figures.TABLES} if n.startswith("kifer2012-output")}


def test_a_claim_needs_the_rows_that_it_stands_on():
    job = planned().find(jobs.CLAIM, {"scale": "tiny", "claim": "K-c38"})
    assert job.input["rows"] == ["results/tiny/kifer2012-output/rows.parquet"] and job.input["privacy"] == []
    assert job.output == ("results/tiny/claims/K-c38.parquet", "results/tiny/claims/K-c38.md")


@together.over(
    "pattern, words, said",
    [
        (jobs.ROWS, {"experiment": "kifer2012-nothing"}, "no experiment 'kifer2012-nothing' .* there are: dwork2018-"),
        (
            jobs.CELL,
            {"experiment": "kifer2012-output", "mechanism": "a.b.c", "scenario": "d"},
            "has no cell a.b.c/d at",
        ),
        (
            drawings.DRAWN,
            {"kind": "tables", "drawing": "x", "suffix": "md"},
            "no selected experiment declares 'x'",
        ),
        (
            jobs.AUDIT,
            {"mechanism": "objective.tight", "pair": "x"},
            "no audit objective.tight/x .*: exp-mech",
        ),
    ],
)
def test_an_unknown_job_says_which_there_are(pattern, words, said):
    with pytest.raises(ConfigError, match=said):
        planned().find(pattern, {"scale": "tiny", **words})


def test_an_unknown_data_set():
    with pytest.raises(ConfigError, match=r"'adlut' is not in config/datasets\.yaml; did you mean 'adult'"):
        planned().find(jobs.PREPARED, {"dataset": "adlut"})
