"""The command `dperm keys`: who may ask the service, and how much."""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dperm.cli.serve import LEDGER, ledger
from dperm.cli.wrong import Wrong
from dperm.errors import CorruptFile

COMMAND = "keys"


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    keys = commands.add_parser("keys", help="analysts' keys of a service", description="Who may ask, and how much.")
    verbs = keys.add_subparsers(title="verbs", required=True, metavar="verb")
    add = verbs.add_parser("add", help="make a key, shown this once")
    add.add_argument("name", help="whose key it is")
    add.add_argument("--share", type=int, help="new rows that it may ask in all (default: all that the budget has)")
    add.add_argument("--rate", type=int, default=600, help="requests a minute on each machine (default 600)")
    add.set_defaults(run=_add)
    shown = verbs.add_parser("list", help="names, shares and what was used of them")
    shown.set_defaults(run=_list)
    revoke = verbs.add_parser("revoke", help="let a key ask no more, at once")
    revoke.add_argument("name", help="whose key it is")
    revoke.set_defaults(run=_revoke)
    for verb in (add, shown, revoke):
        verb.add_argument("--budget-db", required=True, metavar="LEDGER", help=LEDGER)
    add.add_argument("--model", type=Path, help="the model file, before the ledger exists: then it is made")


@contextmanager
def _accounts(given: argparse.Namespace) -> Iterator[Any]:
    """Give the accounts of a ledger, in its turn."""
    from dperm.mechanisms.serving import Serving
    from dperm.serve import files
    from dperm.serve.accounts import Accounts

    try:
        where = ledger(given)
        if getattr(given, "model", None) is not None:
            # What a ledger counts depends on the model, and where it is bound to a fit on that as well.
            files.load(given.model).fitted(where)
        accounts = Accounts(Serving(where, None))
        with accounts.serving.turn():
            yield accounts
    except (OSError, CorruptFile) as error:
        raise Wrong(f"--budget-db {given.budget_db} cannot be used: {error}") from None


def _add(given: argparse.Namespace) -> int:
    with _accounts(given) as accounts:
        print(accounts.add(given.name, share=given.share, rate=given.rate))
    return 0


def _list(given: argparse.Namespace) -> int:
    with _accounts(given) as accounts:
        for one in accounts.all.values():
            share = "no share of its own" if one.share is None else f"of {one.share}"
            print(f"{one.name}: {one.used} new rows {share}{', revoked' if one.revoked else ''}")
    return 0


def _revoke(given: argparse.Namespace) -> int:
    with _accounts(given) as accounts:
        accounts.revoke(given.name)
    print(f"{given.name} is revoked")
    return 0
