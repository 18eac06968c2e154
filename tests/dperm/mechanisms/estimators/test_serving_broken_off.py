"""A journal knows what was told and spent, whoever is killed, whatever the disk does, and what breaks in the middle."""

import os
import pickle
import resource
import signal
import time

import interactive_models
import numpy as np
import pytest
from interactive_models import FORK, KERNEL, MODELS, asked, batch, core, fitted, in_fork, spent

from dperm.errors import BudgetExhausted, CorruptFile, DataError, ReleaseError
from dperm.mechanisms import journal
from dperm.mechanisms.kernel.interactive import Session

pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
EVERY = pytest.mark.parametrize("name", MODELS)


def killed(model, rows, at, how):
    """Ask row by row in a process that dies at its n-th write, before, in the middle of or after it; what it told."""
    here, there = FORK.Pipe()

    def run():
        real, count = journal.Journal.append, iter(range(10**6))

        def append(self, records):
            if next(count) != at:
                return real(self, records)
            if how == "after":
                real(self, records)
            if how == "torn":
                os.write(self._file.fileno(), b'["told","half')
            os.kill(os.getpid(), signal.SIGKILL)

        journal.Journal.append = append
        for i, row in enumerate(rows):
            try:
                there.send((i, asked(model, row[None])[0]))
            except BudgetExhausted:
                break
        os._exit(0)

    child = FORK.Process(target=run)
    child.start()
    there.close()
    told = {}
    while True:
        try:
            i, answer = here.recv()
        except EOFError:
            break
        told[i] = answer
    child.join()
    return told


def keeps(name, told, model, rows):
    """What was told stays, and was charged."""
    if told:
        places = sorted(told)
        np.testing.assert_array_equal(asked(model, rows[places]), [told[i] for i in places])
    if name not in (*KERNEL, "consensus"):
        assert model.ledger_.answered >= len(told)
        # What was charged and not answered is lost: one row at most was under way.
        assert model.ledger_.answered <= len(told) + 1


@EVERY
@pytest.mark.parametrize("how", ["torn", *(pytest.param(how, marks=pytest.mark.slow) for how in ("before", "after"))])
def test_what_a_killed_process_told_was_on_disk(name, how, tmp_path):
    rows = interactive_models.X[:8]
    # Before a write is after the one before it, but for what was told in between.
    for at in {"before": (0, 3), "torn": (1, 2), "after": range(4)}[how]:
        state = tmp_path / f"journal{at}"
        model = fitted(name, state=state)
        told = killed(model, rows, at, how)
        keeps(name, told, model, rows)
        keeps(name, told, fitted(name, state=state), rows)


@pytest.mark.parametrize("name", ["pinp", "pinp corrected"])
def test_a_query_that_was_broken_off_counts_as_an_update(name, tmp_path):
    rows = interactive_models.X[:20]
    model = fitted(name, state=tmp_path / "journal")
    asked(model, rows[:5])
    before, moved = model.dialogue_.updates, model.dialogue_._session.moved
    # The first write is the charge of the first query; its answer is the second.
    assert killed(model, rows[5:], 1, "before") == {}
    asked(model, rows[:1])
    assert model.dialogue_.updates == before + 1 and model.dialogue_._session.lost == 1
    # A new round has noise of its own on the threshold, the same for all.
    again = fitted(name, state=tmp_path / "journal")
    asked(again, rows[:1])
    assert again.dialogue_._session.moved == model.dialogue_._session.moved
    assert (model.dialogue_._session.moved != moved) == (name == "pinp corrected")
    np.testing.assert_array_equal(asked(again, rows), asked(model, rows))


# A kernel's journal and a ledger's; the others have the same two.
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in ("pinp", "averaged") else pytest.mark.slow) for name in MODELS]
)
def test_a_process_that_is_killed_at_any_time(name, tmp_path):
    rows, rng = interactive_models.X[:40], np.random.default_rng(5)
    model = fitted(name, state=tmp_path / "journal")
    told = {}
    for _ in range(3):
        here, there = FORK.Pipe()

        def run(there=there):
            for i in np.random.default_rng(os.getpid()).permutation(40):
                try:
                    there.send((i, asked(model, rows[[i]])[0]))
                except BudgetExhausted:
                    break
            os._exit(0)

        child = FORK.Process(target=run)
        child.start()
        there.close()
        time.sleep(0.005 + 0.05 * rng.random())
        os.kill(child.pid, signal.SIGKILL)
        child.join()
        while True:
            try:
                i, answer = here.recv()
            except EOFError:
                break
            assert told.setdefault(i, answer) == answer
    if told:
        places = sorted(told)
        np.testing.assert_array_equal(asked(model, rows[places]), [told[i] for i in places])
    if name not in (*KERNEL, "consensus"):
        # One answer at most was under way in each.
        assert len(told) <= model.ledger_.answered <= len(told) + 3 + len(places if told else [])


