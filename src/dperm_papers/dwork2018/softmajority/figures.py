"""Figures and tables of dwork2018-softmajority: specifications, and what they show in words."""

from dperm_papers.dwork2018.shared.drawing_looks import METHODS
from dperm_pipeline.figures.looks import MEDIUM_DASHED
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_SOFT = METHODS["soft_majority", "tight"]
_RECORDS = encoded(
    "form",
    {
        "promised": ("promised (Theorem 4.1)", "#333333", "", MEDIUM_DASHED),
        "printed": ("needed at the printed r", _SOFT.colour, _SOFT.marker),
        "best": ("needed at the best r", "#0072B2", "o"),
        "pure": ("least of any private bit, δ = 0", "#D55E00", "s", DASHED),
        "approximate": ("least of any private bit, δ = ε/3", "#D55E00", "s"),
    },
)
_BOUND = like(("Theorem 4.3, d/(32 ε α)", "#777777", "", DOTTED), where={"form": "approximate"}, y="bound")
_RULES = encoded(
    "form",
    {
        "soft": ("one bit: soft majority", _SOFT.colour, _SOFT.marker),
        "prose": like(("one bit: weights e^(ε count) (2ε-private)", _SOFT.colour, "", DOTTED), fits=False),
        "laplace": ("one bit: majority with Laplace noise", "#E69F00", "D"),
        "best": ("one bit: best private, δ = 0", "#D55E00", "", DASHED),
    },
    more={"markevery": 4},
)
_THIRD = Level(lambda rows: rows["r"].iloc[0] / 3, "", "#999999", more={"lw": 0.8}, upright=True,
               says={"text": "r/3", "xytext": (3, -8)})  # fmt: skip
_N = Panel((*_RECORDS, _BOUND), "1/alpha", "records n", same_y="none", xticks="powers")


def _prepare(rows):
    """Name the least of any private bit by its delta."""
    least = (rows["form"] == "least") & (rows["metric"] == "records")
    return rows.assign(form=rows["form"].mask(least & (rows["delta"] > 0), "approximate").mask(
        least & (rows["delta"] == 0), "pure"))  # fmt: skip


def _panels(rows):
    records = rows[(rows["metric"] == "records") & rows["over"].isin(["alpha", "d"])]
    epsilons = sorted(records["epsilon"].unique())[:2]
    over = {name: {"metric": "records", "dataset": "pts", "over": name} for name in ("alpha", "d")}
    columns = [
        [_N.but(where={**over["alpha"], "epsilon": epsilon}, title="pts, {epsilon.first}, {d.first}"),
         _N.but(where={**over["d"], "epsilon": epsilon}, title="pts, {epsilon.first}, {alpha.first}", x="d")]
        for epsilon in epsilons
    ]  # fmt: skip
    thr = {"metric": "records", "dataset": "thr", "over": ("alpha", "d"), "epsilon": epsilons[0]}
    margins = Panel(
        _RULES,
        "margin",
        "probability of the wrong label",
        "one bit, {epsilon.first}, {r.first}",
        {"series": "margin", "metric": "error", "epsilon": epsilons[0]},
        [_THIRD],
        xlabel="margin: votes for less votes against",
        xscale="linear",
    )
    return [*map(list, zip(*columns, strict=False)), [_N.but(where=thr, title="thr, {epsilon.first}"), margins]]


softmajority = Figure(
    _panels,
    height=8.1,
    columns=2,
    prepare=_prepare,
    notes=[
        "Promised: {β=gamma.first:metric=records}. Needed: least n with a mean "
        "error of at most α. Least of any private bit: for a mean error of 1/3 on the light points of pts, "
        "which error α with confidence 1/12 implies. All values are exact. pts: one heavy point, d − 1 light ones "
        "that share 4α; thr: a threshold on [0, 1].",
    ],
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-softmajority": Target(
        "Section 4.1: soft majority and the lower bound",
        "Records n that Theorem 4.1 promises to suffice for a soft majority, that it needs, and that any private bit "
        "needs (a linear program), beside the lower bound d/(32 eps alpha), over 1/alpha and over the number d of "
        "points; and how often one bit is wrong, over the margin of its votes. All values are exact.",
        "Five panels of parallel lines on logarithmic axes, the promise on top, then what is needed, an order of "
        "magnitude below it, then the least of any private bit, then the printed lower bound; in the last panel the "
        "lines of four voting rules fall, that of soft majority a little above that of Laplace noise.",
        metrics=("records", "error"),
    ),
}
