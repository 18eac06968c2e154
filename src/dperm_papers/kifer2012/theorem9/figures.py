"""Figures and tables of kifer2012-theorem9: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import LONG_DASHED, number
from dperm_pipeline.figures.spec import DOTTED, Figure, Level, Line, Panel, means, power
from dperm_pipeline.target import Catalogue, Target

# First stage -> its risks. Where the right support is given and where it is found the lines coincide: the former's
# markers lie open on top.
_STAGES = (
    Line("Exp-mech", "#0072B2", "o", where={"support": "exp_mech", "metric": "excess_risk"}),
    Line("Samp-Agg", "#D55E00", "s", where={"support": "samp_agg", "metric": "excess_risk"}),
    Line("right support given", "#009E73", "^", where={"support": "right", "metric": "risk_right"}),
)
# What is run in one stage -> its risk; of the earlier techniques with the better of two ridges at each point.
_SINGLE = (
    Line("one stage", "#CC79A7", "D", where={"row": "single-stage"}),
    Line("objective, δ = 0", "#56B4E9", "v", where={"row": "earlier", "mechanism": "objective"}),
    Line("output, δ = 0", "#E69F00", "X", where={"row": "earlier", "mechanism": "output"}),
)
# p of a single stage -> its line.
_WIDTHS = {"4n": "-", "n^2": DOTTED}
_BOUNDS = (
    Line("Theorem 35", "#0072B2", "", LONG_DASHED, {"support": "exp_mech", "sizing": "printed", "metric": "bound"}),
    Line("Theorem 44", "#D55E00", "", LONG_DASHED, {"support": "samp_agg", "sizing": "printed", "metric": "bound"}),
    Line("Theorem 44, mended", "#D55E00", "", DOTTED, {"support": "samp_agg", "sizing": "mended", "metric": "bound"}),
)
_GREY = "#777777"
# What counts as failing: L(theta) this share of L(0), or more.
FAILS = 0.9
# The exponent of s in what noise adds; drawn at twice the first point.
_NOISE_LAWS = {1: "Theorem 7: s", 4: "its substitution: s⁴"}


def _risks(rows, over, title):
    """Return a panel of means with their intervals and of the bounds at the least gamma, over n or p."""
    measured = [
        line.but(statistic="mean", bars=0.8, positive=True, more={"ms": 4}, hollow=line is _STAGES[-1],
                 line="none" if line is _STAGES[-1] else "-")
        for line in _STAGES
    ]  # fmt: skip
    # A bound at a single point is a dash.
    several = rows[rows["metric"] == "bound"].groupby(["support", "sizing"])[over].nunique() > 1
    bounds = [
        line.but(statistic="first", more={"lw": 1.0, "ms": 8},
                 marker="" if several.get((line.where["support"], line.where["sizing"])) else "_")
        for line in _BOUNDS
    ]  # fmt: skip
    values = sorted(rows.loc[rows["metric"].isin(["excess_risk", "risk_right"]), over].unique())
    return Panel(
        [*measured, *bounds], over, "L(θ) − L(θ*)", title, xticks={value: f"{value:g}" for value in values},
        xlim=(values[0] / 1.3, values[-1] * 1.3), whole_bands="above", prepare=lambda rows: rows.sort_values("gamma"),
    )  # fmt: skip


def _name_laws(axis, rows):
    """Write the laws beside their lines, where a legend would say less."""
    s = sorted(rows["s"].unique())
    at = s[max(len(s) - 2, 0)]
    for exponent, words in _NOISE_LAWS.items():
        law = 2 * rows.loc[rows["s"] == s[0], "value"].iloc[0] * (at / s[0]) ** exponent
        axis.annotate(words, (at, law), xytext=(-4, 5), textcoords="offset points", size=6.5, ha="right", color=_GREY)


def _noise_span(rows):
    first = rows.groupby("s")["value"].first()
    return first.min(), (2 if len(first) > 1 else 4) * first.max()


def _best_ridge(rows):
    """Return the means of each technique, with the ridge that has the least."""
    keys = ["row", "mechanism", "sizing", "n"]
    found = means(*keys, "variant")(rows)
    return found.sort_values("mean").groupby(keys, as_index=False).first()


_NOISE = Panel(
    [
        Line(colour="#009E73", marker="^", statistic="first", more={"ms": 4, "zorder": 3}),
        *(
            Line(colour=_GREY, line=DOTTED, statistic="first", via=power(exponent, 2.0), more={"lw": 1.0})
            for exponent in _NOISE_LAWS
        ),
    ],
    "s", "risk added", "what b adds on the right support", {"dataset": "hadamard", "metric": "noise_risk"},
    xticks="all", span=_noise_span, exactly=True, also=_name_laws,
)  # fmt: skip
_ONE_STAGE = Panel(
    [
        line.but(where={**line.where, "sizing": width}, line=style, statistic="points", bars=0.8, more={"ms": 4})
        for line in _SINGLE
        for width, style in _WIDTHS.items()
    ],
    "n", "", "one stage: L(θ) / L(0); solid p = 4n, dotted p = n²", {"metric": "risk_ratio"},
    [Level(1.0, "", _GREY, more={"lw": 0.8}), Level(FAILS, "", _GREY, DOTTED, more={"lw": 1.0})],
    prepare=_best_ridge, xticks="all", xlim=1.5, ylim=lambda rows: (0, 1.1 * rows[["mean", "high"]].max().max()),
)  # fmt: skip


def _of_hadamard(rows):
    """Return the rows of the two stages, their least p, largest n and s."""
    rows = rows[rows["dataset"] == "hadamard"]
    return rows, int(rows["p"].min()), int(rows["n"].max()), int(rows.loc[rows["row"] == "both-stages", "s"].iloc[0])


def _has_single(rows):
    return (rows["metric"] == "risk_ratio").any()


def _panels(rows):
    here, p, n, s = _of_hadamard(rows)
    over_n = _risks(here[here["p"] == p], "n", f"risk and bounds, p = {p}, s = {s}")
    over_p = _risks(here[here["n"] == n], "p", f"risk and bounds, n = {n}, s = {s}")
    return [
        [over_n.but(where={"dataset": "hadamard", "p": p}), over_p.but(where={"dataset": "hadamard", "n": n})],
        [_NOISE, _ONE_STAGE if _has_single(rows) else None],
    ]


def _notes(rows):
    here, *_ = _of_hadamard(rows)
    gamma = here.loc[(here["metric"] == "bound") & (here["support"] == "exp_mech"), "gamma"].min()
    yield (
        "Hadamard design, θ* = (½, −½, 0, …), noise of sd 0.05 in y, declared σ = 0.1; "
        "{epsilon.first:dataset=hadamard}, {delta.first:dataset=hadamard}, half of ε for each stage; printed "
        f"constants; {int(here['repeat'].max()) + 1} repeats. Risk: L(θ) − L(θ*). Bounds at γ = "
        f"{number(gamma)}, Samp-Agg's with p exp(−ε√n/8s) more, where that is below 1. Samp-Agg is drawn where Lemma "
        "41 has enough records. Noise term: exact."
    )
    if _has_single(rows):
        yield (
            "One stage: the lasso over an l1 ball on all p features, random signs, "
            "{repeat.count:metric=risk_ratio} data sets; by Algorithm 1, and at δ = 0 by objective and output "
            "perturbation, with the better of two ridges. θ = 0 has 1; from "
            f"{FAILS} on (dotted) it counts as failing."
        )


theorem9 = Figure(
    _panels,
    height=5.0,
    columns=4,
    legend=lambda rows: [
        *_STAGES,
        *(_SINGLE if _has_single(rows) else []),
        *(line.but(key={"lw": 1.0}) for line in _BOUNDS),
    ],
    notes=_notes,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem9": Target(
        "Theorem 9: two-stage risk and its bounds",
        "Excess risk of two-stage sparse regression over n and over p, beside the bounds of Theorems 35 and 44; what "
        "noise adds to it over the sparsity s, beside what Theorem 7 prints and what its own substitution gives; and "
        "the lasso in a single stage, by Algorithm 1 and by the techniques before it, where p = 4n and p = n^2.",
        "Four panels on logarithmic axes: risk over n falling under its bounds; risk over p, flat, under its bounds; "
        "the noise term over s beside lines of slope 1 and 4; the risk of single stages over that of theta = 0, about "
        "1 or above at every n.",
    ),
}
