"""What one claim stands on, and rows that are read once for several claims."""

import math
from pathlib import Path

import fake_audits
import fake_rows
import numpy as np
import pandas as pd
import pytest
import yaml

from dperm.errors import ConfigError
from dperm_pipeline import claims, tables
from dperm_pipeline.claims import catalogue, select
from dperm_pipeline.claims.rows import Rows

ROOT = Path(__file__).parents[3]


def entry(name, test="exact", **own):
    return {
        "id": name,
        "test": test,
        "experiment": f"of-{name}",
        "datasets": ["q1"],
        "variants": {"printed": {}},
        **own,
    }


CATALOGUE = [
    entry("J-c02", "weakest", datasets=None, members=["J-c01", "J-c03"]),
    entry("J-c01", "weakest", variants={"printed": {"members": ["J-c01a"]}, "mended": {"members": ["J-c01b"]}}),
    entry("J-c01a"),
    entry("J-c01b", "ledger", datasets=None, variants={"printed": {"ledger": {"mechanism": "pinp"}}}),
    entry("J-c03", variants={"printed": {"not_run": "there is no such thing"}}),
    entry("J-c04"),
]


@pytest.mark.parametrize(
    ("name", "stands_on", "experiments", "ledger"),
    [
        ("J-c02", ["J-c02", "J-c01", "J-c01a", "J-c01b", "J-c03"], ("of-J-c01a",), True),
        ("J-c01b", ["J-c01b"], (), True),
        ("J-c03", ["J-c03"], (), False),
        ("J-c04", ["J-c04"], ("of-J-c04",), False),
    ],
)
def test_a_claim_stands_on_its_members_and_theirs(name, stands_on, experiments, ledger):
    assert [claim["id"] for claim in catalogue.standing_on(CATALOGUE, name)] == stands_on
    assert catalogue.needs(CATALOGUE, name) == catalogue.Needs(experiments, ledger)


def test_a_claim_that_there_is_not_is_named():
    with pytest.raises(ConfigError, match=r"no claim 'J-c05' in resources/claims; did you mean 'J-c0"):
        catalogue.needs(CATALOGUE, "J-c05")


def test_all_claims_need_no_more_than_all_experiments():
    """Every claim of the papers can be asked for; those of parts need what their parts do."""
    found = catalogue.load(
        sorted((ROOT / "resources/claims").glob("*.yaml")), ROOT / "workflow/schemas/claims.schema.yaml"
    )
    known = {claim["experiment"] for claim in found}
    for name in {claim["id"] for claim in found}:
        needed = catalogue.needs(found, name)
        assert set(needed.experiments) <= known
        assert needed.experiments or needed.ledger or all(
            "not_run" in rule for claim in catalogue.standing_on(found, name) for rule in claim["variants"].values()
        )  # fmt: skip


def test_a_promise_alone_is_judged_as_among_all(tmp_path):
    """Without the ledger where it is not needed: some are decided by quadratures only."""
    privacy, _ = fake_audits.write_ledgers(tmp_path)
    found = catalogue.load(
        sorted((ROOT / "resources/claims").glob("*.yaml")), ROOT / "workflow/schemas/claims.schema.yaml"
    )
    promises = [claim for claim in found if claim["test"] == "ledger"]
    nothing = {"unavailable": {}, "metadata": {}}
    claims.judge(promises, {}, tmp_path / "all.parquet", privacy=privacy, **nothing)
    together, without = claims.read(tmp_path / "all.parquet"), set()
    for name in {claim["id"] for claim in promises}:
        needed = catalogue.needs(found, name)
        without |= set() if needed.ledger else {name}
        own = {"privacy": privacy if needed.ledger else None, "only": name, **nothing}
        claims.judge(catalogue.standing_on(found, name), {}, tmp_path / "one.parquet", **own)
        alone = claims.read(tmp_path / "one.parquet")
        among = together[together["id"] == name].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone[alone["test"] == "ledger"].reset_index(drop=True), among)
    assert {"K-c07", "K-c12"} <= without


def test_the_rule_takes_every_name_that_the_schema_takes():
    schema = yaml.safe_load((ROOT / "workflow/schemas/claims.schema.yaml").read_text(encoding="utf-8"))
    pattern = schema["items"]["properties"]["id"]["pattern"]
    assert f'claim="{pattern.strip("^$")}",' in (ROOT / "workflow/rules/common.smk").read_text(encoding="utf-8")


