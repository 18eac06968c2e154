"""Figures and tables of frontier-linear: specifications, and what they show in words."""

from dperm_papers.frontier.shared import drawing
from dperm_pipeline.figures.looks import DOTTED
from dperm_pipeline.target import Catalogue, Target

linear = drawing.figure(
    {"logistic": ("logistic regression (not private)", "--"), "majority": ("most frequent label", DOTTED)},
    [
        "Ours, no paper's. Data: {dataset.all}; means over random splits (at most {repeat.count}), bands: 95 % "
        "intervals. Rows of length one, with a constant; every estimator with nothing set but ε, δ, the relation, the "
        "bound 1 and the labels. Searches (PrivateSearchCV) pay for all their trials. "
        "Tuned on test rows: of seven settings, the defaults among them, the one of least error on the test rows "
        "themselves, which nobody can have. Where a method has no line, its theorem does not serve that δ, or asks for "
        "n, which is private under add/remove.",
    ],
)
linear_table = drawing.table()

FIGURES: Catalogue[str, Target] = {
    "frontier-linear": Target(
        "The best private linear models",
        "Ours, no paper's: misclassified test rows over epsilon, by every private linear model of the library with "
        "nothing set, by two private searches, and by noisy gradient descent tuned on the test rows for free; without "
        "privacy by logistic regression and by the most frequent label. Bands: 95 % confidence intervals over splits. "
        "Grey and dotted: other people's implementations, measured elsewhere, in environments of their own, and no "
        "results of this run.",
        "A row of panels for each data set, a column for each relation and delta: errors fall with epsilon towards "
        "that of logistic regression, and some methods stay at that of the most frequent label. Other people's "
        "implementations, measured elsewhere, are grey dotted lines with hollow markers.",
        metrics=("error",),
    ),
}
TABLES: Catalogue[str, Target] = {
    "frontier-linear": Target(
        "The best private linear models",
        "Misclassified test rows, means over random splits with their 95 % confidence intervals. A dash: not run at "
        "that epsilon. What says so was measured elsewhere, beforehand, and is no result of this run.",
        metrics=("error",),
    ),
}
