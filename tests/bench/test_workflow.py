"""The benchmark of the workflow: what it adds up, and what it calls a broken promise."""

import importlib.util
import json
import os
import re
import sys
import time
from pathlib import Path

import pytest

from dperm_pipeline.report import cost

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bench():
    spec = importlib.util.spec_from_file_location("bench_workflow", ROOT / "bench/workflow.py")
    module = importlib.util.module_from_spec(spec)
    # Its data classes look their module up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def _job(name="paper/e/m/s", rule="run_cell", **changed):
    fixed = {"wall": 10.0, "work": 9.0, "cpu": 8.0, "start": 1.0, "peak": 300, "declared": 400, "logged": True}
    return cost.Job(name, "e", rule, 1000.0, **(fixed | changed))


@pytest.fixture
def measured(bench):
    """Two jobs, 16 s of work and 2 s of starting in 20 s of CPU, on two cores for 15 s."""
    ran = (_job(), _job("paper/claims", "judge_claims", wall=12.0))
    run = bench.Run(since=990.0, until=1005.0, cpu=20.0, cores=2)
    return bench.Measured(ran, run, dry=(6.0, 5.0), noop=(7.0, 6.0))


def test_the_table(bench, measured):
    lines = {" ".join(line.split()) for line in bench.table(measured).splitlines()}
    assert "run_cell 1 10 8 1 10.0 300 of 400" in lines and "judge_claims 1 12 8 1 12.0 300 of 400" in lines
    assert "dry run 6.0 s (5.0 s of CPU)" in lines and "run with nothing to do 7.0 s (6.0 s of CPU)" in lines
    assert {"jobs 2", "work 16 core-seconds of CPU", "starting Python 2", "Snakemake itself 2"} <= lines
    assert "idle 10 of 30 core-seconds (2 cores, 15 s)" in lines and "overhead 20.0% of the CPU time" in lines


def test_what_is_not_measured_is_said(bench, measured):
    alone = bench.Measured(measured.jobs, None, measured.dry, measured.noop)
    assert "overhead: not measured" in bench.table(alone) and alone.overhead is None
    assert bench.failures(alone, "quick") == []
    assert bench.failures(alone, "paper") == ["overhead: not measured, because the run was made in parts"]


@pytest.fixture
def folder(tmp_path):
    """Three jobs, of which one ran a day before the others, and one that is in no plan."""
    for name, ended in (("e/m/s", 1000.0), ("claims", 1001.0), ("config", 5.0), ("e/m/gone", 1000.0)):
        benchmark = tmp_path / f"benchmarks/quick/{name}.tsv"
        benchmark.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text("s\n1.0\n")
        os.utime(benchmark, (ended, ended))
    return tmp_path


PLANNED = {"quick/e/m/s", "quick/claims", "quick/config"}


@pytest.mark.parametrize(("since", "whole"), [(0.0, True), (990.0, False), (2000.0, False)])
def test_a_run_in_parts_is_checked_whole(bench, folder, since, whole):
    """What is left out of the window of the last call counts for all but the overhead."""
    told = bench.Run(since=since, until=since + 2000, cpu=9.0, cores=2)
    (folder / "benchmarks/quick.json").write_text(json.dumps(vars(told)))
    ran, run, missing = bench.found(folder, "quick", PLANNED)
    assert ({job.name for job in ran}, missing) == (PLANNED, ())
    assert run == (told if whole else None)


def test_a_job_without_a_benchmark_is_a_failure(bench, folder):
    ran, run, missing = bench.found(folder, "quick", PLANNED | {"quick/privacy"})
    assert (len(ran), run, missing) == (3, None, ("quick/privacy",))
    lines = bench.failures(bench.Measured((_job(),) * 3, run, (1.0, 1.0), (1.0, 1.0), missing), "quick")
    assert lines == ["1 of 4 planned jobs left no benchmark: quick/privacy"]


@pytest.mark.parametrize("did", [False, True])
def test_a_call_with_nothing_to_do_leaves_the_record(bench, folder, monkeypatch, did):
    record = folder / "benchmarks/quick.json"
    record.write_text("before")

    def snakemake(*_, cores):
        if did:
            (folder / "benchmarks/quick/claims.tsv").write_text("s\n1.0\n")
        return "", 1.0, 3.0

    monkeypatch.setattr(bench, "snakemake", snakemake)
    # The times of files are cut to what their system holds.
    monkeypatch.setattr(bench.time, "time", iter([time.time() - 1, time.time() + 60]).__next__)
    bench.run(folder, "quick", cores=2)
    assert (record.read_text() == "before") is not did
    assert not did or json.loads(record.read_text())["cpu"] == 3.0


def test_the_names_of_planned_jobs(bench, monkeypatch, tmp_path):
    head = "Building DAG of jobs...\noutput_file\tdate\trule\tlog-file(s)\tstatus\tplan\n"
    drawn = [f"results/quick/figures/a.{end}\tnow\tdraw_e\tlogs/quick/figures/e.log\tok\tno update" for end in "ab"]
    monkeypatch.setattr(bench, "snakemake", lambda *_: (head + "\n".join(drawn), 1.0, 1.0))
    assert bench.names(tmp_path, "quick") == {"quick/figures/e"}
    monkeypatch.setattr(bench, "snakemake", lambda *_: (head + drawn[0].replace("logs/quick/figures/e.log", "-"), 1, 1))
    with pytest.raises(SystemExit, match=r"no record in .* of the job that made results/quick/figures/a\.a"):
        bench.names(tmp_path, "quick")


