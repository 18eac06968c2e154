"""The service over HTTP: statuses, bodies, and what none of them depends on."""

import json
import os

import numpy as np
import pytest
import served
import together
from pydantic import ValidationError

from dperm import PublicEncoder
from dperm.serve import bodies, pack

ROWS = [[0.5, 0.1], [-0.5, 0.2]]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return served.packed(tmp_path_factory.mktemp("model"))


@pytest.fixture
def one(file, tmp_path):
    return served.service(file, tmp_path / "ledger")


@pytest.fixture
def web(one):
    return served.Web(one)


def told(answer):
    status, headers, body = answer
    assert headers["content-length"] == str(len(body)) and headers["cache-control"] == "no-store"
    if status != 200:
        assert headers["content-type"] == "application/problem+json" and len(body) == 768
        assert set(json.loads(body)) == {"type", "title", "status", "detail"}
        assert json.loads(body)["status"] == status
    return status, json.loads(body)


def test_a_query_its_repeat_and_what_is_left(one, web):
    key = served.key(one, share=10)
    status, found = told(web("/v1/predict", {"rows": ROWS}, key=key))
    assert status == 200 and len(found["answers"]) == 2
    assert {k: found[k] for k in ("charged", "repeated", "remaining")} == {"charged": 2, "repeated": 0, "remaining": 8}
    assert told(web("/v1/predict", {"rows": ROWS[:1]}, key=key))[1] == {
        "answers": found["answers"][:1], "charged": 0, "repeated": 1, "remaining": 8,
    }  # fmt: skip
    budget = told(web("/v1/budget", key=key))[1]
    each = one.fitted.epsilon_each_
    assert budget == {
        "epsilon": 4.0, "delta": 1e-6, "neighbours": "replace", "each": each, "answers": 20, "answered": 2,
        "remaining": 18, "yours": {"share": 10, "used": 2, "remaining": 8},
    }  # fmt: skip
    metrics = web("/metrics")[2].decode()
    assert served.counted(metrics, "dperm_requests_total", path="/v1/predict", status="200") == 2
    assert served.counted(metrics, "dperm_rows_asked_total") == 3
    assert served.counted(metrics, "dperm_rows_charged_total") == 2


def test_what_is_public_needs_no_key(one, web):
    card = told(web("/v1/statement"))[1]
    assert (
        card["epsilon"] == 4.0 and "state" not in card["parameters"] and "ledger" not in json.dumps(card["parameters"])
    )
    assert web("/v1/statement?format=markdown")[2].decode().startswith("# Privacy card: SoftMajority")
    assert told(web("/v1/schema"))[1]["classes"] == ["no", "yes"]
    assert told(web("/v1/health"))[1] == {"status": "ok"}
    paths = json.loads(web("/openapi.json")[2])["paths"]
    assert {"/v1/predict", "/v1/budget", "/v1/statement", "/v1/schema", "/v1/health", "/metrics"} <= set(paths)
    # A page of FastAPI's own would load its scripts from elsewhere.
    assert [web(path)[0] for path in ("/docs", "/redoc", "/v1/health/")] == [404, 404, 404]


BAD = {
    b"": 422,
    b"{": 422,
    b"\xff\xfe": 422,
    b"null": 422,
    b"[" * 10_000: 422,
    b'{"rows": []}': 422,
    b'{"rows": [[]]}': 422,
    b'{"rows": [[1]]}': 422,
    b'{"rows": [[1, 2, 3]]}': 422,
    b'{"rows": [[1, "2"]]}': 422,
    b'{"rows": [[1, true]]}': 422,
    b'{"rows": [[1, null]]}': 422,
    b'{"rows": [[1, NaN]]}': 422,
    b'{"rows": [[1, 1e999]]}': 422,
    b'{"rows": [[1, 1' + b"0" * 400 + b"]]}": 422,
    b'{"rows": [[1, 2]], "more": 1}': 422,
    b'{"rows": [[1, 2]], "records": [{"a": 1}]}': 422,
    b'{"records": [{"a": 1}]}': 422,
    b'{"rows": [[1, 2]]}' + b" " * (4 << 20): 413,
    b'{"rows": [' + b"[1, 2], " * 1000 + b"[1, 2]]}": 413,
}


