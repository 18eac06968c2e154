"""Figures and tables of dwork2018-dimension: specifications, and what they show in words."""

from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Line, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_ERM, _MODEL, _AVERAGES = (look(name, "tight") for name in ("stable_erm", "objective", "averaged"))


def _measured(look, label, **more):
    return like(look, label=label, statistic="mean", bars=True, **more)


def _promised(label, colour, dashes=DOTTED):
    return Line(label, colour, "", dashes, more={"lw": 0.9}, key={"lw": 0.9})


def _some(delta):
    return delta > 0


_SIZES = encoded(
    "mechanism calibration delta metric",
    {
        ("stable_erm", "paper", 0, "n_star"): _measured(_ERM, "stable ERM, printed noise"),
        ("stable_erm", "paper", 0, "promised"): _promised("Corollary 4.11", _ERM.colour),
        ("stable_erm", "tight", 0, "n_star"): _measured(_ERM, "stable ERM, tight noise", line=DASHED, hollow=True),
        ("objective", "tight", 0, "n_star"): _measured(_MODEL, "objective perturbation, gamma"),
        ("objective", "tight", 0, "promised"): _promised("p/(εα²), constant 1", _MODEL.colour),
        ("objective", "tight", _some, "n_star"): _measured(
            _MODEL, "objective perturbation, Gaussian", line=DASHED, hollow=True
        ),
        ("objective", "tight", _some, "promised"): _promised(
            "√p/(εα²), constant 1", _MODEL.colour, (0, (6, 1.4, 1, 1.4))
        ),
        ("averaged", "paper", 0, "promised"): _promised("averages, Lemmas 4.5 and 4.6", _AVERAGES.colour),
        ("nonprivate", "", 0, "n_star"): _measured(NONPRIVATE, "without privacy"),
        ("averaged", "paper", 0, "n_star"): _measured(_AVERAGES, "averaging, best r"),
    },
)
_EXCESSES = [
    line.but(where={**line.where, "metric": "excess"}, label="", statistic=None, bars=None, shades="epsilon",
             darkest_first=True)
    for line in _SIZES
    if line.where["metric"] == "n_star" and line.where["delta"] == 0
]  # fmt: skip


def _ends(rows):
    """Return the least and the largest epsilon."""
    epsilons = sorted(value for value in rows["epsilon"].unique() if value < float("inf"))
    return list(dict.fromkeys((epsilons[0], epsilons[-1])))


def _prepare(rows):
    cube = rows[rows["dataset"] == "cube"]
    kept = (rows["dataset"] == "cube") & (rows["alpha"] == cube["alpha"].max())
    return rows[kept | ((rows["dataset"] == "abs") & rows["epsilon"].isin(_ends(cube)))]


dimension = Figure(
    [
        [
            Panel(
                _SIZES, "p", "n*: least n with excess ≤ {#alpha.max}", where={"dataset": "cube"},
                across=Facet("epsilon", _ends, others=[float("inf")]),
            ),
            Panel(_EXCESSES, "n", "excess at the worst mean", "stable ERM and averaging", {"dataset": "abs"}),
        ]
    ],
    height=3.5,
    prepare=_prepare,
    legend=_SIZES,
    notes=lambda rows: [
        "Left: linear loss on the unit ball, worst mean; stable ERM with 95 % intervals, the rest exact. Right: "
        f"absolute loss on coins, exact; dark to light: {equals('ε', *_ends(rows))}. {{delta.max}} with Gaussian "
        "noise, else 0."
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-dimension": Target(
        "Sections 2.1 and 7: the dimension, and what aggregation costs",
        "The least number of records at which the mean excess at the worst mean is small, over the dimension p, for "
        "private answers of stable ERM and for private models by objective perturbation, on a linear loss; and the "
        "excess of stable ERM over n beside that of averaging at its best number of shards.",
        "Two panels with flat lines of stable ERM and rising ones of objective perturbation, with slopes 1 and 1/2; in "
        "a third the line of averaging falls less steeply than that of stable ERM.",
        metrics=("n_star", "promised", "excess"),
    ),
}
