"""Figures and tables of li2021-augmentation: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.looks import DOTTED, LONG_DASHED, equals
from dperm_pipeline.figures.spec import Column, Facet, Figure, Level, Line, Panel, Table, crossed, encoded, power, told
from dperm_pipeline.target import Catalogue, Target

_SHORT = (0, (3, 1.5))
_BLUE, _ORANGE, _GREEN, _PURPLE, _GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"


# Figure 1: regularizers and their moduli over theta.
def _solid(label, colour, line, width, zorder=3):
    return Line(label, colour, "", line, more={"lw": width, "zorder": zorder}, key={"lw": width})


_CURVES = encoded(
    "form",
    {
        "dp-erm": _solid("existing DP-ERM", _ORANGE, LONG_DASHED, 1.4),
        "napp": _solid("NAPP-ERM", _BLUE, "-", 1.8),
        "reached-dp-erm": _solid("reached by DP-ERM's weights", _PURPLE, _SHORT, 1.2),
        "reached": _solid("reached by NAPP-ERM's weights", _GREEN, "-", 1.2),
        "target": _solid("target ΛR", "#000000", DOTTED, 1.6, 4),
    },
)
_DRAWN = Line("NAPP-ERM, rows drawn", "#000000", "x", "none", {"form": "augmented"},
              more={"ms": 3.2, "mew": 0.7, "zorder": 5}, key={"ms": 4})  # fmt: skip
# At theta = 0 there is a corner, or a pole.
_SIDES = (Line(where={"at": lambda at: at < 0}), Line(where={"at": lambda at: at > 0}))
_NEEDED = Level(2.0, "2Λ₀, the modulus that is needed", _GREY, more={"lw": 0.8, "zorder": 1})
_NAMES = {"lasso": "lasso", "elastic_net": "elastic net", "bridge": "l₀.₅", "ridge": "ridge"}
_PANEL = Panel((*crossed(_CURVES, _SIDES), _DRAWN), x="at", xlabel="θ", xscale="linear", sharex=True)


def _regularizers(targets, moduli, **more):
    """Return a column for each target; above its regularizer, below its modulus on an axis of `moduli`."""
    across = Facet("target", targets, _NAMES.get)
    above = _PANEL.but(where={"metric": "regularizer"}, across=across, ylabel="regularizer", ylim=(0, 12),
                       yticks=(0, 3, 6, 9, 12))  # fmt: skip
    below = _PANEL.but(
        where={"metric": "modulus"}, across=across, ylabel="modulus, curvature", levels=[_NEEDED], **moduli
    )
    return Figure([[above], [below]], height=4.9, grid={"sharex": True}, **more)


def _kappa(rows):
    """Return kappa, of Lambda (|theta| + kappa theta^2) at the largest theta."""
    net = rows[(rows["target"] == "elastic_net") & (rows["form"] == "target") & (rows["metric"] == "regularizer")]
    last = net.sort_values("at").iloc[-1]
    return round(float((last["value"] / last["strength"] - last["at"]) / last["at"] ** 2), 9)


fig1 = _regularizers(
    ("lasso", "elastic_net", "bridge"),
    {"ylim": (-3, 14), "yticks": (0, 4, 8, 12)},
    where={"row": "figure-1", "calibration": "paper"},
    legend=[*_CURVES[:2], _DRAWN, *_CURVES[2:], _NEEDED],
    notes=lambda rows: [
        f"{equals('Λ = Λ₀', rows['strength'].iloc[0])}; elastic net with {equals('κ', _kappa(rows))}. NAPP-ERM and "
        "existing DP-ERM: the quadratic of an iteration that starts at θ, as Figure 1 draws it (maximum and sum of "
        "target and floor), and nₑl″V. Crosses: logistic regression on "
        f"{int(rows.loc[rows['form'] == 'augmented', 'rows_added'].max()):,} drawn rows. Reached: the penalty and "
        "the curvature P″ where the iteration stands, a lasso of 2Λ (errata N4, N6): with MOOR its curvature is 0 on "
        "(0, Λ/Λ₀) for the lasso, and negative for l₀.₅."
    ],
)
fig1_corrected = _regularizers(
    ("lasso", "elastic_net", "ridge"),
    {"ylim": (-0.5, 7), "yticks": (0, 2, 4, 6)},
    where={"row": "figure-1", "calibration": "corrected"},
    legend=[
        _CURVES[1].but(label="corrected NAPP-ERM"),
        _CURVES[0].but(label="Eq 2: ΛR + Λ₀θ²"),
        _CURVES[4],
        _NEEDED,
    ],
    columns=4,
    notes=lambda rows: [
        "The penalty that is minimised, and its curvature, for what the proof covers: a lasso without MOOR "
        "({strength.first:target=lasso}), which is Eq 2; with MOOR an elastic net with Λκ ≥ Λ₀ "
        f"({{strength.first:target=elastic_net}}, {equals('κ', _kappa(rows))}) and ridge "
        "({strength.first:target=ridge}), where the target alone has the modulus that is needed and nothing is added. "
        "Λ₀ = 1; weights halved where they are adaptive, so that the target is ΛR (erratum N6). There is no valid form "
        "for l₀.₅, which is not convex."
    ],
)


# The literal algorithm over its rows: designs of Table 4, name and look.
_MODELS = {
    "linear-500": ("linear", _BLUE, "o"),
    "logistic-500": ("logistic", _ORANGE, "s"),
    "poisson-500": ("Poisson", _GREEN, "^"),
}
_FORMS = encoded(
    "form",
    {
        "limit": Line("θ′ the limit nₑ = ∞", marker="o"),
        "mean": Line("θ′ of the mean over the rows", marker="o", line=_SHORT, hollow=True),
    },
    statistic="mean",
)
_SLOPE = Line("slope −1/2 (Proposition 1)", _GREY, "", DOTTED, {"form": "limit"}, statistic="mean",
              via=power(-0.5, 1.25), more={"lw": 1.3, "zorder": 2}, key={"lw": 1.3})  # fmt: skip
_ONE_PERCENT = Level(0.01, "1 %", _GREY, where={"form": ("limit", "mean")}, more={"lw": 0.8})
_BARS = {"positive": 0.05, "bars": 0.8, "caps": 2, "more": {"zorder": 3.1}}
# n_e of the paper.
_PAPER = 10_000


def _span(rows):
    means = [0.01, *rows.groupby(["dataset", "form", "rows_added"])["value"].mean()]
    return 0.6 * min(means), 1.7 * max(means)


def _convergence_notes(rows):
    limits = rows[rows["form"] == "limit"]
    paper = limits[limits["rows_added"] == _PAPER].groupby("dataset")["value"].mean()
    at_paper = ", ".join(f"{_MODELS[name][0]} {100 * paper[name]:.2g} %" for name in _MODELS if name in paper)
    counts = limits.groupby(["rows_added", "dataset"]).size().groupby("rows_added").min()
    repeats = ", ".join(f"{count:,} at nₑ = {int(size):,}" for size, count in counts.items())
    setting = f"{{epsilon.first}}, {{delta.first}}, {{strength.first}}; repeats: {repeats}. " if len(rows) else ""
    yield (
        "NAPP-ERM with MOOR, lasso, T = 15, drawn row by row and refitted, e_y repaired (erratum N7); designs of Table "
        f"4 with n = 500. {setting}Bars: 95 % intervals. Filled: what is left at a finite nₑ. Open: "
        "what is left when the mean over the rows stands for the limit, that is what drawing adds; the difference is "
        f"systematic (erratum N8). Mean distance to the limit at nₑ = {_PAPER:,}, which the paper runs: "
        f"{at_paper or 'not run'}."
    )


convergence = Figure(
    [
        [
            Panel(
                (*crossed(encoded("dataset", _MODELS), [form.but(marker=None, **_BARS) for form in _FORMS]), _SLOPE),
                "rows_added",
                "relative distance ‖θ − θ′‖/‖θ′‖",
                levels=[_ONE_PERCENT],
                across=Facet("dataset", lambda _: list(_MODELS), lambda name: _MODELS[name][0]),
                xlabel="nₑ, rows appended",
                xticks="all",
                span=_span,
                exactly=True,
                sharey=True,
                empty="not run at this scale",
            )
        ]
    ],
    height=3.4,
    columns=4,
    where={"row": "convergence"},
    legend=[*_FORMS, _SLOPE, _ONE_PERCENT],
    notes=_convergence_notes,
)


# Tables 1 to 3: a line for each row that `prepare` makes, with metrics as columns.
_LOSS_NAMES = {"squared": "linear", "poisson": "Poisson", "logistic": "logistic"}
_TARGET_NAMES = {"ridge": "ridge", "bridge": "bridge l₀.₅", "lasso": "lasso", "elastic_net": "elastic net"}
_WEIGHTS = {"max": "maximum (Table 2)", "sum": "sum (Claim 2)"}
_LOSSES = {
    "L": "expected loss L",
    "J": "regularized empirical loss J",
    "Jp": "noise-augmented empirical loss J_p, iteration T",
    "Jp-expected": "its expectation over the data",
    "Jp-private": "NAPP empirical loss, iteration T",
}


def _number(value):
    if isinstance(value, str):
        return value
    # Below that is rounding.
    return "–" if math.isnan(value) else f"{value if abs(value) > 1e-12 else 0.0:.3g}"


def _named(column, names):
    """Return what a column's value is called."""
    return told(lambda row: names[row[column]])


