"""The encoder as users meet it: what it makes of a table, that it learns nothing, that no record can stop it."""

import inspect
import io
import math
import pickle
import subprocess
import sys
import warnings
from datetime import UTC, date, datetime

import conventions
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import together
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import dperm
from dperm import PrivacySession, PublicEncoder
from dperm.errors import ConfigError, DataError

SCHEMA = {
    "age": {"range": [20, 70]},
    "weight": {"range": [0, 300], "missing": 75},
    "job": {"levels": ["office", "field", None]},
    "city": {"levels": ["Bern", "Genf", 3], "missing": "indicator"},
    "since": {"from": "2000-01-01", "to": date(2010, 1, 1), "missing": "indicator"},
    "id": "ignore",
}
NAMES = ["age", "weight", "job=office", "job=field", "job=(other)", "city=Bern", "city=Genf", "city=3",
         "city=(missing)", "since", "since=(missing)"]  # fmt: skip
ROWS = [
    [45, 150.0, "office", " Bern", "2005-01-01", 1],
    ["20", None, "none of these", "?", None, 2],
    [70, "NA", "field", "3", datetime(2010, 1, 1, tzinfo=UTC), 3],
]
# By hand: each block has a length of at most 1.
BEFORE = np.array([
    [0.5, 0.5, 1, 0, 0, 1, 0, 0, 0, 1827 / 3653, 0],
    [0.0, 0.25, 0, 0, 1, 0, 0, 0, 1, 0, 1],
    [1.0, 0.25, 0, 1, 0, 0, 0, 1, 0, 1, 0],
])  # fmt: skip


def frame(rows=ROWS):
    return pd.DataFrame(rows, columns=list(SCHEMA), dtype=object)


class Interchanged:
    """A table that knows the interchange protocol and nothing else."""

    def __init__(self, table):
        self.table = table

    def __dataframe__(self, *given, **named):
        return self.table.__dataframe__(*given, **named)


def test_numbers_levels_dates_and_what_is_missing_by_hand():
    encoder = PublicEncoder(SCHEMA)
    np.testing.assert_allclose(encoder.fit_transform(frame()), BEFORE / math.sqrt(5), rtol=1e-12)
    assert encoder.get_feature_names_out().tolist() == NAMES
    assert encoder.feature_names_in_.tolist() == list(SCHEMA)
    own = PublicEncoder(SCHEMA, rows="length", x_norm=2.0, constant=True).fit(frame())
    ones = np.column_stack([BEFORE, np.ones(3)])
    lengths = np.linalg.norm(ones, axis=1, keepdims=True)
    np.testing.assert_allclose(own.transform(frame()), 2 * ones / lengths, rtol=1e-12)
    assert own.get_feature_names_out()[-1] == "(constant)"
    thin = clone(own).set_params(sparse=True).fit_transform(frame())
    assert sparse.issparse(thin) and (thin.toarray() == own.transform(frame())).all() and thin.nnz == 17


def test_whoever_made_the_table():
    typed = pd.DataFrame({
        "age": [45, 20, 70], "weight": [150.0, math.nan, 75.0], "job": ["office", "x", "field"],
        "city": pd.Categorical(["Bern", None, "3"]), "since": pd.to_datetime(["2005-01-01", None, "2010-01-01"]),
        "id": [1, 2, 3],
    })  # fmt: skip
    arrow = pa.table({name: pa.array(list(typed[name]), from_pandas=True) for name in typed})
    expected = PublicEncoder(SCHEMA).fit_transform(frame())
    for table in (typed, arrow, Interchanged(arrow), np.array(ROWS, dtype=object), [list(row) for row in ROWS]):
        np.testing.assert_allclose(PublicEncoder(SCHEMA).fit_transform(table), expected, rtol=1e-12)
    wide = PublicEncoder(SCHEMA).set_output(transform="pandas").fit_transform(typed.set_index(np.array([5, 6, 7])))
    assert wide.columns.tolist() == NAMES and wide.index.tolist() == [5, 6, 7]


