"""The share of a run that was work, from the files that Snakemake and the jobs leave."""

import json
import os
import subprocess
import sys

import pytest

from dperm_pipeline.report import cost, provenance


@pytest.fixture
def job(tmp_path):
    """Return a function that leaves the traces of one job."""

    def leave(name, *, seconds, worked, at=1000.0):
        benchmark, log = tmp_path / "benchmarks" / f"{name}.tsv", tmp_path / "logs" / f"{name}.log"
        for path in (benchmark, log):
            path.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text(f"s\th:m:s\n{seconds}\t0:00:00\n")
        log.write_text(f"something\nstarted with 0.5 s of CPU\nworked {worked} s, 0.4 s of CPU, peak 9 MB of 100 MB\n")
        os.utime(benchmark, (at, at))

    return leave


def test_shares_add_up(tmp_path, job):
    """Two cores for 10 s are 20 core-seconds: 9 of work, 3 of starting Python, 8 of the rest."""
    job("quick/e/m.tight/adult_epsilon-0.1", seconds=8.0, worked=6.5)
    job("prepare/adult", seconds=4.0, worked=2.5)
    spent = cost.of_run(tmp_path, "quick", since=990.0, until=1000.0, cores=2)
    assert (spent.jobs, spent.job_seconds, spent.work_seconds) == (2, 12.0, 9.0)
    words = str(spent)
    assert "9 core-seconds of work (45% of the wall time)" in words
    assert "3 of starting Python (15%)" in words
    assert "8 of Snakemake and idle cores (40%)" in words


def test_only_jobs_of_this_run_and_scale_count(tmp_path, job):
    job("quick/claims", seconds=1.0, worked=0.5)
    job("quick/old", seconds=1.0, worked=0.5, at=900.0)
    job("paper/claims", seconds=1.0, worked=0.5)
    assert cost.of_run(tmp_path, "quick", since=990.0, until=1001.0).jobs == 1


def test_every_job_has_its_rule_and_stage(tmp_path, job):
    rules = {
        "fetch/adult": ("fetch", "fetch_dataset"),
        "prepare/adult": ("prepare", "prepare_dataset"),
        "quick/audits/objective.tight/knee": ("audits", "run_audit"),
        "quick/claims": ("claims", "judge_claims"),
        "quick/claims/K-c01": ("claims", "judge_claim"),
        "quick/e/baselines/adult": ("e", "fit_baseline"),
        "quick/e/collect": ("e", "collect_rows"),
        "quick/e/objective.tight/adult_epsilon-0.1": ("e", "run_cell"),
        "quick/figures/e": ("figures", "draw"),
        "quick/privacy": ("privacy", "collect_privacy_ledger"),
        "quick/report": ("report", "build_report"),
    }
    for name in rules:
        job(name, seconds=2.0, worked=1.0)
    found = cost.jobs(tmp_path / "benchmarks/quick")
    assert {one.name: (one.stage, one.rule) for one in found} == rules
    assert {(one.wall, one.work, one.cpu, one.start, one.peak, one.declared) for one in found} == {
        (2.0, 1.0, 0.4, 0.5, 9, 100)
    }


def test_only_planned_jobs_count(tmp_path, job):
    """Others left their benchmarks: old brackets, a claim judged apart, figures and tables drawn one by one."""
    planned = ["quick/e/objective.tight/adult_epsilon-0.1", "quick/claims", "quick/figures/e", "quick/not-run"]
    brackets = "quick/e/objective.tight/adult_epsilon-0.1-0.3"
    gone = [brackets, "quick/claims/K-c01", "quick/figures/one", "quick/tables/t"]
    for name in (*planned[:3], *gone, "prepare/adult", "prepare/url"):
        job(name, seconds=2.0, worked=1.0)
    folder = tmp_path / "benchmarks/quick"
    assert sorted(one.name for one in cost.jobs(folder, planned)) == sorted(planned[:3])
    assert len(cost.jobs(folder)) == 9 and cost.jobs(folder, []) == []
    stages, _ = cost.stages(folder, ["adult"], [name.removeprefix("quick/") for name in planned])
    assert {stage["name"]: stage["jobs"] for stage in stages} == {"claims": 1, "e": 1, "figures": 1, "prepare": 1}


def test_the_page_has_a_name_for_each_stage():
    """But for the report, which cannot time itself: what has none would be shown as an experiment."""
    assert set(provenance.STAGES) == set(cost.RULES) - {"report"}


def test_of_a_killed_job_nothing_is_known(tmp_path, job):
    """What Snakemake sampled may be of the process that waited for it."""
    job("quick/claims", seconds=2.0, worked=1.0)
    (tmp_path / "benchmarks/quick/claims.tsv").write_text("s\tmax_rss\n2.0\t17.6\n")
    (tmp_path / "logs/quick/claims.log").write_text("started with 1.0 s of CPU\n")
    (one,) = cost.jobs(tmp_path / "benchmarks/quick")
    assert (one.logged, one.work, one.peak, one.declared) == (False, 0.0, 0, 0)


def test_what_a_job_logs_is_what_is_read(tmp_path, job):
    """The writer and the reader agree on the words."""
    job("quick/claims", seconds=2.0, worked=1.0)
    log = tmp_path / "logs/quick/claims.log"
    given = {"log": [str(log)], "input": [], "output": [], "rule": "judge_claims", "wildcards": {}}
    code = (
        "import json, sys; from types import SimpleNamespace; from dperm_pipeline import script\n"
        "with script.logged(SimpleNamespace(**json.loads(sys.argv[1]), resources={'mem_mb': 300})): sum(range(10**6))"
    )
    subprocess.run([sys.executable, "-c", code, json.dumps(given)], check=True)
    (one,) = cost.jobs(tmp_path / "benchmarks/quick")
    assert one.logged and one.declared == 300 and 0 < one.cpu < 2 and 0 < one.start < 5 and 5 < one.peak < 300


def test_breaks_between_runs_do_not_count():
    """Two jobs side by side for a second, one more after them, and one a day later."""
    ran = [
        cost.Job(str(ended), "e", "run_cell", ended, wall)
        for ended, wall in ((10.0, 2.0), (11.0, 2.0), (12.0, 1.0), (90000.0, 5.0))
    ]
    assert cost.busy(ran) == {"seconds": 9.0, "cores": 2}


def test_who_came_nearest_to_what_it_declares():
    stage = [cost.nearness(*pair) for pair in ((900, 1000), (1500, 2000), (5000, 0))]
    assert max(stage) == cost.nearness(900, 1000)
