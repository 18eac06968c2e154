"""Figures and tables of kifer2012-table1: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-table1": Target(
        "drawing",
        "table1",
        ("p", "n", "row", "sizing", "gamma"),
        "Table 1: excess risk over p and n",
        "Excess empirical risk of private linear regression over the number of features p and of records n, for the "
        "three rows of Table 1, on the design that attains Theorem 4, on a benign one and on records that are really "
        "drawn. Dotted: the slopes that the table states. Dashed: the bounds of Theorems 26 and 31. Third column: the "
        "design that meets Assumption 1, over p at n = 100 p^2.",
        "Line plots on logarithmic axes, one column for each row of Table 1: above over p, below over n; one line for "
        "each design and calibration, the stated slope and the bound. The numbers are in the table kifer2012-table1.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-table1": Target(
        "drawing",
        "table1_table",
        ("p", "n", "row", "sizing", "gamma"),
        "Table 1: slopes",
        "Slopes of the mean excess risk on logarithmic axes, beside those that Table 1 states.",
    ),
}
