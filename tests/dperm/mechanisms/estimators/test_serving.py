"""One noise a query and one budget, whoever asks: threads, copies, processes that share a journal or are killed."""

import copy
import fcntl
import io
import os
import pickle
import signal
import sys
import threading
import time

import interactive_models
import joblib
import numpy as np
import pytest
from interactive_models import FORK, KERNEL, MODELS, asked, batch, core, fitted, in_fork, spent

from dperm.errors import BudgetExhausted, InvalidBudget, ReleaseError

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
EVERY = pytest.mark.parametrize("name", MODELS)


@pytest.fixture
def impatient():
    """Threads that change places as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def together(model, rows, threads):
    """What each thread got, in the order of the rows; each asked in its own."""
    found, start = [None] * threads, threading.Barrier(threads)

    def ask(i):
        order, answers = np.random.default_rng(i).permutation(len(rows)), np.empty(len(rows))
        start.wait()
        try:
            # Half of it at once, half row by row.
            half = len(rows) // 2
            answers[order[:half]] = asked(model, rows[order[:half]])
            for j in order[half:] if len(rows) <= 20 else [order[half:]]:
                answers[np.atleast_1d(j)] = asked(model, rows[np.atleast_1d(j)])
            found[i] = answers
        except BudgetExhausted:
            found[i] = "spent"

    running = [threading.Thread(target=ask, args=(i,), daemon=True) for i in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join(60)
        assert not thread.is_alive(), "a deadlock"
    return found


# Another form of a mechanism that is among them: a quarter of its trials.
SECOND = {"consensus", "soft majority, classes", "averaged numbers", "pinp corrected"}


def one_noise(name, size, trials, path=None):
    for trial in range(trials):
        given = {} if path is None else {"state": path / f"{name}{trial}"}
        model, rows = fitted(name, random_state=trial, **given), batch(size, trial)
        found = together(model, rows, 8)
        # Contested rows may end the budget; all others have answers, and all the same.
        said = [answers for answers in found if not isinstance(answers, str)]
        assert len(said) == 8 or (name == "consensus" and model.ledger_.remaining == 0)
        assert not any(answers is None for answers in found)
        for answers in said:
            np.testing.assert_array_equal(answers, said[0])
        if said:
            np.testing.assert_array_equal(asked(model, rows), said[0])
        if name not in (*KERNEL, "consensus"):
            assert model.ledger_.answered == size


@EVERY
@pytest.mark.parametrize("size", [12, 200])
def test_threads_get_one_noise_a_query(name, size, impatient):
    one_noise(name, size, trials=1 if size == 200 else 3)


@pytest.mark.slow
@EVERY
def test_threads_get_one_noise_a_query_in_200_trials(name, impatient):
    one_noise(name, 200, trials=50 if name in SECOND else 200)


@EVERY
def test_threads_with_a_journal(name, impatient, tmp_path):
    one_noise(name, 12, trials=1, path=tmp_path)


COPIES = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "joblib": lambda model: joblib.dump(model, io.BytesIO()),
}


@EVERY
@pytest.mark.parametrize("how", COPIES)
def test_copies_are_refused_without_a_journal(name, how):
    model = fitted(name)
    with pytest.raises(ReleaseError, match="would be a second release on the same budget; fit with state='a file'"):
        COPIES[how](model)
    # Also what it consists of.
    part = getattr(model, "path_", getattr(model, "dialogue_", getattr(model, "ledger_", None)))
    with pytest.raises(ReleaseError, match="second release"):
        COPIES[how](part)
    asked(model, batch(2, 0))


@EVERY
def test_a_forked_process_is_refused_without_a_journal(name):
    model, rows = fitted(name), batch(3, 0)
    first = asked(model, rows)
    for query in (rows, rows + 0.1):
        error = in_fork(asked, model, query)
        assert isinstance(error, ReleaseError) and f"in process {os.getpid()} without a journal" in str(error)
    np.testing.assert_array_equal(asked(model, rows), first)


def test_a_forked_process_is_refused_though_it_has_its_parents_number(monkeypatch, tmp_path):
    """As process 1 of a container has that forks into a namespace of its own."""
    number = os.getpid()
    alone, shared = fitted("rkhs"), fitted("rkhs", state=tmp_path / "journal")
    monkeypatch.setattr(os, "getpid", lambda: number)
    assert isinstance(in_fork(asked, alone, batch(1, 0)), ReleaseError)
    np.testing.assert_array_equal(in_fork(asked, shared, batch(2, 0)), asked(shared, batch(2, 0)))


def test_a_fork_in_the_middle_of_a_turn_finds_no_lock_that_is_never_let_go(tmp_path):
    """Another thread answers while this one forks: neither its lock nor that of the file is the child's."""
    for given in ({}, {"state": tmp_path / "journal"}):
        model = fitted("stable erm", **given)
        inside, done = threading.Event(), threading.Event()

        def hold(model=model, inside=inside, done=done):
            with core(model).turn():
                inside.set()
                done.wait(60)

        thread = threading.Thread(target=hold)
        thread.start()
        inside.wait()
        if not given:
            assert isinstance(in_fork(asked, model, batch(1, 0)), ReleaseError)
            done.set()
        else:
            threading.Timer(0.3, done.set).start()
            assert np.isfinite(in_fork(asked, model, batch(1, 0))).all()
        thread.join()