def test_targets_hold_at_scale_paper(bench, measured):
    """One broken at a time; the numbers are in the words."""
    assert bench.failures(measured, "quick") == []
    assert bench.failures(measured, "paper") == ["overhead: 20.0%, the target is 5.0%"]
    run = bench.Run(since=990.0, until=1005.0, cpu=16.5, cores=2)
    good = {"jobs": measured.jobs, "run": run, "dry": (10.0, 1.0), "noop": (15.0, 1.0)}
    assert bench.failures(bench.Measured(**good), "paper") == []
    many = tuple(_job(f"paper/e/m/{number}") for number in range(401))
    for key, value, words in (
        ("dry", (10.1, 1.0), "dry run: 10.1 s, the target is 10.0 s"),
        ("noop", (15.1, 1.0), "run with nothing to do: 15.1 s, the target is 15.0 s"),
    ):
        assert bench.failures(bench.Measured(**(good | {key: value})), "paper") == [words]
    long = bench.Run(since=990.0, until=990.0 + 46 * 60, cpu=16.5, cores=2)
    assert bench.failures(bench.Measured(**(good | {"run": long})), "paper") == [
        "whole run: 46.0 minutes, the target is 45.0 minutes"
    ]
    run = bench.Run(since=990.0, until=1005.0, cpu=3300.0, cores=2)
    assert bench.failures(bench.Measured(**(good | {"jobs": many, "run": run})), "paper") == [
        "jobs: 401, the target is 400"
    ]


@pytest.mark.parametrize("scale", ["quick", "paper"])
def test_more_memory_than_declared_fails_at_every_scale(bench, scale):
    ran = (_job(peak=400), _job("paper/claims", "judge_claims", peak=401), _job("paper/x", logged=False, peak=999))
    assert bench.failures(bench.Measured(ran, None, (1.0, 1.0), (1.0, 1.0)), scale)[:2] == [
        "paper/x: its log does not say what it worked",
        "paper/claims held 401 MB, and the rule judge_claims declares 400 MB",
    ]
    nothing = bench.Measured((_job(declared=0),), None, (1.0, 1.0), (1.0, 1.0))
    assert "paper/e/m/s held" in bench.failures(nothing, scale)[0]


def test_the_exit_status_tells(bench, measured, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(bench, "measure", lambda folder, scale: measured)
    assert bench.report(scale="quick", finished=tmp_path) == 0
    assert bench.report(scale="paper", finished=tmp_path) == 1
    assert "FAILED: overhead: 20.0%" in capsys.readouterr().out


def test_the_jobs_of_a_plan(bench):
    table = "job          count\n---------  -------\nall              1\nrun_cell        12\ntotal           13\n"
    assert bench.planned(f"{table}\n[Sun]\nJob 1: all\n{table}") == 12
    assert bench.planned(table.replace("all              1\n", "").replace("13", "12")) == 12
    assert bench.planned("Nothing to be done (all requested files are present and up to date).") == 0


@pytest.mark.slow
def test_a_real_run(bench, tmp_path, monkeypatch):
    """One experiment at scale tiny: run, and looked at; what was run before and after is not counted."""
    monkeypatch.syspath_prepend(str(ROOT / "tests"))
    import project_copies

    folder = project_copies.copy_project(tmp_path / "project").folder
    with pytest.raises(SystemExit, match="jobs of scale tiny are still to be run") as unfinished:
        bench.measure(folder, "tiny")
    bench.run(folder, "tiny", cores=2)
    found = bench.measure(folder, "tiny")
    assert len(found.jobs) == int(str(unfinished.value).split()[0])
    assert 0 < found.work < found.work + found.start < found.run.cpu < 2 * (found.run.until - found.run.since)
    assert 0.1 < found.overhead < 0.9
    assert bench.failures(found, "tiny") == []
    # A job that needs more than its rule declares is found.
    log = folder / "logs/tiny/claims.log"
    log.write_text(re.sub(r"\d+ MB of ", "9999 MB of ", log.read_text()))
    ran, run, missing = bench.found(folder, "tiny", {job.name for job in found.jobs})
    (line,) = bench.failures(bench.Measured(tuple(ran), run, found.dry, found.noop, missing), "tiny")
    assert "tiny/claims held" in line
    record = folder / "benchmarks/tiny.json"
    assert json.loads(record.read_text())["cores"] == 2
    # Resumed: with nothing to do nothing is recorded; after a part, all jobs are there, and no overhead.
    before = record.read_bytes()
    bench.run(folder, "tiny", cores=1)
    assert record.read_bytes() == before
    (folder / "results/tiny/config.yaml").unlink()
    bench.run(folder, "tiny", cores=1)
    ran, run, missing = bench.found(folder, "tiny", bench.names(folder, "tiny"))
    parts = bench.Measured(tuple(ran), run, found.dry, found.noop, missing)
    assert record.read_bytes() != before and parts.run is None
    assert len(parts.jobs) == len(found.jobs) and "the run was made in parts" in bench.table(parts)
