"""Figures and tables of kifer2012-theorem8: specifications, and what they show in words."""

import itertools
import math

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import Column, Figure, Line, Panel, Table
from dperm_pipeline.target import Target

# One for each p; in the panels of runs markers are shifted a little, so that none hides another.
_LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))
_SHIFTS = (1.0, 1.04, 0.96, 1.08)
_DASHED = (0, (6, 2))
_AGREED, _RUN = {"row": "theorem-8"}, {"row": "run"}
# Failure probabilities below this are not drawn.
_LEAST = 1e-12
_ENOUGH = 0.9


def _features(rows):
    """Return a line, with a look and words, for each p."""
    features = sorted(rows.loc[rows["row"].isin(["theorem-8", "run"]), "p"].unique())
    return [
        Line(f"p = {number(p)}", *_LOOKS[k % len(_LOOKS)], where={"p": p}, more={"ms": 3})
        for k, p in enumerate(features)
    ]


def _pairs(features, measured, bound, says, y):
    """Return for each p the exact line, and the dashed one of the bound where it says anything."""
    for line in features:
        yield line.but(where={**line.where, "metric": measured}, y=y)
        where = {**line.where, "metric": bound, "value": says}
        yield line.but(where=where, marker="", line=_DASHED, y=y, more={"lw": 1.0})


def _shifted(shift):
    return lambda rows: rows["k"] * shift


def _runs(rows, features):
    """Return for each p the exact line if all blocks agreed, and what runs gave."""
    run = sorted(rows.loc[rows["row"] == "run", "p"].unique())
    shifts = dict(zip(run, _SHIFTS, strict=False))
    for line in features:
        if line.where["p"] in shifts:
            yield line.but(where={**line.where, "row": "unanimous"}, marker="", more={"lw": 1.0})
            yield line.but(
                where={**line.where, **_RUN}, line="none", hollow=True, x=_shifted(shifts[line.where["p"]]),
                statistic="mean", bars=0.9, via=lambda share: share.clip(0, 1),
                more={"ms": 4, "lw": 0.9, "zorder": 2.1},
            )  # fmt: skip


