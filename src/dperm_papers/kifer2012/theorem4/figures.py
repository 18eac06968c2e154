"""Figures and tables of kifer2012-theorem4: specifications, and what they show in words."""

import math
from statistics import linear_regression

from dperm_pipeline.figures.looks import DOTTED, LONG_DASHED, number
from dperm_pipeline.figures.spec import Column, Figure, Level, Line, Panel, Table, crossed, encoded, power, select
from dperm_pipeline.target import Catalogue, Target

_GREY = "#777777"
_NOISES = encoded("variant", {"gamma": ("gamma noise", "#D55E00"), "gaussian": ("Gaussian noise", "#0072B2")})
_GAMMA, _GAUSSIAN = (line.colour for line in _NOISES)
# Dashes are left to what is stated.
_DESIGNS = (
    Line("extremal", marker="o", where={"dataset": "extremal"}),
    Line("Hadamard", marker="s", where={"dataset": "hadamard"}, hollow=True),
)
# Bounds on the noise's length, with the least gamma; and D.1.2 again, with a gamma at which it fails (erratum K12): it
# should leave a tenth of B below.
_LENGTHS = (
    Line("Lemma 27", _GAMMA, "", (0, (8, 1.6, 1, 1.6)), {"row": "lemma-27"}),
    Line("D.1.2", _GAUSSIAN, "", (0, (8, 1.6, 1, 1.6)), {"row": "d12-printed"}),
    Line("D.1.2, mended", _GAUSSIAN, "", (0, (8, 1.6, 1, 1.6, 1, 1.6)), {"row": "d12-mended"}),
)
_FAILING = Line("D.1.2", _GAUSSIAN, "", (0, (3, 3)), {"row": "d12-printed", "gamma": 0.9})
# What is stated starts this far above the ratios, and above mean risks, whose lines cross.
_APART, _STATED = 2.2, 6.0


def _growth(exponent, logarithm):
    """Return, for `via`, the growth in p that Theorem 4 states; gamma noise: times log p."""

    def law(means):
        p = means.index.to_series()
        growth = p**exponent * p.map(math.log) if logarithm else p**exponent
        return _STATED * means.iloc[0] * growth / growth.iloc[0]

    return law


def _most_shared(rows, fixed, over):
    """Return the values of a column at which most values of another were run."""
    counts = rows.groupby(fixed)[over].nunique()
    return counts.index[counts == counts.max()]


def _risks(over, title, where):
    measured = [line.but(where={**line.where, "metric": "excess_risk"}) for line in crossed(_NOISES, _DESIGNS)]
    extremal = {"dataset": "extremal", "metric": "excess_risk"}
    stated = [
        line.but(where={**line.where, **extremal}, line=DOTTED, via=_growth(*law), more={"lw": 1.2, "zorder": 2})
        for line, law in zip(_NOISES, ((3.0, True), (2.5, False)), strict=True)
    ]
    if over == "n":
        bound = {"dataset": "extremal", "metric": "bound"}
        stated = [
            line.but(where={**line.where, **bound}, line=LONG_DASHED, more={"lw": 1.0, "zorder": 2}) for line in _NOISES
        ]
    where = {"row": "theorem-4", "sizing": "fixed", **where}
    return Panel([*measured, *stated], over, "", title, where, xticks="all", more={"zorder": 3})


def _with_quantiles(rows):
    """Put the quantiles of the noise's length beside its median, as mean, low and high."""
    lengths = rows[rows["metric"] == "noise_length"]
    wide = lengths.pivot_table(index=["variant", "p"], columns="quantile", values="value")
    median = wide.columns[1]
    wide.columns = ["low", "mean", "high"]
    rows = rows[(rows["metric"] == "length_bound") | (rows["quantile"] == median)]
    return rows.merge(wide.reset_index(), on=["variant", "p"], how="left")


def _least_gamma(rows):
    return float(rows.loc[rows["metric"] == "length_bound", "gamma"].min())


def _panels(rows):
    risks = rows[(rows["row"] == "theorem-4") & (rows["sizing"] == "fixed")]
    n, p = int(_most_shared(risks, "n", "p").min()), int(_most_shared(risks, "p", "n").max())
    lengths = [
        line.but(where={**line.where, "metric": "noise_length"}, statistic="points", band=0.25, more={"zorder": 3})
        for line in _NOISES
    ]
    bounds = [line.but(where={"gamma": _least_gamma(rows), **line.where}) for line in (*_LENGTHS, _FAILING)]
    bounds = [
        line.but(where={**line.where, "metric": "length_bound"}, more={"lw": 1.0, "zorder": 2}) for line in bounds
    ]
    return [
        [
            _risks("p", f"mean excess risk, n = {number(n)}", {"n": n}),
            _risks("n", f"mean excess risk, p = {p}", {"p": p}),
        ],
        [
            Panel(
                [*lengths, *bounds], "p", "", "length B of the noise, in units of ζ/ε", {"dataset": "no-data"},
                prepare=_with_quantiles, whole_bands=True,
                xticks=lambda rows: sorted(rows.loc[rows["metric"] == "noise_length", "p"].unique()),
            ),
            Panel(
                [Line(colour=_GAMMA, marker="s", statistic="first", more={"zorder": 3})], "gram_multiple", "",
                "noise of objective / output perturbation in θ", {"row": "distort", "metric": "noise_ratio"},
                [Level(1.0, "", _GREY, more={"lw": 0.8}, upright=upright) for upright in (False, True)],
                xlabel="c/Δ", xticks=(0.1, 1, 10, 100), xlim=1.3,
            ),
        ],
    ]  # fmt: skip


