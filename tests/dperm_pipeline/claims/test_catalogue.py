"""The catalogue of claims: its mistakes are named, and it agrees with the code and the schema."""

import copy
from pathlib import Path

import fake_rows
import pytest
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import claims, figures
from dperm_pipeline.claims import catalogue as catalogue_of

ROOT = Path(__file__).parents[3]
CATALOGUE, SCHEMA = ROOT / "resources/claims/kifer2012.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
EXPERIMENT = "kifer2012-output"


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        ({"test": "slope", "expected": 1.0, "margin": 0.1}, "K-c99: axis is missing, for the variant 'printed' too"),
        ({"test": "slope", "axis": "p", "margin": 0.1}, "expected is missing"),
        ({"test": "vanishing"}, "axis is missing"),
        ({"test": "threshold"}, "needs either at_least or at_most"),
        ({"test": "threshold", "at_least": 1.0, "at_most": 2.0}, "needs either at_least or at_most"),
    ],
)
def test_what_a_test_needs_may_stand_in_the_claim_or_in_its_variants(tmp_path, claim, message):
    head = {
        "id": "K-c99", "paper": "kifer2012", "place": "x", "statement": "x", "experiment": "kifer2012-table1",
        "figure": "kifer2012-table1", "metric": "excess_risk", "datasets": ["extremal"],
        "variants": {"printed": {"where": {"row": "theorem-5"}}},
    }  # fmt: skip
    (tmp_path / "claims.yaml").write_text(yaml.safe_dump([{**head, **claim}]))
    with pytest.raises(ConfigError, match=message):
        catalogue_of.load(tmp_path / "claims.yaml", SCHEMA)


def test_every_claim_names_data_figures_and_columns_that_there_are():
    """Every claim of the catalogue is decided from a tiny run of its experiment, whatever the verdict."""
    rows = fake_rows.table1()
    for claim in catalogue_of.load(CATALOGUE, SCHEMA):
        assert claim["figure"] in figures.FIGURES
        if claim["experiment"] != "kifer2012-table1":
            continue
        for variant in claim["variants"]:
            for dataset in claim["datasets"]:
                here = rows[rows["dataset"] == dataset]
                assert claims.decide(claim, variant, here).verdict != "not run"


def test_the_catalogue_and_its_schema_agree_with_the_code(catalogue):
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    assert set(schema["items"]["properties"]["test"]["enum"]) == set(claims.TESTS)
    claim = catalogue[0]
    assert claim["datasets"] == ["adult", "breast-cancer", "diabetes", "digits", "hadamard"] and claim["level"] == 0.05
    assert claim["variants"]["tight"]["better"] == {"mechanism": "objective", "calibration": "tight"}
    assert claim["variants"]["printed"]["better"] == {"mechanism": "objective", "calibration": "paper"}
    assert {m["worse"]["mechanism"] for m in claim["variants"].values()} == {"output"}


def _mistakes():
    def put(*keys, value):
        def change(claim):
            for key in keys[:-1]:
                claim = claim[key]
            claim[keys[-1]] = value

        return change

    yield put("levl", value=0.05), r"K-c38: unknown key 'levl'; did you mean 'level'"
    yield put("level", value=0.9), r"K-c38\.level: 0\.9 is not allowed .*must be at most 0\.5"
    words = "bound, coverage, crossing, equal, exact"
    yield put("test", value="eye"), rf"K-c38\.test: 'eye' is not allowed: must be one of {words}"
    yield put("datasets", value=[]), r"K-c38\.datasets"
    yield put("variants", "tight", "better", value={}), r"K-c38\.variants\.tight\.better"
    yield put("variants", "tight", "better", value={"No column": 1}), r"'No column'"
    yield put("variants", "best", value={}), r"'best'"
    yield put("id", value="c38"), r"c38\.id: 'c38' is not allowed: must match"
    yield put("measured", value="test_error"), r"K-c38\.measured: 'test_error' is not among metrics: must be one of exc"
    yield put("ratio", value="test_error"), r"K-c38\.ratio: 'test_error' .* excess_risk, test_loss, or add it there"
    yield put("datasets", 3, value="digit"), r"K-c38\.datasets: 'digit' is neither in .* nor a design; did .* 'digits'"
    yield (lambda claim: claim.pop("ratio")), r"K-c38: the key 'ratio' is missing"
    yield (lambda claim: claim.pop("id")), r"0: the key 'id' is missing"


@pytest.mark.parametrize(("change", "message"), list(_mistakes()))
def test_mistakes_in_the_catalogue_are_named_by_their_key(change, message, tmp_path, catalogue):
    changed = copy.deepcopy(catalogue)
    change(changed[0])
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump(changed))
    with pytest.raises(ConfigError, match=message) as raised:
        catalogue_of.load(path, SCHEMA, datasets=("adult", "breast-cancer", "diabetes", "digits", "hadamard"))
    assert str(path) in str(raised.value)


def test_a_catalogue_that_is_no_catalogue(tmp_path, catalogue):
    path = tmp_path / "claims.yaml"
    for text, message in (
        ("[a: b", "not valid YAML"),
        ("a: 1", "must be array"),
        ("- 3", "0: 3 is not allowed: must be object"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            catalogue_of.load(path, SCHEMA)
    path.write_text(yaml.safe_dump([*catalogue, *copy.deepcopy(catalogue)]))
    with pytest.raises(ConfigError, match="id: 'K-c38' stands twice"):
        catalogue_of.load(path, SCHEMA)
    with pytest.raises(ConfigError, match="No such file"):
        catalogue_of.load(tmp_path / "none.yaml", SCHEMA)
    unknown = [{**catalogue[0], "test": "eye"}]
    with pytest.raises(ConfigError, match="K-c38: test: 'eye' is none of bound, coverage, crossing, equal, exact"):
        claims.judge(unknown, {EXPERIMENT: None}, tmp_path / "c.parquet", unavailable={}, metadata={})
    assert not (tmp_path / "c.parquet").exists()
