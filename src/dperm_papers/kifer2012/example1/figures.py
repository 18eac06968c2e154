"""Figures and tables of kifer2012-example1: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-example1": Target(
        "drawing",
        "example1",
        ("row", "loss", "target", "direction", "at", "index"),
        "Example 1: a limit of private mechanisms",
        "The minimiser with an l1 regularizer, which is 0 with positive probability, and with the regularizer "
        "smoothed, which has a density: distribution functions, what either spends of its budget, and how the smoothed "
        "minimisers converge for every b, beside the rate in the proof of Lemma 18. All numbers are exact.",
        "Three panels: distribution functions that steepen towards a jump at 0; delta over epsilon of the smoothed "
        "mechanisms and of the limit; the largest distance of the minimisers over i, falling below a dotted bound.",
        metrics=("atom", "cdf", "profile", "distance", "bound"),
        datasets=("q1",),
    ),
}
