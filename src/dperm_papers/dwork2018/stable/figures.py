"""Figures and tables of dwork2018-stable: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-stable": Target(
        "drawing",
        "stable",
        ("variant", "series", "n", "curvature", "position", "bound_of", "bound"),
        "Section 4.4: stable learning beside its bounds",
        "Excess loss of one private prediction over n, a column for each epsilon: the regularised minimiser of "
        "Corollaries 4.10 and 4.11 and the gradient descent of Corollary 4.13 on two laws, as printed, mended, with "
        "half the step and tight, beside the bounds. Below, how far replacing one label moves an answer, over its "
        "position in the pass. All values are exact; the walk of the law hard, and its bounds, end at a smaller n.",
        "Falling lines on logarithmic axes, below the dashed bounds; at epsilon 0.1 mended gradient descent lies above "
        "the printed bound of Corollary 4.13. In the last panel the line of gradient descent falls from twice the "
        "printed rate at the first record to nothing at the last.",
        metrics=("excess",),
    ),
}