def _place(column, names):
    """Return the place of a line by one of its columns, and after that by its form."""
    return told(lambda row: ([*names].index(row[column]), row["form"]))


def _responses(rows):
    wide = rows.pivot(index=["loss", "form"], columns="metric", values="value")
    sums = wide.xs("sum", level="form")["excess"]
    lines = wide.drop("sum", level="form").reset_index()
    mean = 0.5 * (lines["slope_first"] + lines["slope_second"])
    return lines.assign(sum=lines["loss"].map(sums), mean=mean)


table1_table = Table(
    [
        Column("model", _named("loss", _LOSS_NAMES)),
        Column("e_y", "form"),
        Column("first half", "response_first"),
        Column("second half", "response_second"),
        Column("l'(0), first half", "slope_first"),
        Column("l'(0), second half", "slope_second"),
        Column("l''(0)", "curvature"),
        Column("sum of regularization noise", "sum"),
        Column("error of the linear term", "excess"),
        Column("mean l'(0)", "mean", "Eq 3", lambda mean: "divides by 0" if mean == 0 else "b/(nₑ l′(0))"),
    ],
    where={"row": "table-1"},
    prepare=_responses,
    order=_place("loss", _LOSS_NAMES),
    words=_number,
)


def _penalties(rows):
    """Return a row for each target and rule of weights, with metrics at theta as columns: `reached 0.5`."""
    rows = rows.assign(name=rows["metric"] + rows["at"].map(" {:g}".format))
    wide = rows.pivot(index=["target", "form"], columns="name", values="value").reset_index()
    maximum = wide["form"] == "max"
    for at in ("0.5", "2"):
        wide[f"over {at}"] = wide[f"reached {at}"] / wide[f"stated {at}"].where(maximum, wide[f"eq2 {at}"])
    return wide


