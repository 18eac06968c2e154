"""`dperm pack` and `dperm keys`: a table becomes a model, and a ledger has analysts."""

import re

import numpy as np
import pytest
import served
import together

from dperm.cli import main
from dperm.serve import files

SCHEMA = "age: {range: [17, 90]}\njob: {levels: [office, field, null]}\nsince: {from: 2000-01-01, to: 2026-12-31}\n"
TARGET = 'y: {levels: ["no", "yes"]}\n'


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng, lines = np.random.default_rng(0), ["age,job,since,y"]
    for age in rng.integers(17, 91, 400):
        lines.append(
            f"{age},{rng.choice(['office', 'field'])},2010-01-{rng.integers(1, 29):02},{'yes' if age > 50 else 'no'}"
        )
    (tmp_path / "data.csv").write_text("\n".join(lines))
    (tmp_path / "schema.yaml").write_text(SCHEMA + TARGET)
    return ["pack", "data.csv", "--target", "y", "--schema", "schema.yaml", "--epsilon", "4"]


def said(capsys, *words, status=0):
    assert main([str(word) for word in words]) == status
    out, err = capsys.readouterr()
    return err if status else out


def test_a_table_is_packed_served_and_shared(table, tmp_path, capsys):
    assert "it holds the records" in said(capsys, *table, "--queries", "20")
    one = ["--budget-db", "ledger.sqlite"]
    assert "there is no such ledger" in said(capsys, "keys", "list", *one, status=2)
    for where in ("no/folder/ledger", "sqlite:///ledger#witness=/no/folder/w", "sqlite:ledger"):
        words = said(capsys, "keys", "add", "alice", "--budget-db", where, "--model", "model.dperm", status=2)
        assert f"--budget-db {where}" in words and "Traceback" not in words
    key = said(capsys, "keys", "add", "alice", *one, "--model", "model.dperm", "--share", "5").strip()
    bob = said(capsys, "keys", "add", "bob", *one).strip()
    assert re.fullmatch(r"dperm_[0-9a-f]{8}_[\w-]{43}", key)
    # Kept hashed: neither the key nor its secret stands anywhere.
    kept = b"".join(path.read_bytes() for path in tmp_path.glob("ledger*"))
    assert b"alice" in kept and key.encode() not in kept and key.split("_", 2)[2].encode() not in kept
    assert "'alice' has a key" in said(capsys, "keys", "add", "alice", *one, status=2)
    web = served.Web(served.service(tmp_path / "model.dperm", "sqlite:///ledger.sqlite"))
    record = {"age": 70, "job": "field", "since": "2010-01-05"}
    assert web("/v1/predict", {"records": [record]}, key=key)[0] == 200
    assert said(capsys, "keys", "list", *one) == "alice: 1 new rows of 5\nbob: 0 new rows no share of its own\n"
    # At once, for a server that runs.
    assert "bob is revoked" in said(capsys, "keys", "revoke", "bob", *one)
    assert web("/v1/predict", {"records": [record]}, key=bob)[0] == 401
    assert "bob: 0 new rows no share of its own, revoked" in said(capsys, "keys", "list", *one)
    assert "has no key" in said(capsys, "keys", "revoke", "bob", *one, status=2)
    assert said(capsys, "keys", "add", "bob", *one).startswith("dperm_")


@together.over(
    "more, words",
    [
        (["--method", "OutputPerturbation"], "--method OutputPerturbation is not served"),
        (["--method", "RKHSGaussian", "--queries", "5"], "answers any number of rows"),
        (["--out", "nowhere/model.dperm"], "cannot be written"),
        (["--epsilon", "-1"], "epsilon=-1"),
    ],
)
def test_what_cannot_be_packed_is_said_in_a_line(table, tmp_path, capsys, more, words):
    error = said(capsys, *table, *more, status=2)
    assert words in error and error.count("\n") == 1 and not (tmp_path / "model.dperm").exists()


def test_every_classifier_is_packed_with_what_it_takes(table, capsys):
    for method in ("AveragedPrediction", "ExpPW", "StableERM", "StableSGD", "RKHSGaussian"):
        said(capsys, *table, "--method", method, "--out", f"{method}.dperm")
        assert type(files.load(f"{method}.dperm").estimator).__name__ == method


pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
