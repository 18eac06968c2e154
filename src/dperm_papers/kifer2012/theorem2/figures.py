"""Figures and tables of kifer2012-theorem2: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.looks import equals, noise_label, number
from dperm_pipeline.figures.spec import (
    DASHED,
    DOTTED,
    Column,
    Facet,
    Figure,
    Line,
    Panel,
    Table,
    crossed,
    encoded,
    told,
)
from dperm_pipeline.target import Catalogue, Target

# Colours of Okabe & Ito.
_WAYS = encoded(
    "neighbours calibration",
    {
        ("add_remove", "paper"): ("add/remove, Algorithm 1", "#009E73"),
        ("add_remove", "tight"): ("add/remove, tight", "#0072B2"),
        ("replace", "paper"): ("Algorithm 1 read as replace-one", "#D55E00"),
        ("replace", "corrected"): ("replace-one, corrected (2ζ)", "#E69F00"),
        ("replace", "tight"): ("replace-one, tight", "#CC79A7"),
    },
)
_CLASSICAL = Line("sensitivity ζ alone, classical", "#000000", line=DOTTED, where={"calibration": "classical"})
_DIRECTIONS = encoded(
    "direction", {"adding": ("", None, "", "-"), "removing": ("", None, "", DASHED), "either": ("", None, "", "-")}
)
_PROMISE = Line(
    "what is promised", "#000000", "x", x=lambda rows: rows["epsilon"], statistic="first", fits=False,
    more={"lw": 1.2, "ms": 6, "mew": 1.4, "zorder": 5, "clip_on": False}, key={"ls": "none"},
)  # fmt: skip
_ROWS = ("smooth", "lasso", "ball", "box", "norm", "curvature")


def _profiles(delta, last, wide):
    """Return the panels of a delta, one for each epsilon that is promised."""
    top = delta or 1.0
    # The smallest delta that a panel shows, as a share of the promised one (of 1 for pure privacy).
    low = top * (1e-7 if delta > 0 else 1e-6)
    decades = [10.0**k for k in range(math.ceil(math.log10(low)), 1, 2)]
    return Panel(
        [*crossed(_DIRECTIONS, _WAYS), _PROMISE.but(y=lambda rows: rows["delta"].where(rows["delta"] > 0, low))],
        "at", f"δ(ε′), {equals('δ', delta)}", where={"metric": "profile", "delta": delta},
        # A logarithmic axis has no 0: the line leaves the panel downwards.
        y=lambda rows: rows["value"].clip(lower=low * 1e-3),
        across=Facet("epsilon"), xlabel="ε′" if last else "", xscale="linear",
        xlim=lambda rows: (0, 2 * rows["epsilon"].iloc[0]),
        xticks=lambda rows: [k * rows["epsilon"].iloc[0] for k in range(3)],
        ylim=lambda rows: (low, min(1.0, max(top * 1e3, 2 * rows["value"].max()))), yscale="log", yticks=decades,
        sharey=True, more={"lw": 1}, title_look={}, wide=wide,
    )  # fmt: skip


def _ticks(rows):
    values = sorted(rows["epsilon"].unique())
    ticks = [value for value in (0.05, 0.1, 0.2, 0.5, 1, 2, 5) if values[0] * 0.999 <= value <= values[-1] * 1.001]
    return ticks or values


def _panels(rows):
    profile = rows[rows["metric"] == "profile"]
    epsilons, deltas = (sorted(profile[name].unique()) for name in ("epsilon", "delta"))
    for delta in deltas:
        yield [_profiles(delta, delta == deltas[-1], len(deltas))]
    shown = [line.but(where={**line.where, "loss": "huber"}) for line in _WAYS if line.label[:11] != "Algorithm 1"]
    yield [
        Panel(
            [*shown, _CLASSICAL], ylabel="scale of b, over ζ" if delta == deltas[0] else "", title=noise_label(delta),
            where={"metric": "noise", "delta": delta}, epsilons=True, xticks=_ticks,
            xlim=lambda rows: (rows["epsilon"].min() / 1.1, rows["epsilon"].max() * 1.1), title_look={},
            wide=len(epsilons),
        )
        for delta in deltas
    ]  # fmt: skip


theorem2 = Figure(
    _panels,
    height=lambda rows: 1.55 * rows.loc[rows["metric"] == "profile", "delta"].nunique() + 3.3,
    legend=[
        *_WAYS,
        _CLASSICAL,
        Line("adding (upper panels)", "#777777"),
        Line("removing (upper panels)", "#777777", line=DASHED),
        _PROMISE.but(more={}),
    ],
    notes=[
        "Exact laws on the line (design q1: p = 1, at most two records, Huber loss), Δ = 2λ/ε, no repeats: nothing is "
        "sampled. Upper panels: δ(ε′) of the worst pair of data sets that a search found; a line above the cross "
        "breaks the promise. Under add/remove nothing needs correcting. Attacks are in the figure "
        "privacy-ledger-kifer2012."
    ],
)

_KEYS = ("row", "loss", "variant", "neighbours", "calibration", "ridge_multiple")


def _largest_shares(rows):
    """Return, of each statement and way, the row with the largest share of its epsilon."""
    shares = rows.assign(share=rows["value"] / rows["epsilon"]).sort_values(["share", "epsilon", "direction"])
    return shares.groupby([*_KEYS]).tail(1)


theorem2_table = Table(
    [
        Column("statement", "row"),
        Column("loss"),
        Column("noise", "variant"),
        Column("relation", told(lambda row: row["neighbours"].replace("_", "/"))),
        Column("calibration"),
        Column("Δε/λ", "ridge_multiple"),
        Column("largest share of ε spent", "share"),
        Column("at ε", "epsilon"),
        Column("at δ", "delta"),
        Column("direction"),
        Column("pair"),
    ],
    by=_KEYS,
    where={"metric": "spent"},
    prepare=_largest_shares,
    order=told(lambda row: _ROWS.index(row["row"])),
    words=lambda value: value if isinstance(value, str) else number(float(f"{value:.4g}")),
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-theorem2": Target(
        "Theorem 2: what Algorithm 1 spends",
        "Exact delta(epsilon) of the worst pair of data sets on the line for Algorithm 1's noise, for the least noise "
        "that is proved enough, and for the printed noise read as replace-one, at every budget promised; below, the "
        "scale of the noise over epsilon. All numbers are exact.",
        "Panels for each budget with falling curves and a cross at the promise: only the printed noise read as "
        "replace-one passes above the cross. Below, lines of the noise's scale over epsilon on logarithmic axes.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "kifer2012-theorem2": Target(
        "Theorem 2: what is spent",
        "The largest share of epsilon that is spent at delta over all budgets, by exact laws, with the pair of data "
        "sets that spends it.",
    ),
}
