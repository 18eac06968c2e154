"""Figures and tables of li2021-moor: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

# What li2021-moor and li2021-recycling tell their values apart by, and which of them are drawn.
_MOOR = ("variant", "row", "reference", "strength")
_DISTANCES = ("distance_mean", "distance_half", "runs")

FIGURES: Catalogue[str, Target] = {
    "li2021-fig3": Target(
        "drawing",
        "fig3",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without",
        "What the strong convexity that privacy asks for does to an estimate without any noise: its distance to the "
        "lasso with Lambda, and to that with 2 Lambda, which is what the reweighting reaches without a floor. Bands: "
        "95 % confidence intervals of the mean.",
        "Line plots over Lambda, one column for each model, a row for each n and lasso; lines with MOOR lie below "
        "those without, by much in linear and logistic regression and hardly at all in Poisson regression.",
        metrics=_DISTANCES,
    ),
    "li2021-fig3-corrected": Target(
        "drawing",
        "fig3_corrected",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without, corrected",
        "MOOR is proved private for an elastic net whose own ridge is at least Lambda0. Then it is the lasso without "
        "MOOR, and nearer to the lasso only than that elastic net without MOOR. Bands: 95 % confidence intervals.",
        "Line plots over Lambda, one column for each model, a row for each n; rings of the elastic net with MOOR lie "
        "on the lines of the lasso without, and below those of the elastic net without.",
        metrics=_DISTANCES,
    ),
}
