"""Figures and tables of jain2013-thm3: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-thm3": Target(
        "drawing",
        "thm3",
        ("fixed", "n", "total", "queries", "radius", "bound", "vacuous", "gamma"),
        "Theorem 3: error of private interactive prediction",
        "Largest error of PINP as printed, corrected and tight, of one sample path of Gaussian noise and of the answer "
        "0 over the number of queries, n lambda and C, and PINP's B and sigma. w* is fixed; noise depends on n only "
        "through the nominal n lambda. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes: the printed algorithm close to the answer 0 until n lambda is in the "
        "millions, the corrected and tight ones below it, and the Gaussian path orders of magnitude below all.",
        metrics=("error", "allowed", "threshold", "halted"),
    ),
}
