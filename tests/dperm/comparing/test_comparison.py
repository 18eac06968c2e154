"""A comparison on a table of one's own: what it reads, what it measures, what it refuses and what it charges."""

import csv
import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import dperm
from dperm import cli
from dperm.comparing import errors, table, tasks
from dperm.errors import BudgetExhausted, ConfigError, DataError

N = 400
SCHEMA = {
    "m*": {"range": [-1, 1]},
    "colour": {"levels": ["red", "blue"], "missing": "red"},
    "id": "ignore",
    "y": {"levels": ["no", "yes"]},
}
TEXT = """
m*: {range: [-1, 1]}
colour: {levels: [red, blue], missing: red}
id: ignore
y: {levels: [no, yes]}
"""


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with a table and its schema, as the current one."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    m = rng.uniform(-1, 1, (N, 2))
    y = np.where(m[:, 0] + 0.1 * rng.normal(size=N) > 0.2, "yes", "no")
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "m1", "y", "m2", "colour"])
        writer.writerows([k, m[k, 0], y[k], m[k, 1], ["red", "blue", ""][k % 3]] for k in range(N))
    (tmp_path / "schema.yaml").write_text(TEXT)
    return tmp_path


def compare(*more):
    given = ["compare", "data.csv", "--target", "y", "--schema", "schema.yaml", "--epsilon", "2", "1"]
    return cli.main([*given, *more])


def test_a_table_is_read_by_its_schema_alone(data):
    found = table.read("data.csv", SCHEMA, "y")
    assert found.X.shape == (N, 5) and found.task.classes == ("no", "yes") and set(found.y) == {"no", "yes"}
    assert np.linalg.norm(found.X, axis=1) == pytest.approx(1.0) and (found.X[:, 4] > 0).all()
    # The schema as YAML, and a record that is none.
    (data / "data.csv").write_text((data / "data.csv").read_text() + "9,what,perhaps,,\n")
    again = table.read("data.csv", "schema.yaml", "y")
    assert np.array_equal(again.X[:N], found.X) and np.linalg.norm(again.X[N]) <= 1


@pytest.mark.parametrize(("levels", "says"), [([0, 1], ["0.0", "1"]), ([False, True], ["false", "TRUE"])])
def test_a_label_counts_by_what_it_says_as_a_level_of_a_feature_does(data, levels, says):
    """Before, 1.0 was none of the labels 0 and 1, so that every label was the first, and every answer wrong."""
    text = (data / "data.csv").read_text().replace(",no,", f",{says[0]},").replace(",yes,", f",{says[1]},")
    (data / "data.csv").write_text(text + "9,0.1,perhaps,0.1,red\n")
    found = table.read("data.csv", {**SCHEMA, "y": {"levels": levels}}, "y")
    assert set(found.y) == {*map(str, levels), "perhaps"} and found.task.classes == tuple(map(str, levels))


@pytest.mark.parametrize(
    ("schema", "target", "error", "words"),
    [
        ({**SCHEMA, "y": {"levels": ["no"]}}, "y", ConfigError, "the target 'y' needs its labels or its range"),
        (SCHEMA, "z", ConfigError, "the target 'z' needs its labels"),
        (
            {**SCHEMA, "y": {"levels": ["no", "yes", None]}},
            "y",
            ConfigError,
            "the target 'y' has null among its labels",
        ),
        (
            {**SCHEMA, "y": {"levels": ["no", "yes"], "missing": "no"}},
            "y",
            ConfigError,
            "'y' has null among its labels",
        ),
        ({**SCHEMA, "y": {"levels": ["1", "01"]}}, "y", ConfigError, "the target 'y': levels '1' and '01' are one"),
        ({**SCHEMA, "z": SCHEMA["y"]}, "z", DataError, "no column 'z'; it has id, m1"),
        ({**SCHEMA, "age": {"range": [0, 1]}}, "y", DataError, "differ in the column 'age'"),
        ({key: SCHEMA[key] for key in ("m*", "colour", "y")}, "y", DataError, "differ in the column 'id'"),
    ],
)
def test_what_does_not_fit_is_named(data, schema, target, error, words):
    with pytest.raises(error, match=re.escape(words)):
        table.read("data.csv", schema, target)


