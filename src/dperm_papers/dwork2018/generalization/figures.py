"""Figures and tables of dwork2018-generalization: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import MEDIUM_DASHED, equals, number
from dperm_pipeline.figures.spec import DOTTED, Figure, Line, Panel
from dperm_pipeline.target import Catalogue, Target

# Mechanism -> name, marker; colours tell k.
_MECHANISMS = {"member": ("membership mechanism (worst)", "D"), "exppw": ("ExpPW", "o")}
_COLOURS = {1: "#0072B2", 2: "#009E73", 3: "#D55E00"}
_GREY, _BLACK = "#666666", "#333333"


def _fine(rows):
    import numpy as np

    return np.geomspace(rows["epsilon"].min(), rows["epsilon"].max(), 100)


def _straight(slope):
    return lambda rows: slope * _fine(rows)


def _moments(k, colour):
    """Return the straight lines of what is printed and of a private model, and what was measured."""
    yield Line("", colour, x=_fine, y=_straight(k**2), line=MEDIUM_DASHED, more={"lw": 1.0})
    yield Line("", colour, x=_fine, y=_straight(k), more={"lw": 0.8})
    for mechanism, (_, marker) in _MECHANISMS.items():
        yield Line("", colour, marker, "none", {"k": k, "mechanism": mechanism}, statistic="max")


def _moment_span(rows):
    return rows.groupby(["mechanism", "k", "epsilon"])["value"].max().min(), 9 * rows["epsilon"].max()


def _sampled(rows):
    """Return the rows of ExpPW's tail at the largest epsilon at which samples were drawn, of most records."""
    rows = rows[(rows["series"] == "tail") & (rows["mechanism"] == "exppw") & (rows["metric"] == "ratio")]
    rows = rows[rows["epsilon"] == rows["epsilon"].max()]
    return rows[rows["n"] == rows["n"].max()]


def _quantiles(rows):
    """Keep one epsilon; add, for each beta, quantiles of the samples with their 95 % interval by order statistics."""
    import numpy as np
    import pandas as pd

    sampled = _sampled(rows)
    rows = rows[rows["epsilon"] == sampled["epsilon"].iloc[0]]
    betas = np.array(sorted(rows.loc[rows["metric"] == "factor", "gamma"].unique()))
    values, n = np.sort(sampled["value"].to_numpy()), len(sampled)
    spread = 1.96 * np.sqrt(n * betas * (1 - betas))
    ranks = n * (1 - betas) + spread * np.array([[0], [-1], [1]])
    value, low, high = values[np.round(np.clip(ranks, 0, n - 1)).astype(int)]
    quantiles = pd.DataFrame({"metric": "quantile", "gamma": betas, "mean": value, "low": low, "high": high})
    level = rows.loc[(rows["mechanism"] == "member") & (rows["metric"] == "ratio"), "value"].iloc[0]
    member = pd.DataFrame({"metric": "member", "gamma": betas, "value": level})
    return pd.concat([rows[rows["metric"] == "factor"], quantiles, member], ignore_index=True)


_TAIL = (
    Line("", _BLACK, "", MEDIUM_DASHED, {"metric": "factor", "variant": "printed"}, more={"lw": 1.0}),
    Line("", _BLACK, "", DOTTED, {"metric": "factor", "variant": "mended"}, more={"lw": 1.0}),
    Line("", _GREY, "D", where={"metric": "member"}, more={"lw": 0.8}),
    Line("", _GREY, "o", where={"metric": "quantile"}, statistic="points", band=0.3, more={"lw": 0.8}),
)


def _notes(rows):
    sampled = _sampled(rows)
    return [
        "Left: exact; ExpPW with all labels enumerated, the largest ratio over three laws, two T and n from "
        "{#n.min:metric=log_ratio,mechanism=exppw} to {#n.max:metric=log_ratio,mechanism=exppw}. Right: "
        f"{number(sampled['repeat'].nunique())} samples of {equals('n', sampled['n'].max())}, threshold without "
        "noise; α the largest empirical loss; band: 95 % interval. The membership mechanism is above the printed bound "
        "where β > exp(−ε/4) (D14)."
    ]


generalization = Figure(
    [
        [
            Panel(
                [line for k, colour in _COLOURS.items() for line in _moments(k, colour)], "epsilon",
                "logarithm of the ratio", "k-th moment on a fresh sample over that on S", {"metric": "log_ratio"},
                epsilons=True, xticks=lambda rows: sorted(rows["epsilon"].unique()), span=_moment_span, exactly=True,
            ),
            Panel(
                _TAIL, "gamma", "loss on a fresh sample over α", "loss exceeded with probability β, {epsilon.max}",
                {"series": "tail"}, prepare=_quantiles, xscale="logit", xlabel="β",
                xticks=(0.001, 0.01, 0.1, 0.5, 0.9, 0.99), span=lambda rows: (rows["low"].min(), rows["value"].max()),
                exactly=True,
            ),
        ]
    ],
    height=3.75,
    legend=[
        *(Line(f"k = {k}", colour, key={"lw": 3}) for k, colour in _COLOURS.items()),
        *(Line(name, _GREY, marker, key={"ls": ""}) for name, marker in _MECHANISMS.values()),
        Line("exp(kε): DP of the model", _GREY, key={"lw": 0.8}),
        Line("as printed: exp(k²ε); Lemma 6.5", _BLACK, line=MEDIUM_DASHED),
        Line("Lemma 6.5, integer k (D13)", _BLACK, line=DOTTED),
    ],
    notes=_notes,
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-generalization": Target(
        "Section 6: generalization from private prediction",
        "How much larger the k-th moment of the loss is on a fresh sample than on the data, over epsilon, beside Lemma "
        "6.4 and what a private model allows; and the loss on a fresh sample that is exceeded with probability beta, "
        "beside Lemma 6.5 as printed and with integer k. Band: 95 % confidence interval.",
        "Two panels on logarithmic axes: on the left all markers lie on or below the lower of the lines of their "
        "colour, on the right the printed bound falls below the membership mechanism as beta comes near 1.",
        metrics=("log_ratio", "ratio", "factor"),
    ),
}
