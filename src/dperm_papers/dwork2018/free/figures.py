"""Figures and tables of dwork2018-free: specifications, and what they show in words."""

from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Level, Line, Panel, crossed, encoded
from dperm_pipeline.target import Catalogue, Target

_THIN = {"lw": 0.9}
# Colours tell the law, lines what is measured or what the terms of Corollary 4.13 give.
_LAWS = {"hard": ("", "#CC79A7", "v"), "sq": ("", "#0072B2", "o")}
_NAMES = {"hard": "hard: Huber, K = [−1, 1]²", "sq": "sq: strongly convex"}
_LINES = encoded(
    "series calibration variant",
    {
        ("crossing", "paper", "halved"): Line("half the step, printed noise", key={"marker": "s"}),
        ("crossing", "corrected", ""): Line(
            "printed step, mended noise", line=DASHED, hollow=True, key={"marker": "s"}
        ),
        ("algebra", "paper", ""): Line("Corollary 4.13's terms equal, printed", marker="", line=DOTTED, more=_THIN),
        ("algebra", "corrected", ""): Line("the same, mended", marker="", line=(0, (6, 1.4, 1, 1.4)), more=_THIN),
    },
)

free = Figure(
    [
        [
            Panel(
                encoded("dataset", _LAWS, shades="n", marker="."), "scaled", "noise excess / statistical excess", "{}",
                {"metric": "ratio"}, [Level(1, more={"lw": 0.8})], Facet("dataset", tuple(_LAWS), _NAMES.get),
                xlabel="ε n$^{1/4}$",
            ),
            Panel(crossed(_LINES, encoded("dataset", _LAWS)), "n", "ε*(n)", "both parts equal", {"metric": "crossing"}),
        ]
    ],
    columns=2,
    legend=_LINES,
    notes=[
        "Exact laws, at the worst mean of y. Left and middle: half the step, noise as printed; light to dark: n = "
        "{#n.all:metric=ratio}. Right: pink hard, blue sq."
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-free": Target(
        "Section 4.4: privacy for free",
        "What the noise of one private prediction costs over what having only n records costs, along epsilon n^(1/4), "
        "for stable gradient descent with half the step on two laws; and the epsilon at which both cost the same, over "
        "n, beside the epsilon at which the terms of Corollary 4.13 are equal. All values are exact.",
        "Three panels on logarithmic axes: the curves of the hard law fall together and cross 1 at one place, those of "
        "the strongly convex one spread; over n the first crossing falls with slope -1/4, the second is flat.",
        metrics=("ratio", "crossing"),
    ),
}
