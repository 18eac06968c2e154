"""The ledger charges before it answers, whatever crashes; its journal is nobody else's."""

import copy
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
import together

from dperm.accounting import filters
from dperm.errors import BudgetExhausted, CorruptFile, InvalidBudget, ReleaseError
from dperm.mechanisms.prediction.ledger import AdaptiveLedger, PredictionLedger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "of-its-own" / "journal"


def opened(path, answers=10, **given):
    return PredictionLedger(1.0, 1e-6, answers=answers, path=path, **given)


def test_answers_and_prices_follow_from_each_other():
    ledger = PredictionLedger(1.0, 1e-6, answers=50, bounded_range=True)
    assert ledger.each == filters.each(1.0, 1e-6, 50, bounded_range=True)
    assert PredictionLedger(1.0, 1e-6, each=ledger.each, bounded_range=True).answers == 50
    assert PredictionLedger(1.0, 1e-6, answers=50, accountant="basic").each == pytest.approx(1 / 50)


def test_counts_and_refuses_as_a_whole():
    ledger = PredictionLedger(1.0, 0.0, answers=5)
    ledger.charge()
    ledger.charge(0)
    ledger.charge(np.int64(3))
    with pytest.raises(BudgetExhausted, match="2 new answers were asked for and 1 of 5 remain: nothing was answered"):
        ledger.charge(2)
    assert (ledger.answered, ledger.remaining) == (4, 1)
    ledger.charge()
    with pytest.raises(BudgetExhausted):
        ledger.charge()


@together.over("count", [-1, 1.0, True, "1", None])
def test_what_is_no_count_is_refused(count):
    ledger = PredictionLedger(1.0, 0.0, answers=5)
    with pytest.raises((ValueError, TypeError)):
        ledger.charge(count)
    assert ledger.answered == 0


def test_a_journal_goes_on(path):
    with opened(path) as ledger:
        ledger.charge(3)
    with opened(path) as ledger:
        assert ledger.answered == 3
        ledger.charge(7)
    with opened(path) as ledger, pytest.raises(BudgetExhausted, match="0 of 10 remain"):
        ledger.charge()


def test_reserved_answers_come_back_when_it_is_closed_and_stay_spent_when_not(path):
    ledger = opened(path, answers=100, reserve=30)
    ledger.charge()
    size = path.stat().st_size
    # Within the block nothing is written.
    for _ in range(29):
        ledger.charge()
    assert path.stat().st_size == size and ledger.answered == 30
    ledger.charge()
    del ledger  # a crash leaves as much behind
    with opened(path, answers=100, reserve=30) as again:
        assert again.answered == 60
        again.charge(1)
    with opened(path, answers=100) as again:
        assert again.answered == 61


def test_the_charge_stands_where_the_process_dies_in_the_middle_of_a_query(path):
    """os._exit between charge and answer: no destructor and no exit handler runs."""
    source = f"""
        import os
        from dperm.mechanisms.prediction.ledger import PredictionLedger
        ledger = PredictionLedger(1.0, 1e-6, answers=10, path={str(path)!r})
        ledger.charge(4)
        os._exit(9)
    """
    assert subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=False).returncode == 9
    assert opened(path).answered == 4


@pytest.mark.parametrize("cut", [1, 5, 10])
def test_a_torn_line_was_never_answered_on(path, cut):
    with opened(path) as ledger:
        ledger.charge(3)
        before = path.read_bytes()
        ledger.charge(2)
        whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    with opened(path) as ledger:
        assert ledger.answered == 3 and path.read_bytes() == before
        ledger.charge()
    with opened(path) as ledger:
        assert ledger.answered == 4