table2_table = Table(
    [
        Column("target", _named("target", _TARGET_NAMES)),
        Column("weights", _named("form", _WEIGHTS)),
        Column("w at t = 1", "first_weight 0"),
        *(
            Column(name.format(at), f"{metric} {at}")
            for at in ("0.5", "2")
            for name, metric in (
                ("w at |θ| = {}", "weight"),
                ("P reached at {}", "reached"),
                ("ΛR at {}", "stated"),
                ("ΛR + Λ₀θ² at {}", "eq2"),
                ("P over what is stated, at {}", "over"),
            )
        ),
    ],
    where={"row": "table-2"},
    prepare=_penalties,
    order=_place("target", _TARGET_NAMES),
    words=_number,
)


def _minima(rows):
    wide = rows.pivot(index="form", columns="metric", values="value")
    return wide.reindex(index=[*_LOSSES], columns=["minimum", "norm", "distance", "expected_loss"]).reset_index()


table3_table = Table(
    [
        Column("loss", _named("form", _LOSSES)),
        Column("minimum"),
        Column("norm of the minimiser", "norm"),
        Column("its distance to θ⁰", "distance"),
        Column("its expected loss L", "expected_loss"),
    ],
    where={"row": "table-3"},
    prepare=_minima,
    words=_number,
)


FIGURES: Catalogue[str, Target] = {
    "li2021-fig1": Target(
        "Figure 1: realised regularizer and modulus",
        "What noise augmentation realises for lasso, elastic net and l_0.5: the regularizer and its modulus of strong "
        "convexity in one iteration, by formula and from drawn rows, as in the paper; and the penalty that the "
        "iteration reaches, with its curvature.",
        "Two rows of three panels over theta: above regularizers that rise from 0 on either side, below their moduli, "
        "which are infinite at 0 in an iteration, and flat or below the needed level at the fixed point.",
    ),
    "li2021-fig1-corrected": Target(
        "Figure 1: regularizer and curvature, corrected",
        "The penalty that is minimised, and its curvature, where the guarantee is proved: the lasso without MOOR, an "
        "elastic net whose square has the modulus that is needed, and ridge.",
        "Two rows of three panels over theta: above penalties that lie on their targets but for the lasso, below "
        "curvatures at or above the needed level.",
    ),
    "li2021-fig2": Target(
        "Figure 2: dual-purpose regularization and budget retrieval",
        "Where the modulus of each coefficient comes from, for existing DP-ERM and for NAPP-ERM, and when budget is "
        "called retrievable: if the target alone gives every coefficient more than the modulus that is needed.",
        "Stacked bars of five coefficients in two cases, and the budget as a bar: in the first case the least modulus "
        "is the needed one and nothing is retrieved, in the second it is twice as large and half is retrieved.",
        module="drawing_schematic",
    ),
    "li2021-convergence": Target(
        "The literal algorithm and its limit",
        "Algorithm 1 to the letter, with n_e noise rows drawn, appended and refitted 15 times: the distance of its "
        "theta to the limit of infinitely many rows, over n_e, and to what the mean over the rows gives. Bars: 95 % "
        "intervals over repeats.",
        "A panel for each model on logarithmic axes: distances fall with n_e, those to the limit faster than the "
        "dotted slope of -1/2, those to the mean along it.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "li2021-table1": Target(
        "Table 1: noise augmentation",
        "The targets e_y of the augmented rows as printed and as repaired, the loss's derivatives at 0 that Equation 3 "
        "divides by, and what the rows sum to: the regularization noise, which should cancel, and the linear term, "
        "which should be that of b.",
    ),
    "li2021-table2": Target(
        "Table 2: weights, and the penalty they reach",
        "Weights of theta squared at Lambda = Lambda0 = 1, by maximum and by sum, the penalty that is reached, and the "
        "one that is stated: Lambda R by maximum, Equation 2's sum by sum.",
    ),
    "li2021-table3": Target(
        "Table 3: losses and their minimisers",
        "The losses of Table 3 on one data set of the linear design (n = 500, epsilon = 1), each at its minimiser.",
    ),
}
