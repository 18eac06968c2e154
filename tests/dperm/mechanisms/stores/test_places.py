"""What `state` names, and what is refused."""

import contextlib
import sqlite3
import sys
from pathlib import Path

import interactive_models
import ledgers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interactive_models import MODELS, asked, batch, fitted

from dperm.errors import ConfigError, CorruptFile, InvalidBudget
from dperm.mechanisms.serving import Serving
from dperm.mechanisms.stores import choice

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.filterwarnings("ignore::dperm.errors.VacuousWarning")
DATABASES = pytest.mark.parametrize("place", ledgers.STORES[1:], indirect=True)


@given(st.sampled_from(["sqlite:", "sqlite://", "sqlite:///", "postgresql:", "postgres://", "mysql://"]), st.text())
@settings(deadline=None)
def test_a_url_is_never_taken_for_the_name_of_a_file(scheme, rest):
    try:
        found = choice.place(scheme + rest)
    except ConfigError:
        return
    assert isinstance(found, str) and found.startswith(("sqlite:////", "postgresql://", "postgres://"))
    # Once more is the same: a process that is started is told it.
    assert choice.place(found) == found


def test_what_is_no_ledger_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert choice.place("sqlite:///here") == choice.database("here") == f"sqlite:///{tmp_path / 'here'}"
    for wrong, words in [
        (Path("sqlite:///x"), "is a path, which folds the slashes"),
        ("sqlite://x", "a ledger in SQLite is sqlite:/// and the path"),
        ("sqlite:///:memory:", "and the path of its file"),
        ("sqlite:///x#copy=y", "after # stands witness="),
        ("mysql://secret@host", "state=mysql:... is no ledger; give a path"),
        ("postgresql:x", "state=postgresql:... is no ledger"),
        ("postgresql://me:secret@host/db", "has a password in it"),
        ("postgresql://me@host/db?secret=1", "is no URL that libpq reads"),
    ]:
        with pytest.raises(ConfigError, match=words) as caught:
            Serving(wrong, {})
        assert "secret" not in str(caught.value)
    fitted("exppw", state="file")
    (tmp_path / "empty").touch()
    with contextlib.closing(sqlite3.connect(tmp_path / "other")) as connection:
        connection.execute("CREATE TABLE mine (x)")
    for name, words in [
        ("file", "is no ledger or is damaged: file is not a database"),
        ("empty", "it has no table dperm_ledger"),
        ("other", "it has no table dperm_ledger"),
        ("", "a ledger in SQLite is"),
        ("none/ledger", "has no folder .*an absolute path has four slashes"),
        (".", "is a folder"),
    ]:
        with pytest.raises((CorruptFile, ConfigError), match=words):
            fitted("exppw", state=f"sqlite:///{name}")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"needs psycopg, which is not installed: pip install 'dperm\[serve\]'"):
        fitted("exppw", state="postgresql://host/db")


@DATABASES
def test_the_ledger_of_other_answers_or_another_fit_is_refused(place, tmp_path):
    asked(fitted("rkhs", state=place()), batch(3, 0))
    other = interactive_models.Y.copy()
    other[0] = 1 - other[0]
    with pytest.raises(InvalidBudget, match="of another fit: of other records"):
        MODELS["rkhs"](state=place()).fit(interactive_models.X, other)
    with pytest.raises(InvalidBudget, match="mechanism="):
        fitted("exppw", state=place())
    if place.kind == "sqlite":
        assert (tmp_path / "ledger").stat().st_mode & 0o777 == 0o600
        assert {path.name for path in tmp_path.iterdir()} <= {f"ledger{rest}" for rest in ("", "-turn", "-wal", "-shm")}


@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_a_server_that_does_not_wait_for_its_disk_is_refused(place, monkeypatch):
    real = psycopg.Connection.execute
    off = "SELECT 'off'"
    monkeypatch.setattr(
        psycopg.Connection,
        "execute",
        lambda self, what, *given: real(self, off if what == "SHOW fsync" else what, *given),
    )
    with pytest.raises(ConfigError, match="the server has fsync=off"):
        Serving(place("off"), {})
