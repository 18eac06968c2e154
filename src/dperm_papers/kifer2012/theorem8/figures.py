"""Figures and tables of kifer2012-theorem8: specifications, and what they show in words."""

import itertools
import math

from dperm_pipeline.figures.looks import LONG_DASHED, number
from dperm_pipeline.figures.spec import Column, Figure, Line, Panel, Table, told
from dperm_pipeline.target import Catalogue, Target

# One for each p; in the panels of runs markers are shifted a little, so that none hides another.
_LOOKS = (("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^"), ("#CC79A7", "D"))
_SHIFTS = (1.0, 1.04, 0.96, 1.08)
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
        yield line.but(where=where, marker="", line=LONG_DASHED, y=y, more={"lw": 1.0})


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
    features = _features(rows)
    runs = rows[(rows["row"] == "run") & (rows["metric"] == "recovery")]
    exact = Panel((), "k", where=_AGREED, xticks=6, xlim=1.2)
    right = exact.but(
        lines=[*_pairs(features, "recovery", "recovery_bound", lambda stated: stated > 0, "value")], ylim=(-0.03, 1.03)
    )
    wrong = exact.but(
        lines=[*_pairs(features, "log_failure", "log_failure_bound", lambda stated: stated < 0, _exponential)],
        span=lambda rows: (_LEAST, 1.0), exactly=True,
    )  # fmt: skip
    sizes = sorted(rows.loc[rows["row"] == "theorem-8", "s"].unique())

    def words(kind, s):
        return f"P({kind} support)" if s == sizes[0] else ""

    yield [
        right.but(where={**_AGREED, "s": s}, ylabel=words("right", s), title=f"s = {s}, all k blocks right")
        for s in sizes
    ]
    yield [wrong.but(where={**_AGREED, "s": s}, ylabel=words("wrong", s), title="") for s in sizes]
    below = []
    for s in sizes:
        k = sorted(runs.loc[runs["s"] == s, "k"].unique())
        if k:
            below.append(
                Panel(
                    [*_runs(rows[rows["s"] == s], features)], "k", words("right", s),
                    f"s = {s}, random signs, k = √n", {"metric": "recovery", "s": s}, xlabel="k", ylim=(-0.03, 1.03),
                    xticks=k[:: -(-len(k) // 6)], xlim=(k[0] / 1.2, k[-1] * 1.2),
                )
            )  # fmt: skip
    if below:
        yield below


def _exponential(rows):
    return rows["value"].map(math.exp)


def _legend(rows):
    run = [Line("run, given the data exact", "#000000", "o", "none", hollow=True)] if _repeats(rows) else []
    bounds = [
        Line("exact, all blocks right", "#000000"),
        Line("bound of Theorem 8", "#000000", line=LONG_DASHED, key={"lw": 1.0}),
    ]
    return [*_features(rows), *bounds, *run]


def _repeats(rows):
    return rows.loc[rows["row"] == "run", "repeat"].nunique()


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
        "Samp-Agg, {epsilon.first}, Laplace noise of scale 2s/(kε). Where p exp(−εk/(4s)) ≥ 1 "
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


def _stated(row):
    """Return the k from which on the bound of Theorem 8 is above 0."""
    return 4 * row["s"] / row["epsilon"] * math.log(row["p"])


theorem8_table = Table(
    [
        Column("p"),
        Column("s"),
        Column("k, exact", _enough),
        Column("k, Theorem 8", told(lambda row: _stated(row) * (1 - math.log(1 - _ENOUGH) / math.log(row["p"])))),
        Column("bound above 0 from k", told(_stated)),
    ],
    by=("p", "s"),
    where={**_AGREED, "metric": "log_failure"},
    prepare=lambda rows: rows.sort_values("k"),
    words=lambda value: "–" if math.isnan(value) else f"{value:.0f}",
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem8": Target(
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
        "Theorem 8: blocks that are enough",
        "Number of blocks k at which Samp-Agg returns the right support with probability 0.9 if every block finds it: "
        "by the exact law and by Theorem 8's bound, and the k from which on that bound is above 0.",
    ),
}
