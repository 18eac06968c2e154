"""The model of cost: its arithmetic, by hand, and that it agrees with the run that it was fitted on."""

import json
import math
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import scaling

PLANS = [(100, 4.0, 200.0), (1100, 14.0, 300.0), (2100, 24.0, 400.0)]


@pytest.fixture
def run():
    """Two experiments of 100 and 50 rows, three jobs of cells and two others."""
    return scaling.Facts(
        rows={"a": 100, "b": 50},
        work={"a": 30.0, "b": 60.0},
        cells={"a": 2, "b": 1},
        readers=8.0,
        rest=2.0,
        others=2,
        start=5.0,
        own=2.5,
        results={"a": 2000, "b": 500},
        shown=500,
        records=1000,
    )


def test_the_model_returns_the_run_that_it_was_fitted_on(run):
    model = scaling.fit(run, PLANS)
    said, was = scaling.price(model, run), scaling.measured(run)
    assert (said.jobs, said.work, said.workflow) == (was.jobs, pytest.approx(was.work), pytest.approx(was.workflow))
    assert (said.results, said.records) == (pytest.approx(was.results), pytest.approx(was.records))
    # 3 s and 190 MB without jobs, 0.01 s and 0.1 MB for each of five.
    assert said.plan == (pytest.approx(3.05), pytest.approx(190.5))


def test_a_grid_ten_times_as_large(run):
    """Ten times the work of cells and of what reads rows, not of the rest; jobs as many as the batches make."""
    model = scaling.fit(run, PLANS)
    alone, batched = (scaling.price(model, scaling.grown(run, 10, batch)) for batch in (1, 10))
    assert (alone.jobs, batched.jobs) == (32, 5)
    assert alone.work == batched.work == pytest.approx(10 * 98 + 2)
    assert alone.workflow == pytest.approx(32 * 1.5) and batched.workflow == pytest.approx(5 * 1.5)
    assert alone.results == pytest.approx(25_500) and alone.records == pytest.approx(32 * 200)
    # A batch that is not full is a job too.
    assert scaling.grown(run, 10, 7).cells == {"a": 3, "b": 2}


def test_an_experiment_that_was_never_measured(run):
    with pytest.raises(SystemExit, match="has no rows of c"):
        scaling.price(scaling.fit(run, PLANS), replace(run, rows={**run.rows, "c": 1}))


def test_the_facts_of_a_run(tmp_path, capsys):
    """Read back from files that a run leaves."""
    jobs = {"a/m/s": (4.0, 1.0), "a/collect": (0.5, 1.0), "claims": (2.0, 1.0), "audits/m/p": (7.0, 2.0)}
    for name, (cpu, start) in jobs.items():
        benchmark, log = tmp_path / f"benchmarks/quick/{name}.tsv", tmp_path / f"logs/quick/{name}.log"
        for path in (benchmark, log):
            path.parent.mkdir(parents=True, exist_ok=True)
        benchmark.write_text("s\n9.0\n")
        log.write_text(f"started with {start} s of CPU\nworked 8.0 s, {cpu} s of CPU, peak 90 MB of 100 MB\n")
    (tmp_path / "results/quick/a").mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(pd.DataFrame({"value": range(7)})), tmp_path / "results/quick/a/rows.parquet")
    (tmp_path / "results/quick/figures").mkdir()
    (tmp_path / "results/quick/figures/a.svg").write_text("figure")
    (tmp_path / ".snakemake/metadata").mkdir(parents=True)
    for entry in range(8):
        (tmp_path / f".snakemake/metadata/{entry}").write_text("x" * 50)
    planned = {f"quick/{name}" for name in jobs}
    found = scaling.facts(tmp_path, "quick", planned)
    assert (found.rows, found.work, found.cells) == ({"a": 7}, {"a": 4.5}, {"a": 1})
    assert (found.readers, found.rest) == (2.0, 7.0)
    of_rows = (tmp_path / "results/quick/a/rows.parquet").stat().st_size
    assert (found.results, found.shown) == ({"a": of_rows}, len("figure"))
    assert (found.others, found.start, found.jobs) == (3, 5.0, 4)
    assert not capsys.readouterr().out
    # Half of Snakemake's entries are another scale's; without a record of the whole run, its own share is unknown.
    logs = sum(path.stat().st_size for path in (tmp_path / "logs").rglob("*.log"))
    assert found.records == logs + 4 * len("s\n9.0\n") + 200 and math.isnan(found.own)
    record = {"since": 0.0, "until": 1e12, "cpu": 20.0, "cores": 2}
    (tmp_path / "benchmarks/quick.json").write_text(json.dumps(record))
    assert scaling.facts(tmp_path, "quick", planned).own == pytest.approx(20.0 - 13.5 - 5.0)
    # A job that is not there is said; then the run was none that was measured as a whole.
    assert math.isnan(scaling.facts(tmp_path, "quick", planned | {"quick/privacy"}).own)
    assert "1 of 5 planned jobs left no benchmark: quick/privacy" in capsys.readouterr().out
    log.write_text("killed\n")
    with pytest.raises(SystemExit, match="whose jobs say what they worked"):
        scaling.facts(tmp_path, "quick", planned)


def test_the_table(run):
    model = scaling.fit(run, PLANS)
    text = scaling.table([("now", scaling.measured(run)), ("x 1,000", scaling.price(model, scaling.grown(run, 1000)))])
    head, _, first, second = text.splitlines()
    assert head.count("|") == first.count("|") == second.count("|") == 9
    assert first.startswith("| now | 5 | 0.03 |") and first.endswith("| – | – |")
    # 98,002 s of work, 3,002 jobs at 1.5 s.
    assert second.startswith("| x 1,000 | 3,002 | 27.22 | 1.25 | 3 | 0.6 | 33 | 490 |")


@pytest.mark.slow
def test_a_real_plan_of_a_longer_grid():
    """Twelve jobs for each budget: six mechanisms on two data sets."""
    (few, quick, small), (many, _, large) = (scaling.dry(count) for count in (10, 60))
    assert many - few == 12 * 50
    assert 1 < quick < 60 and 100 < small <= large < 1000
