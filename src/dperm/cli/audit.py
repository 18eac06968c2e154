"""The command `dperm audit`: attack any callable."""

import argparse
import ast
import importlib
import os
import sys
from typing import Any, get_args

import numpy as np

from dperm.audit import estimators, sampling, search, testing
from dperm.audit.report import Report
from dperm.audit.target import Subject
from dperm.cli.wrong import Wrong
from dperm.domain import Budget, Neighbours, number

COMMAND = "audit"
# Exit status beside that of a failure.
HOLDS, REFUTED = 0, 1
# Options of estimators alone.
_OF_ESTIMATORS = ("relation", "box", "norm", "classes", "targets", "features", "sizes", "set", "ignore", "search")

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

It may also name a private estimator, a class with fit(X, y) or fit(X). Then the pair is searched for within bounds that
its parameters or these options state, and what is looked at are its public attributes after fit:

  $ dperm audit package.module:Estimator --epsilon 1 --relation replace --norm 1 --classes 0 1 --set C=0.1

Exit status: 0 the claim is not refuted (or there is none), 1 it is, 2 something went wrong.
"""


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    audit = commands.add_parser(
        "audit",
        help="certify a lower bound on the epsilon of a mechanism",
        description="Attack a mechanism with two neighbouring data sets: some of the draws choose a guess of "
        "the side, the others certify how much it tells.",
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument("subject", metavar="module:factory", help="an importable function, or estimator; see below")
    audit.add_argument(
        "--draws", type=int, help="outputs drawn a side (default 20,000; of estimators 2,000, at large epsilon more)"
    )
    audit.add_argument("--epsilon", type=float, help="the claim, instead of the subject's own")
    audit.add_argument("--delta", type=float, help="the claim's delta, instead of the subject's own")
    audit.add_argument("--confidence", type=float, default=0.95, help="of the bound (default 0.95)")
    audit.add_argument("--seed", type=int, help="of the auditor's generator (default: the operating system)")
    audit.add_argument(
        "--gaussian", action="store_true", help="assume a Gaussian trade-off: for additive Gaussian noise"
    )
    audit.add_argument("--raw", action="store_true", help="look at the outputs bit by bit, not rounded")
    audit.add_argument("--json", action="store_true", help="print the result for machines")
    of = audit.add_argument_group("estimators")
    of.add_argument("--relation", choices=get_args(Neighbours), help="what the claim protects")
    of.add_argument("--box", nargs=2, type=float, metavar=("LOW", "HIGH"), help="bounds of every feature")
    of.add_argument("--norm", type=float, metavar="R", help="largest Euclidean length of a row, instead of a box")
    of.add_argument("--classes", nargs="+", type=_value, metavar="LABEL", help="labels that y may have")
    of.add_argument("--targets", nargs=2, type=float, metavar=("LOW", "HIGH"), help="bounds of y, instead of classes")
    of.add_argument("--features", type=int, metavar="P", help="columns of X (default 2)")
    of.add_argument("--sizes", nargs="+", type=int, metavar="N", help="how many records the differing one is among")
    of.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the estimator")
    of.add_argument("--ignore", action="append", default=[], metavar="NAME", help="an attribute that is not released")
    of.add_argument("--search", type=int, metavar="DRAWS", help="drawn a side to find the pair (default: as --draws)")
    of.add_argument("--aborts", choices=get_args(search.Aborts), default="outcome", help="what an exception in fit is")
    audit.set_defaults(run=_audit)


def _audit(given: argparse.Namespace) -> int:
    if given.seed is not None:
        number("--seed", given.seed, 0, 2**64, ends="[)", remedy="leave it out to draw from the operating system")
    rng, pair = np.random.default_rng(given.seed), ""
    subject = _subject(given.subject)
    if isinstance(subject, Subject):
        if unused := [name for name in _OF_ESTIMATORS if getattr(given, name)]:
            raise Wrong(f"--{unused[0]} is for estimators: {given.subject} makes a Subject, which has its own pair")
    else:
        # The search has a stream of its own: none of its draws certifies.
        subject, pair = _searched(subject, given, rng.spawn(1)[0])
    epsilon = subject.epsilon if given.epsilon is None else given.epsilon
    delta = subject.delta if given.delta is None else given.delta
    if epsilon is not None:
        Budget(epsilon, delta)
    found = sampling.lower_bound(
        subject.mechanism,
        subject.data,
        subject.neighbour,
        draws=20_000 if given.draws is None else given.draws,
        delta=delta,
        confidence=given.confidence,
        rng=rng,
        model="gaussian" if given.gaussian else "none",
        raw=given.raw,
        events=subject.events,
    )
    report = Report(subject.words or given.subject, found, epsilon, pair)
    print(report.json() if given.json else report.text())
    return REFUTED if report.refuted else HOLDS


def _searched(estimator: type, given: argparse.Namespace, rng: np.random.Generator) -> tuple[Subject, str]:
    """Return the estimator with the pair that tells most, and that pair in words."""
    for name, what in (("epsilon", "what it claims"), ("relation", "whom it protects")):
        if getattr(given, name) is None:
            raise Wrong(f"{given.subject} is an estimator, which does not say {what}: give --{name}")
    delta = given.delta or 0.0
    Budget(given.epsilon, delta)
    if given.draws is None:
        # Fewer could not refute a large epsilon.
        given.draws = max(2_000, testing.draws_needed(given.epsilon, delta, 1 - given.confidence))
    wrong = [text for text in given.set if "=" not in text]
    if wrong:
        raise Wrong(f"--set {wrong[0]}: give NAME=VALUE")
    chosen = {name: _value(text) for name, _, text in (text.partition("=") for text in given.set)}
    declared = {name: getattr(given, name) for name in ("box", "norm", "classes", "targets", "features", "sizes")}
    within = estimators.records(
        estimator, {n: tuple(v) if isinstance(v, list) else v for n, v in declared.items()}, chosen
    )
    claim = {"relation": given.relation, "epsilon": given.epsilon, "delta": delta}
    mechanism = estimators.mechanism(estimator, within, **claim, chosen=chosen, ignored=tuple(given.ignore))
    draws = given.draws if given.search is None else given.search
    pair = search.pair(mechanism, within, given.relation, delta=delta, draws=draws, aborts=given.aborts, rng=rng)
    return Subject(mechanism, pair.data, pair.neighbour, given.epsilon, delta), f"{given.relation}: {pair.words}"


def _value(text: str) -> Any:
    """Return what a word on the command line says in Python, or else the word."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _subject(name: str) -> Subject | type:
    """Return what `module:factory` makes, or the estimator that it names; the current folder can be imported from."""
    module_name, colon, factory_name = name.partition(":")
    if not (module_name and colon and factory_name):
        raise Wrong(f"{name!r} is not of the form module:factory, such as attack:factory")
    folder = os.getcwd()  # noqa: PTH109 - what Python itself puts first for `python -m`
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        where = "is not importable from here" if error.name == module_name.split(".")[0] else f"needs {error.name!r}"
        raise Wrong(f"module {module_name!r} {where}; start in its folder, or install what is missing") from error
    if not callable(getattr(module, factory_name, None)):
        raise Wrong(f"module {module_name!r} has no function {factory_name!r}")
    if estimators.is_estimator(getattr(module, factory_name)):
        return getattr(module, factory_name)
    subject = getattr(module, factory_name)()
    if not isinstance(subject, Subject):
        raise Wrong(f"{name} returned a {type(subject).__name__}; it must return a dperm.audit.Subject")
    return subject
