"""Figures and tables of dwork2018-realdata: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-realdata": Target(
        "drawing",
        "realdata",
        ("variant", "series", "queries", "radius"),
        "Private predictions and private models on real data",
        "Misclassification over epsilon for one query, over the number of queries within one epsilon (of soft majority "
        "at numbers between too), and over the radius R, for soft majority, averaging, stable risk minimisation and "
        "gradient descent and ExpPW, with objective perturbation as the private model, and without privacy logistic "
        "regression and the majority class. Bands: 95 % confidence intervals over splits.",
        "A row of three panels for each data set: errors fall with epsilon and rise with the number of queries to "
        "those of a coin, while the private model's is one level.",
        metrics=("error",),
    ),
}
