"""The command `dperm compare`: every linear method on a table of one's own, on public rows or for a price."""

import argparse
import csv
import io
import math
import os
from pathlib import Path
from typing import Any, get_args

from dperm.cli.wrong import Wrong
from dperm.domain import Neighbours, number
from dperm.mechanisms.stores.choice import place

COMMAND = "compare"
_WORDS = """
Comparing on private records spends budget: every error is looked at. So either say which rows are public,

  $ dperm compare data.csv --target y --schema schema.yaml --epsilon .5 1 2 --public-share all

(so many of the first rows of the file, or all), or name a ledger and a budget that all fits are charged to:

  $ dperm compare data.csv --target y --schema schema.yaml --epsilon 1 --ledger budget.journal --budget 10 1e-5

The schema is that of PublicEncoder, and declares the target: y: {levels: [no, yes]} to tell labels, or
y: {range: [0, 100000]} to tell numbers, whose errors are in the target's own units.
"""


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    compare = commands.add_parser(
        "compare",
        help="every linear classifier or regression on your own table, as a page",
        description="Test errors of every linear method with nothing set, beside those of answers without a model.",
        epilog=_WORDS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    compare.add_argument("data", type=Path, help="a CSV file with a line of names")
    compare.add_argument("--target", required=True, metavar="COLUMN", help="what is to be predicted")
    compare.add_argument("--schema", required=True, type=Path, help="YAML: what each column may hold")
    compare.add_argument("--epsilon", required=True, type=float, nargs="+", help="of each fit")
    compare.add_argument("--delta", type=float, default=0.0, help="of each fit (default 0; descents need more)")
    compare.add_argument("--neighbours", choices=get_args(Neighbours), default="add_remove", help="whom it protects")
    compare.add_argument("--repeats", type=int, help="random splits (default 5, on private rows 1)")
    compare.add_argument(
        "--public-share", metavar="ROWS", help="how many of the first rows are public, or all; no others"
    )
    compare.add_argument("--ledger", help="file, or URL of a database, of the budget spent; private rows need it")
    compare.add_argument("--budget", type=float, nargs=2, metavar=("EPSILON", "DELTA"), help="of that ledger, in all")
    compare.add_argument("--seed", type=int, help="on public rows (default 0); private ones draw from the system")
    compare.add_argument(
        "--out", type=Path, default=Path("comparison.html"), help="the page; a CSV of all errors beside it"
    )
    compare.set_defaults(run=_compare)


def _compare(given: argparse.Namespace) -> int:
    private = _checked(given)
    numbers = given.out.with_suffix(".errors.csv")
    ledger = place(given.ledger) if private else None
    if {given.out.resolve(), numbers.resolve()} & {given.data.resolve(), given.schema.resolve(), *_files(ledger)}:
        raise Wrong(f"--out {given.out} would be written over what is read; choose another name")
    # Not before somebody compares: it loads every method.
    from dperm.comparing import errors, page, table
    from dperm.mechanisms.session.open import PrivacySession

    epsilons, repeats = sorted(set(given.epsilon)), given.repeats or (1 if private else 5)
    found = table.read(given.data, given.schema, given.target)
    task = found.task
    if private:
        epsilon, delta = errors.price(found, epsilons, given.delta, given.neighbours, repeats)
        session = PrivacySession(*given.budget, neighbours=given.neighbours, ledger=ledger)
        left = session.left
        # Sums of floats.
        if epsilon > left.epsilon * (1 + 1e-12) or delta > left.delta * (1 + 1e-12):
            raise Wrong(
                f"this comparison costs epsilon={epsilon:g}, delta={delta:g} in all, and of {_name(ledger)} "
                f"({left.epsilon:g}, {left.delta:g}) is left; compare at fewer "
                "epsilons, or on public rows"
            )
        with session:
            rows = list(errors.private(found, epsilons, given.delta, repeats, session))
        spent = (
            f"This comparison looked at private records and spent epsilon {epsilon:g}, delta {delta:g} of "
            f"their budget, charged to {_name(ledger)}. Left: epsilon {session.left.epsilon:g}, "
            f"delta {session.left.delta:g}."
        )
    else:
        count = len(found.y) if given.public_share == "all" else int(given.public_share)
        if count > len(found.y):
            raise Wrong(f"--public-share {count}: {given.data} has no so many rows; give all if all are public")
        found = found._replace(X=found.X[:count], y=found.y[:count])
        rows = list(errors.public(found, epsilons, given.delta, given.neighbours, repeats, given.seed or 0))
        spent = (
            f"Done on the first {count:,} rows, which were declared public: nothing of them is protected, and no "
            "budget was spent. On private records the same comparison would spend what it fits, and has to be charged."
        )
    splits = f"{repeats} random split{'s' * (repeats > 1)}"
    promise = f"δ = {given.delta:g}, {given.neighbours}; {splits}, a third of the rows tested"
    # How many private records there are is private.
    size = "" if private else f"{len(found.y):,} rows, "
    facts = [f"{given.data.name}: {size}{found.X.shape[1]} features, target {given.target}", *task.facts, promise]
    title = f"Private {task.what} on {given.data.name}"
    # Before anything is written, for a full disk takes back no charge.
    for measure in task.measures:
        _print(page.Summary(rows, measure))
    print(spent)
    given.out.write_text(page.page(title, [*facts, _kind(private, task)], spent, rows, task), encoding="utf-8")
    numbers.write_text(_table(rows), encoding="utf-8")
    print(f"{given.out}, {numbers}")
    return 0


def _writable(path: Path) -> bool:
    return path.parent.is_dir() and not path.is_dir() and os.access(path if path.exists() else path.parent, os.W_OK)


def _files(ledger: Path | str | None) -> list[Path]:
    """Return the files of a ledger; a database elsewhere has none that a page could be written over."""
    if not isinstance(ledger, str):
        return [] if ledger is None else [ledger]
    return [Path(part) for part in ledger.removeprefix("sqlite:///").split("#witness=")]


def _name(ledger: Path | str) -> str:
    """Return a ledger's name for a page, without the place where it is."""
    return ledger.name if isinstance(ledger, Path) else ledger.partition("#")[0].partition("?")[0].rpartition("/")[2]


def _kind(private: bool, task: Any) -> str:
    if private:
        return (
            f"Errors are {task.counted} with noise, at each fit's epsilon. A model without privacy is left out: no "
            "price would cover it"
        )
    return "Errors are exact; a model without privacy stands beside them"


def _checked(given: argparse.Namespace) -> bool:
    """Return whether the rows are private; refuse what does not say so, or does not go together."""
    if given.public_share is None and given.ledger is None:
        raise Wrong(
            "comparing on private records spends budget: give --ledger FILE --budget EPSILON DELTA to charge it, or "
            "--public-share ROWS if so many of the first rows of the file, or all, are public"
        )
    if given.public_share is not None and given.ledger is not None:
        raise Wrong("--public-share and --ledger: rows are public, or paid for; give one")
    if given.ledger is not None and given.budget is None:
        raise Wrong("--ledger needs --budget EPSILON DELTA: what all that is charged to it may spend together")
    if given.ledger is not None and given.seed is not None:
        raise Wrong("--seed goes with public rows alone: who knows the seed knows the noise")
    # No share of all rows: how many there are may be private.
    if given.public_share not in (None, "all") and not (given.public_share.isdecimal() and int(given.public_share)):
        raise Wrong(f"--public-share {given.public_share}: give a number of rows, or all")
    if not (given.out.name and _writable(given.out) and _writable(given.out.with_suffix(".errors.csv"))):
        raise Wrong(f"--out {given.out} cannot be written; name a file in a folder that exists")
    for epsilon in given.epsilon:
        # NAPP takes none below, and would end the comparison when others have been charged.
        number("--epsilon", epsilon, 1e-3, math.inf, ends="[)", remedy="usual values are 0.1 to 10")
    number("--delta", given.delta, 0, 1, ends="[)", remedy="usual values are below one over the number of records")
    number("--repeats", 1 if given.repeats is None else given.repeats, 1, 1000, ends="[]", remedy="it counts splits")
    return given.ledger is not None


def _table(rows: list[Any]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["method", "epsilon", "repeat", "measure", "unit", "error"])
    writer.writerows(rows)
    return file.getvalue()


def _print(found: Any) -> None:
    head = [found.measure.words, *(f"epsilon {epsilon:g}" for epsilon in found.epsilons)]
    lines = [head, *([method, *(found.shown(method, one) for one in found.epsilons)] for method in found.methods)]
    lines += [[level, found.shown(level), *[""] * (len(found.epsilons) - 1)] for level in found.levels]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    for line in lines:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