def test_a_malformed_request_is_a_problem_and_costs_nothing(one, web):
    key = served.key(one)
    for body, status in BAD.items():
        assert told(web("/v1/predict", body, key=key))[0] == status, body[:60]
    assert told(web("/v1/predict", {"rows": ROWS}, key=key, idempotency_key="a b"))[0] == 422
    assert told(web("/v1/statement?format=pdf"))[0] == 422
    assert told(web("/nowhere"))[0] == 404
    assert told(web("/v1/predict", method="DELETE"))[0] == 405
    assert told(web("/v1/budget", key=key))[1]["answered"] == 0


@together.over("wrong", ["", "dperm_", "dperm_00000000_" + "x" * 43, "é", "x" * 10_000, None])
def test_a_wrong_key_is_refused_before_anything_is_charged(one, web, wrong):
    answer = web("/v1/predict", {"rows": ROWS}, key=wrong)
    assert told(answer)[0] == 401 and answer[1]["www-authenticate"] == "Bearer"
    assert told(web("/v1/budget", key=wrong))[0] == 401
    with one.serving.turn():
        assert one.ledger.answered == 0


def test_every_problem_has_its_status(one, web):
    few, slow = served.key(one, "few", share=1), served.key(one, "slow", rate=1)
    assert told(web("/v1/predict", {"rows": ROWS}, key=few))[0] == 403
    assert told(web("/v1/predict", {"rows": ROWS[:1]}, key=few, idempotency_key="a"))[0] == 200
    assert told(web("/v1/predict", {"rows": ROWS}, key=few, idempotency_key="a"))[0] == 409
    assert told(web("/v1/predict", {"rows": ROWS}, key=slow))[0] == 200
    late = web("/v1/predict", {"rows": ROWS}, key=slow)
    assert told(late)[0] == 429 and 1 <= int(late[1]["retry-after"]) <= 60


def test_a_retry_gets_the_same_bytes_after_a_restart(file, one, web, tmp_path):
    key = served.key(one)
    first = web("/v1/predict", {"rows": ROWS}, key=key, idempotency_key="one")
    web("/v1/predict", {"rows": [[0.0, 0.0]]}, key=key)
    later = served.Web(served.service(file, tmp_path / "ledger"))
    assert later("/v1/predict", {"rows": ROWS}, key=key, idempotency_key="one") == first


def test_many_at_once_are_answered_each_by_its_own_rows(one, web):
    key = served.key(one)
    rows = np.linspace(-0.6, 0.6, 16).reshape(8, 2).tolist()
    found = [told(answer)[1] for answer in web.all([("/v1/predict", {"rows": [row]}, key) for row in rows * 3])]
    assert sum(one["charged"] for one in found) == 8
    for k, row in enumerate(rows):
        assert {found[k + 8 * j]["answers"][0] for j in range(3)} == {one.fitted.predict([row])[0]}


def test_a_length_depends_on_the_number_of_rows_alone(one, web, tmp_path):
    key, rng, lengths = served.key(one), np.random.default_rng(0), {}
    for count in (1, 1, 2, 1, 2, 3, 1, 3):
        body = web("/v1/predict", {"rows": rng.uniform(-0.6, 0.6, (count, 2)).tolist()}, key=key)[2]
        lengths.setdefault(count, set()).add(len(body))
    assert all(len(found) == 1 for found in lengths.values()) and len({*map(min, lengths.values())}) == 3
    # Numbers have any number of digits.
    X, _ = served.records()
    model = served.estimator("StableERM", loss="squared", classes=None, y_bound=1.0, radius=1.0)
    pack(model, X, X[:, 0], tmp_path / "real.dperm")
    other = served.service(tmp_path / "real.dperm", tmp_path / "real")
    real, key = served.Web(other), served.key(other)
    found = [real("/v1/predict", {"rows": [row]}, key=key)[2] for row in rng.uniform(-0.6, 0.6, (8, 2)).tolist()]
    assert len({*map(len, found)}) == 1 and len({len(body.rstrip()) for body in found}) > 1


