"""Figures and tables of li2021-augmentation: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

# Of li2021-augmentation.
_AUGMENTED = ("row", "form", "target", "loss", "at", "strength", "p", "rows_added")

FIGURES: Catalogue[str, Target] = {
    "li2021-fig1": Target(
        "drawing",
        "fig1",
        _AUGMENTED,
        "Figure 1: realised regularizer and modulus",
        "What noise augmentation realises for lasso, elastic net and l_0.5: the regularizer and its modulus of strong "
        "convexity in one iteration, by formula and from 10,000 drawn rows, as the paper draws them; and the penalty "
        "that the iteration reaches, with its curvature.",
        "Two rows of three panels over theta: above regularizers that rise from 0 on either side, below their moduli, "
        "which are infinite at 0 in an iteration, and flat or below the needed level at the fixed point.",
    ),
    "li2021-fig1-corrected": Target(
        "drawing",
        "fig1_corrected",
        _AUGMENTED,
        "Figure 1: regularizer and curvature, corrected",
        "The penalty that is minimised, and its curvature, where the guarantee is proved: the lasso without MOOR, an "
        "elastic net whose square has the modulus that is needed, and ridge.",
        "Two rows of three panels over theta: above penalties that lie on their targets but for the lasso, below "
        "curvatures at or above the needed level.",
    ),
    "li2021-fig2": Target(
        "drawing",
        "fig2",
        _AUGMENTED,
        "Figure 2: dual-purpose regularization and budget retrieval",
        "Where the modulus of each coefficient comes from, for existing DP-ERM and for NAPP-ERM, and when budget is "
        "called retrievable: if the target alone gives every coefficient more than the modulus that is needed.",
        "Stacked bars of five coefficients in two cases, and the budget as a bar: in the first case the least modulus "
        "is the needed one and nothing is retrieved, in the second it is twice as large and half is retrieved.",
    ),
    "li2021-convergence": Target(
        "drawing",
        "convergence",
        _AUGMENTED,
        "The literal algorithm and its limit",
        "Algorithm 1 to the letter, with n_e noise rows drawn, appended and refitted 15 times: the distance of its "
        "theta to the limit of infinitely many rows, over n_e, and to what the mean over the rows gives. Bars: 95 % "
        "intervals over repeats.",
        "A panel for each model on logarithmic axes: distances fall with n_e, those to the limit faster than the "
        "dotted slope of -1/2, those to the mean along it.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "li2021-table1": Target(
        "drawing_tables",
        "table1",
        _AUGMENTED,
        "Table 1: noise augmentation",
        "The targets e_y of the augmented rows as printed and as repaired, the loss's derivatives at 0 that Equation 3 "
        "divides by, and what the rows sum to: the regularization noise, which should cancel, and the linear term, "
        "which should be that of b.",
    ),
    "li2021-table2": Target(
        "drawing_tables",
        "table2",
        _AUGMENTED,
        "Table 2: weights, and the penalty they reach",
        "Weights of theta squared at Lambda = Lambda0 = 1, by maximum and by sum, the penalty that is reached, and the "
        "one that is stated: Lambda R by maximum, Equation 2's sum by sum.",
    ),
    "li2021-table3": Target(
        "drawing_tables",
        "table3",
        _AUGMENTED,
        "Table 3: losses and their minimisers",
        "The losses of Table 3 on one data set of the linear design (n = 500, epsilon = 1), each at its minimiser.",
    ),
}
