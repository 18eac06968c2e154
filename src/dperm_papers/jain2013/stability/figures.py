"""Figures and tables of jain2013-stability: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-stability": Target(
        "drawing",
        "stability",
        ("row", "form", "loss", "kernel", "n", "curvature"),
        "Equation (3): how far one record moves the minimiser",
        "Distance of the minimisers, and of their predictions, on pairs of data sets that differ in one record, in "
        "units of equation (3)'s bounds, over n and lambda, for three losses and three kernels: the largest of random "
        "pairs, a flipped label, and LibSVM with its bias, for which no such bound holds.",
        "Two rows of three panels: filled markers below the line at 1, diamonds on it, and crosses of LibSVM up to a "
        "thousand times above it in the lower row.",
        metrics=("excess",),
    ),
}
