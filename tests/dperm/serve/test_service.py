"""Requests in one turn: what is charged, to whom, and what leaves."""

import json

import numpy as np
import pytest
import served
import together

from dperm.serve.service import Asked


def asked(key, *rows, retry=None):
    body = json.dumps(rows).encode()
    return Asked(key, np.array(rows, dtype=float), retry, body)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {name: served.packed(folder, name) for name in served.SERVED}


ROWS = [[0.5, 0.1], [-0.5, 0.2], [0.6, -0.3]]


@together.over("name", served.SERVED)
def test_every_interactive_estimator_answers_and_repeats_for_free(files, name, tmp_path):
    ledger = tmp_path / f"{name}.ledger"
    one = served.service(files[name], ledger)
    alice, bob = served.key(one), served.key(one, "bob", share=5)
    (first,) = one.answer([asked(alice, *ROWS, ROWS[0])])
    assert first.status == 200 and first.counts == (3, 1, None)
    assert first.answers[0] == first.answers[3] and set(first.answers) <= set(served.CLASSES)
    # Another process on the same ledger, as after a crash: bob gets what alice got, for nothing.
    other = served.service(files[name], ledger)
    repeated, new = other.answer([asked(bob, *ROWS), asked(bob, [0.1, 0.1])])
    assert repeated.answers == first.answers[:3] and repeated.counts == (0, 3, 5)
    assert new.counts == (1, 0, 4)
    budget = one.answer([Asked(bob)])[0].counts
    assert budget[:3] == (5, 1, 4)
    # How many updates or contested answers there were depends on records.
    fixed = name not in ("PINP", "RKHSGaussian")
    assert budget[3:] == ((20, 4, 16) if fixed else (None, None, None))
    assert (one.promise["each"] is not None) == fixed


def test_a_request_is_answered_whole_or_not_at_all(files, tmp_path):
    one = served.service(files["StableERM"], tmp_path / "ledger")
    alice, bob = served.key(one, share=2), served.key(one, "bob")
    rows = np.linspace(-0.5, 0.5, 42).reshape(21, 2).tolist()
    shares, whole, wrong, good = one.answer(
        [
            asked(alice, *rows[:3]),
            asked(bob, *rows),
            asked("dperm_00000000_" + "x" * 43, rows[0]),
            asked(alice, rows[0]),
        ]
    )
    assert (shares.status, whole.status, wrong.status, good.status) == (403, 403, 401, 200)
    assert not shares.answers and not whole.answers
    assert one.answer([Asked(bob)])[0].counts == (None, 0, None, 20, 1, 19)
    # Nineteen are left, and two requests that wait together ask for ten new ones each.
    ten, eleven = one.answer([asked(bob, *rows[1:11]), asked(bob, *rows[11:21])])
    assert (ten.status, eleven.status) == (200, 403)
    assert one.answer([Asked(bob)])[0].counts == (None, 10, None, 20, 11, 9)


def test_a_colluding_group_gets_no_more_than_the_whole(files, tmp_path):
    """Each of ten has a share as large as the budget; together they get twenty new rows and no more."""
    ledger, rng = tmp_path / "ledger", np.random.default_rng(0)
    services = [served.service(files["StableSGD"], ledger) for _ in range(2)]
    group = [served.key(services[0], f"analyst {k}", share=20) for k in range(10)]
    charged = 0
    for k in range(120):
        told = services[k % 2].answer([asked(group[k % 10], rng.uniform(-0.5, 0.5, 2).tolist())])[0]
        charged += told.counts[0] if told.status == 200 else 0
    assert charged == 20
    assert [one.answer([Asked(group[0])])[0].counts[5] for one in services] == [0, 0]


def test_a_retry_gets_the_very_same_and_pays_once(files, tmp_path):
    ledger = tmp_path / "ledger"
    one = served.service(files["SoftMajority"], ledger)
    alice, bob = served.key(one, share=9), served.key(one, "bob")
    first, again = one.answer([asked(alice, *ROWS, retry="a"), asked(alice, *ROWS, retry="a")])
    assert first == again and first.counts == (3, 0, 6)
    one.answer([asked(alice, [0.2, 0.2])])
    restarted = served.service(files["SoftMajority"], ledger)
    late, other, whose = restarted.answer(
        [asked(alice, *ROWS, retry="a"), asked(alice, ROWS[0], retry="a"), asked(bob, ROWS[0], retry="a")]
    )
    assert late == first and other.status == 409 and not other.answers
    # Of another key it is another request.
    assert whose.status == 200 and whose.counts == (0, 1, None)
    assert restarted.answer([Asked(alice)])[0].counts[:3] == (9, 4, 5)


