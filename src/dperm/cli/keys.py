"""The command `dperm keys`: who may ask the service, and how much."""

import argparse
from pathlib import Path
from typing import Any

from dperm.cli.serve import LEDGER

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


def _accounts(given: argparse.Namespace) -> Any:
    from dperm.mechanisms.serving import Serving
    from dperm.mechanisms.stores import choice
    from dperm.serve import files
    from dperm.serve.accounts import Accounts

    where = choice.database(given.budget_db)
    if getattr(given, "model", None) is not None:
        # What a ledger counts depends on the model, and where it is bound to a fit on that as well.
        files.load(given.model).fitted(where)
    return Accounts(Serving(where, None))


def _add(given: argparse.Namespace) -> int:
    accounts = _accounts(given)
    with accounts.serving.turn():
        print(accounts.add(given.name, share=given.share, rate=given.rate))
    return 0


def _list(given: argparse.Namespace) -> int:
    accounts = _accounts(given)
    with accounts.serving.turn():
        for one in accounts.all.values():
            share = "no share of its own" if one.share is None else f"of {one.share}"
            print(f"{one.name}: {one.used} new rows {share}{', revoked' if one.revoked else ''}")
    return 0


def _revoke(given: argparse.Namespace) -> int:
    accounts = _accounts(given)
    with accounts.serving.turn():
        accounts.revoke(given.name)
    print(f"{given.name} is revoked")
    return 0