def _legend(rows):
    gamma = number(_least_gamma(rows))
    return [
        *(line.but(label=f"{noise.label}, {design.label}") for noise in _NOISES for design in _DESIGNS
          for line in crossed([noise], [design])),
        Line("Lemma 3 in the mean (over n)", _GREY, line=LONG_DASHED, key={"lw": 1.0}),
        Line("slope in Theorem 4 (over p)", _GREY, line=DOTTED, key={"lw": 1.2}),
        *(line.but(label=f"{line.label}, γ = {gamma}", key={"lw": 1.0}) for line in _LENGTHS),
        _FAILING.but(label=f"{_FAILING.label}, γ = {number(_FAILING.where['gamma'])}", key={"lw": 1.0}),
    ]  # fmt: skip


theorem4 = Figure(
    _panels,
    height=5.4,
    where={"calibration": "paper"},
    legend=_legend,
    notes=[
        "Private linear regression (squared loss on the ball of radius √p), exact means by quadrature, no repeats; "
        "{epsilon.first}; Gaussian noise: {delta.max}; constants as printed, Δ of Theorem 4. Extremal design: X'X = "
        "Δ I; Hadamard design: X'X = n I. Dotted (shifted up) and dashed lines of the upper panels are for the "
        "extremal design.",
        "B: medians, and bands from its 1 % to its 99 % quantile; a bound with γ should have at most a share γ of B "
        "above it. Last panel: gamma noise, equal ε and Δ, c the eigenvalue of X'X; the quotient is the same for every "
        "p.",
    ],
)


def _ratio(label, metric, row, colour, marker, calibration="paper", **where):
    where = {"metric": metric, "row": row, "calibration": calibration, **where}
    hollow = calibration == "tight" or row == "stage-two"
    return Line(label, colour, marker, where=where, hollow=hollow, more={"zorder": 3})


# Ratios of mean risks; the exponent of p that the paper states is 1/2, but of the last but one: 1.
_GAPS = (
    _ratio("gamma/Gaussian, extremal (Theorem 4)", "risk_ratio", "theorem-4", "#0072B2", "o", dataset="extremal"),
    _ratio("the same, tight calibration", "risk_ratio", "theorem-4", "#0072B2", "o", "tight", dataset="extremal"),
    _ratio("gamma/Gaussian, Hadamard (Theorem 5)", "risk_ratio", "theorem-5", "#D55E00", "s", dataset="hadamard"),
)
_GAINS = (
    _ratio("Gaussian, Theorem 4 / Theorem 5", "over_nice", "theorem-4", "#009E73", "^", variant="gaussian"),
    _ratio("gamma, Theorem 4 / Gaussian, Theorem 5", "over_nice", "theorem-4", "#CC79A7", "v", variant="gamma"),
    _ratio("as ▲ with p = s and ε/2 (Section 3.1)", "over_nice", "stage-two", "#E69F00", "D", variant="gaussian"),
)


def run_ratios(rows):
    """Give p, the ratio of mean risks of runs, and its 95 % interval by the delta method for logarithms."""
    runs = rows[rows["metric"] == "run_risk"]
    for (_, p), group in runs.groupby(["calibration", "p"], sort=True):
        sides = [group.loc[group["variant"] == noise, "value"] for noise in ("gamma", "gaussian")]
        error = math.sqrt(sum(side.var() / len(side) / side.mean() ** 2 for side in sides))
        ratio = sides[0].mean() / sides[1].mean()
        # 1.96: the quantile of the normal law; there are at least twenty repeats.
        yield float(p), ratio, ratio * math.exp(-1.96 * error), ratio * math.exp(1.96 * error)


def _draw_runs(axis, rows):
    """Draw ratios of runs: their intervals are not those of a mean."""
    for p, ratio, low, high in run_ratios(rows):
        axis.errorbar([p], [ratio], [[ratio - low], [high - ratio]], color="#222222", marker="x", ms=5, lw=1, zorder=4)


