"""examples/libraries: the ledger of other libraries, on a made-up one; and the page is that of the rows."""

import ast
import importlib.util
import json
import math
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dperm.audit import exact, line

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples/libraries"

PAGE = """
import numpy as np
from attack import BOTH, Attack, Given, Searched
from dperm.audit import Records

PACKAGE = "numpy"


def count(scale):
    return lambda data, repeats, rng: len(data) + rng.laplace(0, scale, repeats)


PAIR = lambda scale: lambda relation: Given(count(scale), np.ones(3), np.ones(2), "three or two")
ATTACKS = [
    Attack("count", PAIR(1.0), "its words", stated=True, relations=("add_remove",), draws=500),
    Attack("count, silent", PAIR(0.2), "words", because="made.py:1: too little", exact={"add_remove": 5.0}, draws=500),
    Attack(
        "searched",
        lambda relation: Searched(count(0.2), Records(features=1, box=(0, 1), sizes=(1, 2)), draws=500),
        "its words",
        relations=("add_remove",),
        because="made.py:1: too little",
        exact={"add_remove": float("inf")},
        draws=500,
    ),
]
"""


def loaded(name, monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    spec = importlib.util.spec_from_file_location(f"libraries_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ledger(monkeypatch):
    return loaded("ledger", monkeypatch)


def row(**columns):
    plain = {"library": "a", "version": "1", "claim": "c", "relation": "replace", "stated": False, "promise": "words"}
    plain |= {
        "epsilon": 1.0,
        "delta": 0.0,
        "certified": 0.5,
        "p_value": 1.0,
        "exact": None,
        "pair": "x or y",
        "event": "z",
    }
    plain |= {"likelier": "data", "counts": [1, 2, 3, 4], "draws": 100, "because": "", "known": "", "seconds": 0.1}
    return json.dumps(plain | columns) + "\n"


def test_a_made_up_library_from_its_page_to_the_ledger(tmp_path, monkeypatch, capsys, ledger):
    run = loaded("run", monkeypatch)
    (tmp_path / "made").mkdir()
    (tmp_path / "made/attacks.py").write_text(PAGE, encoding="utf-8")
    monkeypatch.setattr(run, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    run.main("made")
    path = tmp_path / "made.jsonl"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    rows = ledger.read([path])
    assert rows["version"].eq(np.__version__).all()
    verdicts = rows.set_index(["claim", "relation"])["verdict"].to_dict()
    assert verdicts == {
        ("count", "add_remove"): "not refuted",
        ("count, silent", "add_remove"): "refuted",
        ("count, silent", "replace"): "refuted",
        ("searched", "add_remove"): "refuted",
    }
    assert (
        rows["exact"].tolist()[1] == 5.0
        and math.isnan(rows["exact"].tolist()[2])
        and rows["exact"].tolist()[3] == math.inf
    )
    assert rows["pair"].iloc[3].startswith("searched for: ")
    ledger.main(tmp_path, [str(path)])
    assert len(pd.read_parquet(tmp_path / "ledger.parquet")) == 4
    assert "made.py:1: too little" in (tmp_path / "index.html").read_text(encoding="utf-8")
    first = (tmp_path / "ledger.svg").read_bytes()
    ledger.draw(rows, tmp_path / "ledger.svg")
    assert (tmp_path / "ledger.svg").read_bytes() == first


def test_each_row_has_draws_of_its_own_by_its_name(monkeypatch, tmp_path):
    """What stands beside a claim on a page changes nothing in its row."""
    run = loaded("run", monkeypatch)
    attack = loaded("attack", monkeypatch)

    def one(claim):
        pair = attack.Given(lambda data, repeats, rng: data + rng.laplace(0, 1, repeats), 0.0, 1.0, "0 or 1")
        return attack.Attack(claim, lambda relation: pair, "words", draws=200)

    together = [one_row | {"seconds": 0} for one_row in run.rows("made", "numpy", [one("a"), one("b")])]
    alone = [one_row | {"seconds": 0} for one_row in run.rows("made", "numpy", [one("b")])]
    assert together[2:] == alone
    assert together[0]["counts"] != together[2]["counts"]


def test_verdicts_are_those_of_holm_over_the_whole_table(tmp_path, ledger):
    path = tmp_path / "rows.jsonl"
    because = {"because": "a.py:1: so"}
    path.write_text(row(p_value=0.02, **because) + row(claim="d", p_value=0.03, **because), encoding="utf-8")
    assert ledger.read([path])["verdict"].tolist() == ["refuted", "refuted"]
    other = tmp_path / "more.jsonl"
    other.write_text(row(library="b", p_value=0.5), encoding="utf-8")
    assert ledger.read([path, other])["p_holm"].tolist() == pytest.approx([0.06, 0.06, 0.5])


def test_a_row_that_is_there_twice_or_refuted_without_a_reason_is_an_error(tmp_path, ledger):
    path = tmp_path / "rows.jsonl"
    path.write_text(row() + row(), encoding="utf-8")
    with pytest.raises(ValueError, match=r"twice.*'c'"):
        ledger.read([path])
    path.write_text(row(p_value=1e-9), encoding="utf-8")
    with pytest.raises(ValueError, match=r"without a reason.*'c'"):
        ledger.read([path])


def test_the_page_has_the_tables_of_the_rows(ledger):
    page = ledger.PAGE.read_text(encoding="utf-8")
    rows = ledger.read([ledger.ROWS])
    assert ledger.written(page, rows) == page
    for name in rows["library"].unique():
        (package,) = set(re.findall(r'^PACKAGE = "(.*)"$', (FOLDER / name / "attacks.py").read_text(), re.MULTILINE))
        lock = (FOLDER / name / "requirements.lock").read_text(encoding="utf-8")
        version = rows.loc[rows["library"] == name, "version"].iloc[0]
        assert re.search(rf"^{re.escape(package.replace('.', '-'))}=={re.escape(version)} ", lock, re.MULTILINE), name
    with pytest.raises(ValueError, match=r"0 blocks <!-- diffprivlib -->"):
        ledger.written(page.replace("<!-- diffprivlib -->", ""), rows)


def test_what_falls_under_every_relation_has_a_report(ledger):
    rows = ledger.read([ledger.ROWS])
    every = ledger.fallen(rows)
    every = every[(every["refuted"] == every["tried"]) & (every["tried"] > 1)]
    reports = (ROOT / "docs/library-reports.md").read_text(encoding="utf-8")
    assert len(every) > 6
    for claim in every["claim"]:
        (file,) = set(re.findall(r"^[a-z/_]+\.py", rows.loc[rows["claim"] == claim, "because"].iloc[0]))
        assert file in reports, claim
    # Each report's script is Python.
    for script in re.findall(r"```python\n(.*?)```", reports, re.DOTALL):
        ast.parse(script)


def test_no_certified_bound_is_above_what_the_pair_spends_by_algebra(ledger):
    rows = ledger.read([ledger.ROWS]).dropna(subset="exact")
    assert len(rows) > 10
    # Each is wrong with probability 5 %: beyond its own p-value at the exact value, none may be by much.
    assert (rows["certified"] <= 1.06 * rows["exact"]).all()


def test_the_forests_epsilon_by_all_outcomes_of_permute_and_flip():
    """Six trees of one record each, 010101; without the first, 10101 and none."""

    # The label of one record wins unless the other stands first and is taken, with e^-1.
    own = 1 - 0.5 * math.exp(-1)

    def law(labels):
        ones = [0.5 if label is None else own if label else 1 - own for label in labels]
        outcomes = np.ones(1)
        for p in ones:
            outcomes = np.concatenate([outcomes * p, outcomes * (1 - p)])
        return outcomes

    found = exact.exact(law, [((0, 1, 0, 1, 0, 1), (1, 0, 1, 0, 1, None))])
    assert found.epsilon == pytest.approx(5 * math.log(own / (1 - own)) + math.log(0.5 / (1 - own)))


def test_what_logistic_regression_spends_by_its_exact_law(monkeypatch, ledger):
    monkeypatch.syspath_prepend(str(ROOT / "examples/diffprivlib"))
    logistic = importlib.import_module("logistic")
    monkeypatch.setattr(logistic, "NORM", 100.0)
    monkeypatch.setattr(logistic, "EPSILON", 1.0)
    far, others = np.array([[100.0], [0.0], [0.0]]), np.zeros((3, 1))
    rows = ledger.read([ledger.ROWS]).set_index(["claim", "relation"])["exact"]
    for relation, rest in (("replace", others), ("add_remove", others[1:])):
        pair = (far, np.array([1, 0, 1])), (rest, np.array([1, 0, 1])[-len(rest) :])
        found = line.lower_bound(logistic.law(1.0), *pair, delta=0.0)
        stated = rows["models.LogisticRegression(data_norm=100, fit_intercept=False)", relation]
        assert found.epsilon == pytest.approx(stated, abs=1e-3)


def test_what_the_choice_of_edges_spends_by_all_of_its_outcomes(ledger):
    """dpmm's PrivBayes on three columns: each further column and its parent by an exponential mechanism."""
    n, epsilon, delta = 10_000, 1.0, 1e-5
    sensitivity = 2 / n * math.log((n + 1) / 2) + (1 - 1 / n) * math.log(1 + 2 / (n - 1))

    def apart(score, used, left):
        """Return how probable it is that no edge from here on joins a and b."""
        if not left:
            return 1.0
        edges = [(parent, child) for parent in used for child in left]
        scores = [score if set(edge) == {"a", "b"} else 0.0 for edge in edges]
        weights = np.exp(np.array(scores) * epsilon / 2 / 3 / (2 * sensitivity))
        return sum(
            weight / weights.sum() * apart(score, [*used, child], [c for c in left if c != child])
            for (parent, child), weight in zip(edges, weights, strict=True)
            if {parent, child} != {"a", "b"}
        )

    law = [np.mean([apart(score, [root], [c for c in "abc" if c != root]) for root in "abc"]) for score in (0.0, 1.0)]
    rows = ledger.read([ledger.ROWS]).set_index(["claim", "relation"])["exact"]
    claim = "models.PrivBayesGM(degree=2, compress=False), three columns of two levels"
    for relation in ("add_remove", "replace"):
        assert rows[claim, relation] == pytest.approx(math.log((law[0] - delta) / law[1]), rel=1e-9)
