"""Figures and tables of dwork2018-averaging: specifications, and what they show in words."""

from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_pipeline.figures.looks import MEDIUM_DASHED, NONPRIVATE
from dperm_pipeline.figures.spec import DOTTED, Facet, Figure, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_ORANGE, _BLUE = look("averaged", "tight").colour, "#0072B2"
_SPLIT = encoded(
    "series calibration",
    {
        ("shard", "paper"): ("mean shard and average, not private", NONPRIVATE.colour),
        ("noised", "paper"): ("printed noise (n needed: at the printed r)", _ORANGE, "D"),
        ("noised", "tight"): ("tight noise (n needed: at the best r)", _BLUE, "."),
        ("bound", "paper"): ("bound of the noise, 1/(rε)", "#000000", "", DOTTED),
    },
)
_RECORDS = encoded(
    "metric variant calibration",
    {
        ("promised", "printed", "paper"): ("n promised, Corollary 4.7 as printed", _ORANGE, "", MEDIUM_DASHED),
        ("promised", "mended", "paper"): ("n promised, mended", "#D55E00", "s", MEDIUM_DASHED),
        ("promised", "tight", "tight"): ("n promised, tight noise", _BLUE, ".", MEDIUM_DASHED),
    },
) + encoded(
    "metric series calibration",
    {
        ("needed", "printed shards", "paper"): ("", _ORANGE, "D"),
        ("needed", "best shards", "tight"): ("", _BLUE, "."),
    },
)

averaging = Figure(
    [
        [Panel(_SPLIT, "r", "mean excess error", across=Facet("epsilon"), xlabel="shards r")],
        [Panel(_RECORDS, "1/alpha", "records n", across=Facet("epsilon"), xticks="all")],
    ],
    height=5.6,
    columns=2,
    where={"dataset": "flip", "metric": ("mean_excess", "promised", "needed")},
    notes=[
        "Flip law: thresholds, 20 % of the labels wrong. Top: {n.max:metric=mean_excess} records shared out among r "
        "shards. Bottom: excess error α with probability 1 − β, {beta.max:metric=promised} (promised), or in the mean "
        "(needed). All values are exact."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-averaging": Target(
        "Section 4.3: averaging for agnostic learning",
        "Mean excess error of thresholds where a fifth of the labels is wrong, over the number r of shards of fixed "
        "data: of a shard and of the average without privacy, and with noise as printed and tight, beside the bound of "
        "the noise. Below, over 1/alpha, the records that Corollary 4.7 promises to suffice and those that are needed. "
        "A column for each epsilon; all values are exact.",
        "Four panels on logarithmic axes: with noise the error first falls with r, then rises along the line of the "
        "mean shard; the records needed lie orders of magnitude below those promised.",
        metrics=("mean_excess", "promised", "needed"),
    ),
}