def test_repeats_under_fresh_idempotency_keys_write_nothing(files, tmp_path):
    """Before, each was a line for good, that every restart read."""
    ledger = tmp_path / "ledger"
    one = served.service(files["SoftMajority"], ledger)
    alice = served.key(one, share=9)
    one.answer([asked(alice, *ROWS, retry="a")])
    size = ledger.stat().st_size
    told = one.answer([asked(alice, ROWS[k % 3], retry=f"free {k}") for k in range(50)])
    assert {one.status for one in told} == {200} and {one.counts for one in told} == {(0, 1, 6)}
    assert ledger.stat().st_size == size
    # A retry of one is free again, and so is it anywhere else; here another body is refused, whatever is in it.
    again, other, new = one.answer(
        [
            asked(alice, ROWS[0], retry="free 0"),
            asked(alice, ROWS[1], retry="free 0"),
            asked(alice, [0.3, 0.3], retry="free 0"),
        ]
    )
    assert again == told[0] and (other.status, new.status) == (409, 409)
    restarted = served.service(files["SoftMajority"], ledger)
    assert restarted.answer([asked(alice, ROWS[0], retry="free 0")])[0] == told[0]
    assert restarted.answer([asked(alice, *ROWS[:2], retry="a")])[0].status == 409
    # What is charged under a key binds it, everywhere and for good.
    charged = restarted.answer([asked(alice, [0.3, 0.3], retry="late"), asked(alice, [0.3, 0.3], retry="late")])
    assert charged[0] == charged[1] and charged[0].counts == (1, 0, 5)
    assert one.answer([asked(alice, ROWS[0], retry="late")])[0].status == 409


def test_a_revoked_key_and_a_fast_one(files, tmp_path):
    one = served.service(files["ExpPW"], tmp_path / "ledger")
    alice, bob = served.key(one), served.key(one, "bob", rate=3)
    told = one.answer([asked(bob, ROWS[0]) for _ in range(5)])
    assert [one.status for one in told] == [200, 200, 200, 429, 429]
    assert 1 <= told[-1].wait <= 20
    with one.serving.turn():
        one.accounts.revoke("alice")
    assert one.answer([asked(alice, ROWS[0]), Asked(alice)])[0].status == 401


def test_a_budget_of_contested_answers_ends_without_a_word_of_how_many(tmp_path):
    file = served.packed(tmp_path, "SoftMajority", mode="consensus", queries=1, epsilon=30.0, shards=60, delta=1e-3)
    one = served.service(file, tmp_path / "ledger")
    alice = served.key(one)
    rng, found = np.random.default_rng(0), one.answer([asked(alice, [0.6, 0.1], [-0.6, 0.1])])
    for _ in range(200):
        # On the border the shards disagree.
        found += one.answer([asked(alice, [rng.uniform(-0.02, 0.02), rng.uniform(-0.7, 0.7)])])
        assert one.answer([Asked(alice)])[0].counts[3:] == (None, None, None)
        if found[-1].status == 403:
            break
    assert found[-1].status == 403 and found[0].status == 200
    assert one.promise["each"] is None
    # What was answered before stays free; a request with one new row is refused whole.
    repeated, new = one.answer([asked(alice, [0.6, 0.1], [-0.6, 0.1]), asked(alice, [0.6, 0.1], [0.7, 0.1])])
    assert repeated.answers == found[0].answers and new.status == 403


def test_without_a_ledger_a_seed_gives_the_librarys_answers(files):
    X = np.random.default_rng(1).uniform(-0.7, 0.7, (12, 2))
    one = served.service(files["StableERM"], None, random_state=7)
    alice = served.key(one)
    found = [one.answer([asked(alice, row)])[0].answers[0] for row in X.tolist()]
    own = served.estimator("StableERM", random_state=7).fit(*served.records())
    assert found == [own.predict([row])[0] for row in X]
