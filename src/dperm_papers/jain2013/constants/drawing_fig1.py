"""jain2013-fig1: who sees what in the paper's three models, and the constants of the algorithm for each.

Boxes and arrows, not lines over an axis: no specification says them.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from dperm_pipeline.figures import style
from dperm_pipeline.figures.points import plain

_PRIVATE, _RELEASED, _PUBLIC = "#D55E00", "#0072B2", "#777777"
_LEGEND = {
    "private: never leaves the learner": _PRIVATE,
    "released: (ε, δ)-private": _RELEASED,
    "public: not protected": _PUBLIC,
}
_HEIGHTS = {"data": 0.86, "learner": 0.55, "user": 0.13}
# T and d at which numbers are quoted.
_T, _D = 10_000, 10


def fig1(rows: pd.DataFrame) -> Figure:
    """Draw dataset, trusted learner and user, and the printed constants of the largest n lambda at most 10^7."""
    rows = plain(rows)
    table = rows[rows["series"].isin(["pinp", "tddl", "tdil"]) & (rows["calibration"] == "paper")]
    table = table[table["total"] == table.loc[table["total"] <= 1e7, "total"].max()]
    figure = Figure(figsize=(7.0, 4.6))
    for axis, (title, sent, back, where, numbers) in zip(figure.subplots(1, 3), MODELS, strict=True):
        axis.set_title(title)
        _schematic(axis, sent, back, where)
        axis.text(0.5, -0.045, numbers(table), ha="center", va="top", size=7, color="#333333", linespacing=1.35)
    first = table.iloc[0]
    values = {"C": table["radius"].max(), "nλ": first["total"], "ε": first["epsilon"], "δ": first["delta"]}
    line = (
        f"Constants as printed: {', '.join(style.equals(name, value) for name, value in values.items())}. "
        "The privacy promised is that of the training records: queries and public points are not hidden "
        "from anyone who sees the answers. Dashed: who stands above it is trusted."
    )
    handles = [Line2D([], [], color=colour, lw=1.6, label=words) for words, colour in _LEGEND.items()]
    style.footer(figure, handles, columns=3, lines=[line])
    return figure


def _schematic(axis: Axes, sent: str, back: str, where: str) -> None:
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.16, 1)
    axis.axis("off")
    _box(axis, "data", "dataset", "(x₁, y₁) … (xₙ, yₙ)", _PRIVATE)
    _box(axis, "learner", "trusted learner", where, _PRIVATE)
    _box(axis, "user", "user", "labels for the test set", _RELEASED)
    _arrow(axis, 0.5, "data", "learner", _PRIVATE)
    words = {"va": "center", "size": 7, "linespacing": 1.2}
    if sent:
        _arrow(axis, 0.3, "user", "learner", _PUBLIC)
        axis.text(0.27, 0.375, sent, color=_PUBLIC, ha="right", **words)
    x = 0.7 if sent else 0.5
    _arrow(axis, x, "learner", "user", _RELEASED)
    axis.text(x + 0.03, 0.375, back, color=_RELEASED, ha="left", **words)
    # What lies above is trusted.
    axis.plot([0.02, 0.98], [0.27, 0.27], color="black", lw=0.8, ls=(0, (4, 2)))


def _box(axis: Axes, party: str, name: str, content: str, colour: str) -> None:
    middle = _HEIGHTS[party]
    look = {"boxstyle": "round,pad=0.012", "fc": "white", "ec": colour, "lw": 1.2, "zorder": 2}
    axis.add_patch(FancyBboxPatch((0.1, middle - 0.075), 0.8, 0.15, **look))
    words = {"ha": "center", "va": "center", "zorder": 3}
    axis.text(0.5, middle + 0.034, name, size=8, weight="bold", **words)
    axis.text(0.5, middle - 0.036, content, size=7, **words)


def _arrow(axis: Axes, x: float, start: str, end: str, colour: str) -> None:
    gap = 0.095 if _HEIGHTS[end] > _HEIGHTS[start] else -0.095
    ends = (x, _HEIGHTS[start] + gap), (x, _HEIGHTS[end] - gap)
    axis.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=11, color=colour, lw=1.4, zorder=2))


def _interactive(table: pd.DataFrame) -> str:
    here = table[(table["series"] == "pinp") & (table["queries"] == _T)]
    B, sigma = (_value(here, name) for name in ("rounds", "threshold"))
    return f"PINP, T = {_T:,} queries:\nB = {B:,.3g} updates, error 1.25 σ = {1.25 * sigma:.2g}" + _vacuous(here)


def _semi_interactive(table: pd.DataFrame) -> str:
    here = table[table["series"] == "tddl"]
    own = int(_value(here, "own_queries"))
    there = here[here["queries"] == own]
    return f"TDDL, Theorem 5's T = {own:,}:\nnoise ν = {_value(there, 'threshold'):.2g} a point" + _vacuous(there)


def _non_interactive(table: pd.DataFrame) -> str:
    here = table[(table["series"] == "tdil") & (table["d"] == _D)]
    B, centres = _value(here, "rounds"), 10.0 ** round(_value(here, "net_digits"))
    return f"TDIL, d = {_D}: B = {B:,.4g} rounds,\na net of |S| = {style.number(centres)} centres" + _vacuous(here)


def _value(rows: pd.DataFrame, metric: str) -> float:
    return float(rows.loc[rows["metric"] == metric, "value"].iloc[0])


def _vacuous(rows: pd.DataFrame) -> str:
    return "\n(vacuous: B < 1 or σ ≥ C R/2)" if rows["vacuous"].any() else ""


# Title, what the user sends, what it gets back, what the learner holds, numbers.
MODELS = (
    ("(a) interactive", "z₁, z₂, …\none by one", "ŷ₁, ŷ₂, …", "w*, and a private wₜ", _interactive),
    (
        "(b) semi-interactive", "T points z,\nonce", "ŵ, good where\nthe z come from", "w*, noisy answers on Z",
        _semi_interactive,
    ),
    ("(c) non-interactive", "", "ŵ, good on the\nwhole input space", "w*, and its own zₜ", _non_interactive),
)  # fmt: skip
