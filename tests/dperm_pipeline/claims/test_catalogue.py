"""The catalogue of claims: its mistakes are named, and it agrees with the code and the schema."""

import copy
import json
from pathlib import Path

import fake_audits
import fake_rows
import pandas as pd
import pytest
import real_claims
import together
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import claims, figures
from dperm_pipeline.claims import catalogue as catalogue_of

ROOT = Path(__file__).parents[3]
CATALOGUE, SCHEMA = ROOT / "resources/claims/kifer2012.yaml", ROOT / "workflow/schemas/claims.schema.yaml"
EXPERIMENT = "kifer2012-output"


def test_every_claim_names_data_figures_and_columns_that_there_are():
    """Every claim of the catalogue is decided from a tiny run of its experiment, whatever the verdict."""
    rows = fake_rows.table1()
    for claim in real_claims.of("kifer2012"):
        assert figures.of_claim(claim["figure"], "kifer2012") in figures.FIGURES
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
    # The sentence is about the techniques that existed: both algorithms of CMS11.
    assert claim["variants"]["printed"]["better"] == {"mechanism": "cms11", "calibration": "paper"}
    assert claim["variants"]["tight-over-kst"]["better"] == {"mechanism": "objective", "calibration": "paper"}
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
    yield (
        put("beside", value=["digit"]),
        r"K-c38\.beside: 'digit' is neither a variant nor a data set of the",
    )
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
    with pytest.raises(ConfigError, match="K-c38: unknown test 'eye'; known: bound, coverage, crossing, equal, exact"):
        claims.judge(unknown, {EXPERIMENT: None}, tmp_path / "c.parquet", unavailable={}, metadata={})
    assert not (tmp_path / "c.parquet").exists()


POINTS = {"points": ["n"], "comparisons": [{"above": {"variant": "vs_plus"}, "below": {"variant": "vs"}}]}
CROSSING = {"test": "crossing", "axis": "queries", "better": {"mechanism": "a"}, "worse": {"mechanism": "b"}}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"test": "slope", "expected": 1.0, "margin": 0.1}, "J-c99: axis is missing, for the variant 'printed' too"),
        ({"test": "slope", "axis": "p", "margin": 0.1}, "expected is missing"),
        ({"test": "slope", "axis": "n", "expected": 1, "margin": 0, "side": "left"}, "side"),
        ({"test": "vanishing"}, "axis is missing"),
        ({"test": "threshold"}, "needs either at_least or at_most"),
        ({"test": "threshold", "at_least": 1.0, "at_most": 2.0}, "needs either at_least or at_most"),
        ({"test": "threshold", "at_most": 0.0, "limits": "normal"}, "limits"),
        (CROSSING, "at_least is missing"),
        ({"test": "bound"}, "axes is missing"),
        ({"test": "bound", "axes": []}, "axes"),
        ({"test": "within", **POINTS}, "needs low or high"),
        ({"test": "within", "high": 1.0, "points": ["n"]}, "comparisons is missing"),
        ({**POINTS, "comparisons": [{"above": {"variant": "vs"}}]}, "below"),
        ({**POINTS, "comparisons": [{"better": {"variant": "vs"}}]}, "unknown key 'better'"),
        ({**POINTS, "comparisons": [{**POINTS["comparisons"][0], "terms": [{}]}]}, "comparisons"),
        ({**POINTS, "comparisons": [{"terms": [{"times": 0}]}]}, "times"),
        ({**POINTS, "metric": None}, "comparisons.0: metric is missing"),
        ({"points": ["n"]}, "comparisons is missing, for the variant 'printed' too: ordered needs it"),
        ({**POINTS, "test": "monotone"}, "axis is missing"),
        ({"test": "weakest", "variants": {"printed": {}}}, "members is missing"),
        ({"test": "weakest", "members": ["N-c98"], "variants": {"printed": {}}}, "'N-c98' is no claim"),
    ],
)
def test_what_a_test_needs_may_stand_in_the_claim_or_in_its_variants(tmp_path, keys, message):
    head = {
        "id": "J-c99", "paper": "jain2013", "place": "x", "statement": "x", "experiment": "jain2013-thm5",
        "figure": "jain2013-thm5", "metric": "error", "datasets": ["no-data"], "test": "ordered",
        "variants": {"printed": {"where": {"d": 1}}},
    }  # fmt: skip
    entry = {name: value for name, value in {**head, **keys}.items() if value is not None}
    (tmp_path / "claims.yaml").write_text(json.dumps([entry]))
    with pytest.raises(ConfigError, match=message):
        catalogue_of.load(tmp_path / "claims.yaml", SCHEMA)


# -- what one claim stands on ----------------------------------------------------------------------------------------


def small(name, test="exact", **own):
    return {
        "id": name,
        "test": test,
        "experiment": f"of-{name}",
        "datasets": ["q1"],
        "variants": {"printed": {}},
        **own,
    }


SMALL = [
    small("J-c02", "weakest", datasets=None, members=["J-c01", "J-c03"]),
    small("J-c01", "weakest", variants={"printed": {"members": ["J-c01a"]}, "mended": {"members": ["J-c01b"]}}),
    small("J-c01a"),
    small("J-c01b", "ledger", datasets=None, variants={"printed": {"ledger": {"mechanism": "pinp"}}}),
    small("J-c03", variants={"printed": {"not_run": "there is no such thing"}}),
    small("J-c04"),
]


