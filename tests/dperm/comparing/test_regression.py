"""A comparison for a target that is a number: what it reads, measures, charges, refuses and shows."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import dperm
from dperm import cli
from dperm.comparing import errors, table, tasks
from dperm.errors import BudgetExhausted

N, LOW, HIGH = 600, 10_000.0, 90_000.0
SCHEMA = {"m*": {"range": [-1, 1]}, "income": {"range": [LOW, HIGH]}}
TEXT = "m*: {range: [-1, 1]}\nincome: {range: [10000, 90000]}\n"
MEASURES = ("mean absolute error", "root mean squared error")
MIDDLE, RIDGE = "the middle of the range, public", "ridge regression, not private"


@pytest.fixture
def data(tmp_path, monkeypatch):
    """A folder with a table and its schema, as the current one; its true incomes."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    m = rng.uniform(-1, 1, (N, 2))
    income = np.clip(40_000 + 25_000 * m[:, 0] + 2_000 * rng.normal(size=N), LOW, HIGH)
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["m1", "income", "m2"])
        writer.writerows(zip(m[:, 0], income, m[:, 1], strict=True))
    (tmp_path / "schema.yaml").write_text(TEXT)
    return income


def compare(*more):
    given = ["compare", "data.csv", "--target", "income", "--schema", "schema.yaml", "--epsilon", "2", "1"]
    return cli.main([*given, *more])


def spoilt(*cells):
    """Return a task and targets, each of them read by itself."""
    task = tasks.task("income", {"range": [LOW, HIGH]})
    return task, task.read(np.array(cells, dtype=object))


def test_errors_in_the_csv_are_those_of_fits_by_hand_in_the_targets_units(data):
    assert compare("--public-share", "all", "--delta", "1e-6", "--neighbours", "replace", "--repeats", "2") == 0
    rows = list(csv.DictReader(Path("comparison.errors.csv").read_text().splitlines()))
    # Three levels, nine methods at two epsilons, two repeats of two measures.
    assert len(rows) == 2 * 2 * (3 + 9 * 2) and {row["unit"] for row in rows} == {"units of income"}
    by = {
        (row["method"], float(row["epsilon"]), int(row["repeat"]), row["measure"]): float(row["error"]) for row in rows
    }
    X = table.read("data.csv", "schema.yaml", "income").X
    coins = np.random.default_rng([0, 2]).random((2, N)) < 1 / 3
    by_hand = [
        (3, "SparseRegression(y_bound=1.0)", dperm.SparseRegression, {"y_bound": 1.0}),
        (4, "NoisyGradientDescent(loss='huber')", dperm.NoisyGradientDescent, {"loss": "huber"}),
    ]
    for repeat, test in enumerate(coins):
        middle, half = 50_000.0, 40_000.0
        scaled, true = (data[~test] - middle) / half, data[test]
        found = {
            (MIDDLE, np.inf): np.full(len(true), middle),
            ("the mean, not private", np.inf): np.full(len(true), data[~test].mean()),
            (RIDGE, np.inf): middle
            + half * Ridge(alpha=0.01, fit_intercept=False).fit(X[~test], scaled).predict(X[test]),
        }
        for place, name, kind, told in by_hand:
            model = kind(
                epsilon=2.0,
                delta=1e-6,
                neighbours="replace",
                clip=True,
                random_state=np.random.default_rng([0, 1, repeat, place, 1]),
                **told,
            )
            found[name, 2.0] = middle + half * model.fit(X[~test], scaled).predict(X[test])
        for (name, epsilon), answers in found.items():
            away = np.abs(np.clip(answers, LOW, HIGH) - true)
            expected = [away.mean(), np.sqrt((away**2).mean())]
            assert [by[name, epsilon, repeat, one] for one in MEASURES] == pytest.approx(expected, rel=1e-6)
    # All that serve numbers learn something here at a large budget.
    found = table.read("data.csv", SCHEMA, "income")
    large = errors.public(found, [200.0], 1e-6, "replace", 1, seed=0)
    means = {row.method: row.error for row in large if row.measure == MEASURES[0]}
    assert len(means) == 12 and all(error < 0.9 * means[MIDDLE] for name, error in means.items() if "(" in name)
    assert means[RIDGE] < 0.3 * means[MIDDLE]


def test_targets_are_read_as_features_are_and_counted_for_the_curator():
    task, y = spoilt("20000", "1e9", "-1e9", "many", "", "nan")
    assert y == pytest.approx([20_000, HIGH, LOW, 50_000, 50_000, 50_000], rel=1e-12)
    counts = dperm.diagnostics(task.encoder)
    assert (counts.outside, counts.unknown, counts.missing) == ({"target": 2}, {"target": 1}, {"target": 2})
    declared = tasks.task("inc*", {"range": [LOW, HIGH], "missing": 12_000})
    assert declared.read(np.array(["", "x"], dtype=object)) == pytest.approx([12_000, 12_000], rel=1e-12)
    # Answers of a method beyond the range are worth its ends.
    assert task.answers(np.array([-3.0, 0.0, 2.0])).tolist() == [LOW, 50_000, HIGH]


def test_one_record_changes_the_sums_that_get_noise_by_one_in_all():
    task, y = spoilt(*np.random.default_rng(1).uniform(LOW, HIGH, 2_000), LOW, HIGH)
    found = np.random.default_rng(2).permutation(y)
    found[:2] = LOW, HIGH
    each = np.array([task.counts(found[k : k + 1], y[k : k + 1]) for k in range(len(y))])
    assert each.min() >= 0 and task.grid - 3 <= each.sum(axis=1).min() <= each.sum(axis=1).max() <= task.grid
    away = np.abs(found - y)
    expected = [away.mean(), np.sqrt((away**2).mean())]
    assert task.errors(each.sum(axis=0)) == pytest.approx(expected, rel=1e-4)
    # The noise on them is as wide as one record over epsilon.
    noise = errors.counted([10**9] * 20_000, 0.5, np.random.default_rng(0), grid=task.grid) - 10**9
    assert np.abs(noise).mean() / task.grid == pytest.approx(2.0, rel=0.05)


