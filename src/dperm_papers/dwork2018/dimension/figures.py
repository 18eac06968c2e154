"""Figures and tables of dwork2018-dimension: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-dimension": Target(
        "drawing",
        "dimension",
        ("p", "n", "alpha"),
        "Sections 2.1 and 7: the dimension, and what aggregation costs",
        "The least number of records at which the mean excess is at most 0.1, at the worst mean, over the dimension "
        "p, for private answers of stable ERM and for private models (objective perturbation, gamma and Gaussian "
        "noise), on a linear loss; and the excess of stable ERM over n beside that of averaging at its best number of "
        "shards.",
        "Two panels with flat lines of stable ERM and rising ones of objective perturbation, with slopes 1 and 1/2; in "
        "a third the line of averaging falls less steeply than that of stable ERM.",
        metrics=("n_star", "promised", "excess"),
    ),
}
