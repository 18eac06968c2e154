"""Figures and tables of li2021-bounds: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "li2021-bounds": Target(
        "drawing",
        "bounds",
        ("variant", "row", "form", "axis", "n", "p", "strength", "gamma"),
        "Lemma 7 and Theorem 8: excess risk and its bounds",
        "Measured excess empirical risk of DP-ERM, of NAPP-ERM with MOOR and of the corrected mechanism over n, "
        "epsilon and p, beside the bounds of Lemma 7 and Theorem 8, with pure and with Gaussian noise. Bands: 95 % "
        "confidence intervals of the mean over data sets.",
        "Line plots on logarithmic axes, a row for each noise: the risk falls twice as steeply over n as the bounds "
        "above it; Theorem 8 as printed lies furthest up, and falls fastest over epsilon.",
        metrics=("risk", "bound"),
    ),
    "li2021-budget": Target(
        "drawing",
        "budget",
        ("row", "form", "reading", "target", "multiple"),
        "What the budget pays for",
        "The epsilon that Equation 2 is proved to spend, over the one that it claims; the noise of Corollary 5 and of "
        "Equation 4 beside the least that is proved enough; and what the Jacobian costs over what Proposition 6 says, "
        "for ridge and lasso. Formulas.",
        "Three panels: shares below 1 over epsilon; levels of noise over epsilon, the least about half of the others; "
        "ratios over Lambda/Lambda0, at most 1 for ridge with the factor 2 restored, far above 1 for lasso.",
        metrics=("excess", "noise", "spent_share"),
    ),
}