def _ratios(lines, title, metrics, **more):
    stated = [
        lines[0].but(
            colour=_GREY, marker="", line=DOTTED, via=power(exponent, _APART), more={"lw": 1.2, "zorder": 2},
            end={"text": words, "xytext": (3, 0), "size": 7, "color": "#555555", "va": "center"},
        )
        for words, exponent in (("√p", 0.5), ("p", 1.0))
    ]  # fmt: skip
    return Panel(
        [*lines, *stated], "p", "", title, {"metric": metrics}, [Level(1.0, "", _GREY, more={"lw": 0.8})],
        xticks=lambda rows: sorted(rows["p"].unique()), also=_draw_runs, **more,
    )  # fmt: skip


def _notes(rows):
    crossings = rows[rows["metric"] == "crossover"].set_index("calibration")["value"]
    from_p = ", ".join(f"{int(value)} ({name})" for name, value in crossings.sort_index().items())
    return [
        "Ratios of mean excess risks, exact by quadrature, at n = 100 p²; crosses: ratios of means over "
        "{repeat.count:metric=run_risk} runs each, on the extremal design. {epsilon.first}; Gaussian noise: "
        "{delta.max}. Above 1 Gaussian noise, or nice data, is better. On the extremal design Gaussian noise is better "
        f"from p = {from_p} on."
    ]


gap = Figure(
    [
        [
            _ratios(
                _GAPS, "risk with gamma noise / with Gaussian noise", ("risk_ratio", "run_risk"),
                span=lambda rows: [end for _, _, *ends in run_ratios(rows) for end in ends],
            ),
            _ratios(_GAINS, "risk on the extremal / on the Hadamard design", "over_nice", xlabel="p, or s"),
        ]
    ],
    height=3.9,
    columns=2,
    legend=[
        *(line for pair in zip(_GAPS, _GAINS, strict=True) for line in pair),
        Line("√p and p", _GREY, line=DOTTED, key={"lw": 1.2}),
        Line("runs of Algorithm 1, with 95 % intervals", "#222222", "x", "none"),
    ],
    notes=_notes,
)  # fmt: skip


def _named_ratios(rows):
    """Return the rows of the ratios' lines, with the name and the number of each."""
    from pandas import concat

    rows = concat(
        select(rows, line.where).sort_values("p").assign(ratio=line.label.replace("▲", "above"), order=k)
        for k, line in enumerate((*_GAPS, *_GAINS))
    )
    return rows[rows.groupby("order")["p"].transform("size") > 1]


def _logarithms(part):
    return [*map(math.log, part["p"])], [*map(math.log, part["value"])]


def _local_slopes(part):
    x, y = _logarithms(part)
    return [(y[k + 1] - y[k]) / (x[k + 1] - x[k]) for k in range(len(x) - 1)]


gap_table = Table(
    [
        Column("ratio"),
        Column("stated slope in p", lambda part: 1.0 if part["ratio"].iloc[0].startswith("gamma, Theorem 4") else 0.5),
        Column("slope in p", lambda part: linear_regression(*_logarithms(part)).slope),
        Column("least local slope", lambda part: min(_local_slopes(part))),
        Column("largest local slope", lambda part: max(_local_slopes(part))),
        Column("least p", lambda part: int(part["p"].min())),
        Column("largest p", lambda part: int(part["p"].max())),
        Column("ratio at the largest p", lambda part: part["value"].iloc[-1]),
    ],
    by=("order",),
    prepare=_named_ratios,
    words=lambda value: value if isinstance(value, str) else f"{value:.3g}" if value < 1e3 else str(value),
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem4": Target(
        "Theorem 4: risk, bounds and the length of the noise",
        "Mean excess risk of private linear regression with gamma and with Gaussian noise over the number of features "
        "p and of records n, on the design that attains Theorem 4 and on a benign one; quantiles of the noise's length "
        "over p with the paper's bounds on it; and the length of objective perturbation's noise over that of output "
        "perturbation. All numbers are exact.",
        "Four panels on logarithmic axes: risk over p and over n, a line for each noise and design, with bounds and "
        "stated slopes; medians and bands of the noise's length over p, longer for gamma noise; a falling curve that "
        "crosses 1 where the eigenvalue of the Gram matrix equals Delta.",
        metrics=("excess_risk", "bound", "noise_ratio", "noise_length", "length_bound"),
    ),
    "kifer2012-gap": Target(
        "The gap between gamma and Gaussian noise over p",
        "Ratios of mean excess risks over the number of features p: gamma noise to Gaussian noise, on the design that "
        "attains Theorem 4 and on a benign one, and the former design to the latter. Dotted: the growth that the paper "
        "states. Lines are exact; crosses are runs of Algorithm 1 with 95 % confidence intervals.",
        "Two panels on logarithmic axes: ratios that grow with p, beside dotted lines for the square root of p and "
        "for p.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-gap": Target(
        "The gap between gamma and Gaussian noise: slopes",
        "Slopes of the ratios on logarithmic axes beside those that the paper states; exact, so the range of local "
        "slopes stands in the place of an interval.",
    ),
}
