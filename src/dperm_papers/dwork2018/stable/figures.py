"""Figures and tables of dwork2018-stable: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import DASHED, Facet, Figure, Level, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_PRINTED, _MENDED, _HALVED, _TIGHT = ("#D55E00", "s"), ("#E69F00", "D"), ("#0072B2", "o"), ("#CC79A7", "v")
_NOISE = {
    ("paper", ""): ("", *_PRINTED),
    ("corrected", ""): ("", *_MENDED),
    ("corrected", "halved"): ("", *_HALVED),
    ("tight", ""): ("", *_TIGHT),
}
# Whose bound, of which noise (its calibration and variant).
_BOUNDS = {
    ("printed", "paper", ""): ("", _PRINTED[0]),
    ("mended", "corrected", ""): ("", _MENDED[0]),
    ("tight", "corrected", "halved"): ("", _HALVED[0]),
    ("tight", "tight", ""): ("", _TIGHT[0]),
}
_BOUND_LINES = encoded("bound_of calibration variant", _BOUNDS, y="bound", line=DASHED, more={"lw": 1.0})
# How far a label moves an answer of gradient descent.
_MOVES = {
    ("lin", "corrected", ""): ("4.13 on lin", _MENDED[0]),
    ("lin", "corrected", "halved"): ("4.13 on lin, halved step", _HALVED[0]),
    ("sq", "corrected", ""): ("4.13 on sq", _MENDED[0], "", ":"),
}
_LEGEND = (
    Line("as printed (4.13: not private, grey)", *_PRINTED),
    Line("mended noise", *_MENDED),
    Line("halved step", *_HALVED),
    Line("tight noise", *_TIGHT),
    Line("bound, in its mechanism's colour", line=DASHED),
)


def _curvature(rows):
    """Return the lambda of Corollary 4.10's panels: the one nearest to 0.1."""
    curvatures = rows.loc[rows["series"] == "4.10", "curvature"].unique()
    return min(curvatures, key=lambda value: abs(value - 0.1))


def _excess(rows):
    return rows["value"] + rows["bound"]


def _most(rows):
    """Return the largest n at which positions were replaced."""
    return rows.loc[rows["position"] > 0, "n"].max()


def _moved(rows):
    """Put the change of an answer, in units of the rate that is printed for its law, into `moved`."""
    rows = rows[rows["n"] == _most(rows)]
    rates = rows[rows["calibration"] == "paper"].groupby("dataset")["bound"].first()
    return rows.assign(moved=_excess(rows) / rows["dataset"].map(rates), place=rows["position"] / rows["n"])


def _rate(rows):
    return (_excess(rows) / rows["bound"]).iloc[0]


_MINIMISERS = encoded("calibration variant", _NOISE, y=_excess, where={"bound_of": "printed"})
# Of gradient descent the noise is not private as printed, and the tight one all but the mended one.
_DESCENT = (
    _MINIMISERS[0].but(colour="#777777", hollow=True, more={"lw": 0.9}), *_MINIMISERS[1:3]
)  # fmt: skip
_ROWS = (
    ("Cor. 4.10", {"series": "4.10", "dataset": "signs"}, _MINIMISERS),
    ("Cor. 4.11", {"series": "4.11", "dataset": "abs"}, _MINIMISERS),
    ("Cor. 4.13, hard", {"series": "4.13", "dataset": "hard"}, _DESCENT),
    ("Cor. 4.13, sq", {"series": "4.13", "dataset": "sq"}, _DESCENT),
)


def _span(rows):
    return min(_excess(rows).min(), rows["bound"].min()), max(_excess(rows).max(), rows["bound"].max())


def _prepare(rows):
    """Keep one curvature of Corollary 4.10."""
    return rows[(rows["series"] != "4.10") | (rows["curvature"] == _curvature(rows))]


def _panels(rows):
    curvature, descent = _curvature(rows), rows[rows["series"] == "4.13"]
    sizes, epsilons = sorted(descent["n"].unique()), sorted(descent["epsilon"].unique())
    excess = Panel(
        x="n",
        xlabel="",
        xticks=lambda _: [n for n in sizes if f"{n:e}".startswith("1.000000e")],
        xlim=(sizes[0] / 1.3, sizes[-1] * 1.3),
        across=Facet("epsilon", epsilons),
        span=_span,
        exactly=True,
        sharey=True,
        sharex=True,
    )
    panels = [
        excess.but(lines=[*lines, *_BOUND_LINES], where=where, ylabel=f"{words}\nexcess loss")
        for words, where, lines in _ROWS
    ]
    panels[-1] = panels[-1].but(xlabel="n", sharex=False)
    level = {"calibration": "paper", "curvature": curvature}
    stability = Panel(
        encoded("dataset calibration variant", _MOVES, where={"position": lambda at: at > 0}),
        "place",
        "change of an answer\n/ printed rate",
        where={"series": "stability"},
        levels=[
            Level(_rate, f"4.10, {equals('λ', curvature)}", "#009E73", where={"dataset": "signs", **level}),
            Level(_rate, "4.11", "#56B4E9", where={"dataset": "abs", **level}),
            Level(1.0, "rate as printed", _PRINTED[0], DASHED, more={"lw": 1.0}),
            Level(2.0, "rate of 4.13 mended", _MENDED[0], DASHED, more={"lw": 1.0}),
        ],
        y="moved",
        prepare=_moved,
        wide=len(epsilons),
        xscale="linear",
        xlabel=lambda rows: f"position of the replaced record in the pass, i/n (n = {number(_most(rows))})",
        xlim=(0, 1),
        ylim=(0, 2.85),
        yticks={0: "0.0", 0.5: "0.5", 1: "1.0", 1.5: "1.5", 2: "2.0"},
        legend={"loc": "upper right", "ncols": 4},
    )
    return [[panel] for panel in (*panels, stability)]


stable = Figure(
    _panels,
    height=9.4,
    prepare=_prepare,
    legend=_LEGEND,
    grid={"height_ratios": [1.0, 1.0, 1.0, 1.0, 1.25]},
    where={"metric": "excess"},
    notes=[
        "Exact expectations at the worst mean of the labels. Corollary 4.10: {curvature.first:series=4.10}. Of 4.13 "
        "tight noise is (n − 1)/n of the mended one, and its curve left out. Below: the change of an answer when one "
        "label is replaced, over the rate as Theorem 4.9 or 4.12 prints it; the minimisers do not know the order of "
        "the records."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-stable": Target(
        "Section 4.4: stable learning beside its bounds",
        "Excess loss of one private prediction over n, a column for each epsilon: the regularised minimiser of "
        "Corollaries 4.10 and 4.11 and the gradient descent of Corollary 4.13 on two laws, beside their bounds. Below, "
        "how far replacing one label moves an answer, over its position in the pass. All values are exact; the walk of "
        "the law hard, and its bounds, end at a smaller n.",
        "Falling lines on logarithmic axes, below the dashed bounds; at epsilon 0.1 mended gradient descent lies above "
        "the printed bound of Corollary 4.13. In the last panel the line of gradient descent falls from twice the "
        "printed rate at the first record to nothing at the last.",
        metrics=("excess",),
    ),
}