@pytest.mark.slow
@EVERY
def test_copies_and_processes_share_the_journal(name, tmp_path):
    state = tmp_path / "journal"
    model, rows = fitted(name, state=state), batch(24, 1)
    twins = [
        model,
        copy.deepcopy(model),
        copy.copy(model),
        pickle.loads(pickle.dumps(model)),
        fitted(name, state=state),
    ]

    def some(k):
        order = np.random.default_rng(k).permutation(24)[:12]
        try:
            return order, asked(twins[k % 5], rows[order])
        except BudgetExhausted:
            return np.array([], dtype=int), np.zeros(0)

    seen = {}
    for order, answers in [*(some(k) for k in range(5)), *(in_fork(some, k) for k in range(5, 10)), some(10)]:
        for i, answer in zip(order.tolist(), answers.tolist(), strict=True):
            # Trees that were fitted on other shards give other answers to the same row, but the journal's first one.
            assert seen.setdefault(i, answer) == answer
    if name not in (*KERNEL, "consensus"):
        assert {twin.ledger_.answered for twin in (model, twins[1]) if asked(twin, rows[:1]) is not None} == {len(seen)}
    if name in KERNEL:
        # Whoever reads the journal knows the same state.
        states = {spent(twin) for twin in twins if asked(twin, rows[:1]) is not None}
        assert len(states) == 1


@pytest.mark.parametrize("name", ["rkhs", "pinp corrected", "consensus", "stable erm"])
def test_processes_that_fit_and_ask_at_the_same_time_share_one_journal(name, tmp_path):
    """Nobody has made the journal before: four of them try to."""
    rows, start, ends = interactive_models.X[:10], FORK.Barrier(4), []

    def run(there, k):
        start.wait(60)
        model, told = fitted(name, state=tmp_path / "journal"), {}
        for i in np.random.default_rng(k).permutation(10).tolist():
            told[i] = asked(model, rows[[i]])[0]
        there.send(told)

    for k in range(4):
        here, there = FORK.Pipe()
        child = FORK.Process(target=run, args=(there, k), daemon=True)
        child.start()
        ends.append((child, here))
    said = []
    for child, here in ends:
        assert here.poll(60), "a deadlock"
        said.append(here.recv())
        child.join(60)
    assert all(told == said[0] for told in said)
    model = fitted(name, state=tmp_path / "journal")
    np.testing.assert_array_equal(asked(model, rows), [said[0][i] for i in range(10)])
    if name == "stable erm":
        assert model.ledger_.answered == 10


def test_processes_go_on_with_one_path(tmp_path):
    """With a linear kernel all answers are one linear function, up to the nugget, whoever drew its two coefficients."""
    given = {"kernel": "linear", "state": tmp_path / "journal"}
    model, rows = fitted("rkhs", **given), interactive_models.X[:40]
    answers = np.concatenate([asked(model, rows[:5]), in_fork(asked, model, rows[5:20]), asked(model, rows[20:30])])
    answers = np.append(answers, asked(fitted("rkhs", **given), rows[30:]))
    w = np.linalg.lstsq(rows, answers, rcond=None)[0]
    np.testing.assert_allclose(rows @ w, answers, atol=1e-3 * model.path_.scale)
    asked(model, rows)
    again = fitted("rkhs", **given)
    np.testing.assert_array_equal(asked(again, rows), answers)
    m = again.path_.directions
    assert m == model.path_.directions
    for part in ("_released", "_exact"):
        np.testing.assert_allclose(getattr(again.path_, part)[:m], getattr(model.path_, part)[:m], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["pinp", "pinp corrected"])
def test_processes_go_on_with_one_run(name, tmp_path):
    model, rows = fitted(name, state=tmp_path / "journal"), interactive_models.X[:60]
    asked(model, rows[:30])
    in_fork(asked, model, rows[30:45])
    again = fitted(name, state=tmp_path / "journal")
    both = [asked(one, rows) for one in (again, model)]
    np.testing.assert_array_equal(*both)
    ours, theirs = model.dialogue_._session, again.dialogue_._session
    np.testing.assert_allclose(ours.coefficients, theirs.coefficients, rtol=1e-9)
    assert ours.moved == theirs.moved and ours.updates == theirs.updates > 0
    assert model.dialogue_.asked == again.dialogue_.asked == 60


