"""Figures and tables of dwork2018-free: specifications, and what they show in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import number
from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Level, Line, Panel, crossed, encoded
from dperm_pipeline.target import Target

# Law -> colour, marker; and its name.
_LAWS = {"hard": ("", "#CC79A7", "v"), "sq": ("", "#0072B2", "o")}
_NAMES = {"hard": "hard: Huber, K = [−1, 1]²", "sq": "sq: strongly convex"}
# What is measured, and what the terms of Corollary 4.13 give; colours tell the law.
_WAYS = {
    ("crossing", "paper", "halved"): Line("half the step, printed noise", key={"marker": "s"}),
    ("crossing", "corrected", ""): Line(
        "printed step, mended noise", None, None, DASHED, hollow=True, key={"marker": "s"}
    ),
    ("algebra", "paper", ""): Line("Corollary 4.13's terms equal, printed", None, "", DOTTED, more={"lw": 0.9}),
    ("algebra", "corrected", ""): Line("the same, mended", None, "", (0, (6, 1.4, 1, 1.4)), more={"lw": 0.9}),
}
_LINES = encoded("series calibration variant", _WAYS)


def _notes(rows):
    sizes = sorted(rows.loc[rows["metric"] == "ratio", "n"].unique())
    return [
        "Exact laws, at the worst mean of y. Left and middle: half the step, noise as printed; light to dark: n = "
        f"{', '.join(map(number, sizes))}. Right: pink hard, blue sq."
    ]


free = Figure(
    [
        [
            Panel(
                encoded("dataset", _LAWS, shades="n", marker="."),
                "scaled",
                "noise excess / statistical excess",
                "{}",
                {"metric": "ratio", "dataset": tuple(_LAWS)},
                [Level(1, more={"lw": 0.8})],
                Facet("dataset", tuple(_LAWS), _NAMES.get),
                xlabel="ε n$^{1/4}$",
            ),
            Panel(crossed(_LINES, encoded("dataset", _LAWS)), "n", "ε*(n)", "both parts equal", {"metric": "crossing"}),
        ]
    ],
    columns=2,
    legend=_LINES,
    notes=_notes,
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-free": Target(
        "free",
        ("variant", "series", "n", "scaled"),
        "Section 4.4: privacy for free",
        "What the noise of one private prediction costs over what having only n records costs, along epsilon n^(1/4), "
        "for stable gradient descent with half the step on two laws; and the epsilon at which both cost the same, over "
        "n, beside the epsilon at which the terms of Corollary 4.13 are equal. All values are exact.",
        "Three panels on logarithmic axes: the curves of the hard law fall together and cross 1 at one place, those of "
        "the strongly convex one spread; over n the first crossing falls with slope -1/4, the second is flat.",
        metrics=("ratio", "crossing"),
    ),
}
