"""The command `dperm serve`: private prediction over HTTP."""

import argparse
from importlib import util
from pathlib import Path
from typing import Any

from dperm.cli.wrong import Wrong
from dperm.errors import ConfigError

COMMAND = "serve"
LEDGER = "the ledger: a path (SQLite), or postgresql://host/database"
_WORDS = """
  $ dperm pack data.csv --target y --schema schema.yaml --epsilon 1 --queries 1000 --out model.dperm
  $ dperm keys add alice --model model.dperm --budget-db ledger.sqlite
  $ dperm serve model.dperm --budget-db ledger.sqlite

The ledger is all that is known of earlier answers: keep it, never restore it, and see docs/security.md.
"""


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    serve = commands.add_parser(
        "serve",
        help="answer queries over HTTP within a budget",
        description="Private prediction as a service: every answer is charged to one budget before it leaves.",
        epilog=_WORDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    serve.add_argument("model", type=Path, help="a model file, made by dperm pack")
    serve.add_argument("--budget-db", required=True, metavar="LEDGER", help=LEDGER + ": made if there is none")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    serve.add_argument("--port", type=int, default=8080, help="default 8080; 0: one that is free")
    serve.add_argument("--workers", type=int, default=2, help="processes that answer (default 2)")
    serve.set_defaults(run=_serve)


def _serve(given: argparse.Namespace) -> int:
    _needed(["fastapi", "uvicorn", "pydantic"])
    from dperm.serve import files, processes

    if not 1 <= given.workers <= 64:
        raise Wrong(f"--workers {given.workers} must be 1 to 64")
    # What is wrong with the file is said before anything is started.
    files.load(given.model)
    return processes.serve(
        given.model, str(ledger(given)), given.host, given.port, given.workers,
        lambda address: print(f"dperm: serving {given.model} on {address}", flush=True),
    )  # fmt: skip


def ledger(given: argparse.Namespace) -> Path | str:
    """Return the ledger that --budget-db names.

    Parameters
    ----------
    given : argparse.Namespace

    Returns
    -------
    Path or str
        A path, or the URL of a database.

    Raises
    ------
    Wrong
        If it is the URL of no ledger.
    """
    from dperm.mechanisms.stores import choice

    try:
        return choice.database(given.budget_db)
    except ConfigError as error:
        raise Wrong(f"--budget-db {given.budget_db}: {error}") from None


def _needed(libraries: list[str]) -> None:
    """Refuse to go on without what the extra brings."""
    if missing := [name for name in libraries if util.find_spec(name) is None]:
        raise Wrong(f"{missing[0]} is not installed: pip install 'dperm[serve]'")