def test_a_journal_without_a_whole_first_line_is_refused(path):
    """It gets its name with that line in it: whoever cut it off, it was not a crash."""
    with opened(path) as ledger:
        ledger.charge(3)
    whole = path.read_bytes()
    first = whole.index(b"\n") + 1
    for size in (0, 1, first // 2, first - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(CorruptFile, match="is no journal" if size else "is empty, which no journal is"):
            opened(path)
        assert path.read_bytes() == whole[:size]


def test_nothing_has_the_name_before_the_first_line_is_on_disk(path, monkeypatch):
    """A crash at its birth: there is no journal then, and the next one is new."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        opened(path)
    assert not list(path.parent.iterdir())
    monkeypatch.undo()
    with opened(path) as ledger:
        assert ledger.remaining == 10
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_loses_its_file_is_spent_from_no_more(path, replaced):
    ledger = opened(path, reserve=1)
    ledger.charge(2)
    path.unlink()
    other = opened(path, reserve=1) if replaced else None
    for _ in range(2):
        with pytest.raises(ReleaseError, match=r"deleted or replaced|was closed"):
            ledger.charge()
    assert ledger.answered == 2
    ledger.close()
    if other:
        other.charge(10)
        other.close()
        with opened(path) as again:
            assert again.remaining == 0
    else:
        assert not path.exists()


def test_closing_a_journal_that_lost_its_file_brings_nothing_back(path):
    ledger = opened(path, reserve=5)
    ledger.charge()
    path.unlink()
    ledger.close()
    assert not path.exists()
    with pytest.raises(ReleaseError, match="was closed"):
        ledger.charge()


def test_the_journal_of_another_mechanism_is_refused(path):
    said = {"mechanism": "SoftMajority", "calibration": "paper", "guarantee": "none"}
    opened(path, mechanism=said).close()
    opened(path, mechanism=said).close()
    with pytest.raises(InvalidBudget, match="calibration=paper there and tight here, guarantee=none there and proved"):
        opened(path, mechanism={**said, "calibration": "tight", "guarantee": "proved"})
    with pytest.raises(InvalidBudget, match="mechanism=SoftMajority there and None here"):
        opened(path)


@pytest.mark.parametrize("place", ["first", "middle", "last", "lost"])
def test_damage_is_told(path, place):
    with opened(path) as ledger:
        for _ in range(5):
            ledger.charge()
    lines = path.read_bytes().splitlines(keepends=True)
    if place == "lost":
        del lines[3]
    else:
        at = {"first": 0, "middle": 3, "last": -1}[place]
        lines[at] = lines[at].replace(b"0", b"1") if at == 0 else b"0" + lines[at][1:]
    path.write_bytes(b"".join(lines))
    with pytest.raises((CorruptFile, InvalidBudget)):
        opened(path)


@pytest.mark.parametrize("end", [b"\x0b", b"\r", b"\x00", b" "])
def test_a_whole_line_without_its_line_feed_gives_nothing_back(path, end):
    """A crash cuts a line off; it does not end it with something else."""
    with opened(path) as ledger:
        ledger.charge(3)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] + end)
    with pytest.raises(CorruptFile, match="line 2 is whole, but its line feed is damaged"):
        opened(path)
    path.write_bytes(whole[:-1])
    with opened(path) as ledger:
        assert ledger.answered == 0


@pytest.mark.parametrize("salt", [None, 1, "", "zz" * 16])
def test_a_first_line_without_its_salt_is_damaged(path, salt):
    with opened(path):
        pass
    head = json.loads(path.read_bytes())
    del head["salt"]
    path.write_text(json.dumps(head | ({} if salt is None else {"salt": salt})) + "\n")
    with pytest.raises(CorruptFile, match="line 1 is damaged: it has no salt"):
        opened(path)


def test_what_is_no_journal_is_left_alone(path):
    path.parent.mkdir()
    for content in (b"hello\n", b"hello", b"{}\n", b"[1]\n", b"\x00\xff"):
        path.write_bytes(content)
        with pytest.raises(CorruptFile, match="is no journal of answers; name another file"):
            opened(path)
        assert path.read_bytes() == content
    with pytest.raises(CorruptFile, match="is a folder"):
        opened(path.parent)


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"epsilon": 2.0}, "budget"),
        ({"delta": 1e-5}, "budget"),
        ({"answers": 11}, "answers=10 there and 11 here"),
        ({"bounded_range": True}, "bounded_range"),
        ({"neighbours": "add_remove"}, "neighbours=replace there and add_remove here"),
        ({"accountant": "basic"}, "each"),
    ],
)
def test_the_journal_of_another_budget_is_refused(path, other, named):
    opened(path).close()
    given = {"epsilon": 1.0, "delta": 1e-6, "answers": 10, "path": path, **other}
    with pytest.raises(InvalidBudget, match=f"journal of other answers: .*{named}"):
        PredictionLedger(given.pop("epsilon"), given.pop("delta"), **given)
    with pytest.raises(InvalidBudget, match="of other answers"):
        AdaptiveLedger(1.0, 1e-6, path=path)
    assert json.loads(path.read_text().splitlines()[0])["answers"] == 10


def test_ledgers_of_one_journal_share_its_budget(path):
    ledger, other = opened(path, reserve=3), opened(path, reserve=3)
    ledger.charge()
    source = f"""
        from dperm.mechanisms.prediction.ledger import PredictionLedger
        PredictionLedger(1.0, 1e-6, answers=10, path={str(path)!r}, reserve=3).charge(2)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(source)], check=True)
    # Blocks of 3 and 3; that of the process which ended stays spent.
    other.charge(4)
    with pytest.raises(BudgetExhausted, match="1 new answers were asked for and 0 of 10 remain"):
        other.charge()
    ledger.charge(2)
    with pytest.raises(BudgetExhausted):
        ledger.charge()


