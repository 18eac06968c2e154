"""Figures and tables of kifer2012-theorem29: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem29": Target(
        "drawing",
        "theorem29",
        ("variant", "p", "n", "row"),
        "Theorem 29: risk on new records",
        "Mean excess risk on new records for a coin that is nearly fair, over the number of records n, with Theorem "
        "29's bound as printed and as mended; and, for p such coins, its ratio to that of the fit without privacy. All "
        "numbers are exact.",
        "Two panels on logarithmic axes: the risk falls like one over the square root of n, slower than the printed "
        "bound; the ratio of private to non-private risk rises with p at small n and stays near 1 at large n, where "
        "the square root of p is stated.",
    ),
}
