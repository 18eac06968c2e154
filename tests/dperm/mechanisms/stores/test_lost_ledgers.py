"""What is found out of a ledger that is damaged, restored, deleted, or cannot be written."""

import pickle
import resource
import threading
from pathlib import Path

import ledgers
import numpy as np
import pytest
from interactive_models import asked, batch, core, fitted, in_fork

from dperm.errors import CorruptFile, ReleaseError

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
DATABASES = pytest.mark.parametrize("place", ledgers.STORES[1:], indirect=True)


@DATABASES
def test_damage_is_told_and_so_is_an_earlier_state_by_who_knows_a_later_one(place):
    seen = ledgers.Seen(place())
    for k in range(5):
        seen.write(["record", k])
    assert ledgers.Seen(place()).read() == [["record", k] for k in range(5)]
    place.change("DELETE FROM dperm_ledger WHERE number = 6")
    with pytest.raises(CorruptFile, match="row 6 is not there any more: an earlier state was restored; what was spent"):
        seen.read()
    # Who comes anew knows of nothing: docs/security.md.
    assert len(ledgers.Seen(place()).read()) == 4
    (before,) = {k for k in range(5) if ["record", k] not in ledgers.Seen(place()).read()}
    assert before == 4
    place.change("UPDATE dperm_ledger SET line = ? WHERE number = 3", '["record",7] 00000000')
    with pytest.raises(CorruptFile, match="row 3 is damaged; what was spent is not known: take it as all"):
        ledgers.Seen(place()).read()
    place.change("DELETE FROM dperm_ledger WHERE number = 3")
    with pytest.raises(CorruptFile, match="row 3 is missing"):
        ledgers.Seen(place()).read()
    place.change("DELETE FROM dperm_ledger")
    with pytest.raises(CorruptFile, match="is empty, which no ledger is"):
        ledgers.Seen(place())


@DATABASES
def test_a_witness_knows_of_what_was_restored_or_deleted_while_nobody_ran(place, tmp_path):
    # A witness is a file elsewhere, named after a hash.
    path = tmp_path / "w"
    where = f"{place()}#witness={path}"
    seen = ledgers.Seen(where)
    for k in range(4):
        seen.write(["record", k])
    assert len(ledgers.Seen(where).read()) == 4 and path.read_text().split()[0] == f"{5:020d}"
    old = path.read_text()
    seen.write(["record", 4])
    # Behind, as after a crash between commit and witness: no error.
    path.write_text(old)
    assert len(ledgers.Seen(where).read()) == 5
    seen.write(["record", 5])
    place.change("DELETE FROM dperm_ledger WHERE number = 7")
    with pytest.raises(CorruptFile, match="it ends with row 6, and its witness knows row 7"):
        ledgers.Seen(where).read()
    # Another history of the same length.
    ledgers.Seen(place()).write(["other", 5])
    with pytest.raises(CorruptFile, match="its witness knows row 7 as another one"):
        ledgers.Seen(where).read()
    for content, words in ((None, "is missing"), ("x", "is damaged")):
        path.unlink() if content is None else path.write_text(content)
        with pytest.raises(CorruptFile, match=f"its witness {words}"):
            ledgers.Seen(where).read()
    path.write_text("")
    assert len(ledgers.Seen(where).read()) == 6
    seen = ledgers.Seen(where)
    seen.write(["record", 6])
    fresh = place("another")
    with pytest.raises(CorruptFile, match="is not there, and its witness knows it: it was deleted"):
        ledgers.Seen(f"{fresh}#witness={path}")


@DATABASES
def test_a_ledger_that_is_deleted_ends_it_and_one_in_sqlite_is_not_made_again(place, tmp_path):
    model = fitted("exppw", state=place())
    first = asked(model, batch(2, 0))
    pickled = pickle.dumps(model)
    if place.kind == "sqlite":
        (tmp_path / "ledger").unlink()
    else:
        place.change("DROP TABLE dperm_ledger")
    for one in (model, pickle.loads(pickled)):
        for _ in range(2):
            with pytest.raises((ReleaseError, OSError), match="was deleted or replaced"):
                asked(one, batch(2, 0))
    if place.kind == "sqlite":
        for rest in ("-wal", "-shm"):
            Path(f"{tmp_path / 'ledger'}{rest}").unlink()
        with pytest.raises(CorruptFile, match=r"is not there, and ledger-turn .* it was deleted"):
            fitted("exppw", state=place())
        (tmp_path / "ledger-turn").unlink()
    again = fitted("exppw", state=place())
    assert again.ledger_.answered == 0 and len(asked(again, batch(40, 0))) == 40
    with pytest.raises(ReleaseError, match="was deleted or replaced"):
        asked(model, batch(2, 0))
    assert len(first) == 2


@DATABASES
def test_a_disk_that_is_full_answers_nothing(place, tmp_path):
    model, rows = fitted("exppw", state=place()), batch(6, 0)
    first = asked(model, rows[:2])
    if place.kind == "postgres":
        place.change(
            "CREATE FUNCTION none_left() RETURNS trigger LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'no space left: %', NEW.line USING ERRCODE = '53100'; END$$"
        )
        place.change("CREATE TRIGGER none_left BEFORE INSERT ON dperm_ledger FOR EACH ROW EXECUTE FUNCTION none_left()")

    def full():
        if place.kind == "sqlite":
            asked(model, rows[:2])  # connects: before a fork nothing is open
            size = Path(f"{tmp_path / 'ledger'}-wal").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 7,) * 2)
        try:
            return asked(model, rows[2:])
        except OSError as error:
            found = error
        with pytest.raises(ReleaseError, match="was closed; open it anew"):
            asked(model, rows[:2])
        return found

    error = in_fork(full)
    assert isinstance(error, OSError) and "nothing was answered" in str(error)
    if place.kind == "postgres":
        place.change("DROP TRIGGER none_left ON dperm_ledger")
    assert fitted("exppw", state=place()).ledger_.answered == 2
    np.testing.assert_array_equal(asked(model, rows)[:2], first)


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_connection_that_is_lost_in_a_turn_answers_nothing_and_before_it_is_made_anew(place):
    model, rows = fitted("exppw", state=place()), batch(4, 0)
    first = asked(model, rows[:2])
    end = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    )
    place.change(end)
    np.testing.assert_array_equal(asked(model, rows[:2]), first)
    with pytest.raises(ConnectionError, match="nothing was answered") as caught, core(model).transaction():
        asked(model, rows)
        place.change(end)
    assert "told" not in str(caught.value) and caught.value.__cause__ is None
    seen = ledgers.Seen(place("another"))
    place.change("DROP TABLE dperm_ledger", name="another")
    place.change(end)
    with pytest.raises(ReleaseError, match="was deleted or replaced"):
        seen.read()
    assert fitted("exppw", state=place()).ledger_.answered == 2


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_of_two_that_hold_the_lock_one_cannot_write(place, monkeypatch):
    """As through a pool that gives every transaction another session."""
    one, other = ledgers.Seen(place()), ledgers.Seen(place())
    real = psycopg.Connection.execute
    monkeypatch.setattr(
        psycopg.Connection,
        "execute",
        lambda self, what, *given: real(self, *(("SELECT 1",) if "advisory" in str(what) else (what, *given))),
    )
    with one.serving.turn():
        writes = threading.Thread(target=other.write, args=(["mine"],))
        writes.start()
        writes.join()
        with pytest.raises(ConnectionError, match="duplicate key value") as caught:
            one.serving.write(["mine too"])
    assert "mine too" not in str(caught.value)
    assert ledgers.Seen(place()).read() == [["mine"]]
