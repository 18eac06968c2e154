"""The command `dperm`. Each command is a module here that declares its name, as `COMMAND = "audit"`, and `declare`."""

import argparse
import importlib
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from dperm import by_place
from dperm.cli.wrong import Wrong
from dperm.errors import DpermError

# Exit status.
FAILED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the process if left out.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(
        prog="dperm", description="Differentially private learning: plan, compare, attack."
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="command", dest="command")
    for module, _ in by_place.declaring(Path(__file__).parent, __name__, "COMMAND"):
        importlib.import_module(module).declare(commands)
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except (Exception, SystemExit) as error:
        if isinstance(error, (Wrong, DpermError)) or (isinstance(error, ValueError) and _is_ours(error)):
            print(f"dperm: error: {error}", file=sys.stderr)
            return FAILED
        # Somebody else's code: its author needs the traceback, and a status that does not say `refuted`.
        traceback.print_exception(error)
        whose = getattr(given, "subject", given.command)
        print(f"dperm: error: {whose} failed: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED


def _is_ours(error: BaseException) -> bool:
    """Say whether an error was raised by dperm itself, whose messages explain themselves."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").startswith("dperm.")
