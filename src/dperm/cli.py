"""The command `dperm`: attack any callable."""

import argparse
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import numpy as np

from dperm.audit import sampling
from dperm.audit.report import Report
from dperm.audit.target import Subject
from dperm.domain import Budget, number
from dperm.errors import DpermError

# Exit status.
HOLDS, REFUTED, FAILED = 0, 1, 2

_EXAMPLE = """
module:factory names a function without arguments that returns a dperm.audit.Subject:

  # attack.py
  import numpy as np
  from dperm.audit import Subject
  def factory():
      def mechanism(data, repeats, rng):
          return data.sum() + rng.laplace(0, 1.0, repeats)
      data = np.ones(10)
      return Subject(mechanism, data, data[:9], epsilon=1.0)

  $ dperm audit attack:factory

Exit status: 0 the claim is not refuted (or there is none), 1 it is, 2 something went wrong.
"""


class _Wrong(Exception):
    """What a user can mend: said in one line."""


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
    parser = argparse.ArgumentParser(prog="dperm", description="Differentially private learning, attacked.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="command")
    _declare_audit(commands)
    given = parser.parse_args(arguments)
    try:
        return given.run(given)
    except (Exception, SystemExit) as error:
        if isinstance(error, (_Wrong, DpermError)) or (isinstance(error, ValueError) and _is_ours(error)):
            print(f"dperm: error: {error}", file=sys.stderr)
            return FAILED
        # The subject's own code: its author needs the traceback, and a status that does not say `refuted`.
        traceback.print_exception(error)
        print(f"dperm: error: {given.subject} failed: {type(error).__name__}: {error}", file=sys.stderr)
        return FAILED


def _is_ours(error: BaseException) -> bool:
    """Say whether an error was raised by dperm itself, whose messages explain themselves."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    return frame.f_globals.get("__name__", "").startswith("dperm.")


def _declare_audit(commands: Any) -> None:
    audit = commands.add_parser(
        "audit",
        help="certify a lower bound on the epsilon of a mechanism",
        description="Attack a mechanism with two neighbouring data sets: some of the draws choose a guess of "
        "the side, the others certify how much it tells.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument("subject", metavar="module:factory", help="an importable function; see below")
    audit.add_argument("--draws", type=int, default=20_000, help="outputs drawn a side (default 20,000)")
    audit.add_argument("--epsilon", type=float, help="the claim, instead of the subject's own")
    audit.add_argument("--delta", type=float, help="the claim's delta, instead of the subject's own")
    audit.add_argument("--confidence", type=float, default=0.95, help="of the bound (default 0.95)")
    audit.add_argument("--seed", type=int, help="of the auditor's generator (default: the operating system)")
    audit.add_argument(
        "--gaussian", action="store_true", help="assume a Gaussian trade-off: for additive Gaussian noise"
    )
    audit.add_argument("--raw", action="store_true", help="look at the outputs bit by bit, not rounded")
    audit.add_argument("--json", action="store_true", help="print the result for machines")
    audit.set_defaults(run=_audit)


def _audit(given: argparse.Namespace) -> int:
    subject = _subject(given.subject)
    epsilon = subject.epsilon if given.epsilon is None else given.epsilon
    delta = subject.delta if given.delta is None else given.delta
    if epsilon is not None:
        Budget(epsilon, delta)
    if given.seed is not None:
        number("--seed", given.seed, 0, 2**64, ends="[)", remedy="leave it out to draw from the operating system")
    found = sampling.lower_bound(
        subject.mechanism,
        subject.data,
        subject.neighbour,
        draws=given.draws,
        delta=delta,
        confidence=given.confidence,
        rng=np.random.default_rng(given.seed),
        model="gaussian" if given.gaussian else "none",
        raw=given.raw,
        events=subject.events,
    )
    report = Report(subject.words or given.subject, found, epsilon)
    print(report.json() if given.json else report.text())
    return REFUTED if report.refuted else HOLDS


def _subject(name: str) -> Subject:
    """Return what `module:factory` makes; the current folder can be imported from."""
    module_name, colon, factory_name = name.partition(":")
    if not (module_name and colon and factory_name):
        raise _Wrong(f"{name!r} is not of the form module:factory, such as attack:factory")
    folder = os.getcwd()  # noqa: PTH109 - what Python itself puts first for `python -m`
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        where = "is not importable from here" if error.name == module_name.split(".")[0] else f"needs {error.name!r}"
        raise _Wrong(f"module {module_name!r} {where}; start in its folder, or install what is missing") from error
    if not callable(getattr(module, factory_name, None)):
        raise _Wrong(f"module {module_name!r} has no function {factory_name!r}")
    subject = getattr(module, factory_name)()
    if not isinstance(subject, Subject):
        raise _Wrong(f"{name} returned a {type(subject).__name__}; it must return a dperm.audit.Subject")
    return subject


if __name__ == "__main__":
    sys.exit(main())