def test_raw_records_are_encoded_and_none_makes_it_fail(tmp_path):
    schema = {"age": {"range": [0, 100]}, "job": {"levels": ["a", "b", None]}, "id": "ignore"}
    raw = np.array([[i % 100, "ab"[i % 2], i] for i in range(300)], dtype=object)
    encoder = PublicEncoder(schema, clip=True).fit(raw)
    model = served.estimator(classes=(0, 1))
    pack(model, encoder.transform(raw), [int(i % 100 > 50) for i in range(300)], tmp_path / "m", encoder=encoder)
    one = served.service(tmp_path / "m", tmp_path / "ledger")
    web, key = served.Web(one), served.key(one)
    records = [{"age": 70, "job": "a"}, {"age": 70, "job": "a", "id": 5}, {"age": "seventy"}, {}, {"job": True}]
    status, found = told(web("/v1/predict", {"records": records}, key=key))
    assert status == 200 and found["charged"] == 3 and set(found["answers"]) <= {0, 1}
    assert told(web("/v1/predict", {"records": [{"name": "x"}]}, key=key))[0] == 422
    assert told(web("/v1/predict", {"records": [{"age": [1]}]}, key=key))[0] == 422
    assert [column["name"] for column in told(web("/v1/schema"))[1]["columns"]] == ["age", "job"]


def test_where_the_disk_refuses_nothing_leaves(one, monkeypatch, capsys):
    ended = []
    web, key = served.Web(one, broken=ended.append), served.key(one)

    def full(*_):
        raise OSError(28, "secret 0.123")

    monkeypatch.setattr(os, "fsync", full)
    answer = web("/v1/predict", {"rows": ROWS}, key=key)
    assert told(answer)[0] == 503 and ended == [False] and b"answers" not in answer[2]
    monkeypatch.undo()
    # Nobody knows what was written: this process answers no more. Another one may: the ledger is there.
    assert told(web("/v1/predict", {"rows": ROWS}, key=key))[0] == 503
    assert ended == [False, False]
    assert told(web("/v1/health"))[0] == 503
    assert "secret" not in capsys.readouterr().err


def test_health_looks_for_the_ledger(tmp_path):
    ended, ledger = [], tmp_path / "ledger"
    web = served.Web(served.service(served.packed(tmp_path, "SoftMajority", queries=100), ledger), broken=ended.append)
    assert told(web("/v1/health"))[0] == 200
    ledger.rename(tmp_path / "elsewhere")
    assert told(web("/v1/health"))[0] == 503 and ended == [True]


def test_what_nobody_foresaw_is_told_without_its_words(one, monkeypatch, capsys):
    web, key = served.Web(one), served.key(one)

    def failing(X):
        raise RuntimeError("record 17 has HIV")

    monkeypatch.setattr(one.fitted, "predict", failing)
    answer = web("/v1/predict", {"rows": ROWS}, key=key)
    assert told(answer)[0] == 503
    said = capsys.readouterr().err
    assert b"HIV" not in answer[2] and "HIV" not in said and "RuntimeError" in said
    monkeypatch.undo()
    # It goes on, and what was charged stays charged.
    assert told(web("/v1/predict", {"rows": ROWS}, key=key))[0] == 200


def test_neighbours_get_the_same_words(tmp_path):
    """Everything but the answers: sizes, budgets, errors, metrics of two data sets that differ in one record."""
    X, y = served.records()
    said = []
    for k, change in enumerate((0.0, 50.0)):
        other = X.copy()
        other[0] = change
        file = tmp_path / f"{k}.dperm"
        pack(served.estimator(), other, y, file)
        one = served.service(file, tmp_path / f"{k}.ledger")
        web, key = served.Web(one), served.key(one, share=3)
        asked = [({"rows": ROWS}, key), ({"rows": ROWS}, key), ({"rows": ROWS + [[0.0, 0.0]] * 2}, key)]
        asked += [({"rows": [[0.1, 0.1], [0.2, 0.2]]}, key), ({"rows": [[1e308, -1e308]]}, key), ({}, key)]
        found = [web("/v1/predict", body, key=key) for body, key in asked]
        words = [(s, h, len(b), {n: v for n, v in json.loads(b).items() if n != "answers"}) for s, h, b in found]
        said.append((words, [web(path, key=key) for path in ("/v1/budget", "/v1/schema", "/v1/statement", "/metrics")]))
    assert said[0] == said[1]


