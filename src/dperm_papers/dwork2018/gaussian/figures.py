"""Figures and tables of dwork2018-gaussian: what they show, and in words."""

from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, Figure, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

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

gaussian = Figure(
    [
        [
            Panel(
                _ONE, "epsilon", "mean size of the noise / γ", "one answer",
                {"series": "answer", "delta": (0.0, _SHOWN)}, xlabel="ε", same_y="none",
            ),
            Panel(
                _MANY, "queries", "", "each of m, {epsilon.first} in all",
                {"series": "answers", "delta": _SHOWN}, xlabel="m, answers", same_y="none",
            ),
        ]
    ],
    height=3.9,
    columns=2,
    where={"metric": "size"},
    notes=[
        f"{equals('δ', _SHOWN)} except where it is 0. The classical formula is proved for ε < 1 and fails at large ε. "
        "All values are exact; replace-one."
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-gaussian": Target(
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
