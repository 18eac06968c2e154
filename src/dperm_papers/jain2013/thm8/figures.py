"""Figures and tables of jain2013-thm8: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-thm8": Target(
        "drawing",
        "thm8",
        ("series", "total", "d", "degree", "bound_reread", "vacuous"),
        "Theorem 8: error of the test data independent learner over the input ball",
        "Largest error over the unit ball, over n lambda and the dimension d, beside Gaussian output and CMS11; the "
        "n lambda and the d at which it is 0.1 and half of the norm of w*; polynomial kernels; and the points of a net "
        "beside the proposals of the exact sampler. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; the lines of TDIL lie above those of Gaussian output and CMS11 nearly "
        "everywhere.",
        metrics=("error", "needed", "crossing", "net_digits", "proposals"),
    ),
}
