"""Figures and tables of jain2013-thm5: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-thm5": Target(
        "drawing",
        "thm5",
        ("variant", "series", "total", "queries", "d", "curvature", "n", "radius", "bound", "vacuous", "own_queries"),
        "Theorem 5, Theorem 13 and Corollary 6: error of the test data dependent learner",
        "Mean difference between the private and the exact prediction on fresh points over n lambda, n, T and the "
        "dimension d, for points in ten directions and for decaying ones; the constant that Theorem 5's bound would "
        "need; and the error of TDDL fitted to PINP's answers. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; over d the lines of TDDL are flat and that of CMS11 rises to the trivial one.",
        metrics=("error",),
    ),
}
