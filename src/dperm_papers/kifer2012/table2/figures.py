"""Figures and tables of kifer2012-table2: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.looks import number
from dperm_pipeline.figures.spec import DOTTED, Column, Figure, Level, Line, Panel, Table, select, told
from dperm_pipeline.target import Catalogue, Target

# Selection -> look, what Table 2 says of n, and that law in words.
_LOOKS = {
    "exp_mech": Line("Exp-mech", "#0072B2", "o", where={"support": "exp_mech"}),
    "samp_agg": Line("Samp-Agg", "#D55E00", "s", where={"support": "samp_agg"}),
    "lasso": Line("lasso, not private", "#009E73", "^", where={"support": "lasso"}),
}
_LAWS = {
    "exp_mech": (lambda p, s: s**3 * math.log(p), "s³ log p"),
    "samp_agg": (lambda p, s: s**2 * math.log(p) ** 2, "s² log² p"),
    "lasso": (lambda p, s: s * math.log(p), "s log p"),
}
_GREY = "#777777"
# Samp-Agg with Algorithm 6, line 4 as printed.
_PRINTED = _LOOKS["samp_agg"].but(label="Samp-Agg, line 4 as printed", line=(0, (3, 1.5)), hollow=True)
_ARMS = (
    (-0.12, _LOOKS["exp_mech"], {"divisor": "part"}),
    (0.0, _LOOKS["samp_agg"], {"divisor": "part"}),
    (0.12, _PRINTED, {"divisor": "row"}),
)
_COMPARED = ("near-copies", "small-signal")
_ENOUGH = 0.9


def _needed(rows):
    """Return n90 by selection, p and s, with what Table 2 says of it."""
    from dperm_papers.kifer2012.table2.drawing_needed import needed

    found = needed(rows)
    laws = [_LAWS[line.support][0](line.p, line.s) for line in found.itertuples()]
    return found.assign(law=laws)


def _with_needed(rows):
    from pandas import concat

    return concat([rows, _needed(rows)], ignore_index=True)


def _ticks(low, high):
    """Return at least two plain numbers in a range."""
    for digits in ((1,), (1, 3), (1, 2, 5), range(1, 10)):
        ticks = [digit * 10.0**k for k in range(-2, 9) for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 2:
            break
    return ticks


def _over(low, high):
    return {"xlim": (low, high), "xticks": _ticks(low, high)}


def _groups(rows, *columns):
    """Give the look of each selection with the values of columns that occur, in their order."""
    for support, *values in sorted(set(rows[["support", *columns]].itertuples(index=False, name=None))):
        look = _LOOKS[support]
        yield look.but(label="", where={**look.where, **dict(zip(columns, values, strict=True))}), values


def _recovery(rows):
    rows = rows[rows["metric"] == "right"]
    return Panel(
        [line.but(statistic="mean", more={"ms": 2.5, "lw": 0.9}) for line, _ in _groups(rows, "p", "s")],
        "n", "", "P(right support)", {"metric": "right"}, [Level(_ENOUGH, "", _GREY, more={"lw": 0.8})],
        ylim=(-0.03, 1.03), **_over(rows["n"].min() / 1.2, rows["n"].max() * 1.2),
    )  # fmt: skip


def _law(rows, support):
    """Return a panel of n90 over what Table 2 says of it; s stands at each line's end, for a legend is too long."""
    look, words = _LOOKS[support], _LAWS[support][1]
    where = {"metric": "needed", "support": support, "place": "inside"}
    here = select(rows, where)
    panel = Panel((), "law", "n90", f"{look.label}: n90 against its law", where, xlabel=words, empty="outside the grid")
    if here.empty:
        return panel
    first = here.loc[here["law"].idxmin()]
    ends = [here["law"].min() / 1.3, here["law"].max() * 1.3]
    stated = [first["mean"] * end / first["law"] for end in ends]
    return panel.but(
        lines=[
            Line(colour=_GREY, line=DOTTED, x=lambda rows: ends, y=lambda rows: stated, more={"lw": 1.2}),
            look.but(label="", line="none", statistic="points", bars=0.8, more={"ms": 4, "lw": 0.8, "zorder": 2.1}),
            *(
                Line(colour=look.colour, where={"s": s}, y="mean", more={"lw": 0.6},
                     end={"text": f"s = {s}", "xytext": (5, -9), "ha": "center"})
                for s in sorted(here["s"].unique())
            ),
        ],
        # The end of an interval that leaves the grid is not drawn.
        prepare=lambda rows: rows.assign(low=rows["low"].fillna(rows["mean"]), high=rows["high"].fillna(rows["mean"])),
        span=lambda rows: [*rows["mean"] / 1.3, *rows["mean"] * 1.2, *stated],
        exactly=True, **_over(*ends),
    )  # fmt: skip


