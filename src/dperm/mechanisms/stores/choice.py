"""Which store a `state` names."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dperm.errors import ConfigError
from dperm.mechanisms import journal
from dperm.mechanisms.stores.base import Store

_URL = re.compile(r"(?:(sqlite|postgresql|postgres):|[A-Za-z][A-Za-z0-9+.-]*://)")
_SQLITE = "sqlite:///"


def place(state: Any) -> Path | str:
    """Return a path or the URL of a database, absolute, or raise ConfigError for a URL that is none of these."""
    if not isinstance(state, str | os.PathLike):
        raise ConfigError(
            f"state={state!r} must be a path, sqlite:///path or postgresql://host/database; leave it out for no journal"
        )
    words = str(state)
    found = _URL.match(words)
    if not found:
        return Path(state).resolve()
    if not isinstance(state, str):
        raise ConfigError(f"state={words!r} is a path, which folds the slashes of a URL; give the URL as a string")
    url, _, fragment = words.partition("#")
    if fragment and not re.fullmatch("witness=.+", fragment):
        raise ConfigError(f"state={words!r}: after # stands witness= and the path of a file")
    witness = f"#witness={Path(fragment.removeprefix('witness=')).resolve()}" if fragment else ""
    if found[1] == "sqlite":
        path = url.removeprefix(_SQLITE)
        if path == url or path in ("", ":memory:") or "\0" in path:
            raise ConfigError(
                f"state={words!r}: a ledger in SQLite is sqlite:/// and the path of its file: with a fourth slash an "
                "absolute one"
            )
        return f"{_SQLITE}{Path(path).resolve()}{witness}"
    if found[1] is None or not url.startswith(f"{found[1]}://"):
        raise ConfigError(
            f"state={words.partition(':')[0]}:... is no ledger; give a path, sqlite:///path or postgresql://host/database"
        )
    from dperm.mechanisms.stores import postgres

    return postgres.checked(url) + witness


def database(words: str) -> Path | str:
    """Return the ledger that a service's words name: a URL, or the path of one in SQLite."""
    return place(words if _URL.match(words) else f"{_SQLITE}{words}")


def born(where: Path | str, terms: Mapping[str, Any] | None, bound: bytes | None = None) -> bytes:
    """Return the first line; of a store that exists it must have these terms and be bound to the same fit."""
    return journal.born(where, terms, bound) if isinstance(where, Path) else _database(where).born(where, terms, bound)


def opened(where: Path | str, header: bytes) -> Store:
    """Return a store that exists, open, with nothing of it read (header: as `born` returned it)."""
    return journal.Journal(where, header) if isinstance(where, Path) else _database(where).Ledger(where, header)


def _database(where: str) -> Any:
    if where.startswith(_SQLITE):
        from dperm.mechanisms.stores import sqlite

        return sqlite
    from dperm.mechanisms.stores import postgres

    return postgres
