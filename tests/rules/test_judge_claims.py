"""judge_claims: a verdict for every claim, variant and data set of the catalogue."""

import json
from pathlib import Path

import fake_audits
import fake_rows
import pyarrow.parquet as pq
import pytest

from dperm_pipeline import claims, config_files, places

ROOT = Path(__file__).parents[2]
CATALOGUE, SCHEMA = ROOT / "resources/claims/kifer2012.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
ROWS, OUT = "results/tiny/kifer2012-output/rows.parquet", "results/tiny/claims.parquet"
PRIVACY = "results/tiny/privacy.parquet"
CLAIMS = config_files.parse(CATALOGUE)
# Claims that the privacy ledger has a say in.
LEDGER = {claim["id"] for claim in CLAIMS if claim["test"] == "ledger"}
PREPARED = sorted(config_files.parse(ROOT / "config/datasets.yaml"))
DATASETS = sorted({*PREPARED, *(name for known in places.experiments().values() for name in known.designs)})


@pytest.fixture
def judge_claims(run_script):
    fake_audits.write_ledgers(Path("results/tiny"))

    def run(what, *, rows=(ROWS,), catalogue=CATALOGUE):
        return what(
            "judge_claims",
            input={"catalogue": [catalogue], "schema": SCHEMA, "rows": list(rows), "privacy": PRIVACY},
            output={"claims": OUT},
            params={
                "papers": ["kifer2012"],
                "seed": 7,
                "datasets": DATASETS,
                "prepared": PREPARED,
                "skipped": {"adult": "no mirror is set"},
                "sources": {},
                "code": "digest of the code",
            },
            wildcards={"scale": "tiny"},
        )

    return run


def expected_places():
    catalogue = CLAIMS
    return sorted(
        (claim["id"], variant, dataset)
        for claim in catalogue
        for variant in claim["variants"]
        for dataset in claim.get("datasets", [""])
    )


def verdicts():
    found = claims.read(OUT)
    assert sorted(zip(found["id"], found["variant"], found["dataset"], strict=True)) == expected_places()
    return found.set_index(["id", "variant", "dataset"])


@pytest.mark.parametrize(("shift", "verdict"), [(50.0, "reproduced"), (-50.0, "not reproduced")])
def test_verdicts_follow_the_rows(judge_claims, run_script, shift, verdict):
    """Output perturbation worse, or better, than objective perturbation in every single repeat."""
    rows = fake_rows.rows(datasets=("breast-cancer",), epsilons=(1.0, 3.0), repeats=12)
    assert rows.loc[rows["mechanism"] != "nonprivate", "value"].max() < 25
    rows.loc[rows["mechanism"] == "output", "value"] += shift
    fake_rows.write(rows, ROWS)
    judge_claims(run_script)
    found = verdicts()
    assert found.loc[("K-c38", "tight", "breast-cancer"), "verdict"] == verdict
    assert "no mirror is set" in found.loc[("K-c38", "tight", "adult"), "reason"]
    assert "not in this scale's grid" in found.loc[("K-c38", "tight", "digits"), "reason"]
    others = [place for place in found.index if place[0] == "K-c38" and place[2] != "breast-cancer"]
    assert set(found.loc[others, "verdict"]) == {"not run"}
    metadata = json.loads(pq.read_schema(OUT).metadata[b"dperm"])
    given = {"papers": ["kifer2012"], "skipped": {"adult": "no mirror is set"}, "seed": 7, "code": "digest of the code"}
    assert metadata == {**given, "versions": metadata["versions"]}


def test_without_rows_nothing_is_decided(judge_claims, run_script):
    judge_claims(run_script, rows=())
    found = verdicts().reset_index()
    from_ledger = found["id"].isin(LEDGER)
    assert from_ledger.any() and set(found.loc[~from_ledger, "verdict"]) == {"not run"}
    assert found.loc[~from_ledger, "reason"].str.contains("not among the selected papers").all()


def test_corrupt_rows(judge_claims, run_script):
    fake_rows.write(fake_rows.rows(datasets=("breast-cancer",), repeats=3), ROWS)
    Path(ROWS).write_bytes(Path(ROWS).read_bytes()[:-30])
    assert f"{ROWS} is not a readable Parquet file" in judge_claims(run_script.fails)


def test_a_catalogue_with_a_typo(judge_claims, run_script):
    text = CATALOGUE.read_text(encoding="utf-8")
    Path("claims.yaml").write_text(text.replace("  level: ", "  levle: ", 1), encoding="utf-8")
    said = judge_claims(run_script.fails, rows=(), catalogue="claims.yaml")
    assert "unknown key 'levle'; did you mean 'level'?" in said
