"""Figures and tables of dwork2018-free: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-free": Target(
        "drawing",
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
