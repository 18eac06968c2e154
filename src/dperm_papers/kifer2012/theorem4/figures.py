"""Figures and tables of kifer2012-theorem4: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem4": Target(
        "drawing",
        "theorem4",
        ("variant", "p", "n", "row", "sizing", "gamma", "quantile", "gram_multiple"),
        "Theorem 4: risk, bounds and the length of the noise",
        "Mean excess risk of private linear regression with gamma and with Gaussian noise over the number of features "
        "p and of records n, on the design that attains Theorem 4 and on a benign one, with the bound of Lemma 3; "
        "quantiles of the noise's length over p with the paper's bounds on it; and the length of objective "
        "perturbation's noise over that of output perturbation. All numbers are exact.",
        "Four panels on logarithmic axes: risk over p and over n, a line for each noise and design, with bounds and "
        "stated slopes; medians and bands of the noise's length over p, longer for gamma noise; a falling curve that "
        "crosses 1 where the eigenvalue of the Gram matrix equals Delta.",
        metrics=("excess_risk", "bound", "noise_ratio", "noise_length", "length_bound"),
    ),
    "kifer2012-gap": Target(
        "drawing",
        "gap",
        ("variant", "p", "n", "row", "sizing"),
        "The gap between gamma and Gaussian noise over p",
        "Ratios of mean excess risks over the number of features p: gamma noise to Gaussian noise, on the design that "
        "attains Theorem 4 and on a benign one, and the former design to the latter. Dotted: the growth that the paper "
        "states. Lines are exact; crosses are runs of Algorithm 1 with 95 % confidence intervals.",
        "Two panels on logarithmic axes: ratios that grow with p, beside dotted lines for the square root of p and for "
        "p. The numbers are in the table kifer2012-gap.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-gap": Target(
        "drawing",
        "gap_table",
        ("variant", "p", "n", "row", "sizing"),
        "The gap between gamma and Gaussian noise: slopes",
        "Slopes of the ratios on logarithmic axes beside those that the paper states; exact, so the range of local "
        "slopes stands in the place of an interval.",
    ),
}