@pytest.mark.parametrize("name", KERNEL)
def test_the_journal_of_another_fit_is_refused(name, tmp_path):
    state = tmp_path / "journal"
    asked(fitted(name, state=state), batch(3, 0))
    other = interactive_models.Y.copy()
    other[0] = 1 - other[0]
    with pytest.raises(InvalidBudget, match="is the journal of another fit: of other records or parameters"):
        MODELS[name](state=state).fit(interactive_models.X, other)
    for given, word in [({"gamma": 2.0}, "another fit"), ({"epsilon": 2.0}, "budget="), ({"delta": 1e-7}, "budget=")]:
        with pytest.raises(InvalidBudget, match=word):
            fitted(name, state=state, **given)
    with pytest.raises(InvalidBudget, match="mechanism="):
        fitted("stable erm", state=state)
    asked(fitted(name, state=state), batch(3, 0))


def test_answers_of_other_records_are_not_replayed_and_their_charges_count(tmp_path):
    model = fitted("stable erm", state=tmp_path / "journal")
    first = asked(model, batch(5, 0))
    other = model.fit(interactive_models.X[:-1], interactive_models.Y[:-1])
    assert not (asked(other, batch(5, 0)) == first).any() and other.ledger_.answered == 10
    np.testing.assert_array_equal(asked(fitted("stable erm", state=tmp_path / "journal"), batch(5, 0)), first)


def test_a_journal_is_its_owners_alone(tmp_path):
    fitted("rkhs", state=tmp_path / "journal")
    assert (tmp_path / "journal").stat().st_mode & 0o777 == 0o600


def test_a_copy_that_is_asked_in_the_middle_of_ones_own_turn_refuses(tmp_path):
    """On the same journal it would wait for the thread that asks it."""
    model = fitted("rkhs", state=tmp_path / "journal")
    twin = copy.deepcopy(model)
    with core(model).turn(), pytest.raises(ReleaseError, match="from inside the code that answers another query"):
        asked(twin, batch(1, 0))
    assert np.isfinite(asked(twin, batch(1, 0))).all()
    # Another thread waits for its turn.
    found = []
    with core(model).turn():
        waits = threading.Thread(target=lambda: found.append(asked(twin, batch(1, 1))))
        waits.start()
    waits.join(60)
    assert np.isfinite(found[0]).all()


@pytest.mark.parametrize("waits", [False, True])
def test_what_a_killed_process_had_forked_keeps_no_lock(waits, tmp_path):
    """A thread of B holds the lock, or awaits it while B forks C; B is killed and C lives on."""
    model = fitted("stable erm", state=tmp_path / "journal")
    events = {name: FORK.Event() for name in ("holds", "go", "awaits", "forked", "got")}

    def first():
        with core(model).turn():
            events["holds"].set()
            events["go"].wait(60)

    def second():
        def take():
            events["awaits"].set()
            with core(model).turn():
                events["got"].set()
                time.sleep(600)

        threading.Thread(target=take, daemon=True).start()
        events["awaits" if waits else "got"].wait(60)
        time.sleep(0.2)  # until it stands in the call that waits
        child = os.fork()
        if child == 0:
            time.sleep(60)
            os._exit(0)
        left.send(child)
        time.sleep(600)

    here, left = FORK.Pipe()
    holder, killed = FORK.Process(target=first), FORK.Process(target=second)
    if waits:
        holder.start()
        assert events["holds"].wait(60)
    killed.start()
    assert here.poll(60)
    child = here.recv()
    events["go"].set()
    assert events["got"].wait(60)
    killed.kill()
    killed.join()
    found = []
    asks = threading.Thread(target=lambda: found.append(asked(model, batch(1, 0))), daemon=True)
    asks.start()
    asks.join(30)
    os.kill(child, signal.SIGKILL)
    if waits:
        holder.join()
    assert len(found) == 1, "a deadlock"


def test_an_interrupt_in_the_middle_of_letting_go_refuses_nobody_later(tmp_path, monkeypatch):
    model, flock = fitted("rkhs", state=tmp_path / "journal"), fcntl.flock

    def interrupted(file, what):
        flock(file, what)
        if what == fcntl.LOCK_UN:
            raise KeyboardInterrupt

    monkeypatch.setattr(fcntl, "flock", interrupted)
    with pytest.raises(KeyboardInterrupt):
        asked(model, batch(1, 0))
    monkeypatch.undo()
    del model
    assert np.isfinite(asked(fitted("rkhs", state=tmp_path / "journal"), batch(1, 0))).all()
