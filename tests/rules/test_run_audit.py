"""run_audit: the rows of one audit job, the same bytes each time, or a message and no file."""

from pathlib import Path

import pandas as pd
import pytest

from dperm_pipeline import tables
from dperm_pipeline.audits import attacks, ledger

OUT = "results/tiny/audits/it/it.parquet"


@pytest.fixture
def run_audit(run_script):
    def run(what, *jobs, out=OUT):
        return what(
            "run_audit",
            output={"rows": out},
            params={"audits": jobs, "code": "digest"},
            wildcards={"scale": "tiny", "mechanism": "it", "pair": "it"},
        )

    return run


@pytest.mark.parametrize("key", [("objective.paper", "saturating"), ("output.tight", "linear")])
def test_rows_and_metadata(run_audit, run_script, tiny, key):
    job = tiny.audits["tiny"][key]
    run_audit(run_script, job)
    rows = tables.read_records(OUT, attacks.ATTACKS)
    assert set(rows["mechanism"]) == {key[0].split(".")[0]} and set(rows["pair"]) == {key[1]}
    budgets = {(row["neighbours"], row["variant"], row["epsilon"], row["delta"]) for row in job["rows"]}
    attacked = set(rows[["neighbours", "variant", "epsilon", "delta"]].itertuples(index=False, name=None))
    # A pair is for some of the laws.
    assert attacked <= budgets and {("add_remove", "gamma"), ("replace", "gamma")} <= {key[:2] for key in attacked}
    assert tables.metadata(OUT)["audits"] == [job]
    assert tables.metadata(OUT)["code"] == "digest"


def test_again_gives_the_same_bytes(run_audit, run_script, tiny):
    job = tiny.audits["tiny"]["output.paper", "linear"]
    run_audit(run_script, job)
    run_audit(run_script, job, out="again.parquet")
    assert Path(OUT).read_bytes() == Path("again.parquet").read_bytes()


def test_pairs_that_share_a_job_give_the_ledger_that_they_give_alone(run_audit, run_script, tiny):
    first = tiny.audits["tiny"]["output.paper", "linear"]
    jobs = [first, {**first, "pair": "random"}]
    folder = Path("results/tiny/audits/output.paper")
    for job in jobs:
        run_audit(run_script, job, out=str(folder / f"{job['pair']}.parquet"))
    # In the other order too: which of two equally good attacks is told must not hang on it.
    run_audit(run_script, *reversed(jobs), out=str(folder / "both.parquet"))
    assert "audit 1 of 2: random" in run_script.log and "audit 2 of 2: linear" in run_script.log
    alone = [tables.read_records(folder / f"{job['pair']}.parquet", attacks.ATTACKS) for job in jobs]
    both = tables.read_records(folder / "both.parquet", attacks.ATTACKS)
    pd.testing.assert_frame_equal(both, pd.concat(reversed(alone), ignore_index=True))
    assert tables.metadata(folder / "both.parquet")["audits"] == jobs[::-1]
    for out, names in (("alone", ("linear", "random")), ("together", ("both",))):
        paths = [folder / f"{name}.parquet" for name in names]
        ledger.collect(paths, [], f"{out}.parquet", confidence=0.95, level=0.05, metadata={})
    assert Path("alone.parquet").read_bytes() == Path("together.parquet").read_bytes()


def test_mutants_have_columns_of_their_own(run_audit, run_script, tiny):
    (job,) = [job for (name, _), job in tiny.audits["tiny"].items() if name == "mutants"]
    run_audit(run_script, job)
    rows = tables.read_records(OUT, attacks.MUTANTS)
    assert len(rows) >= 5 and set(rows["group"]) == {job["group"]}
    assert rows["mutant_bound"].notna().all() and rows["twin_bound"].notna().all()


def test_an_impossible_curvature_is_said_and_nothing_written(run_audit, run_script, tiny):
    """A budget so small that the curvature it asks for is no number."""
    job = tiny.audits["tiny"]["output.tight", "linear"]
    tiny_budget = {**job["rows"][0], "epsilon": 1e-250}
    said = run_audit(run_script.fails, {**job, "rows": [tiny_budget]})
    assert "curvature=2e+250 must be a number in" in said
