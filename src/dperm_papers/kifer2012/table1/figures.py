"""Figures and tables of kifer2012-table1: specifications, and what they show in words."""

import math
from statistics import linear_regression

from dperm_pipeline.figures.looks import LONG_DASHED, number
from dperm_pipeline.figures.spec import DOTTED, Column, Figure, Line, Panel, Table, power, told
from dperm_pipeline.target import Catalogue, Target

# Row of the table -> title, and the exponents of p and of n that the paper states.
ROWS = {
    "theorem-4.1": ("Theorem 4.1, gamma noise", 3.0, -1.0),
    "theorem-4.2": ("Theorem 4.2, Gaussian noise", 2.5, -1.0),
    "theorem-5": ("Theorem 5, Gaussian noise", 2.0, -1.0),
}
# A marker for the calibration "paper" and for "tight"; drawn records lie on the line of the Hadamard design, so their
# markers let that show through.
_DESIGNS = {
    "extremal": ("#0072B2", "-", ("o", "o")),
    "hadamard": ("#D55E00", (0, (4, 1.6)), ("s", "s")),
    "rademacher": ("#000000", (0, (1, 2.5)), ("x", "+")),
}
_LINES = [
    Line(
        f"{design}, {calibration}", colour, markers[calibration == "tight"], dashes,
        {"metric": "excess_risk", "dataset": design, "calibration": calibration}, hollow=calibration == "tight",
        statistic="mean", more={"ms": 4, "zorder": 4 if design == "rademacher" else 3}, key={"ms": 4},
    )
    for calibration in ("paper", "tight")
    for design, (colour, dashes, markers) in _DESIGNS.items()
]  # fmt: skip
# The row of Assumption 1, which the Hadamard design meets and the extremal one does not. Its theorem is decided over p
# at n = 100 p^2, where p^2/n is constant. The other rows are attained by the extremal design, and decided at one n.
_NICE, _TIED = "theorem-5", "100 p^2"
# The bound that is drawn: half of all repeats may lie above it.
_GAMMA = 0.5
# The stated slope starts this far above the measured line, which would cover it.
_ABOVE = 4.0
_STATED = Line("slope in Table 1 (shifted up)", "#777777", line=DOTTED, statistic="mean", fits=False, key={"lw": 1.0})
_BOUND = Line(
    f"bound, γ = {_GAMMA}", "#777777", line=LONG_DASHED, statistic="first", more={"lw": 1.0, "zorder": 2},
    key={"lw": 1.0},
)  # fmt: skip


def _sizes(rows):
    """Return the least n that was run at every p, and the largest p."""
    return rows.loc[rows["sizing"] == "fixed", "n"].min(), rows.loc[rows["metric"] == "excess_risk", "p"].max()


def _panel(row, over, exponent, where, xlabel, **more):
    """Return a panel; slope and bound are those of the design that decides the row."""
    decides = {"dataset": "hadamard" if row == _NICE else "extremal", "calibration": "paper"}
    stated = _STATED.but(
        where={**decides, "metric": "excess_risk"}, via=power(exponent, _ABOVE), more={"lw": 1.2, "zorder": 2}
    )
    bound = _BOUND.but(where={**decides, "metric": "bound", "gamma": _GAMMA})
    return Panel([*_LINES, stated, bound], over, where={"row": row, **where}, xticks="all", xlabel=xlabel, **more)


def _panels(rows):
    n, p = _sizes(rows)
    over_p, over_n = [], []
    for row, (title, in_p, in_n) in ROWS.items():
        fixed, where, at = {"sizing": "fixed"}, {"sizing": "fixed", "n": n}, f"n = {number(n)}"
        if row == _NICE:
            nice = {"dataset": lambda design: design != "extremal"}
            fixed, where, at = fixed | nice, {"sizing": _TIED} | nice, "n = 100 p²"
            # Where the exponent of p^2/n is 2, that at n = 100 p^2 is 0.
            in_p += 2 * in_n
        ylabel = "" if over_p else "excess risk"
        over_p.append(_panel(row, "p", in_p, where, f"p, at {at}", title=title, ylabel=ylabel))
        over_n.append(_panel(row, "n", in_n, {**fixed, "p": p}, f"n, at p = {number(p)}", ylabel=ylabel))
    return [over_p, over_n]


def _legend(rows):
    return [*(line for line in _LINES if line.where["dataset"] in set(rows["dataset"])), _STATED, _BOUND]


table1 = Figure(
    _panels,
    height=5.3,
    columns=lambda rows: rows["dataset"].nunique(),
    legend=_legend,
    notes=[
        "Excess empirical risk of private linear regression (squared loss on the ball of radius √p); means over "
        "{repeat.count:metric=excess_risk} repeats. {epsilon.first}; Gaussian noise: {delta.max}. The extremal design "
        "attains Theorem 4: slope and bound of the first two columns are drawn for it; the Hadamard design is benign, "
        "and falls below. It meets Assumption 1, which the extremal one does not: slope and bound (of Theorem 31) of "
        "the third column are drawn for it, over p at n = 100 p², where Theorem 5's p²/n is constant. Over n that "
        "design falls faster than stated: slack of an upper bound. Rademacher: records that are really drawn, at "
        "{n.min:sizing=fixed}."
    ],
)


def _at_the_shared_sizes(rows):
    """Mark the rows at the n that every p has, and at a group's largest p."""
    fixed, n = rows["sizing"] == "fixed", _sizes(rows)[0]
    rows = rows.assign(at_n=fixed & (rows["n"] == n), at_tied_n=rows["sizing"] == _TIED)
    return rows.assign(
        at_p=fixed & (rows["p"] == rows.groupby(["row", "dataset", "calibration"])["p"].transform("max"))
    )


def _slope(over, marked):
    """Return the slope of the log of the mean risk over the log of a column, among the rows that are marked."""

    def slope(part):
        means = part[part[marked]].groupby(over)["value"].mean()
        if len(means) < 2:
            return math.nan
        return linear_regression([*map(math.log, means.index)], [*map(math.log, means)]).slope

    return slope


table1_table = Table(
    [
        Column("row", told(lambda row: ROWS[row["row"]][0])),
        Column("design", "dataset"),
        Column("calibration"),
        Column("stated slope in p", told(lambda row: ROWS[row["row"]][1])),
        Column("slope in p", _slope("p", "at_n")),
        Column("slope in p at n = 100 p^2", _slope("p", "at_tied_n")),
        Column("stated slope in n", told(lambda row: ROWS[row["row"]][2])),
        Column("slope in n", _slope("n", "at_p")),
    ],
    by=("row", "dataset", "calibration"),
    where={"metric": "excess_risk"},
    prepare=_at_the_shared_sizes,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-table1": Target(
        "Table 1: excess risk over p and n",
        "Excess empirical risk of private linear regression over the number of features p and of records n, for the "
        "three rows of Table 1, on the design that attains Theorem 4, on a benign one and on records that are really "
        "drawn. Dotted: the slopes that the table states. Dashed: the bounds of Theorems 26 and 31.",
        "Line plots on logarithmic axes, one column for each row of Table 1: above over p, below over n; one line for "
        "each design and calibration, the stated slope and the bound.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-table1": Target(
        "Table 1: slopes",
        "Slopes of the mean excess risk on logarithmic axes, beside those that Table 1 states.",
    ),
}
