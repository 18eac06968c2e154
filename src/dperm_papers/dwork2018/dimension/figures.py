"""Figures and tables of dwork2018-dimension: specifications, and what they show in words."""

from dperm.catalogue import Catalogue
from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals, number
from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Panel, like
from dperm_pipeline.target import Target

_ERM, _MODEL, _AVERAGES = (look(name, "tight") for name in ("stable_erm", "objective", "averaged"))
_DELTA = {False: lambda delta: delta == 0, True: lambda delta: delta > 0}
# (mechanism, calibration, whether delta > 0) -> look; then what is promised for it.
_METHODS = {
    ("stable_erm", "paper", False): like(_ERM, label="stable ERM, printed noise"),
    ("stable_erm", "tight", False): like(_ERM, label="stable ERM, tight noise", line=DASHED, hollow=True),
    ("objective", "tight", False): like(_MODEL, label="objective perturbation, gamma"),
    ("objective", "tight", True): like(_MODEL, label="objective perturbation, Gaussian", line=DASHED, hollow=True),
    ("nonprivate", "", False): like(NONPRIVATE, label="without privacy"),
    ("averaged", "paper", False): like(_AVERAGES, label="averaging, best r"),
}
_PROMISED = {
    ("stable_erm", "paper", False): ("Corollary 4.11", _ERM.colour, "", DOTTED),
    ("objective", "tight", False): ("p/(εα²), constant 1", _MODEL.colour, "", DOTTED),
    ("objective", "tight", True): ("√p/(εα²), constant 1", _MODEL.colour, "", (0, (6, 1.4, 1, 1.4))),
}


def _where(key, **more):
    return {"mechanism": key[0], "calibration": key[1], "delta": _DELTA[key[2]], **more}


_SIZES, _LEGEND = [], []
for _key, _line in _METHODS.items():
    _SIZES.append(_line.but(where=_where(_key, metric="n_star"), statistic="mean", bars=True))
    _LEGEND.append(_line)
    if _key in _PROMISED:
        _said = like(_PROMISED[_key], where=_where(_key, metric="promised"), more={"lw": 0.9}, key={"lw": 0.9})
        _SIZES.append(_said)
        _LEGEND.append(_said)
_EXCESSES = [
    line.but(where=_where(key), label="", shades="epsilon", darkest_first=True)
    for key, line in _METHODS.items()
    if not key[2]
]


def _ends(rows):
    """Return the least and the largest epsilon."""
    epsilons = sorted(value for value in rows["epsilon"].unique() if value < float("inf"))
    return list(dict.fromkeys((epsilons[0], epsilons[-1])))


def _prepare(rows):
    cube = rows[rows["dataset"] == "cube"]
    kept = (rows["dataset"] == "cube") & (rows["alpha"] == cube["alpha"].max())
    return rows[kept | ((rows["dataset"] == "abs") & rows["epsilon"].isin(_ends(cube)))]


def _notes(rows):
    return [
        "Left: linear loss on the unit ball, worst mean; stable ERM with 95 % intervals, the rest exact. Right: "
        f"absolute loss on coins, exact; dark to light: {equals('ε', *_ends(rows))}. {{delta.max}} with Gaussian "
        "noise, else 0."
    ]


dimension = Figure(
    [
        [
            Panel(
                _SIZES,
                "p",
                lambda rows: f"n*: least n with excess ≤ {number(rows['alpha'].max())}",
                where={"dataset": "cube"},
                across=Facet("epsilon", _ends, others=[float("inf")]),
            ),
            Panel(
                _EXCESSES, "n", "excess at the worst mean", "stable ERM and averaging", {"dataset": "abs", "delta": 0}
            ),
        ]
    ],
    height=3.5,
    prepare=_prepare,
    legend=_LEGEND,
    notes=_notes,
)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-dimension": Target(
        "dimension",
        ("p", "n", "alpha"),
        "Sections 2.1 and 7: the dimension, and what aggregation costs",
        "The least number of records at which the mean excess is at most 0.1, at the worst mean, over the dimension "
        "p, for private answers of stable ERM and for private models (objective perturbation, gamma and Gaussian "
        "noise), on a linear loss; and the excess of stable ERM over n beside that of averaging at its best number of "
        "shards.",
        "Two panels with flat lines of stable ERM and rising ones of objective perturbation, with slopes 1 and 1/2; in "
        "a third the line of averaging falls less steeply than that of stable ERM.",
        metrics=("n_star", "promised", "excess"),
    ),
}
