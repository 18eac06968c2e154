"""Figures and tables of dwork2018-exppw: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-exppw": Target(
        "drawing",
        "exppw",
        ("series", "variant", "form", "kind", "k", "flip", "n", "alpha", "bound", "domain", "share"),
        "Section 5: the exponential projected walk",
        "Error of ExpPW above the best union of intervals: on the sample itself, in units of Lemma 5.2's bound, over "
        "T; on N points that share all records, with ties sorted as printed and lifted; and on fresh points, in units "
        "of alpha, over n beside Theorem 5.3, for each epsilon, alpha and k. Errors are exact given the sample. Bars: "
        "95 % confidence intervals.",
        "Two panels and two more for each alpha: all curves of the walk lie below the bound, that of Section 2.2's "
        "text above it; with ties, the sorted walk is far above the bound unless the points are many; over n the "
        "curves fall in parallel.",
        metrics=("ratio", "scaled", "error", "allowed"),
    ),
}