def test_on_private_rows_every_fit_is_charged_and_errors_are_those_of_public_ones_at_a_large_budget(data, capsys):
    ledger = ["--ledger", "budget.journal", "--budget", "16", "1e-5"]
    assert compare(*ledger) == 0
    # Four methods without delta at 1 and 2, and the middle at 1.
    out = capsys.readouterr().out
    assert "spent epsilon 13, delta 0 of their budget, charged to budget.journal. Left: epsilon 3" in out
    session = dperm.PrivacySession(16, 1e-5, ledger="budget.journal")
    assert session.spent.epsilon == 13 and len(session.statement().releases) == 9
    assert compare(*ledger) == 2 and "costs epsilon=13" in capsys.readouterr().err and session.spent.epsilon == 13
    found = table.read("data.csv", SCHEMA, "income")
    with pytest.raises(BudgetExhausted), dperm.PrivacySession(1.5) as small:
        list(errors.private(found, [1.0], 0.0, 1, small))
    with dperm.PrivacySession(10_000.0) as session:
        noisy = {(row.method, row.measure): row.error for row in errors.private(found, [500.0], 0.0, 1, session)}
    away = np.abs(data - 50_000)
    assert noisy[MIDDLE, MEASURES[0]] == pytest.approx(away.mean(), rel=1e-2)
    assert noisy[MIDDLE, MEASURES[1]] == pytest.approx(np.sqrt((away**2).mean()), rel=1e-2)
    exact = {
        (row.method, row.measure): row.error for row in errors.public(found, [500.0], 0.0, "add_remove", 1, seed=0)
    }
    objective = "ObjectivePerturbation(loss='huber')", MEASURES[0]
    assert noisy[objective] == pytest.approx(exact[objective], rel=0.2) and (RIDGE, MEASURES[0]) not in noisy


def test_the_page_says_units_and_draws_each_measure(data, capsys):
    assert compare("--public-share", "all", "--delta", "1e-6", "--neighbours", "replace") == 0
    page = Path("comparison.html").read_text(encoding="utf-8")
    for measure in MEASURES:
        assert f"{measure} in units of income, mean ± standard error" in page
    assert "declared to lie in [10000, 90000]" in page and "%" not in re.sub("<style>.*?</style>", "", page, flags=re.S)
    # A point for each of nine methods at two epsilons, twice; every method has a row, and the ninth its own stroke.
    assert page.count("<circle") == 2 * 9 * 2 and page.count("<td><svg class=key") == 2 * 9
    strokes = re.findall(r"class=key [^>]*>(<polyline[^>]*>)", page)
    assert len(set(strokes)) == 9
    assert re.search(r"ridge regression, not private +[\d,]+ ± [\d,]+", capsys.readouterr().out)


@pytest.mark.parametrize("ledger", ["sqlite:///budget.db", "sqlite:///budget.db#witness=seen"])
def test_a_ledger_may_be_a_database(data, capsys, ledger):
    more = ["--ledger", ledger, "--budget", "20", "0"]
    assert compare(*more, "--out", "budget.db") == 2 and "would be written over what is read" in capsys.readouterr().err
    assert compare(*more) == 0 and "charged to budget.db. Left: epsilon 7" in capsys.readouterr().out
    assert dperm.PrivacySession(20, ledger=ledger).spent.epsilon == 13


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("{range: [90000, 10000]}", "must be two numbers, the lower first"),
        ("{range: [low, high]}", "must be two numbers, the lower first"),
        ("{from: 2000-01-01, to: 2020-01-01}", "the target 'income' needs its labels or its range, which are public"),
        ("{range: [0, 1], levels: [a, b]}", "the target 'income' needs its labels or its range, which are public"),
        ("ignore", "income: {range: [0, 100]} to tell numbers"),
        ("{range: [0, 1], missing: indicator}", "missing: indicator, which is for features"),
        ("{range: [0, 1], missing: 7}", "missing=7 must be 'indicator', or a value that the column may hold"),
    ],
)
def test_a_target_that_is_declared_wrongly_is_refused_before_a_record_is_read(data, capsys, words, said):
    Path("schema.yaml").write_text(f"m*: {{range: [-1, 1]}}\nincome: {words}\n")
    Path("data.csv").write_text("a file, with\nragged\n")
    assert compare("--public-share", "all") == 2
    err = capsys.readouterr().err
    assert said in err and "ragged" not in err and "Traceback" not in err


def test_no_target_of_a_record_makes_it_stop_or_say_what_it_holds(data, capsys):
    file = Path("data.csv")
    file.write_text(file.read_text() + "0.1,a secret,0.2\n0.1,777e300,0.2\n0.1,,0.2\n")
    assert compare("--public-share", "all") == 0
    told = capsys.readouterr()
    told = told.out + told.err + Path("comparison.html").read_text(encoding="utf-8")
    assert "secret" not in told and "777" not in told


def test_rows_that_cannot_be_split_are_refused(data, capsys):
    assert compare("--public-share", "1") == 2
    assert "of 1 rows a random split leaves none to train on or none to test on" in capsys.readouterr().err


def test_a_number_is_not_packed_for_the_service_of_labels(data, capsys):
    given = ["pack", "data.csv", "--target", "income", "--schema", "schema.yaml", "--epsilon", "1"]
    assert cli.main(given) == 2 and "declare the labels of income by `levels`" in capsys.readouterr().err
