"""Figures and tables of dwork2018-generalization: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-generalization": Target(
        "drawing",
        "generalization",
        ("series", "variant", "k", "n", "gamma"),
        "Section 6: generalization from private prediction",
        "How much larger the k-th moment of the loss is on a fresh sample than on the data themselves, over epsilon, "
        "for the membership mechanism and ExpPW, beside Lemma 6.4 and what a private model allows; and the loss on a "
        "fresh sample that is exceeded with probability beta, beside Lemma 6.5 as printed and with integer k. Band: "
        "95 % confidence interval.",
        "Two panels on logarithmic axes: on the left all markers lie on or below the lower of the lines of their "
        "colour, on the right the printed bound falls below the membership mechanism as beta comes near 1.",
        metrics=("log_ratio", "ratio", "factor"),
    ),
}
