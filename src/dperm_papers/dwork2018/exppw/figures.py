"""Figures and tables of dwork2018-exppw: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.looks import equals, number
from dperm_pipeline.figures.spec import Figure, Level, Line, Panel, crossed, encoded
from dperm_pipeline.target import Catalogue, Target

_LINE = {"lw": 0.9}
# Kind of sample -> look.
_KINDS = encoded(
    "kind",
    {
        "exhaustive": ("all labellings", "#000000", "*"),
        "realizable": ("realizable", "#0072B2", "o"),
        "flipped": ("flipped", "#E69F00", "D"),
        "random": ("random", "#009E73", "^"),
        "blocks": ("blocks", "#CC79A7", "v"),
    },
    more=_LINE,
)
_STRICT = Line("Section 2.2 as printed, worst kind", "#8A8A8A", "x", where={"variant": "strict"}, statistic="max",
               more=_LINE)  # fmt: skip
# Treatment of ties -> look.
_TIES = encoded(
    "variant",
    {
        "sorted": ("ties sorted by (x, y)", "#D55E00", "s"),
        "random": ("ties in random order", "#009E73", "X"),
        "": ("ties lifted", "#0072B2", "o"),
        "fresh": ("lifted, asked with a new key", "#56B4E9", "P"),
    },
    more=_LINE,
)
_SHADES = Line(lambda k: f"k = {k}", "#6A3D9A", shades="k", markers=("o", "s", "^", "D", "v"), more=_LINE)
_BOUND = "#333333"
_DASH = {"marker": "_", "ms": 9, "mew": 1.6}
# The least ratio that is drawn.
_LEAST = 0.05
# Of the epsilons, the smallest first, the largest solid.
_DASHES = ((0, (1, 1.4)), (0, (4, 1.6)))


def _parts(rows):
    """Return the rows of the panels (a), (b) and (c)."""
    return (
        rows[(rows["series"] == series) & rows["metric"].isin(metrics)]
        for series, metrics in (("lemma", ["ratio"]), ("ties", ["error", "allowed"]), ("size", ["scaled"]))
    )


def _epsilons(rows):
    """Return the lines of the two smallest epsilons of all panels, broken, and of the largest, solid."""
    *broken, largest = sorted(set.intersection(*(set(part["epsilon"]) for part in _parts(rows))))
    return [
        Line(equals("ε", epsilon), _BOUND, line=line, where={"epsilon": epsilon})
        for epsilon, line in {**dict(zip(broken, _DASHES[-len(broken) :], strict=False)), largest: "-"}.items()
    ]


def _allowed(rows):
    """Return Theorem 5.3's bound on (Err_P - Opt)/alpha."""
    return (rows["epsilon"].map(math.exp) * (rows["flip"] + rows["alpha"]) - rows["flip"]) / rows["alpha"]


def _panels(rows):
    lemma, _, sizes = _parts(rows)
    epsilons = _epsilons(rows)
    worst = [
        *(line.but(statistic="max", where={**line.where, "variant": ""}, via=_from_least) for line in _KINDS),
        _STRICT,
    ]
    errors = [line.but(statistic="mean", where={**line.where, "metric": "error"}) for line in _TIES]
    allowed = Line("", _BOUND, "", where={"metric": "allowed"}, statistic="first", more={"lw": 1.0})
    bound = _SHADES.but(where={"share": 1.0}, y=_allowed, statistic="first", line="none", markers=(), more=_DASH)
    strict = lemma[(lemma["variant"] == "strict") & lemma["epsilon"].isin([e.where["epsilon"] for e in epsilons])]
    yield [
        Panel(
            crossed(worst, epsilons), "bound", "excess / bound", "(a) on the sample: Lemma 5.2",
            {"series": "lemma", "metric": "ratio"}, [Level(1.0, "", _BOUND, more={"lw": 1.0})],
            xlabel="T", xticks="all", exactly=True,
            # Samples on which the walk is better than the best function have no place on a logarithmic axis.
            span=lambda _: (_LEAST, max(1.0, strict["value"].max())),
        ),
        Panel(
            crossed([*errors, allowed], epsilons), "domain", "Err_S", "(b) ties",
            {"series": "ties", "metric": ("error", "allowed")},
            [Level(0.25, "", "#999999", more={"lw": 0.8}, says=_OPT)],
            xlabel="N, points that share all records", xticks="all",
            ylim=lambda rows: (0.2, math.ceil(rows["value"].max() * 10) / 10),
        ),
    ]  # fmt: skip
    flips = {0.0: "realizable", sizes["flip"].max(): f"{100 * sizes['flip'].max():.0f} % of the labels flipped"}
    for alpha in sorted(sizes["alpha"].unique(), reverse=True):
        panel = Panel(
            crossed([_SHADES.but(bars=0.8), bound], epsilons), "n", "(Err_P − Opt)/α", statistic="mean",
            span=_span(sizes[sizes["alpha"] == alpha]), exactly=True,
        )  # fmt: skip
        here = {"series": "size", "metric": "scaled", "alpha": alpha}
        yield [
            panel.but(where={**here, "flip": flip}, title=f"(c) fresh points, {equals('α', alpha)}, {words}")
            for flip, words in flips.items()
        ]