@pytest.mark.parametrize("name", ["soft majority", "averaged"])
def test_what_a_learner_is_asked_is_charged_by_then(name, tmp_path, monkeypatch):
    """A learner may end the process: nobody would come back to charge what that tells."""
    path = tmp_path / "journal"
    model, seen = fitted(name, state=path), []
    monkeypatch.setattr(type(model), "_answer", lambda *_: seen.append(path.read_bytes()) or np.zeros(1))
    asked(model, interactive_models.X[:1])
    assert seen[0].splitlines()[-1].startswith(b'["spen')


@pytest.mark.parametrize("name", ["stable erm", "exppw"])
def test_charge_and_answer_are_one_write_and_an_answer_that_fails_is_charged_alone(name, tmp_path, monkeypatch):
    path = tmp_path / "journal"
    model, writes, real = fitted(name, state=path), [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (writes.append(file), real(file)))
    for row in interactive_models.X[:3]:
        asked(model, row[None])
    # What is asked again is neither charged nor written.
    asked(model, interactive_models.X[:3])
    assert len(writes) == 3 and fitted(name, state=path).ledger_.answered == 3
    for error in (KeyboardInterrupt, DataError("as if of an answer")):

        def fails(*_, error=error):
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(type(model), "_answer", fails)
            with pytest.raises(BaseException, match=r"as if|^$"):
                asked(model, interactive_models.X[3:5])
    # On disk, so that another process knows: of each error both rows, no answer.
    assert [line[:6] for line in path.read_bytes().splitlines()[-2:]] == [b'["spen'] * 2
    assert fitted(name, state=path).ledger_.answered == model.ledger_.answered == 7


@EVERY
def test_a_full_disk_releases_nothing(name, tmp_path, monkeypatch):
    model, rows = fitted(name, state=tmp_path / "journal"), batch(4, 0)
    first = asked(model, rows[:1])

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        asked(model, interactive_models.X[:1])
    monkeypatch.undo()
    with pytest.raises(ReleaseError, match="was closed; open it anew"):
        asked(model, rows)
    np.testing.assert_array_equal(asked(fitted(name, state=tmp_path / "journal"), rows[:1]), first)


@pytest.mark.parametrize("name", ["rkhs", "pinp", "averaged"])
def test_a_disk_that_takes_half_a_line_releases_nothing(name, tmp_path):
    """A limit on the size of files: the kernel writes what fits, and then refuses."""
    path = tmp_path / "journal"
    model, rows = fitted(name, state=path), batch(6, 0)
    first = asked(model, rows[:2])

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 7,) * 2)
        return asked(model, rows[2:])

    before = path.read_bytes()
    assert isinstance(in_fork(full), OSError)
    assert path.read_bytes().startswith(before) and len(path.read_bytes()) == len(before) + 7
    np.testing.assert_array_equal(asked(model, rows)[:2], first)
    again = fitted(name, state=path)
    np.testing.assert_array_equal(asked(again, rows)[:2], first)
    assert path.read_bytes().endswith(b"\n")


@EVERY
def test_a_deleted_replaced_or_damaged_journal_ends_it(name, tmp_path):
    path = tmp_path / "journal"
    model, rows = fitted(name, state=path), batch(4, 0)
    asked(model, rows[:2])
    asked(model, rows[2:])
    content = path.read_bytes()
    pickled = pickle.dumps(model)
    for change in (path.unlink, lambda: fitted(name, state=path)):
        change()
        for query in (rows[:1], rows):
            with pytest.raises(ReleaseError, match="was deleted or replaced"):
                asked(model, query)
        with pytest.raises(ReleaseError, match="was deleted or replaced"):
            asked(pickle.loads(pickled), rows)
    lines = content.splitlines(keepends=True)
    for damaged in (b"".join(lines[:-2] + lines[-1:]), content[:-12] + b"x" + content[-11:]):
        path.write_bytes(damaged)
        with pytest.raises(CorruptFile, match=r"line \d+ is damaged; what was spent is not known: take it as all"):
            asked(fitted(name, state=path), rows)


@EVERY
def test_a_transaction_is_on_disk_when_it_ends_with_what_its_caller_recorded(name, tmp_path, monkeypatch):
    path, rows, real, writes = tmp_path / "journal", interactive_models.X[:6], os.fsync, []
    model = fitted(name, state=path)
    turns = core(model)
    asked(model, rows[:1])
    monkeypatch.setattr(os, "fsync", lambda file: (writes.append(path.read_bytes()), real(file)))
    with turns.transaction():
        turns.write(["account", "a", 5])
        answers = np.concatenate([asked(model, rows[:3]), asked(model, rows[3:])])
        seen = len(writes)
    # A learner may end the process: the charge is on disk before it is asked. Of all others there is one write.
    assert seen == 0 if not getattr(model, "asks_learners", False) else b'"account"' in writes[0]
    assert len(writes) == seen + 1 and b'"account","a",5' in path.read_bytes()
    monkeypatch.undo()
    np.testing.assert_array_equal(asked(fitted(name, state=path), rows), answers)
    # Not even then may what answers a query ask another one.
    with turns.transaction(), turns.turn(), pytest.raises(ReleaseError, match="from inside the code that answers"):
        asked(model, rows[:1])
    np.testing.assert_array_equal(asked(model, rows), answers)