def test_a_replaced_ledger_is_refused(one, tmp_path):
    ended = []
    web, key = served.Web(one, broken=ended.append), served.key(one)
    web("/v1/predict", {"rows": ROWS}, key=key)
    (tmp_path / "ledger").unlink()
    assert told(web("/v1/predict", {"rows": ROWS}, key=key))[0] == 503
    assert ended == [True]


def test_without_a_key_nothing_is_read(one, web, tmp_path):
    """Before, a made-up key of the right form had its body read: 4 MB of wrong cells took seven seconds."""
    for lines in ((), [(b"authorization", b"Bearer dperm_00000000_" + b"x" * 43)]):
        # To read a body without parts is an error.
        assert web.raw([("POST", "/v1/predict", b"", lines, ())])[0][0] == 401


def test_a_key_that_another_process_made_or_revoked_is_known_at_once_and_counts_one_request(file, one, web, tmp_path):
    other = served.service(file, tmp_path / "ledger")
    key = served.key(other, rate=1)
    assert told(web("/v1/predict", {"rows": ROWS}, key=key))[0] == 200
    with other.serving.turn():
        other.accounts.revoke("alice")
    assert told(web("/v1/predict", {"rows": ROWS}, key=key))[0] == 401


LONG = {
    "cells": b'{"rows": [[' + b'"", ' * 9999 + b'""]]}',
    "rows": b'{"rows": [' + b'"", ' * 9999 + b'""]}',
    "records": b'{"records": [' + b"1, " * 9999 + b"1]}",
    "cells of records": b'{"records": [{' + b", ".join(b'"%d": []' % i for i in range(9999)) + b"}]}",
    "cells that are no numbers": b'{"records": [{' + b", ".join(b'"%d": NaN' % i for i in range(9999)) + b"}]}",
    "names": b"{" + b", ".join(b'"%d": 0' % i for i in range(9999)) + b"}",
}


@together.over("what", LONG)
def test_the_first_thing_that_is_wrong_ends_the_reading(one, web, what):
    """Before, each of a million wrong cells had an error of its own: seconds and a gigabyte."""
    with pytest.raises(ValidationError) as caught:
        bodies.Rows.model_validate_json(LONG[what])
    assert caught.value.error_count() == 1
    assert told(web("/v1/predict", LONG[what], key=served.key(one, what)))[0] == 422


def test_every_problem_has_one_length(one, web):
    """Before, characters that JSON writes as six or twelve made it longer, and told how long a name was."""
    key = served.key(one)
    for name in ("a" * 300, "é" * 300, "\U0001f600" * 300):
        for body in ({name: 1}, {"records": [{name: []}]}, {"records": [{name: 1}]}):
            assert told(web("/v1/predict", body, key=key))[0] == 422
    for words in ("\U0001f600" * 300, "a" * 3000, "", "a" + "\U0001f600" * 54):
        problem = bodies.problem(422, words)
        assert len(problem) == 768 and words.startswith(json.loads(problem)["detail"])
    assert json.loads(bodies.problem(422, "a" * 500))["detail"] == "a" * 500


def test_a_key_pays_for_rows_that_another_model_answers_anew(tmp_path):
    """The same ledger, the same terms, other records: an idempotency key of before is no free pass."""
    for seed, charged in ((0, 2), (1, 1)):
        one = served.service(served.packed(tmp_path, "StableERM", seed=seed), tmp_path / "ledger.other")
        if seed == 0:
            key = served.key(one, share=3)
        rows = {"rows": ROWS[:2] if seed == 0 else ROWS[:1]}
        found = told(served.Web(one)("/v1/predict", rows, key=key, idempotency_key=f"key{seed}"))
        assert found[0] == 200 and found[1]["charged"] == charged
    # Of the first key's body nothing is left of the share, and no answer is in this fit.
    again = served.Web(one)("/v1/predict", {"rows": ROWS[:2]}, key=key, idempotency_key="key0")
    assert told(again)[0] == 403


def test_asking_for_the_budget_counts_as_a_request(one, web):
    key = served.key(one, rate=2)
    assert [told(web("/v1/budget", key=key))[0] for _ in range(3)] == [200, 200, 429]
