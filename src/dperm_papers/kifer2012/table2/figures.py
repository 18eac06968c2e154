"""Figures and tables of kifer2012-table2: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-table2": Target(
        "drawing",
        "table2",
        ("p", "n", "s", "ratio", "row", "support", "noise", "divisor", "magnitude"),
        "Table 2: records that support selection needs",
        "How many records Exp-mech and Samp-Agg need to find the right support with probability 0.9, against the laws "
        "of Table 2; the work that they do; the risk of the two-stage estimators, and of the non-private lasso, along "
        "n in units of those laws; and two designs on which one selection beats the other.",
        "Six panels on logarithmic axes: the probability of the right support over n; the n at which it is 0.9 against "
        "s³ log p and s² log² p, with dotted lines for the laws; work over p; risk over n, falling but for "
        "Samp-Agg as printed, which levels off; risk on two designs. The "
        "numbers are in the table kifer2012-table2.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-table2": Target(
        "drawing",
        "table2_table",
        ("p", "n", "s", "ratio", "row", "support", "noise"),
        "Table 2: records that support selection needs",
        "n90, the least n at which the right support has probability 0.9, with its 95 % bootstrap interval over data "
        "sets; the same in units of Table 2's law; and the work of a selection there.",
    ),
}
