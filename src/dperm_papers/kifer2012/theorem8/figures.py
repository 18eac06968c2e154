"""Figures and tables of kifer2012-theorem8: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem8": Target(
        "drawing",
        "theorem8",
        ("p", "s", "n", "k", "row"),
        "Theorem 8: support selection by sample and aggregate",
        "Samp-Agg's probability of the right support over the number of blocks k: exactly, and by the bound of "
        "Theorem 8, where all blocks find the right support; and in runs on random signs with k = sqrt(n) blocks.",
        "Line plots over k, a column for each s: probabilities of the right and of the wrong support with a line for "
        "each p, the bound of Theorem 8 dashed and well below the exact recovery; below, runs as markers. The "
        "numbers of blocks that are enough stand in the table kifer2012-theorem8.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-theorem8": Target(
        "drawing",
        "theorem8_table",
        ("p", "s", "k", "row"),
        "Theorem 8: blocks that are enough",
        "Number of blocks k at which Samp-Agg returns the right support with probability 0.9 if every block finds it: "
        "by the exact law and by Theorem 8's bound, and the k from which on that bound is above 0.",
    ),
}