# Each column: what is declared, what all but one record hold, and what an odd one may hold.
TYPED = [
    ({"levels": ["1", "2"], "missing": "indicator"}, [1, 2, 2], [None, math.nan, 2.5, "x", True, 1j, 2**70]),
    ({"levels": [1, 2, None]}, [1, 2, 3], [None, math.nan, 1.5, "2", "x"]),
    ({"levels": ["01", "02", "x"]}, ["01", "02", "01"], [None, math.nan, "x"]),
    ({"levels": ["true", "false"], "missing": "indicator"}, [True, False, True], [None, math.nan, "x", 7, 0.5]),
    ({"levels": ["0.1", "-0", "1e3"]}, [0.1, 0.0, 1000.0], [None, "x", 2**63]),
    ({"levels": ["2005-01-01", "None"]}, [datetime(2005, 1, 1), datetime(2005, 1, 2)], [None, "x", pd.NaT]),
    ({"range": [0, 1], "missing": 0.5}, [True, False], [None, math.nan, "x", 0.5]),
    ({"range": [-9, 2**63]}, [2**53 + 1, -3, 2**62 + 1], [None, math.nan, "x", 0.5, 1j, 2**63 + 1]),
    ({"from": "1900-01-01", "to": "2030-01-01"}, [datetime(1961, 3, 4, 5, 6, 7, 89), datetime.max], [None, "x"]),
    ({"from": "1900-01-01", "to": "2030-01-01"}, [20050101, 19600229], [None, "x", 0.5, 20050101.5]),
]  # fmt: skip


def reread(values, **given):
    """Return what pandas' reader makes of the records, whose types it infers from all of them."""
    text = pd.DataFrame({"c": pd.Series(values, dtype=object)}).to_csv(index=False)
    return pd.read_csv(io.StringIO(text), skip_blank_lines=False, **given)


MADE = {
    "numpy": lambda values: pd.DataFrame({"c": values}),
    "nullable": lambda values: pd.DataFrame({"c": values}).convert_dtypes(),
    "pandas over arrow": lambda values: pd.DataFrame({"c": values}).convert_dtypes(dtype_backend="pyarrow"),
    "object": lambda values: pd.DataFrame({"c": pd.Series(values, dtype=object)}),
    "category": lambda values: pd.DataFrame({"c": pd.Categorical(values)}),
    "arrow": lambda values: pa.table({"c": pa.array(values, from_pandas=True)}),
    "interchange": lambda values: Interchanged(pa.table({"c": pa.array(values, from_pandas=True)})),
    "lists": lambda values: [[value] for value in values],
    "array": lambda values: np.array(values)[:, None],
    "objects": lambda values: np.array([*values, None], dtype=object)[:-1, None],
    "read_csv": reread,
    "read_csv as text": lambda values: reread(values, dtype=str),
    "read_csv nullable": lambda values: reread(values, dtype_backend="numpy_nullable"),
    "read_csv over arrow": lambda values: reread(values, dtype_backend="pyarrow"),
}


@together.over("how", MADE)
@together.over("words, values, odd", TYPED)
def test_no_record_changes_how_another_is_read_by_the_type_that_it_gives_the_column(how, words, values, odd):
    encoder, made = PublicEncoder({"c": words}, clip=True), 0
    usual = encoder.fit_transform(MADE["object"](values))
    assert encoder.fit_transform(MADE[how](values)).tobytes() == usual.tobytes() and usual.any()
    for one in odd:
        try:
            table = MADE[how]([*values, one])
        except (TypeError, ValueError, OverflowError, pa.ArrowException, NotImplementedError):
            continue  # such a table there is not
        if getattr(getattr(table, "dtype", None), "kind", "") == "c":
            continue  # refused, as a type that nobody takes
        made += 1
        assert encoder.fit_transform(table)[: len(values)].tobytes() == usual.tobytes()
    assert made


def test_a_yaml_file_says_the_same(tmp_path):
    path = tmp_path / "schema.yaml"
    path.write_text(
        "age: {range: [20, 7e1]}\nweight: {range: [0, 300], missing: 75}\njob: {levels: [office, field, null]}\n"
        "city: {levels: [Bern, Genf, 3], missing: indicator}\n"
        "since: {from: 2000-01-01, to: 2010-01-01, missing: indicator}\nid: ignore\n",
        encoding="utf-8",
    )
    encoder = PublicEncoder(str(path)).fit(frame())
    path.unlink()
    np.testing.assert_array_equal(encoder.transform(frame()), PublicEncoder(SCHEMA).fit_transform(frame()))
    without = f"""
import sys
sys.modules.update(dict.fromkeys(("pandas", "pyarrow", "polars", "yaml")))
import dperm
print(dperm.PublicEncoder({{"a": {{"range": [0, 2]}}}}).fit_transform([[1]]).round(9).tolist())
dperm.PublicEncoder({str(path)!r}).fit([[1]])
"""
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "[[0.5]]\n" and "pip install pyyaml, or give the schema as a dict" in done.stderr


