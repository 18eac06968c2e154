"""Figures and tables of dwork2018-averaging: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "dwork2018-averaging": Target(
        "drawing",
        "averaging",
        ("variant", "series", "form", "alpha", "beta", "n", "r"),
        "Section 4.3: averaging for agnostic learning",
        "Mean excess error of thresholds where a fifth of the labels is wrong, over the number r of shards of fixed "
        "data: of a shard and of the average without privacy, and with noise as printed and tight, beside the bound of "
        "the noise; and over 1/alpha the records that Corollary 4.7 promises to suffice, as printed, mended and with "
        "tight noise, and those that are needed. A column for each epsilon; all values are exact.",
        "Four panels on logarithmic axes: with noise the error first falls with r, then rises along the line of the "
        "mean shard; the records needed lie orders of magnitude below those promised.",
        metrics=("mean_excess", "promised", "needed"),
    ),
}