def test_a_block_is_of_one_ledger_and_comes_back_when_it_is_closed(path):
    ledger, other = opened(path, reserve=8), opened(path, reserve=1)
    ledger.charge(2)
    other.charge(2)
    with pytest.raises(BudgetExhausted):
        other.charge()
    ledger.close()
    other.charge(6)
    with opened(path) as again:
        assert again.remaining == 0


def _spend(ledger, said):
    try:
        ledger.charge()
        said.send("answered")
    except ReleaseError as error:
        said.send(str(error))


def in_a_fork(ledger):
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_spend, args=(ledger, there))
    child.start()
    said = here.recv()
    child.join()
    return said


def test_a_forked_process_spends_from_the_journal_in_a_block_of_its_own(path):
    ledger = opened(path, answers=1000, reserve=100)
    ledger.charge()
    assert in_a_fork(ledger) == "answered"
    ledger.charge(99)
    assert ledger.answered == 100
    ledger.charge()
    assert ledger.answered == 201


def test_a_forked_process_cannot_spend_without_a_journal():
    ledger = opened(None)
    ledger.charge()
    assert "only that one may answer" in in_a_fork(ledger) and "fit with state='a file'" in in_a_fork(ledger)
    ledger.charge()
    assert ledger.answered == 2


@pytest.mark.parametrize("kept", [True, False])
def test_no_answer_after_it_was_closed(path, kept):
    ledger = opened(path if kept else None, reserve=5)
    ledger.charge()
    ledger.close()
    ledger.close()
    with pytest.raises(ReleaseError, match="was closed; open it anew"):
        ledger.charge()


def test_a_disk_that_refuses_leaves_no_answer(path, monkeypatch):
    ledger = opened(path)

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        ledger.charge()
    assert ledger.answered == 0
    monkeypatch.undo()
    with pytest.raises(ReleaseError, match="was closed"):
        ledger.charge()
    # What reached the file counts: nobody knows whether it is on disk.
    with opened(path) as again:
        assert again.answered == 1


def test_threads_lose_no_charge(path):
    ledger = opened(path, answers=4000, reserve=64)
    threads = [threading.Thread(target=lambda: [ledger.charge() for _ in range(1000)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.remaining == 0


def copies(ledger):
    return [pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger), copy.copy(ledger)]


def test_copies_share_the_journal_and_are_refused_without(path):
    ledger = opened(path)
    ledger.charge(2)
    for k, twin in enumerate(copies(ledger)):
        twin.charge(k + 1)
    with pytest.raises(BudgetExhausted, match="3 new answers were asked for and 2 of 10 remain"):
        ledger.charge(3)
    alone = opened(None)
    for make in (pickle.dumps, copy.deepcopy, copy.copy):
        with pytest.raises(ReleaseError, match="and all copies share that journal"):
            make(alone)


def test_a_copy_never_makes_the_journal_anew(path):
    pickled = pickle.dumps(opened(path))
    for replaced in (False, True):
        path.unlink()
        if replaced:
            opened(path).close()
        with pytest.raises(ReleaseError, match="was deleted or replaced"):
            pickle.loads(pickled).charge()
        path.touch()
    path.unlink()


def test_a_ledger_needs_a_number_or_a_price():
    for given in ({}, {"answers": 3, "each": 0.1}):
        with pytest.raises(ValueError, match="give one of them"):
            PredictionLedger(1.0, 1e-6, **given)
    with pytest.raises(InvalidBudget, match="not one answer fits"):
        PredictionLedger(1.0, 0.0, each=2.0)
    with pytest.raises(ValueError, match="reserve=0 must be an integer, 1 or above"):
        PredictionLedger(1.0, 1e-6, answers=3, reserve=0)