@together.over(
    "schema, words",
    [
        ({}, "give a mapping"), (3, "give a mapping"), ({"a": "ignore"}, "every column is ignored"),
        ({"a": {"rnage": [0, 1]}}, "'a'.*is not one of the forms"), ({"a": {"range": [1, 1]}}, "the lower first"),
        ({"a": {"range": ["0", 1]}}, "two numbers"), ({"a": {"from": "2001-02-30", "to": "2002-01-01"}}, "two days"),
        ({"a": {"levels": "ab"}}, "must be a list"), ({"a": {"levels": ["b", "b"]}}, "different"),
        ({"a": {"levels": [None, "b"]}}, "at the end null"), ({"a": {"levels": [math.nan]}}, "different"),
        ({"a": {"range": [0, 1], "missing": 2}}, "missing=2"), ({"a": {"range": [0, 1], "levels": ["a"]}}, "its keys"),
        ({"a": {"missing": 0}}, "its keys are 'missing'"), ({"a": {"levels": ["1", "01"]}}, "'1' and '01' are one"),
        ({"a": {"levels": ["true", 1]}}, "'true' and 1 are one"), ({"a": {"levels": [0, "-0.0"]}}, "'-0.0' are one"),
    ],
)  # fmt: skip
def test_a_wrong_schema_is_refused_with_its_column(schema, words):
    with pytest.raises(ConfigError, match=words):
        PublicEncoder(schema).fit(pd.DataFrame({"a": [0]}))


def test_columns_missing_and_extra_are_one_message():
    wrong = frame().drop(columns="age").assign(more=1)
    for meet in (PublicEncoder(SCHEMA).fit, PublicEncoder(SCHEMA, clip=True).fit(frame()).transform):
        with pytest.raises(DataError, match=r"X has no column 'age'; it has a column .* not name: 'more'\. Name each"):
            meet(wrong)
    with pytest.raises(DataError, match="X has 2 columns without names, and the schema 6"):
        PublicEncoder(SCHEMA).fit([[1, 2]])
    with pytest.raises(DataError, match="more than once the column 'age'"):
        PublicEncoder(SCHEMA).fit(pd.concat([frame(), frame()[["age"]]], axis=1))
    with pytest.raises(DataError, match="two patterns match: 'lab1'"):
        PublicEncoder({"lab*": {"range": [0, 1]}, "*1": {"range": [0, 1]}}).fit(pd.DataFrame({"lab1": [0]}))
    pattern = PublicEncoder({"lab*": {"range": [0, 1]}, "lab2": {"range": [0, 2]}})
    assert pattern.fit_transform(pd.DataFrame({"lab1": [1], "lab2": [1]})).round(3).tolist() == [[0.707, 0.354]]


@together.over(
    "column, value, words",
    [
        ("age", 70.5, r"'age' holds a number outside \[20, 70\]"), ("age", None, "'age' lacks a value; declare"),
        ("age", "many", "'age' holds a value that is no number"), ("age", math.inf, "outside"),
        ("city", "Basel", "'city' holds a value that is not one of its 3 levels"),
        ("since", "2011-01-01", "'since' holds a date outside"), ("since", "1.1.2005", "'since' holds .* no date"),
    ],
)  # fmt: skip
def test_a_wrong_record_is_an_error_that_names_the_column_and_tells_the_value_to_the_curator_alone(
    column, value, words
):
    encoder, records = PublicEncoder(SCHEMA).fit(frame()), frame()
    records.loc[1, column] = value
    with pytest.raises(DataError, match=words) as caught:
        encoder.transform(records)
    assert "clip=True" in str(caught.value) and (value is None or str(value) not in str(caught.value))
    assert dperm.diagnostics(encoder).first[column] == repr(records.loc[1, column])
    told = clone(encoder).set_params(clip=True).fit(frame())
    told.transform(records)
    found = dperm.diagnostics(told)
    assert found.unknown[column] + found.outside[column] + found.missing[column] >= 1


class Raises:
    def __getattribute__(self, name):
        raise RuntimeError(name)


WILD = [
    None, math.nan, math.inf, -math.inf, 1e308, 10**400, "x", "", b"1", [], [1, 2], {}, 1j, True, pd.NA, pd.NaT,
    np.datetime64("NaT"), datetime(1, 1, 1), date.max, np.array([1.0, 2.0]), Raises,
]  # fmt: skip
WORDS = {"constant": True, "clip": True}


