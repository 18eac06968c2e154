"""Figures and tables of dwork2018-beyond: specifications, and what they show in words."""

from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_pipeline.figures.looks import MEDIUM_DASHED, Look
from dperm_pipeline.figures.spec import DOTTED, Facet, Figure, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_WALK, _AVERAGES = look("exppw", "tight"), look("averaged", "tight")
_LEARNER = Look("exponential mechanism over thresholds (a private model)", "#0072B2", "o")
_ALPHA = {
    ("exppw", "needed", "tight"): ("ExpPW, n needed", _WALK.colour, _WALK.marker),
    ("averaged", "needed", "printed"): ("averaging, n needed, printed noise", _AVERAGES.colour, _AVERAGES.marker),
    ("averaged", "needed", "tight"): ("averaging, n needed, tight noise", _AVERAGES.colour, ".", DOTTED),
    ("exppw", "promised", "printed"): ("ExpPW, n promised, as printed", _WALK.colour, "", DOTTED),
    ("exppw", "promised", "mended"): ("ExpPW, n promised, mended", _WALK.colour, "", MEDIUM_DASHED),
    ("averaged", "promised", "mended"): ("averaging, n promised, mended", _AVERAGES.colour, "", MEDIUM_DASHED),
}
_DOMAIN = (like(_WALK, where={"mechanism": "exppw"}, label=""), like(_LEARNER, where={"mechanism": "exp_mech"}))
_ENDS = {
    ("needed", 0.0): ("", _WALK.colour, _WALK.marker),
    ("needed", 0.2): ("ExpPW over k, 20 % of labels wrong (squares: none)", _WALK.colour, "^"),
    ("promised", 0.0): ("", _WALK.colour, "", MEDIUM_DASHED),
}

beyond = Figure(
    [
        [
            Panel(
                encoded("mechanism metric variant", _ALPHA, where={"form": "alpha"}), "1/alpha", "records n",
                "flip law, {}", {"form": "alpha"}, across=Facet("epsilon"), xticks=(5, 10, 20, 50, 100),
                xlim=lambda rows: (0.9 / rows["alpha"].max(), 1.1 / rows["alpha"].min()),
            )
        ],
        [
            Panel(
                _DOMAIN, "log_domain", "records n", where={"form": "domain"}, xscale="linear", xlabel="log$_2$ N",
                ylim=lambda rows: (0, 1.08 * rows["value"].max()),
            ),
            Panel(
                encoded("metric flip", _ENDS), "k", where={"form": "ends"}, xticks=(1, 2, 3, 5, 10, 20, 30),
                xlabel="ends k", span=lambda rows: rows["value"],
            ),
        ],
    ],
    height=5.8,
    columns=2,
    where={"metric": ("needed", "promised")},
    notes=[
        "Needed: the least n whose mean excess error is at most α (averaging: at the best number of shards); exact. "
        "Bottom: {alpha.first:form=domain}, {epsilon.first:form=domain}; left on two neighbouring points of N, right "
        "on k + 1 alternating intervals."
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-beyond": Target(
        "Section 2.2: beyond aggregation",
        "Records that ExpPW needs and is promised to need over 1/alpha, beside averages of thresholds with the best "
        "number of shards; over the size N of the domain, beside the exponential mechanism over thresholds, a private "
        "model; and over the number k of ends of a union of intervals. All values are exact.",
        "Four panels: over 1/alpha the lines of averaging start below those of ExpPW and rise more steeply across "
        "them; over log N the line of ExpPW is flat and that of the private model is a rising line that crosses it; "
        "over k the lines rise with slope near 1.",
        metrics=("needed", "promised"),
    ),
}
