"""Figures and tables of jain2013-thm12: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-thm12": Target(
        "drawing",
        "thm12",
        ("form", "queries", "d", "bound"),
        "Theorem 12: uniform deviation of means over public points",
        "Exact supremum over the unit ball of the difference between a mean over T points and its expectation, over T "
        "and over the dimension, beside the bound with constant 1. Markers: 95 % quantiles; bars: from the median to "
        "the largest repeat.",
        "Two panels on logarithmic axes; all markers lie below the dashed line of the bound, parallel to it over T.",
        metrics=("deviation",),
    ),
}