def test_on_public_rows_errors_are_those_of_fits_by_hand(data):
    found = table.read("data.csv", SCHEMA, "y")
    rows = list(errors.public(found, [1.0, 50.0], 1e-6, "replace", 2, seed=3))
    assert len(rows) == 2 * (2 + 2 * 8)
    assert {(row.measure, row.unit) for row in rows} == {("wrong labels", "%")}
    by = {(row.method, row.epsilon, row.repeat): pytest.approx(row.error / 100, abs=1e-12) for row in rows}
    coins = np.random.default_rng([3, 2]).random((2, N)) < 1 / 3
    for repeat, test in enumerate(coins):
        X, y, Q, target = found.X[~test], found.y[~test], found.X[test], found.y[test]
        assert by["the most frequent label", np.inf, repeat] == np.mean(
            target != ("no" if (y == "no").mean() > 0.5 else "yes")
        )
        plain = LogisticRegression(C=100.0, fit_intercept=False, max_iter=2000).fit(X, y)
        assert by["logistic regression, not private", np.inf, repeat] == np.mean(plain.predict(Q) != target)
        rng = np.random.default_rng([3, 1, repeat, 3, 1])
        hand = dperm.NoisyGradientDescent(
            epsilon=50.0, delta=1e-6, neighbours="replace", classes=("no", "yes"), clip=True, random_state=rng
        )
        assert by["NoisyGradientDescent", 50.0, repeat] == np.mean(hand.fit(X, y).predict(Q) != target)
    # Without delta no descent, and under add/remove none that needs n; of three labels one model for each.
    assert set(found.task.served("add_remove", 0.0)) == {"ObjectivePerturbation", "OutputPerturbation", "NAPP"}
    labels = tasks.Labels("y", {"levels": ["no", "yes", "perhaps"]})
    three = found._replace(y=np.where(found.X[:, 1] > 0.4, "perhaps", found.y), task=labels)
    rows = list(errors.public(three, [50.0], 1e-6, "add_remove", 1, seed=0))
    assert {row.method for row in rows} > {"PrivateOneVsRest(ObjectivePerturbation())", "NoisyGradientDescent"}
    assert all(0 <= row.error < 70 for row in rows)


def test_counts_have_discrete_laplace_noise():
    found = errors.counted([1000] * 40_000, 0.5, np.random.default_rng(0)) - 1000
    ratios = [(found == k + 1).mean() / (found == k).mean() for k in range(3)]
    assert ratios == pytest.approx([np.exp(-0.5)] * 3, rel=0.06) and found.mean() == pytest.approx(0, abs=0.06)
    assert (errors.counted([0] * 100, 0.5, np.random.default_rng(0)) >= 0.5).all()


def test_on_private_rows_every_fit_is_charged_and_what_does_not_fit_is_refused(data, capsys):
    ledger = ["--ledger", "budget.journal", "--budget", "12", "1e-5"]
    assert compare(*ledger, "--out", "page.html") == 0
    # Three methods at 1 and 2, and a count of labels at 1.
    out, page = capsys.readouterr().out, (data / "page.html").read_text(encoding="utf-8")
    words = "spent epsilon 10, delta 0 of their budget, charged to budget.journal. Left: epsilon 2, delta 1e-05"
    assert words in out and words in page and "not private" not in page.split("left out")[0] and f"{N} rows" not in page
    session = dperm.PrivacySession(12, 1e-5, ledger="budget.journal")
    assert session.spent.epsilon == 10 and len(session.statement().releases) == 7
    assert compare(*ledger) == 2
    assert "costs epsilon=10, delta=0 in all" in capsys.readouterr().err and session.spent.epsilon == 10
    with pytest.raises(BudgetExhausted), dperm.PrivacySession(1.5) as small:
        list(errors.private(table.read("data.csv", SCHEMA, "y"), [1.0], 0.0, 1, small))


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_no_number_of_private_rows_stops_it(data, rows):
    """Before, a split that left no row to test on was an error, which told that there are few."""
    lines = (data / "data.csv").read_text().splitlines(keepends=True)
    (data / "data.csv").write_text("".join(lines[: 1 + rows]))
    for k in range(3):
        assert compare("--ledger", f"budget.{k}", "--budget", "12", "1e-5") == 0


