"""Figures and tables of kifer2012-theorem6: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import LONG_DASHED, equals, number
from dperm_pipeline.figures.spec import DOTTED, Figure, Line, Panel, encoded, power
from dperm_pipeline.target import Catalogue, Target

# Calibration -> name, colour; design -> name, marker. Dashes are left to bounds.
_CALIBRATIONS = {"paper": ("printed weights", "#D55E00"), "tight": ("tight weights", "#0072B2")}
_DESIGNS = {"rademacher": ("random signs", "o"), "planted": ("planted", "D")}
# The bound that is drawn over n: half of all draws may lie above it.
_GAMMA = 0.5
_WEIGHTS = encoded("calibration", _CALIBRATIONS)
_BOUNDS = [
    line.but(
        label="", line=LONG_DASHED, where={**line.where, "metric": "bound"}, more={"ms": 3, "lw": 0.9, "alpha": 0.7}
    )
    for line in _WEIGHTS
]
# Theorem 6's growth; it starts this far below the measured line.
_STATED = Line(line=DOTTED, colour="#777777", via=power(3, 1 / 3.0), more={"lw": 1.2})


def _ticks(column):
    """Return, for `xticks`, each value of a column, of many every decade."""

    def ticks(rows):
        values = sorted(rows[column].unique())
        if len(values) <= 6:
            return values
        return [10.0**k for k in range(-9, 10) if values[0] / 1.3 <= 10.0**k <= values[-1] * 1.3]

    return ticks


def _risks(metric, design, **more):
    return [
        line.but(
            label="", marker=_DESIGNS[design][1], where={**line.where, "dataset": design, "metric": metric}, **more
        )
        for line in _WEIGHTS
    ]


def _reach(rows):
    """Return what the panel of excess risks shows: far below lies what no draw would ever show."""
    drawn = rows[(rows["metric"] == "excess_risk") | (rows["gamma"] == _GAMMA)]
    means = drawn.groupby(["metric", "dataset", "calibration", "n"])["value"].mean()
    return max(means.min(), means.max() * 1e-8), means.max()


def _several(rows, name):
    return f"{name} = {', '.join(map(number, sorted(rows[name].unique())))}"


def _panels(rows):
    near, planted = (rows[rows["dataset"] == design] for design in _DESIGNS)
    p, size = int(near["p"].min()), int(near["s"].min())
    few = {"p": p, "s": size}
    one = planted[(planted["p"] == p) & (planted["s"] == size)]
    grown = planted[planted["p"] == rows["p"].max()]
    right = [
        line.but(where={**line.where, "p": wide, "s": s}, statistic="mean", band=0.18, hollow=s != size,
                 via=lambda share: share.clip(0, 1))
        for line in _risks("right", "rademacher")
        for wide, s in sorted(set(zip(near["p"], near["s"], strict=True)))
    ]  # fmt: skip
    excess = [
        *_risks("excess_risk", "rademacher", statistic="mean", band=0.18, positive=0.1),
        *_risks("excess_risk", "planted", statistic="mean"),
        *(line.but(where={**line.where, "gamma": _GAMMA}, statistic="first") for line in _BOUNDS),
    ]
    risk = _risks("excess_risk", "planted")[0]
    growth = [risk, _STATED.but(where=risk.where), _BOUNDS[0].but(where={**_BOUNDS[0].where, "gamma": _GAMMA})]
    panel = Panel(xlim=1.3, more={"ms": 3, "lw": 0.9})
    return [
        [
            panel.but(
                lines=right, x="n", title=f"P(right support), {_several(near, 'p')}, {_several(near, 's')}",
                where={"dataset": "rademacher"}, xticks=_ticks("n"), ylim=(-0.03, 1.03),
            ),
            panel.but(
                lines=excess, x="n", title=f"mean excess risk, p = {p}, s = {size}",
                where={**few, "metric": ("excess_risk", "bound")}, xticks=_ticks("n"), span=_reach, exactly=True,
            ),
        ],
        [
            panel.but(
                lines=[*_risks("quantile", "planted"), *_BOUNDS], x="gamma", more={"ms": 3.5, "lw": 0.9},
                title=f"excess exceeded with P ≤ γ, p = {p}, s = {size}, planted",
                where={**few, "dataset": "planted", "n": one["n"].max(), "metric": ("quantile", "bound")},
                xticks=_ticks("gamma"), span=lambda rows: [0.0],
            ),
            panel.but(
                lines=growth, x="s", title=f"mean excess risk over s, p = {number(grown['p'].iloc[0])}, planted",
                where={"dataset": "planted", "p": rows["p"].max(), "n": grown["n"].max(),
                       "metric": ("excess_risk", "bound")},
                xticks=_ticks("s"), more={"ms": 3.5, "lw": 0.9},
            ),
        ],
    ]  # fmt: skip


def _notes(rows):
    near, planted = (rows[rows["dataset"] == design] for design in _DESIGNS)
    p, size = int(near["p"].min()), int(near["s"].min())
    ends = [
        ("γ", planted[(planted["p"] == p) & (planted["s"] == size)]),
        ("s", planted[planted["p"] == rows["p"].max()]),
    ]
    sizes = [f"{number(part['n'].max())} (over {name})" for name, part in ends if len(part)]
    several = ""
    if len(near[["p", "s"]].drop_duplicates()) > 1:
        several = f" P(right support): filled markers s = {size}, open ones above; p rises from left to right."
    return [
        f"Exponential mechanism over all supports of size s, {equals('ε', rows['epsilon'].iloc[0])}, add/remove. All "
        f"laws are exact; random signs: means over {int(near['repeat'].max()) + 1} data sets, 95 % bands. Planted: one "
        f"data set, the same for both weights; n = {' and '.join(sizes)}. Tight weights are four times the printed "
        f"ones (erratum K5).{several}"
    ]


theorem6 = Figure(
    _panels,
    height=5.4,
    legend=[
        *(line.but(key={"lw": 2.5}) for line in _WEIGHTS),
        *(Line(name, "#000000", marker, key={"lw": 0.9}) for name, marker in _DESIGNS.values()),
        Line("bound of Theorem 34 (over n: γ = 0.5)", "#777777", line=LONG_DASHED, key={"lw": 1.0}),
        Line("s³, Theorem 6 (shifted down)", "#777777", line=DOTTED, key={"lw": 1.0}),
    ],
    notes=_notes,
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem6": Target(
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
