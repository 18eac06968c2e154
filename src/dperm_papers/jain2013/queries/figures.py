"""Figures and tables of jain2013-queries: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-queries": Target(
        "drawing",
        "queries",
        ("variant", "n", "curvature", "total", "vacuous", "gamma"),
        "Section 2: how many queries can be answered",
        "Largest error over n cubed queries by one sample path of Gaussian noise, by fresh noise for each query and by "
        "PINP, over n; and the logarithm of the most queries that PINP promises to answer. w* is fixed; n lambda is "
        "nominal. Bands: 95 % confidence intervals.",
        "Three panels on logarithmic axes: the line of the Gaussian path falls and that of fresh noise rises; log T "
        "rises along slopes of 2/3 as printed and of 1 corrected.",
        metrics=("error", "supremum", "log_queries"),
    ),
}