@together.over(
    "name, stands_on, experiments, ledger",
    [
        ("J-c02", ["J-c02", "J-c01", "J-c01a", "J-c01b", "J-c03"], ("of-J-c01a",), True),
        ("J-c01b", ["J-c01b"], (), True),
        ("J-c03", ["J-c03"], (), False),
        ("J-c04", ["J-c04"], ("of-J-c04",), False),
    ],
)
def test_a_claim_stands_on_its_members_and_theirs(name, stands_on, experiments, ledger):
    assert [claim["id"] for claim in catalogue_of.standing_on(SMALL, name)] == stands_on
    assert catalogue_of.needs(SMALL, name) == catalogue_of.Needs(experiments, ledger)


def _repeated(tmp_path, *clashing):
    """Write a catalogue of one claim whose variants are repeated on other rows."""
    variants = {
        "printed": {"where": {"row": 1, "zeta": "range"}, "at_least": 0.5, "again": {"unit": {"zeta": "unit"}}},
        "printed-over-null": {
            "words": "without theta",
            "where": {"row": 2, "delta": 0.0, "zeta": "range"},
            "again": {"tabled": {"delta": 0.001, "dataset": ["x"]}},
        },
        **{name: {"words": "of row 3", "where": {"row": 3}} for name in clashing},
    }
    claim = {"id": "N-c99", "paper": "li2021", "place": "x", "statement": "x", "experiment": "x", "figure": "x"}
    claim |= {"test": "threshold", "metric": "share", "at_least": 0.9, "datasets": ["x"], "variants": variants}
    path = tmp_path / "claims.yaml"
    path.write_text(yaml.safe_dump([claim]), encoding="utf-8")
    return path


def test_a_variant_is_repeated_on_other_rows_by_a_name_of_its_own(tmp_path):
    (claim,) = catalogue_of.load(_repeated(tmp_path), SCHEMA)
    assert claim["variants"] == {
        "printed": {"where": {"row": 1, "zeta": "range"}, "at_least": 0.5, "choice": "zeta of the whole range"},
        "printed-over-unit": {"where": {"row": 1, "zeta": "unit"}, "at_least": 0.5, "choice": "zeta of 1"},
        "printed-over-null": {
            "words": "without theta",
            "where": {"row": 2, "delta": 0.0, "zeta": "range"},
            "choice": "delta 0.0",
        },
        "printed-over-nulltabled": {
            "words": "without theta",
            "where": {"row": 2, "delta": 0.001, "zeta": "range", "dataset": ["x"]},
            "choice": "delta 0.001",
        },
    }
    assert claim["depends_on"] == "zeta or delta"
    with pytest.raises(ConfigError, match="N-c99: 'printed-over-unit' stands among the variants and in `again`"):
        catalogue_of.load(_repeated(tmp_path, "printed-over-unit"), SCHEMA)


def test_a_claim_that_there_is_not_is_named():
    with pytest.raises(ConfigError, match=r"no claim 'J-c05' in resources/claims; did you mean 'J-c0"):
        catalogue_of.needs(SMALL, "J-c05")


def test_all_claims_need_no_more_than_all_experiments():
    """Every claim of the papers can be asked for; those of parts need what their parts do."""
    found = real_claims.of(*real_claims.PAPERS)
    known = {claim["experiment"] for claim in found}
    for name in {claim["id"] for claim in found}:
        needed = catalogue_of.needs(found, name)
        assert set(needed.experiments) <= known
        rules = (rule for claim in catalogue_of.standing_on(found, name) for rule in claim["variants"].values())
        never_run = all({"not_run", "no_such_form"} & set(rule) for rule in rules)
        assert needed.experiments or needed.ledger or never_run


def test_a_promise_alone_is_judged_as_among_all(tmp_path):
    """Without the ledger where it is not needed: some are decided by quadratures only."""
    privacy, _ = fake_audits.write_ledgers(tmp_path)
    found = real_claims.of(*real_claims.PAPERS)
    promises = [claim for claim in found if claim["test"] == "ledger"]
    nothing = {"unavailable": {}, "metadata": {}}
    claims.judge(promises, {}, tmp_path / "all.parquet", privacy=privacy, **nothing)
    together, without = claims.read(tmp_path / "all.parquet"), set()
    for name in {claim["id"] for claim in promises}:
        needed = catalogue_of.needs(found, name)
        without |= set() if needed.ledger else {name}
        own = {"privacy": privacy if needed.ledger else None, "only": name, **nothing}
        claims.judge(catalogue_of.standing_on(found, name), {}, tmp_path / "one.parquet", **own)
        alone = claims.read(tmp_path / "one.parquet")
        among = together[together["id"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone[alone["test"] == "ledger"].reset_index(drop=True), among)
    assert {"K-c07", "K-c12"} <= without


def test_the_rule_takes_every_name_that_the_schema_takes():
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    pattern = schema["items"]["properties"]["id"]["pattern"]
    assert f'claim="{pattern.strip("^$")}",' in (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")
