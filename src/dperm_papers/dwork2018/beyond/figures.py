"""Figures and tables of dwork2018-beyond: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-beyond": Target(
        "drawing",
        "beyond",
        ("form", "variant", "alpha", "flip", "n", "k", "log_domain"),
        "Section 2.2: beyond aggregation",
        "Records that ExpPW needs and is promised to need over 1/alpha, beside averages of thresholds with the best "
        "number of shards, for two epsilons; over the size N of the domain, beside the exponential mechanism over "
        "thresholds, a private model; and over the number k of ends of a union of intervals. All values are exact.",
        "Four panels: over 1/alpha the lines of averaging start below those of ExpPW and rise more steeply across "
        "them; over log N the line of ExpPW is flat and that of the private model is a rising line that crosses it; "
        "over k the lines rise with slope near 1.",
        metrics=("needed", "promised"),
    ),
}
