"""Figures and tables of kifer2012-theorem9: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem9": Target(
        "drawing",
        "theorem9",
        ("p", "n", "s", "row", "support", "gamma", "sizing"),
        "Theorem 9: two-stage risk and its bounds",
        "Excess risk of two-stage sparse regression over n and over p, beside the bounds of Theorems 35 and 44; what "
        "noise adds to it over the sparsity s, beside what Theorem 7 prints and what its own substitution gives; and "
        "the lasso in a single stage, where p = 4n.",
        "Four panels on logarithmic axes: risk over n falling under its bounds; risk over p, flat, under its bounds; "
        "the noise term over s beside lines of slope 1 and 4; the risk of a single stage over that of theta = 0, above "
        "1 at every n.",
    ),
}
