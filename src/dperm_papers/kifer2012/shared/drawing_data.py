"""What kifer2012's figures and tables on real data share: means with bands, levels without privacy, and words."""

import math

from dperm_pipeline.figures.looks import number
from dperm_pipeline.figures.spec import Level, Line, Panel

DOTS = (0, (1, 1))
LINE = Line(statistic="points", bars=0.8, cut=True, more={"mew": 0.9, "zorder": 3})


def private(rows):
    """Return the rows of fits with privacy."""
    return rows[rows["mechanism"] != "nonprivate"]


def epsilons(rows):
    """Return the budgets that were run."""
    return sorted(private(rows)["epsilon"].unique())


def level(colour, **where):
    """Return the mean of the fits without privacy, a dotted level."""
    where = {"mechanism": "nonprivate", **where}
    return Level(lambda rows: rows["mean"].iloc[0], "", colour, DOTS, where, {"lw": 0.9, "zorder": 1.5})


def panel(lines, dataset, metric, **more):
    """Return a panel over epsilon; the panels of a data set and a metric share their y-axis."""
    return Panel(
        lines, "epsilon", where={"dataset": dataset, "metric": metric}, epsilons=True, exactly=True, sharex=True,
        same_y=f"{metric} on {dataset}", empty="no converged fit", title_look={}, **more,
    )  # fmt: skip


def sample(rows):
    """Say what was run: repeats and data sets."""
    fits = private(rows)
    if fits.empty:
        return "There are no rows of private fits."
    repeats = sorted({*(fits["ok"] + fits["failed"]).astype(int)} - {0})
    repeats = str(repeats[0]) if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    return (
        f"Lines: means over {repeats} repeats; bands: 95 % confidence intervals of the mean (Student's t). Data sets: "
        f"{', '.join(sorted(rows['dataset'].unique()))}."
    )


def budget(name):
    """Return, for a table, epsilon or delta in words: a dash for the fit without privacy."""
    return lambda part: "–" if math.isinf(part["epsilon"].iloc[0]) else number(part[name].iloc[0])


def count(*statuses):
    """Return, for a table, the largest number of repeats of a metric whose status is one of these."""
    return lambda part: int(part["status"].isin(statuses).groupby(part["metric"]).sum().max())
