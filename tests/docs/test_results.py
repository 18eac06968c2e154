"""docs/results.md tells the truth: its schemas are those of the code, its queries run and agree with each other.

That experiments write the columns that it lists is tested where all are run: tests/portability/test_own_columns.py.
"""

import re
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import real_claims
import together
from fake_rows import rows as fake_rows
from results_page import PAGE, described, own_columns, section

from dperm_pipeline import claims, places, tables
from dperm_pipeline.audits import ledger
from dperm_pipeline.claims import answers

ROOT = Path(__file__).parents[2]
TYPES = {
    "text": lambda kind: pa.types.is_string(kind) or pa.types.is_dictionary(kind),
    "float": pa.types.is_floating,
    "int": pa.types.is_integer,
    "bool": pa.types.is_boolean,
}
KEYS = ("paper", "mechanism", "variant", "calibration", "neighbours", "epsilon", "delta")

QUERIES = re.findall(r"\*\*([^*\n]+)\*\*.*?```python\n(.*?)```\n```sql\n(.*?)```", section("Queries"), flags=re.DOTALL)


@together.over(
    "name, schema",
    [
        ("rows.parquet", tables.SCHEMA),
        ("claims.parquet", claims.SCHEMA),
        ("privacy.parquet", ledger.SCHEMA),
        ("mutants.parquet", ledger.MUTANTS),
    ],
)
def test_schemas_are_those_of_the_code(name, schema):
    columns = described(section(name), "| column | type | what |")
    assert [cells[0].strip("`") for cells in columns] == schema.names
    for cells, field in zip(columns, schema, strict=True):
        assert TYPES[cells[1]](field.type), f"{name}: {field.name} is {field.type}, not {cells[1]}"
        assert len(cells[2]) > 2


def test_every_experiment_and_every_column_of_its_own_is_described():
    assert set(own_columns()) == set(places.experiments())
    words = described(section("Columns of an experiment's own"), "| column | type | what |")
    assert [cells[0].strip("`") for cells in words] == sorted({name for own in own_columns().values() for name in own})
    assert all(set(cells[1].split(", ")) <= set(TYPES) and len(cells[2]) > 2 for cells in words)


def test_every_claim_that_compares_two_methods_says_which_pair_its_sentence_names():
    table = described(section("Comparisons"), "| claim | the sentence names | its tests compare |")
    listed = [claim for cells in table for claim in cells[0].split(", ")]
    assert len(listed) == len(set(listed))
    # Tests of numbers at two settings of one method, which no sentence calls better.
    others = {"N-c08", "N-c13", "N-c50", "N-c51", "N-c52"}
    assert {*_compared(real_claims.of(*real_claims.PAPERS))} - others <= set(listed)


def _compared(claims_):
    """The claims that some test, not beside them, decides by two things side by side."""
    for claim in claims_:
        for name, variant in claim["variants"].items():
            parts = variant.get("comparisons", claim.get("comparisons", ()))
            paired = claim["test"] in ("crossing", "paired") or any("above" in part for part in parts)
            if paired and name not in claim.get("beside", ()) and not claim["place"].startswith("a finding"):
                yield answers.number(claim["id"])


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A run's files, small and made up, where the queries look for them."""
    folder = tmp_path / "results/quick"
    (folder / "kifer2012-output").mkdir(parents=True)
    made = {"code": "0", "seed": 7}
    frame = fake_rows(datasets=("adult", "digits"), epsilons=(0.3, 1.0), repeats=6)
    frame.loc[frame.index[-3:], ["status", "value"]] = ["failed", np.nan]
    tables.write(frame, folder / "kifer2012-output/rows.parquet", metadata=made)
    # Another experiment has columns of its own.
    other = frame[frame["mechanism"] == "output"].drop(columns=["candidate", "chosen"])
    (folder / "kifer2012-lasso").mkdir()
    tables.write(
        other.assign(experiment="kifer2012-lasso", feature=1), folder / "kifer2012-lasso/rows.parquet", metadata=made
    )
    verdict = {"paper": "kifer2012", "statement": "said", "dataset": "q1", "place": "Theorem 4; erratum K2"}
    tables.write_records(
        [
            verdict | {"id": "K-c08", "variant": "printed", "verdict": "not reproduced"},
            verdict | {"id": "K-c08", "variant": "mended", "verdict": "reproduced"},
            verdict | {"id": "K-c09", "variant": "printed", "verdict": "not reproduced"},
            verdict | {"id": "K-c09", "variant": "mended", "verdict": "inconclusive"},
            verdict | {"id": "J-c01", "paper": "jain2013", "variant": "tight", "verdict": "reproduced"},
        ],
        claims.SCHEMA, folder / "claims.parquet", metadata=made,
    )  # fmt: skip
    bounds = [
        ("objective", "tight", "proved_exact", 0.9, "holds up"),
        ("objective", "paper", "none", 1.3, "refuted"),
        ("output", "tight", "proved", 0.5, "holds up"),
        ("cms11", "paper", "none", 4.0, "refuted"),
        ("gradient", "tight", "proved", None, "not audited"),
    ]
    tables.write_records(
        [
            dict(zip(KEYS, ("kifer2012", mechanism, "gaussian", calibration, "add_remove", 1.0, 0.0), strict=True))
            | {"guarantee": guarantee, "audit_lower_bound": bound, "verdict": said, "errata": "K3"}
            for mechanism, calibration, guarantee, bound, said in bounds
        ],
        ledger.SCHEMA, folder / "privacy.parquet", metadata=made,
    )  # fmt: skip
    mutant = {"verdict": "refuted", "twin_verdict": "holds up"}
    tables.write_records(
        [mutant | {"name": name, "caught_by": "lower bound"} for name in "ab"]
        + [mutant | {"name": "c", "caught_by": "nothing", "verdict": "not caught"}],
        ledger.MUTANTS, folder / "mutants.parquet", metadata=made,
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)


def plain(frame):
    """Without pandas' kinds of text, in which the two differ."""
    frame = frame.reset_index(drop=True)
    return frame.astype({name: object for name in frame if not pd.api.types.is_numeric_dtype(frame[name])})


def test_pandas_and_duckdb_give_the_same_answers(results, capsys):
    names, answers = {}, {}
    assert len(QUERIES) == PAGE.count("```python") == PAGE.count("```sql")
    for question, python, sql in QUERIES:
        exec(compile(python, f"docs/results.md: {question}", "exec"), names)
        answers[question] = answer = plain(names["answer"])
        assert len(answer), f"nothing to compare: {question}"
        pd.testing.assert_frame_equal(answer, plain(duckdb.sql(sql).df()), check_dtype=False, rtol=1e-9, obj=question)
    capsys.readouterr()
    # Counted by hand from what `results` wrote.
    of = {question.split()[1]: answer for question, answer in answers.items()}
    assert of["many"]["claims"].tolist() == [1, 1, 2, 1]
    assert of["claims"].to_numpy().tolist() == [["K-c08", "q1", "Theorem 4; erratum K2", "mended"]]
    assert of["guarantees"]["times"].tolist() == [4.0, 1.3]
    assert of["tight"].to_numpy().tolist() == [["objective", "tight", 0.9], ["output", "tight", 0.5]]
    assert {*of["mechanisms"]["mechanism"]} >= {"objective", "output"} and "cms11" not in {
        *of["mechanisms"]["mechanism"]
    }
    assert of["did"]["failed"].sum() >= 3
    assert of["caught"]["mutants"].tolist() == [1, 2]
    assert '"seed": 7' in of["configuration,"]["made"][0]
