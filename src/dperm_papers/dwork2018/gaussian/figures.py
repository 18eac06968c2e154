"""Figures and tables of dwork2018-gaussian: what they show, and in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, Figure, Panel, encoded
from dperm_pipeline.target import Target

_ONE = encoded(
    "form calibration",
    {
        ("laplace", "paper"): ("Laplace (Lemma 4.5, δ = 0)", "#E69F00", "D", DASHED),
        ("gaussian", "paper"): ("Gaussian, classical formula", "#D55E00", "s"),
        ("gaussian", "tight"): ("Gaussian, tight", "#0072B2", "o"),
    },
)
_MANY = encoded(
    "form",
    {
        "basic": ("Laplace, ε/m each", "#E69F00", "D"),
        "advanced": ("Laplace, advanced composition", "#009E73", "^"),
        "gaussian": ("Gaussian, tight", "#0072B2", "o"),
    },
)
_SHOWN = 1e-6


def _panels(rows):
    panel = Panel(ylabel="mean size of the noise / γ", same_y="none", yscale="log")
    whole = rows.loc[rows["series"] == "answers", "epsilon"].iloc[0]
    return [
        [
            panel.but(
                lines=_ONE, x="epsilon", xlabel="ε", title="one answer",
                where={"series": "answer", "metric": "size", "delta": (0.0, _SHOWN)},
            ),
            panel.but(
                lines=_MANY, x="queries", xlabel="m, answers", ylabel="",
                title=f"each of m, {equals('ε', whole)} in all",
                where={"series": "answers", "metric": "size", "delta": _SHOWN},
            ),
        ]
    ]  # fmt: skip


gaussian = Figure(
    _panels,
    height=3.9,
    columns=2,
    notes=[
        f"{equals('δ', _SHOWN)} except where it is 0. The classical formula is proved for ε < 1 and fails at large ε. "
        "All values are exact; replace-one."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-gaussian": Target(
        "gaussian",
        ("series", "form", "queries"),
        "Lemma 4.5 with Gaussian noise",
        "Mean size of the noise of a stable prediction, in units of its rate gamma: of one answer over epsilon, "
        "Laplace and Gaussian noise with the classical and with the exact constant; and of each of m answers under one "
        "budget, over m.",
        "Two panels of straight lines on logarithmic axes. Left, all fall with epsilon, Laplace lowest. Right, Laplace "
        "noise with equal shares rises in proportion to m, Gaussian noise like its root, and crosses it after a few "
        "answers.",
        metrics=("size",),
    ),
}
TABLES: Catalogue[str, Target] = {}
