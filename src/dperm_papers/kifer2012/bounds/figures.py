"""Figures and tables of kifer2012-bounds: specifications, and what they show in words."""

from dperm_pipeline.figures.spec import Column, Table
from dperm_pipeline.target import Catalogue, Target


def _checked(rows):
    # A plan and a report read this module too, and need no plot library.
    from dperm_papers.kifer2012.bounds.drawing import checked

    return checked(rows)


bounds_table = Table(
    [
        Column("place"),
        Column("bounded"),
        Column("reading", "form"),
        Column("gamma"),
        Column("instances"),
        Column("violations"),
        Column("highest rate", "rate"),
        Column("largest measured/bound", "ratio"),
        Column("largest difference", "difference"),
    ],
    prepare=_checked,
)

# Millions of rows: with every column they would fill the memory that a job declares.
_READ = ("variant", "p", "n", "row", "form", "problem", "ridge_multiple", "variance", "gamma")

FIGURES: Catalogue[str, Target] = {
    "kifer2012-bounds": Target(
        "Bounds checked over repeats",
        "How near what was measured comes to each bound of the paper, over private fits and random designs; and how "
        "often the bounds that may fail with probability gamma did, at the least favourable point of each. Grey: "
        "where measured and bound are equal, and where a bound fails as often as it may.",
        "Left: for each bound a range of measured over bound on a logarithmic axis for each design, nearly all left "
        "of the line at 1. Right: violation rates at each gamma with confidence intervals, beside a bar at gamma, "
        "which only Theorem 30 as printed passes.",
        module="drawing",
        columns=_READ,
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-bounds": Target(
        "Bounds checked over repeats",
        "For each bound how often it was checked and violated, the highest violation rate at one point, and the "
        "largest ratio of what was measured to it; of equations the largest difference.",
        columns=_READ,
    ),
}