@pytest.fixture
def path(tmp_path):
    """Rows of which some lack a whole number and a truth value."""
    frame = fake_rows.rows(datasets=("digits", "adult"), epsilons=(0.1, 1.0), repeats=3)
    frame["k"] = pd.array(np.arange(len(frame)) % 4, "Int64")
    frame["odd"] = pd.array(np.arange(len(frame)) % 2 == 1, "boolean")
    frame.loc[frame["dataset"] == "adult", ["k", "odd"]] = pd.NA
    return fake_rows.write(frame, tmp_path / "rows.parquet")


QUESTIONS = [
    (["dataset", "value", "metric"], [("dataset", "in", ["digits"]), ("metric", "in", ["test_loss", "slack"])]),
    (["dataset", "value", "k", "odd"], [("dataset", "in", ["digits"]), ("k", "in", [1, 3]), ("odd", "in", [True])]),
    (["epsilon", "mechanism"], [("dataset", "in", ["adult", "digits"]), ("epsilon", "in", [0.1])]),
    (["k"], [("dataset", "in", ["adult"])]),
    (["value"], [("dataset", "in", ["digits"]), ("dataset", "in", ["adult"])]),
    (["value"], [("dataset", "in", ["no such set"]), ("no such column", "in", [1])]),
]


@pytest.mark.parametrize("number", range(5))
def test_rows_read_once_are_those_read_one_by_one(path, number):
    columns, filters = QUESTIONS[number]
    found, alone = Rows(path, QUESTIONS).of(columns, filters), tables.read(path, columns=columns, filters=filters)
    texts = [name for name in alone if isinstance(alone[name].dtype, pd.CategoricalDtype)]
    assert texts == [name for name in found if isinstance(found[name].dtype, pd.CategoricalDtype)]
    pd.testing.assert_frame_equal(found.astype(dict.fromkeys(texts, str)), alone.astype(dict.fromkeys(texts, str)))


def test_a_question_that_does_not_fit_is_refused(path):
    wrong = (["value"], [("dataset", "in", ["digits"]), ("epsilon", "in", ["high"])])
    with pytest.raises(ValueError, match=r"'epsilon', 'in', \['high'\].* do not fit .*rows\.parquet"):
        Rows(path, [wrong]).of(*wrong)
    # Also where others ask for all of them, and the file is not asked.
    with pytest.raises(ValueError, match=r"epsilon in \['high'\] do not fit .*rows\.parquet"):
        Rows(path, [wrong, (["value", "epsilon"], wrong[1][:1])]).of(*wrong)


def test_where_all_cells_gave_up_the_columns_of_their_own_hold_nothing(path, tmp_path):
    """The rows of a baseline may be left; a column that a whole file lacks is still refused."""
    question = (["dataset", "value", "share"], [("dataset", "in", ["digits"]), ("repeat", "in", [0])])
    narrow = (["share"], [("dataset", "in", ["digits"]), ("share", "in", [0.1])])
    with pytest.raises(ValueError, match="has no column 'share'"):
        Rows(path, [question, narrow]).of(*question)
    rows = fake_rows.rows(datasets=("digits",), epsilons=(1.0,), repeats=3)
    left = rows[rows["mechanism"] == "nonprivate"]
    row = rows.head(1).assign(dataset="", metric=tables.GIVEN_UP, value=math.nan, status="failed")
    asked = Rows(fake_rows.write(pd.concat([left, row]), tmp_path / "lost.parquet"), [question, narrow])
    found = asked.of(*question)
    assert list(found) == question[0] and len(found) and found["share"].isna().all() and found["value"].notna().all()
    assert asked.of(*narrow).empty


def test_without_a_file_there_are_no_data_sets(path):
    assert Rows(None, []).datasets == set()
    assert Rows(path, []).datasets == {"adult", "digits"}


def test_text_is_sorted_by_its_letters_and_numbers_by_size():
    """Whatever the order in which the categories were first seen."""
    frame = pd.DataFrame(
        {
            "dataset": pd.Categorical(["b", "a", "b", "a"], categories=["b", "unused", "a"]),
            "epsilon": [10.0, 2.0, 2.0, 10.0],
            "repeat": 0,
            "metric": pd.Categorical(["m"] * 4),
            "value": [1.0, 2.0, 3.0, math.inf],
            "status": pd.Categorical(["ok", "ok", "failed", "ok"]),
        }
    )
    found = select.chosen({"id": "K-c01", "experiment": "e"}, frame, ["dataset", "epsilon"], "m")
    assert found["dataset"].tolist() == ["a", "a", "b", "b"] and found["epsilon"].tolist() == [2.0, 10.0, 2.0, 10.0]
    assert found["value"].isna().tolist() == [False, True, True, False]
    assert not isinstance(found["dataset"].dtype, pd.CategoricalDtype)
