"""Figures and tables of dwork2018-softmajority: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-softmajority": Target(
        "drawing",
        "softmajority",
        ("series", "form", "over", "alpha", "d", "r", "margin", "gamma", "bound"),
        "Section 4.1: soft majority and the lower bound",
        "Records n that Theorem 4.1 promises to suffice for a soft majority, that it needs at the printed and at the "
        "best number of shards, and that any private bit needs (a linear program, solved), beside the lower bound "
        "d/(32 eps alpha), over 1/alpha and over the number d of points; and how often one bit is wrong, over the "
        "margin of its votes. All values are exact.",
        "Five panels of parallel lines on logarithmic axes, the promise on top, then what is needed, an order of "
        "magnitude below it, then the least of any private bit, then the printed lower bound; in the last panel the "
        "lines of four voting rules fall, that of soft majority a little above that of Laplace noise.",
        metrics=("records", "error"),
    ),
}
