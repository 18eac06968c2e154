"""One budget whatever keeps it: a file, SQLite or PostgreSQL, by processes that are killed at any statement."""

import contextlib
import copy
import os
import pickle
import signal
import sqlite3
import threading

import interactive_models
import ledgers
import numpy as np
import pytest
import tls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interactive_models import FORK, KERNEL, MODELS, asked, batch, core, fitted, in_fork

from dperm import PrivacySession
from dperm.errors import BudgetExhausted, InvalidBudget

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
# Forms of a class that keep their books as another form of it does; with a file test_serving.py holds them too.
FORMS = {"soft majority, classes", "averaged numbers", "pinp corrected"}
# A ledger's and a kernel's; the others have the same two.
SOME = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("exppw", "pinp") else pytest.mark.slow)
        for name in MODELS
        if name not in FORMS
    ],
)
DATABASES = pytest.mark.parametrize("place", ledgers.STORES[1:], indirect=True)


@SOME
def test_copies_processes_and_later_fits_share_one_budget(name, place):
    model, rows = fitted(name, state=place()), interactive_models.X[:12]
    twins = [model, copy.deepcopy(model), pickle.loads(pickle.dumps(model)), fitted(name, state=place())]
    told = {}

    def some(k):
        order = np.random.default_rng(k).permutation(12)[:6]
        return order, asked(twins[k % 4], rows[order])

    for order, answers in [*(some(k) for k in range(4)), *(in_fork(some, k) for k in range(4, 8)), some(8)]:
        for i, answer in zip(order.tolist(), answers.tolist(), strict=True):
            assert told.setdefault(i, answer) == answer
    if name not in (*KERNEL, "consensus"):
        asked(model, rows[:1])
        assert model.ledger_.answered == len(told)


def test_processes_and_threads_that_ask_at_the_same_time_charge_each_row_once(place):
    """Nobody has made the ledger before: three processes of two threads each try to."""
    rows, start, ends = interactive_models.X[:8], FORK.Barrier(3), []

    def run(there, k):
        start.wait(60)
        model, found = fitted("exppw", state=place()), [None] * 2

        def ask(t):
            order = np.random.default_rng(2 * k + t).permutation(8)
            found[t] = dict(zip(order.tolist(), [asked(model, rows[[i]])[0] for i in order], strict=True))

        threads = [threading.Thread(target=ask, args=(t,)) for t in range(2)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        there.send(found)

    place()
    for k in range(3):
        here, there = FORK.Pipe()
        child = FORK.Process(target=run, args=(there, k), daemon=True)
        child.start()
        ends.append((child, here))
    said = []
    for child, here in ends:
        assert here.poll(60), "a deadlock"
        said += here.recv()
        child.join(60)
    assert all(told == said[0] for told in said)
    assert fitted("exppw", state=place()).ledger_.answered == 8


def test_a_fork_in_the_middle_of_a_turn_takes_no_part_in_it(place):
    model, inside, done = fitted("exppw", state=place()), threading.Event(), threading.Event()

    def hold():
        with core(model).turn():
            inside.set()
            done.wait(60)
            core(model).write(["account", 1])

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait()
    threading.Timer(0.2, done.set).start()
    first = in_fork(asked, model, batch(1, 0))
    thread.join()
    np.testing.assert_array_equal(asked(model, batch(1, 0)), first)


def dies(at, after, kind):
    """Let this process be killed before or after it says its n-th statement to a database."""
    left = iter(range(10**6))

    def said(real, *given):
        now = next(left) == at
        if now and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        found = real(*given)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    if kind == "postgres":
        real = psycopg.Connection.execute
        psycopg.Connection.execute = lambda *given: said(real, *given)
        return

    class Dying(sqlite3.Connection):
        def execute(self, *given):
            return said(super().execute, *given)

        def executemany(self, *given):
            return said(super().executemany, *given)

    connect = sqlite3.connect
    sqlite3.connect = lambda *given, **named: connect(*given, factory=Dying, **named)


@DATABASES
@SOME
@pytest.mark.parametrize("after", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_process_that_is_killed_at_any_statement_told_nothing_that_was_not_charged(name, after, place):
    rows, answered = interactive_models.X[:3], set()
    model = fitted(name, state=place())
    for at in range(0, 40, 1 if name == "exppw" else 3):
        here, there = FORK.Pipe()

        def run(there=there, at=at):
            dies(at, after, place.kind)
            for i, row in enumerate(rows + at):
                try:
                    there.send((i, asked(model, row[None] / 60)[0]))
                except BudgetExhausted:
                    break
            os._exit(0)

        child, told = FORK.Process(target=run), {}
        child.start()
        there.close()
        with contextlib.suppress(EOFError):
            while True:
                told.update([here.recv()])
        child.join()
        answered |= {(at, i) for i in told}
        for twin in (model, fitted(name, state=place())) if at % 10 == 0 else (model,):
            for i, answer in told.items():
                assert asked(twin, (rows[i] + at)[None] / 60)[0] == answer
        if name not in (*KERNEL, "consensus"):
            asked(model, rows[:1])
            # One that was under way is charged at most, in each process.
            assert len(answered) <= model.ledger_.answered <= len(answered) + at + 2
        if child.exitcode == 0:
            break
    else:
        pytest.fail("it was never asked to the end")
    assert at > 5


def test_a_session_keeps_its_budget_in_every_store(place):
    def left():
        return PrivacySession(2.0, 1e-6, ledger=place()).left.epsilon

    with PrivacySession(2.0, 1e-6, ledger=place()) as session:
        session.charge(0.5, words="a count")
    assert left() == in_fork(left) == 1.5
    with PrivacySession(2.0, 1e-6, ledger=place()) as session, pytest.raises(BudgetExhausted):
        session.charge(1.6, words="too much")
    with pytest.raises(InvalidBudget, match=r"of other answers: epsilon=2.0 there and 3.0 here"):
        PrivacySession(3.0, 1e-6, ledger=place())


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.text(max_size=3) | st.floats(allow_nan=False), max_size=3))))
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_whoever_writes_all_read_the_same_records_in_the_same_order(place, steps):
    where = place(f"h{os.urandom(8).hex()}")
    several, written = [ledgers.Seen(where) for _ in range(2)], []
    for who, record in steps:
        if who == 2:
            several[len(written) % 2] = pickle.loads(pickle.dumps(several[0]))
        else:
            several[who].write(["record", *record])
            written.append(["record", *record])
    for one in (*several, ledgers.Seen(where)):
        assert one.read() == written


@pytest.mark.slow
def test_a_ledger_over_tls(tmp_path, postgres):
    """As docs/service.md gives the URL; a server that shows another certificate, or no TLS, gets no charge."""
    with ledgers.server(tls.certificate(tmp_path)) as url:
        model, rows = fitted("exppw", state=url), interactive_models.X[:4]
        told = asked(model, rows[:2])
        # A child that is forked ends its copy of the connection without a word in the parent's.
        assert in_fork(asked, model, rows[:2]).tolist() == told.tolist()
        assert asked(model, rows).tolist()[:2] == told.tolist() and model.ledger_.answered == 4
        with psycopg.connect(url) as connection:
            how = connection.execute("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").fetchone()
        assert how == (True,)
        others, _ = tls.certificate(tmp_path / "others")
        for wrong in (url.replace(str(tmp_path / "localhost.pem"), str(others)), url.replace("verify-full", "disable")):
            with pytest.raises(OSError, match=r"certificate verify failed|no encryption"):
                fitted("exppw", state=wrong)
