"""Figures and tables of frontier-multiclass: specifications, and what they show in words."""

from dperm_papers.frontier.shared import drawing
from dperm_pipeline.figures.looks import DOTTED
from dperm_pipeline.target import Catalogue, Target

multiclass = drawing.figure(
    {"multinomial": ("multinomial regression (not private)", "--"), "majority": ("most frequent label", DOTTED)},
    [
        "Ours, no paper's. Data: {dataset.all}; means over random splits (at most {repeat.count}), bands: 95 % "
        "intervals. Rows of length one, with a constant; every estimator with nothing set but ε, δ, the relation, the "
        "bound 1 and the labels. SoftMajority answers 100 test rows for its budget, the others release a model. Tuned "
        "on test rows: of seven settings, the defaults among them, the one of least error on the test rows themselves, "
        "which nobody can have.",
    ],
)
multiclass_table = drawing.table()

FIGURES: Catalogue[str, Target] = {
    "frontier-multiclass": Target(
        "The best private models of more than two classes",
        "Ours, no paper's: misclassified test rows over epsilon, by every private model of the library that takes more "
        "than two classes, with nothing set, and by noisy gradient descent tuned on the test rows for free; without "
        "privacy by multinomial regression and by the most frequent label. Bands: 95 % confidence intervals over "
        "splits.",
        "A row of panels for each data set, a column for each relation and delta: errors fall with epsilon towards "
        "that of multinomial regression.",
        metrics=("error",),
    ),
}
TABLES: Catalogue[str, Target] = {
    "frontier-multiclass": Target(
        "The best private models of more than two classes",
        "Misclassified test rows, means over random splits with their 95 % confidence intervals. A dash: not run at "
        "that epsilon.",
        metrics=("error",),
    ),
}
