"""Figures and tables of kifer2012-theorem2: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem2": Target(
        "drawing",
        "theorem2",
        ("variant", "neighbours", "row", "loss", "direction", "ridge_multiple", "at", "pair"),
        "Theorem 2: what Algorithm 1 spends",
        "Exact delta(epsilon) of the worst pair of data sets on the line for Algorithm 1's noise, for the least noise "
        "that is proved enough, and for the printed noise read as replace-one, at every budget promised; below, the "
        "scale of the noise over epsilon. All numbers are exact.",
        "Panels for each budget with falling curves and a cross at the promise: only the printed noise read as "
        "replace-one passes above the cross. Below, lines of the noise's scale over epsilon on logarithmic axes. The "
        "numbers are in the table kifer2012-theorem2.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-theorem2": Target(
        "drawing",
        "theorem2_table",
        ("variant", "neighbours", "row", "loss", "direction", "ridge_multiple", "at", "pair"),
        "Theorem 2: what is spent",
        "The largest share of epsilon that is spent at delta over all budgets, by exact laws, with the pair of data "
        "sets that spends it.",
    ),
}
