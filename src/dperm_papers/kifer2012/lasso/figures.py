"""Figures and tables of kifer2012-lasso: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "drawing",
        "lasso",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Test error relative to a prediction of the mean, number of coefficients that are not 0, and their overlap "
        "with those of the non-private lasso over epsilon, for every l1 strength that was tried, with the noise of "
        "pure privacy and with Gaussian noise. Dotted: the non-private lasso. Bands: 95 % confidence intervals of "
        "the mean.",
        "Line plots, one column for each data set and noise: test error falls to the non-private level as epsilon "
        "grows, the support shrinks from nearly all coefficients to the non-private size, the overlap rises to 1. The "
        "numbers are in the table kifer2012-lasso.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-lasso": Target(
        "drawing",
        "lasso_table",
        ("l1_share",),
        "Lasso under objective perturbation on real data",
        "Mean over repeats with its 95 % confidence interval in brackets, for every l1 strength that was tried.",
    ),
}
