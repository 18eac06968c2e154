"""Figures and tables of dwork2018-queries: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-queries": Target(
        "drawing",
        "queries",
        ("series", "variant", "accountant", "m", "n", "contested", "each"),
        "Definition 1.1: many queries within one budget",
        "Accuracy of a soft majority's answer over the number of answers that one budget is for, on the flip law and "
        "on digits, by five accountants, in consensus mode and by a student trained on labels; the total epsilon of m "
        "answers at a fixed price; and the exact delta of the m worst bits at that epsilon, with the best adaptive "
        "attack. Bands: 95 % confidence intervals over splits.",
        "Four panels over m: accuracies fall to chance, later the better the accountant; the total epsilon of all but "
        "basic composition rises with slope 1/2; no exact delta lies above the dashed line.",
        metrics=("accuracy", "total_epsilon", "delta"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "dwork2018-queries-answered": Target(
        "drawing",
        "answered_table",
        ("series", "accountant", "contested", "level", "m", "n"),
        "How many queries are answered at a given accuracy",
        "The largest number of queries that one budget answers if each answer (in consensus mode the mean of all) is "
        "to be right with a given probability, on the flip law and on digits: soft majority by five accountants, "
        "consensus with B contested answers, and a student, which answers any number once it is right so often, and "
        "the labels that it needs for that. Exact on flip, but for the student; on digits for the mean over splits. A "
        "dash: not one answer, or a student that does not get there.",
        metrics=("answered", "unlimited"),
    ),
}
