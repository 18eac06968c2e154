"""The command `dperm plan`: what to expect before any record is looked at."""

import argparse
import dataclasses
import json
import math
from typing import Any, get_args

from dperm.domain import Neighbours
from dperm.planning import plans

COMMAND = "plan"
_FLOATS = {
    "x_norm": "public bound on the rows' length (default 1)",
    "usual_norm": "how long most rows are (default: the bound)",
    "majority": "share of wrong labels of the most frequent label, a public guess (default 1 - 1/classes)",
    "plain": "the same without privacy, a public guess (default: what is usual)",
}


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    plan = commands.add_parser(
        "plan",
        help="which method, what error to expect, how many records it takes",
        description="What to expect of every linear classifier with nothing set, from public numbers: no record is "
        "looked at, and nothing is spent.",
    )
    plan.add_argument("n", type=float, metavar="records", help="how many there are")
    plan.add_argument("p", type=float, metavar="features", help="how many there are, a constant included")
    plan.add_argument("--epsilon", type=float, nargs="+", required=True, help="one budget, or several: a plan for each")
    plan.add_argument("--delta", type=float, default=0.0, help="default 0")
    plan.add_argument("--neighbours", choices=get_args(Neighbours), default="add_remove", help="whom it protects")
    plan.add_argument("--classes", type=int, default=2, help="how many labels there are (default 2)")
    for name, words in _FLOATS.items():
        plan.add_argument(f"--{name.replace('_', '-')}", type=float, help=words)
    plan.add_argument(
        "--wanted", type=float, metavar="EXCESS", help="an excess error, such as 0.02: the records for it"
    )
    plan.add_argument("--json", action="store_true", help="print the plans for machines")
    plan.set_defaults(run=_plan)


def _plan(given: argparse.Namespace) -> int:
    bounds = {name: getattr(given, name) for name in _FLOATS if getattr(given, name) is not None}
    task = "binary" if given.classes == 2 else "multiclass"
    fixed = {"bounds": bounds | {"classes": given.classes}, "task": task, "neighbours": given.neighbours}
    made = [plans.plan(given.n, given.p, one, given.delta, **fixed, wanted=given.wanted) for one in given.epsilon]
    print(json.dumps([_for_machines(one) for one in made]) if given.json else "\n\n".join(map(str, made)))
    return 0


def _for_machines(made: plans.Plan) -> dict[str, Any]:
    """Return a plan as JSON has it: of what nobody has, null."""
    found = dataclasses.asdict(made)
    for method in found["methods"]:
        method["needed"] = method["needed"] if math.isfinite(method["needed"]) else None
    return found
