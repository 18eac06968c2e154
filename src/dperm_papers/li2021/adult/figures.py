"""Figures and tables of li2021-adult: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "li2021-fig6": Target(
        "drawing",
        "fig6",
        ("variant", "strength"),
        "Figure 6: misclassification on Adult",
        "Share of wrong labels on Adult's test records over epsilon, a panel for each Lambda: six methods as published "
        "(no guarantee), and the non-private lasso.",
        "Lines that fall as epsilon grows, six methods in three colours, to the grey level of the non-private lasso.",
        metrics=("error",),
        datasets=("adult",),
    ),
    "li2021-fig6-corrected": Target(
        "drawing",
        "fig6_corrected",
        ("variant", "strength"),
        "Figure 6: misclassification on Adult, corrected",
        "Share of wrong labels on Adult's test records over epsilon, a panel for each Lambda: what is left with a "
        "proved guarantee, with corrected and with tight noise, and the non-private lasso.",
        "Lines that fall as epsilon grows, two methods in two colours, above the grey level of the non-private lasso.",
        metrics=("error",),
        datasets=("adult",),
    ),
}
