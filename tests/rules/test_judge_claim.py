"""judge_claim: one claim alone has the verdict that it has among all, and no more is computed for it than it needs."""

import shutil
from pathlib import Path

import fake_audits
import fake_rows
import pyarrow.parquet as pq
import pytest
from snakemake.exceptions import WorkflowError
from test_judge_claims import DATASETS, PREPARED, SCHEMA

from dperm_pipeline import claims

ROOT = Path(__file__).parents[2]
RESULTS = Path("results/tiny")
ROWS = str(RESULTS / "kifer2012-output/rows.parquet")
CATALOGUES = sorted((ROOT / "resources/claims").glob("*.yaml"))
PARAMS = {
    "papers": ["kifer2012"],
    "seed": 7,
    "datasets": DATASETS,
    "prepared": PREPARED,
    "skipped": {},
    "sources": {},
    "code": "digest of the code",
}
# Decided by rows, by the ledger, and by the verdicts of others.
BY_ROWS, BY_LEDGER, BY_OTHERS = "K-c38", "K-c06", "J-c01"


@pytest.fixture(scope="module")
def judged(run_once):
    """A folder in which every claim is decided, by judge_claims."""
    fake_rows.write(fake_rows.rows(datasets=("breast-cancer", "diabetes"), epsilons=(1.0, 3.0), repeats=12), ROWS)
    fake_audits.write_ledgers(RESULTS)
    taken = {"catalogue": CATALOGUES, "schema": SCHEMA, "rows": [ROWS], "privacy": RESULTS / "privacy.parquet"}
    run_once(
        "judge_claims",
        input=taken,
        output={"claims": RESULTS / "claims.parquet"},
        params=PARAMS,
        wildcards={"scale": "tiny"},
    )
    return run_once.folder


@pytest.fixture
def all_verdicts(judged, run_script):
    """The verdicts of every claim, beside what they were decided by."""
    shutil.copytree(judged, ".", dirs_exist_ok=True)
    return pq.read_table(RESULTS / "claims.parquet")


def judge_claim(what, name, *, rows=(), privacy=()):
    out = {"claims": RESULTS / f"claims/{name}.parquet", "words": RESULTS / f"claims/{name}.md"}
    taken = {"catalogue": CATALOGUES, "schema": SCHEMA, "rows": list(rows), "privacy": list(privacy)}
    said = what("judge_claim", input=taken, output=out, params=PARAMS, wildcards={"scale": "tiny", "claim": name})
    return said or out


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        (BY_ROWS, {"rows": [ROWS]}),
        pytest.param(BY_LEDGER, {"privacy": [RESULTS / "privacy.parquet"]}, marks=pytest.mark.slow),
        pytest.param(BY_OTHERS, {}, marks=pytest.mark.slow),
    ],
)
def test_the_verdict_is_the_one_among_all(all_verdicts, run_script, name, needed):
    out = judge_claim(run_script, name, **needed)
    alone = pq.read_table(out["claims"])
    among = all_verdicts.filter(pq.filters_to_expression([("id", "==", name)]))
    assert len(among) and alone.equals(among, check_metadata=False)
    if name == BY_ROWS:
        decided = claims.read(out["claims"]).set_index("dataset")["verdict"]
        assert "not run" not in set(decided["breast-cancer"]) and set(decided["adult"]) == {"not run"}


@pytest.mark.slow
def test_the_words_say_statement_place_verdicts_and_rule(all_verdicts, run_script):
    text = judge_claim(run_script, BY_ROWS, rows=[ROWS])["words"].read_text(encoding="utf-8")
    rows = [row for row in all_verdicts.to_pylist() if row["id"] == BY_ROWS]
    for words in (f"# {BY_ROWS}", rows[0]["statement"], rows[0]["place"], rows[0]["note"], "Wilcoxon"):
        assert words in text
    for row in rows:
        words = f"{row['words']} (beside)" if row["beside"] else row["words"]
        assert text.count(f"\n| {words} | {row['dataset']} | ") == 1
        assert f"- {row['words']}, {row['dataset']}: {row['reason']}\n" in text


def test_a_claim_that_there_is_not(run_script):
    said = judge_claim(run_script.fails, "K-c98")
    assert "no claim 'K-c98' in resources/claims; did you mean" in said


@pytest.mark.slow
def test_it_needs_the_rows_of_its_own_experiment_alone(workflow):
    """D-c42 is a sum of parts, decided by the rows of the parts."""
    names = (BY_ROWS, "J-c34", "D-c42")
    jobs = workflow.jobs(*(f"results/tiny/claims/{name}.md" for name in names))
    needed = {
        Path(job.output[0]).stem: {Path(path).parent.name for path in job.input if path.endswith("/rows.parquet")}
        for job in jobs
        if job.rule == "judge_claim"
    }
    assert needed.keys() == set(names) and needed["D-c42"]
    assert needed[BY_ROWS] == {"kifer2012-output"} and needed["J-c34"] == {"jain2013-covertype"}
    assert not any("results/tiny/privacy.parquet" in job.input or job.rule == "run_audit" for job in jobs)
    collected = {Path(job.output[0]).parent.name for job in jobs if job.rule == "collect_rows"}
    assert collected == set().union(*needed.values())


@pytest.mark.slow
def test_the_ledger_is_made_for_a_claim_that_needs_it(workflow):
    jobs = workflow.jobs(f"results/tiny/claims/{BY_LEDGER}.md")
    (job,) = [job for job in jobs if job.rule == "judge_claim"]
    assert "results/tiny/privacy.parquet" in job.input and "run_audit" in {job.rule for job in jobs}


def test_a_name_that_no_claim_has_is_refused_before_anything_runs(workflow):
    with pytest.raises(WorkflowError, match=r"no claim 'K-c98' in resources/claims; did you mean"):
        workflow.jobs("results/tiny/claims/K-c98.md")