def _panels(rows):
    features, runs = _features(rows), rows[rows["row"] == "run"]
    share = {"ylim": (-0.03, 1.03), "xticks": 6, "xlim": 1.2}
    right, wrong, below = [], [], []
    for s in sorted(rows.loc[rows["row"] == "theorem-8", "s"].unique()):
        first = not right
        right.append(
            Panel(
                [*_pairs(features, "recovery", "recovery_bound", lambda stated: stated > 0, "value")], "k",
                "P(right support)" if first else "", f"s = {s}, all k blocks right", {**_AGREED, "s": s}, **share,
            )
        )  # fmt: skip
        wrong.append(
            Panel(
                [*_pairs(features, "log_failure", "log_failure_bound", lambda stated: stated < 0, _exponential)], "k",
                "P(wrong support)" if first else "", "", {**_AGREED, "s": s}, xticks=6, xlim=1.2,
                span=lambda rows: (_LEAST, 1.0), exactly=True,
            )
        )  # fmt: skip
        k = sorted(runs.loc[(runs["s"] == s) & (runs["metric"] == "recovery"), "k"].unique())
        if k:
            below.append(
                Panel(
                    [*_runs(rows[rows["s"] == s], features)], "k", "P(right support)" if first else "",
                    f"s = {s}, random signs, k = √n", {"metric": "recovery", "s": s}, xlabel="k", ylim=(-0.03, 1.03),
                    xticks=k[:: -(-len(k) // 6)], xlim=(k[0] / 1.2, k[-1] * 1.2),
                )
            )  # fmt: skip
    return [panels for panels in (right, wrong, below) if panels]


def _exponential(rows):
    return rows["value"].map(math.exp)


def _legend(rows):
    run = [Line("run, given the data exact", "#000000", "o", "none", hollow=True)] if _repeats(rows) else []
    bounds = [
        Line("exact, all blocks right", "#000000"),
        Line("bound of Theorem 8", "#000000", line=_DASHED, key={"lw": 1.0}),
    ]
    return [*_features(rows), *bounds, *run]


def _repeats(rows):
    runs = rows.loc[rows["row"] == "run", "repeat"]
    return int(runs.max()) + 1 if len(runs) else 0


def _notes(rows):
    """Say, of the largest s and k that are vacuous at the middle p, what the bound and the truth are."""
    agreed = rows[rows["row"] == "theorem-8"]
    features, size = sorted(agreed["p"].unique()), agreed["s"].max()
    p = features[len(features) // 2]
    here = agreed[(agreed["p"] == p) & (agreed["s"] == size)]
    here = here.pivot_table(index="k", columns="metric", values="value")
    empty, so = here[here["recovery_bound"] <= 0], ""
    if len(empty):
        bound, exact = (number(float(f"{empty[name].iloc[-1]:.2g}")) for name in ("recovery_bound", "recovery"))
        where = f"p = {number(p)}, s = {size}, k = {empty.index[-1]}"
        so = f"So at {where}: bound {bound.replace('-', chr(0x2212))}, exact {exact}."
    yield (
        f"Samp-Agg, {equals('ε', rows['epsilon'].iloc[0])}, Laplace noise of scale 2s/(kε). Where p exp(−εk/(4s)) ≥ 1 "
        f"the bound says nothing: it is drawn from where it does. {so}"
    )
    if _repeats(rows):
        yield f"Runs: means over {_repeats(rows)} data sets, 95 % intervals."


theorem8 = Figure(
    _panels,
    height=lambda rows: 7.0 if _repeats(rows) else 5.0,
    columns=4,
    legend=_legend,
    notes=_notes,
)


def _enough(part):
    """Return the k at which P(wrong) is 0.1, its logarithm interpolated in k; NaN where it is outside the grid."""
    logs, blocks, wanted = [*part["value"]], [*part["k"]], math.log(1 - _ENOUGH)
    for (k, above), (following, below) in itertools.pairwise(zip(blocks, logs, strict=True)):
        if below <= wanted <= above:
            return k + (following - k) * (above - wanted) / (above - below)
    return math.nan


def _unit(part):
    return 4 * part["s"].iloc[0] / part["epsilon"].iloc[0]


theorem8_table = Table(
    [
        Column("p"),
        Column("s"),
        Column("k, exact", _enough),
        Column("k, Theorem 8", lambda part: _unit(part) * (math.log(part["p"].iloc[0]) - math.log(1 - _ENOUGH))),
        Column("bound above 0 from k", lambda part: _unit(part) * math.log(part["p"].iloc[0])),
    ],
    by=("p", "s"),
    where={**_AGREED, "metric": "log_failure"},
    prepare=lambda rows: rows.sort_values("k"),
    words=lambda value: "–" if math.isnan(value) else f"{value:.0f}",
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem8": Target(
        "theorem8",
        ("p", "s", "n", "k", "row"),
        "Theorem 8: support selection by sample and aggregate",
        "Samp-Agg's probability of the right support over the number of blocks k: exactly, and by the bound of "
        "Theorem 8, where all blocks find the right support; and in runs on random signs with k = sqrt(n) blocks.",
        "Line plots over k, a column for each s: probabilities of the right and of the wrong support with a line for "
        "each p, the bound of Theorem 8 dashed and well below the exact recovery; below, runs as markers. The "
        "numbers of blocks that are enough stand in the table kifer2012-theorem8.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-theorem8": Target(
        "theorem8_table",
        ("p", "s", "k", "row"),
        "Theorem 8: blocks that are enough",
        "Number of blocks k at which Samp-Agg returns the right support with probability 0.9 if every block finds it: "
        "by the exact law and by Theorem 8's bound, and the k from which on that bound is above 0.",
    ),
}
