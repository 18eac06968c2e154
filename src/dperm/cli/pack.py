"""The command `dperm pack`: a table and a method as a model file for `dperm serve`."""

import argparse
import inspect
from pathlib import Path
from typing import Any, get_args

from dperm.cli.wrong import Wrong
from dperm.domain import Neighbours

COMMAND = "pack"


def declare(commands: Any) -> None:
    """Add the command to a parser's.

    Parameters
    ----------
    commands : argparse's sub-parsers
    """
    pack = commands.add_parser(
        "pack",
        help="make a model file for dperm serve",
        description="Reads private records and writes a file that holds them: keep it as you keep them.",
    )
    pack.add_argument("data", type=Path, help="a CSV file with a line of names")
    pack.add_argument("--target", required=True, metavar="COLUMN", help="what is to be predicted")
    pack.add_argument("--schema", required=True, type=Path, help="YAML: what each column may hold, and the labels")
    pack.add_argument("--method", default="SoftMajority", help="an interactive classifier (default SoftMajority)")
    pack.add_argument("--epsilon", required=True, type=float, help="of all answers together")
    pack.add_argument("--delta", type=float, default=1e-6, help="default 1e-6")
    pack.add_argument("--queries", type=int, help="how many new rows are answered in all (default 1000)")
    pack.add_argument("--neighbours", choices=get_args(Neighbours), default="replace", help="whom it protects")
    pack.add_argument("--out", type=Path, default=Path("model.dperm"), help="default model.dperm")
    pack.set_defaults(run=_pack)


def _pack(given: argparse.Namespace) -> int:
    import dperm
    from dperm.comparing import table
    from dperm.comparing.tasks import Labels
    from dperm.serve import allowed, pack

    if given.method not in allowed.ESTIMATORS:
        raise Wrong(f"--method {given.method} is not served; take one of {', '.join(allowed.ESTIMATORS)}")
    kind = getattr(dperm, given.method)
    found = table.read(given.data, given.schema, given.target)
    if not isinstance(found.task, Labels):
        raise Wrong(f"{given.method} is served as a classifier: declare the labels of {given.target} by `levels`")
    asked = {"epsilon": given.epsilon, "delta": given.delta, "neighbours": given.neighbours, "queries": given.queries}
    fixed = {name: value for name, value in asked.items() if value is not None}
    if "queries" in fixed and "queries" not in inspect.signature(kind).parameters:
        raise Wrong(f"--queries {given.queries}: {given.method} answers any number of rows; leave it out")
    pack(kind(**fixed, clip=True, classes=found.task.classes), found.X, found.y, given.out, encoder=found.encoder)
    print(f"{given.out}: {given.method}, epsilon {given.epsilon:g}, delta {given.delta:g}; it holds the records")
    return 0