@EVERY
def test_after_an_unforeseen_error_a_transaction_answers_nothing_and_keeps_its_charges(name, tmp_path, monkeypatch):
    path, rows = tmp_path / "journal", interactive_models.X[:6]
    model = fitted(name, state=path)
    first, before = asked(model, rows[:3]), spent(model)
    noise = model._noise if hasattr(model, "_noise") else core(model)._listeners[0]._noise

    def broken(key):
        raise FloatingPointError

    with core(model).transaction():
        with monkeypatch.context() as patched, pytest.raises(FloatingPointError):
            patched.setattr(noise, "of", broken, raising=False)
            asked(model, rows[3:])
        with pytest.raises(ReleaseError, match="an earlier query of this transaction failed"):
            asked(model, rows[:3])
    np.testing.assert_array_equal(asked(model, rows[:3]), first)
    again = fitted(name, state=path)
    np.testing.assert_array_equal(asked(again, rows[:3]), first)
    if name not in (*KERNEL, "consensus"):
        assert spent(model) == spent(again) == before + 3


def test_a_transaction_that_cannot_be_written_leaves_nothing_to_answer_from(tmp_path, monkeypatch):
    path = tmp_path / "journal"
    model = fitted("exppw", state=path)
    monkeypatch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"), core(model).transaction():
        asked(model, batch(2, 0))
    monkeypatch.undo()
    with pytest.raises(ReleaseError, match="was closed"):
        asked(model, batch(2, 0))


def test_a_query_from_within_an_answer_is_refused():
    """A kernel, a base learner or a signal's handler that asks while an answer is made would see half a state."""
    model, seen = fitted("rkhs"), []
    real = model.path_._kernel

    def asks(A, B):
        if not seen:
            seen.append(1)
            asked(model, batch(1, 3))
        return real(A, B)

    model.path_._kernel = type(real)(real.name, asks, real.R, None, real.squares)
    with pytest.raises(ReleaseError, match="from inside the code that answers another query"):
        model.path_.answer(batch(2, 0), np.zeros(2))
    assert model.path_.directions == 0 and asked(model, batch(2, 0)).shape == (2,)


@EVERY
def test_an_error_in_the_middle_leaves_a_journal_that_goes_on(name, tmp_path, monkeypatch):
    model, rows = fitted(name, state=tmp_path / "journal"), interactive_models.X[:6]
    first = asked(model, rows[:3])
    noise = model._noise if hasattr(model, "_noise") else core(model)._listeners[0]._noise

    def broken(key):
        raise KeyboardInterrupt

    monkeypatch.setattr(noise, "of", broken, raising=False)
    before = spent(model)
    with pytest.raises(KeyboardInterrupt):
        asked(model, rows[3:])
    monkeypatch.undo()
    np.testing.assert_array_equal(asked(model, rows[:3]), first)
    assert spent(model) >= before
    again = fitted(name, state=tmp_path / "journal")
    np.testing.assert_array_equal(asked(again, rows[:3]), first)


def test_an_update_that_is_interrupted_leaves_a_dialogue_that_goes_on(monkeypatch):
    """Before, the session knew of an update whose point was not kept, and every later query was an error of shapes."""
    model, rows = fitted("pinp"), interactive_models.X[:12]
    real, broken = Session.update, iter([True])

    def update(self, *given):
        real(self, *given)
        if next(broken, False):
            raise KeyboardInterrupt

    monkeypatch.setattr(Session, "update", update)
    with pytest.raises(KeyboardInterrupt):
        asked(model, rows)
    assert np.isfinite(asked(model, rows)).all()


def test_the_journal_of_an_earlier_version_is_named(tmp_path):
    path = tmp_path / "journal"
    path.write_text('{"format": "dperm prediction ledger, version 1"}\n')
    with pytest.raises(CorruptFile, match=r"of an earlier dperm .* give it what is left of epsilon"):
        fitted("exppw", state=path)


def test_models_that_fail_keep_the_turn_free():
    model = fitted("soft majority")

    class Fails:
        def predict(self, X):
            raise FloatingPointError

    model._models = [Fails()] * 5
    for _ in range(2):
        with pytest.raises((DataError, FloatingPointError)):
            asked(model, batch(1, 0))
    assert model.ledger_.answered == 2
