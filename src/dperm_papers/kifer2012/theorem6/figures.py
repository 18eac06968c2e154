"""Figures and tables of kifer2012-theorem6: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem6": Target(
        "drawing",
        "theorem6",
        ("p", "s", "n", "gamma"),
        "Theorem 6: support selection by the exponential mechanism",
        "Exp-mech, kifer2012's exponential mechanism over supports, with the printed and with the tight weights: the "
        "probability of the right support and the mean excess risk over the number of records n, the excess that is "
        "exceeded with probability gamma beside Theorem 34's bound, and the growth of the excess in s that Theorem 6 "
        "states.",
        "Four panels: the probability of the right support rising over n, and the mean excess risk falling below its "
        "bound, a line for each weight and design; the excess over gamma beneath its bound; the excess over s on "
        "logarithmic axes beside a line of slope 3.",
    ),
}
