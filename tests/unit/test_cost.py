"""The share of a run that was work, from the files that Snakemake and the jobs leave."""

import os

import pytest

from dperm import script
from dperm.errors import ConfigError
from dperm.report import cost


@pytest.fixture
def job(tmp_path):
    """Return a function that leaves the traces of one job."""

    def leave(name, *, seconds, worked, at=1000.0):
        benchmark, log = tmp_path / "benchmarks" / f"{name}.tsv", tmp_path / "logs" / f"{name}.log"
        for path in (benchmark, log):
            path.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text(f"s\th:m:s\n{seconds}\t0:00:00\n")
        log.write_text(f"something\nworked {worked} s\n")
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


def test_a_job_says_what_it_worked_and_a_failed_one_does_not(tmp_path):
    with script.logged(tmp_path / "good.log"):
        pass
    with pytest.raises(SystemExit), script.logged(tmp_path / "bad.log"):
        raise ConfigError("no")
    assert cost._worked(tmp_path / "good.log") >= 0
    assert "worked" in (tmp_path / "good.log").read_text()
    assert (tmp_path / "bad.log").read_text() == "error: no\n"