def _work(rows):
    rows = rows[rows["metric"] == "needed"]
    return Panel(
        # Neighbours may end close to each other: smaller s is written lower.
        [line.but(more={"ms": 4}, end={"text": f"s = {s}", "xytext": (5, 4 * (s - 4))})
         for line, (s,) in _groups(rows, "s")],
        "p", "", "work at n90: subsets, updates", {"metric": "needed"}, y="work", xticks="all",
        xlim=(rows["p"].min() / 1.4, rows["p"].max() * 2.1),
        span=lambda rows: (rows["work"].min() / 2, rows["work"].max() * 1.5), exactly=True,
    )  # fmt: skip


def _largest(rows):
    """Return the risks along n at each selection's largest p."""
    rows = rows[(rows["row"] == "consistency") & (rows["metric"] == "excess_risk")]
    return rows[rows["p"] == rows.groupby("support")["p"].transform("max")]


def _name_risks(axis, rows):
    """Write what tells the lines of a selection apart at their ends; of two that are close the higher one higher."""
    ends = []
    for line, (s, divisor, magnitude) in _risk_groups(rows):
        part = select(rows, line.where)
        part = part[part["ratio"] == part["ratio"].max()]
        words = f"|θ*| = {number(magnitude)}" if divisor == "row" else f"s = {s}"
        ends.append((part["ratio"].iloc[0], part["value"].mean(), words, line.colour))
    last = {}
    for x, y, words, colour in sorted(ends):
        close = x in last and math.log10(y / last[x]) < 0.6
        axis.annotate(words, (x, y), xytext=(4, 1 if close else -4), textcoords="offset points", size=6, color=colour)
        last[x] = y


def _risk_groups(rows):
    for line, (s, divisor, magnitude) in _groups(rows, "s", "divisor", "magnitude"):
        # Mended and inside F is like mended at its corner.
        if divisor != "part" or magnitude == 1:
            yield (_PRINTED.but(label="", where=line.where) if divisor == "row" else line), (s, divisor, magnitude)


def _risk(rows):
    rows = _largest(rows)
    return Panel(
        [line.but(statistic="mean", more={"ms": 2.5, "lw": 0.9}) for line, _ in _risk_groups(rows)],
        "ratio", "excess risk", "risk over n / law", {"row": "consistency", "metric": "excess_risk"},
        prepare=_largest, also=_name_risks,
        xlabel="n / law of Table 2 (lasso: s log p)", **_over(rows["ratio"].min() / 1.3, rows["ratio"].max() * 6),
    )  # fmt: skip


def _compared_span(rows):
    means = rows.groupby(["row", "support", "divisor"])["value"].mean()
    return means.min() / 1.5, means.max() * 1.5


_RISKS_COMPARED = Panel(
    [
        look.but(label="", where={**look.where, **where, "row": row}, x=lambda rows, x=place + shift: [x] * len(rows),
                 statistic="mean", bars=True, more={"ms": 4.5, "zorder": 2.1})
        for place, row in enumerate(_COMPARED)
        for shift, look, where in _ARMS
    ],
    "n", "excess risk", "risk where assumptions differ", {"row": _COMPARED, "metric": "excess_risk"}, xlabel="",
    xscale="linear", xticks={place: row.replace("-", " ") for place, row in enumerate(_COMPARED)},
    xlim=(-0.5, len(_COMPARED) - 0.5), span=_compared_span, exactly=True,
)  # fmt: skip


