"""Figures and tables of dwork2018-constants: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

TABLES: Catalogue[str, Target] = {
    "dwork2018-constants": Target(
        "drawing",
        "constants_table",
        ("claim", "place", "series", "variant", "alpha", "n", "d", "drawn"),
        "What every constant gives away",
        "Every bound of the paper: as printed (P), with the errata's corrections (M), of gradient descent with half "
        "the step (H) and ours (T); the number that it is about, exact on a law of its own or drawn; and the one over "
        "the other (one for each form). An O(·) is taken with constant 1. Below 1 an upper bound is broken, and a "
        "bound "
        '"at least" holds.',
        metrics=("bound", "value", "ratio"),
    ),
}