@pytest.mark.parametrize("rows", ["ranges", "length"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(wild=st.lists(st.lists(st.sampled_from(WILD) | st.floats(), min_size=6, max_size=6), max_size=5))
def test_with_clip_no_record_raises_warns_leaves_the_bound_or_changes_another_row(rows, wild):
    encoder = PublicEncoder(SCHEMA, rows=rows, **WORDS).fit(frame())
    before = dict(vars(encoder))
    usual = encoder.transform(frame())
    # Lists, for NumPy would look into the entries; hypothesis too, so that one is made here.
    X = [*([Raises() if one is Raises else one for one in row] for row in wild), *ROWS]
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        found = PublicEncoder(SCHEMA, rows=rows, **WORDS).fit(X).transform(X)
    assert (np.linalg.norm(found, axis=1) <= 1).all() and (found[len(wild) :] == usual).all()
    # Nothing of the records is on the object, whatever it was shown.
    encoder.fit(frame([[20, 1, "field", "Genf", "2001-01-01", 9]]))
    assert {name: repr(value) for name, value in vars(encoder).items()} == {k: repr(v) for k, v in before.items()}
    assert pickle.loads(pickle.dumps(encoder)).transform(frame()).tolist() == usual.tolist()


@together.over("value", [5e-324, 1.6e-162, 2.7e-162, 1e-160, 1e-20])
@together.over("columns", ["a", "abc"])
def test_a_row_of_tiny_numbers_is_as_long_as_the_bound_and_no_longer(value, columns):
    """Before, their squares were rounded to a few bits or to 0, and a row came out up to a fifth above the bound."""
    encoder = PublicEncoder({name: {"range": [0, 1]} for name in columns}, rows="length", x_norm=3.0, clip=True)
    (row,) = encoder.fit_transform(np.full((1, len(columns)), value))
    assert 3 * (1 - 1e-12) < math.hypot(*row) <= 3


def test_what_has_no_declared_place_counts_as_nothing():
    schema = {"a": {"range": [1, 3]}, "b": {"levels": ["x", "y"]}, "c": {"levels": ["x", "y"], "missing": "y"}}
    X = np.array([[None, "z", "z"], ["word", None, None], [9, "x", "x"]], dtype=object)
    found = PublicEncoder(schema, clip=True, x_norm=math.sqrt(3)).fit_transform(X)
    np.testing.assert_allclose(found, [[0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [1, 1, 0, 1, 0]], rtol=1e-12)


ANY = {"*": {"range": [-1e3, 1e3]}}


@conventions.of(PublicEncoder(ANY), PublicEncoder(ANY, clip=True, rows="length"))
def test_scikit_learn_conventions(estimator):
    reason = "`fit` reads no record"
    checks = ("check_estimators_empty_data_messages",) if estimator.clip else ("check_estimators_nan_inf",)
    conventions.keep(estimator, dict.fromkeys(checks, reason))


GIVEN = {
    "classes": (0, 1), "clip": True, "queries": 5, "shards": 2, "size": 2, "blocks": 2, "n_public": 60,
    "random_state": 0, "y_bound": 1.0,
}  # fmt: skip
OF_OTHERS = {
    "PrivateOneVsRest": lambda: dperm.PrivateOneVsRest(dperm.OutputPerturbation(clip=True), classes=(0, 1)),
    "PrivateSearchCV": lambda: dperm.PrivateSearchCV(
        dperm.OutputPerturbation(clip=True, classes=(0, 1)), {"curvature": [5.0]}, n_iter=2
    ),
    "SampAggSupport": lambda: dperm.SampAggSupport(clip=True, size=2, penalty=1.0, blocks=2),
    "SparseRegression": lambda: dperm.SparseRegression(clip=True, y_bound=1.0, size=2, delta=1e-6),
    "StableSGD": lambda: dperm.StableSGD(classes=(0, 1), clip=True, queries=5, radius=0.1),
}


def estimators():
    for name in dperm.__all__:
        kind = getattr(dperm, name)
        accepted = inspect.signature(kind).parameters
        # PerPerson takes groups as well, and has tests of its own.
        if hasattr(kind, "fit") and "epsilon" in accepted and name != "PerPerson":
            use = {given: value for given, value in GIVEN.items() if given in accepted}
            yield name, OF_OTHERS.get(name, lambda kind=kind, use=use: kind(**use))


@pytest.mark.parametrize("name", [name for name, _ in estimators()])
@pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
def test_every_estimator_takes_its_rows_within_a_session(name):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(20, 70, 60), "eyes": rng.choice(["blue", "brown", "?"], 60)})
    schema = {"age": {"range": [20, 70]}, "eyes": {"levels": ["blue", "brown"], "missing": "indicator"}}
    y = (table["age"] > 45).astype(int)
    model = dict(estimators())[name]()
    relation = getattr(model, "neighbours", "add_remove")
    with PrivacySession(epsilon=10.0, delta=1e-3, neighbours=relation) as session:
        chain = make_pipeline(PublicEncoder(schema), model).fit(table, y)
        # The same rows with no room to be cut: they are within the bound as they are.
        rows = PublicEncoder(schema).fit_transform(table)
        assert (np.linalg.norm(rows, axis=1) <= chain[-1].get_params().get("x_norm", 1.0)).all()
    assert session.spent.epsilon == model.epsilon