def _has_risks(rows):
    return (rows["row"] == "consistency").any()


def _panels(rows):
    yield [_recovery(rows), _law(rows, "exp_mech"), _law(rows, "samp_agg")]
    if _has_risks(rows):
        yield [_work(rows), _risk(rows), _RISKS_COMPARED]


def _legend(rows):
    law = Line("law of Table 2 (through the first)", _GREY, line=DOTTED, key={"lw": 1.0})
    exp_mech, samp_agg, lasso = _LOOKS.values()
    return [exp_mech, samp_agg, lasso, law, _PRINTED] if _has_risks(rows) else [exp_mech, samp_agg, law]


def _notes(rows):
    yield (
        "Random signs, least |θ*| 1, noise sd {#noise.first:metric=right}; {epsilon.first:metric=right}, "
        f"{{delta.first:metric=right}}, half of ε for each stage; printed constants; {int(rows['repeat'].max()) + 1} "
        "data sets at a point. P(right support) given the data is exact. n90: least n at which its mean is 0.9 (logit "
        "interpolated in log n)."
    )
    outside = rows[(rows["metric"] == "needed") & (rows["place"] != "inside")]
    if len(outside):
        found = [
            f"{_LOOKS[line.support].label} p = {line.p}, s = {line.s}: {line.place} {number(line.end)}"
            for line in outside.itertuples()
        ]
        yield f"n90 outside the sizes run: {'; '.join(found)}."
    if _has_risks(rows):
        most = _largest(rows).groupby("support")["p"].first()
        words = ", ".join(f"{p} ({_LOOKS[support].label.split(',')[0]})" for support, p in most.items())
        yield (
            "Risk: excess over the best s-sparse θ (lasso: on new records). Over n: at the largest p that was run, "
            f"{words}. Algorithm 6, line 4 as printed divides records by their whole norm (erratum K14), else by that "
            "of their s largest entries. Intervals: 95 %."
        )


table2 = Figure(
    _panels,
    height=lambda rows: 5.0 if _has_risks(rows) else 3.1,
    columns=4,
    prepare=_with_needed,
    legend=_legend,
    notes=_notes,
)


def _n90(row):
    if row["place"] == "inside":
        return f"{row['mean']:.4g} [{row['low']:.4g}, {row['high']:.4g}]"
    return f"{row['place']} {row['end']:g}"


def _share(row):
    share = row["mean"] / row["law"]
    return "–" if math.isnan(share) else f"{share:.3g} × {_LAWS[row['support']][1]}"


table2_table = Table(
    [
        Column("selection", told(lambda row: _LOOKS[row["support"]].label)),
        Column("p"),
        Column("s"),
        Column("n90", "mean", ""),
        Column("low", heading=""),
        Column("high", heading=""),
        Column("law", told(lambda row: _LAWS[row["support"]][1]), ""),
        Column("n90 / law", told(lambda row: row["mean"] / row["law"]), ""),
        Column("work", heading=""),
        Column("", told(_n90), "n90"),
        Column("", told(_share), "n90 / law"),
        Column("", told(lambda row: f"{row['work']:.3g} {'subsets' if row['support'] == 'exp_mech' else 'updates'}"),
               "work"),
    ],
    prepare=_needed,
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "kifer2012-table2": Target(
        "Table 2: records that support selection needs",
        "How many records Exp-mech and Samp-Agg need to find the right support with probability 0.9, against the laws "
        "of Table 2; the work that they do; the risk of the two-stage estimators, and of the non-private lasso, along "
        "n in units of those laws; and two designs on which one selection beats the other.",
        "Six panels on logarithmic axes: the probability of the right support over n; the n at which it is 0.9 beside "
        "dotted lines for the laws; work over p; risk over n, falling but for Samp-Agg as printed, which levels off; "
        "risk on two designs.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-table2": Target(
        "Table 2: records that support selection needs",
        "n90, the least n at which the right support has probability 0.9, with its 95 % bootstrap interval over data "
        "sets; the same in units of Table 2's law; and the work of a selection there.",
    ),
}