_OPT = {"text": "Opt", "xy": (1, 0.25), "xycoords": "data", "xytext": (2, -8), "color": "#666666"}


def _from_least(ratios):
    return ratios.where(ratios >= _LEAST)


def _span(rows):
    """Return what the y-axes of an alpha show: they are the same with and without flipped labels."""
    means = rows.groupby(["epsilon", "k", "flip", "share"])["value"].mean()
    ends = means.min(), max(means.max(), _allowed(rows).max())
    return lambda _: ends


def _legend(rows):
    bound = Line("bound", _BOUND, key={**_DASH, "lw": 1.0})
    return [*_KINDS, _STRICT, *_TIES, _SHADES.but(where={"series": "size"}), *_epsilons(rows), bound]


def _notes(rows):
    lemma, ties, sizes = _parts(rows)
    every = lemma["kind"] == "exhaustive"
    small, large = lemma.loc[every, "n"].max(), lemma.loc[~every, "n"].max()
    # Where all labellings could have broken the bound, and how near they come.
    open_ = lemma[every & (lemma["variant"] == "") & (lemma["form"] == "open")]
    near = ""
    if len(open_):
        epsilons = " and ".join(f"{epsilon:g}" for epsilon in sorted(open_["epsilon"].unique()))
        largest = open_["value"].max()
        near = f" (at ε = {epsilons}, where the bound is below their largest error, up to {largest:.2f})"
    return [
        f"(a) (Err_S − Opt_S) over Lemma 5.2's (k + 2)T/n + exp(−εT/2), printed exp(−εT), the largest of all samples "
        f"and k where it is {_LEAST:g} or more; n = {number(large)}, all labellings n = {int(small)}{near}. (b) Err_S "
        f"on tie(N), Pr[y = 1] = 1/4, {equals('α', ties['alpha'].iloc[0])}; random order and lifted: means over "
        f"{number(ties['repeat'].nunique())} samples. (c) Means of exact Err_P over "
        f"{number(sizes['repeat'].nunique())} samples; bars: Theorem 5.3 at its n."
    ]


exppw = Figure(_panels, height=(1.7, 2.5), columns=4, legend=_legend, notes=_notes)


FIGURES: Catalogue[str, Target] = {
    "dwork2018-exppw": Target(
        "Section 5: the exponential projected walk",
        "Error of ExpPW above the best union of intervals: on the sample itself, in units of Lemma 5.2's bound, over "
        "T; on N points that share all records, by treatment of ties; and on fresh points, in units of alpha, over n "
        "beside Theorem 5.3. Errors are exact given the sample. Bars: 95 % confidence intervals.",
        "Two panels and two more for each alpha: all curves of the walk lie below the bound, that of Section 2.2's "
        "text above it; with ties, the walk is far above the bound if the labels of a point are sorted, unless the "
        "points are many, and below it if they come in random order; over n the curves fall in parallel.",
        metrics=("ratio", "scaled", "error", "allowed"),
    ),
}