def test_on_public_rows_of_one_label_the_model_without_privacy_says_that_one(data, capsys):
    """Before, scikit-learn's error and a traceback."""
    (data / "data.csv").write_text((data / "data.csv").read_text().replace("yes", "no"))
    assert compare("--public-share", "all") == 0
    assert re.search(r"logistic regression, not private +0\.0 ± 0\.0", capsys.readouterr().out)


def test_what_was_paid_for_is_shown_where_it_cannot_be_written(data, capsys, monkeypatch):
    def full(*given, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    assert compare("--ledger", "budget.journal", "--budget", "12", "1e-5") == 2
    told = capsys.readouterr()
    assert (
        re.search(r"ObjectivePerturbation +\d", told.out) and "Left: epsilon 2" in told.out and "No space" in told.err
    )


def test_on_real_records_public_and_private_errors_are_alike_where_the_budget_is_large(tmp_path):
    """Breast cancer: 569 records, of which nine in ten are told without privacy, six by the most frequent label."""
    raw = load_breast_cancer()
    names = [name.replace(" ", "_") for name in raw.feature_names]
    with (tmp_path / "real.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*names, "kind"])
        writer.writerows([*row, raw.target_names[k]] for row, k in zip(raw.data, raw.target, strict=True))
    ends = {name: {"range": [0.0, float(high)]} for name, high in zip(names, raw.data.max(axis=0), strict=True)}
    found = table.read(tmp_path / "real.csv", ends | {"kind": {"levels": ["malignant", "benign"]}}, "kind")
    exact = {row.method: row.error for row in errors.public(found, [300.0], 0.0, "add_remove", 1, seed=0)}
    with dperm.PrivacySession(5000.0) as session:
        noisy = {row.method: row.error for row in errors.private(found, [300.0], 0.0, 1, session)}
    assert exact["logistic regression, not private"] < 10 and exact["ObjectivePerturbation"] < 12
    assert noisy["ObjectivePerturbation"] < 12 and noisy["the most frequent label"] == pytest.approx(37.3, abs=1)


def test_a_page_and_numbers_that_the_same_seed_gives_again(data, capsys):
    pages = []
    for _ in range(2):
        assert compare("--public-share", "300", "--repeats", "2", "--seed", "5") == 0
        pages.append([(data / f"comparison.{end}").read_text(encoding="utf-8") for end in ("html", "errors.csv")])
    assert pages[0] == pages[1]
    page, numbers = pages[0]
    assert "first 300 rows, which were declared public" in page and page.count("<circle") == 6
    assert "http" not in page and "<svg" in page and numbers.count("\n") == 1 + 2 * (2 + 3 * 2)
    assert re.search(r"ObjectivePerturbation +\d+\.\d ± \d+\.\d", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ([], "comparing on private records spends budget: give --ledger FILE --budget EPSILON DELTA"),
        (["--public-share", "all", "--ledger", "b"], "rows are public, or paid for; give one"),
        (["--ledger", "b"], "--ledger needs --budget"),
        (["--ledger", "b", "--budget", "1", "0", "--seed", "1"], "who knows the seed knows the noise"),
        (["--public-share", "0.5"], "--public-share 0.5: give a number of rows, or all"),
        (["--public-share", "4000"], "has no so many rows"),
        (["--public-share", "all", "--delta", "1"], "--delta=1.0"),
        (["--public-share", "all", "--out", "data.csv"], "would be written over what is read"),
        (["--ledger", "b", "--budget", "12", "0", "--out", "nowhere/page.html"], "nowhere/page.html cannot be written"),
        (["--ledger", "b", "--budget", "12", "0", "--out", "."], "--out . cannot be written; name a file"),
        (["--ledger", "b", "--budget", "12", "0", "--epsilon", "5e-4"], "--epsilon=0.0005 must be a number in [0.001"),
    ],
)
def test_it_runs_on_no_rows_that_nobody_called_public_or_paid_for(data, capsys, more, words):
    before = (data / "data.csv").read_bytes()
    assert compare(*more) == 2 and words in capsys.readouterr().err
    assert (data / "data.csv").read_bytes() == before and not list(data.glob("*.html")) and not (data / "b").exists()
