"""jain2013-fig1: who sees what in the paper's three models, and the constants of the algorithm for each."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from dperm_pipeline.figures import style

_PRIVATE, _RELEASED, _PUBLIC = "#D55E00", "#0072B2", "#777777"
_HEIGHTS = {"data": 0.86, "learner": 0.55, "user": 0.13}
# T and d at which numbers are quoted.
_T, _D = 10_000, 10


def fig1(rows: pd.DataFrame) -> Figure:
    """Draw the three models: dataset, trusted learner, user, and what passes between them.

    - rows: of the experiment jain2013-constants.
    - Returns: numbers under each are constants as printed, of the largest n lambda at most 10^7 among the rows.
    """
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    table = rows[rows["series"].isin(["pinp", "tddl", "tdil"]) & (rows["calibration"] == "paper")]
    total = float(table.loc[table["total"] <= 1e7, "total"].max())
    table = table[table["total"] == total]
    figure = Figure(figsize=(7.0, 4.6))
    for axis, (title, sent, back, where, numbers) in zip(figure.subplots(1, 3), _MODELS, strict=True):
        _schematic(axis, title, sent, back, where)
        axis.text(0.5, -0.045, numbers(table), ha="center", va="top", size=7, color="#333333", linespacing=1.35)
    handles = [
        Line2D([], [], color=_PRIVATE, lw=1.6, label="private: never leaves the learner"),
        Line2D([], [], color=_RELEASED, lw=1.6, label="released: (ε, δ)-private"),
        Line2D([], [], color=_PUBLIC, lw=1.6, label="public: not protected"),
    ]
    line = (
        f"Constants as printed: {style.equals('C', float(table['radius'].max()))}, {style.equals('nλ', total)}, "
        f"{style.equals('ε', float(table['epsilon'].iloc[0]))}, {style.equals('δ', float(table['delta'].iloc[0]))}. "
        "The privacy promised is that of the training records: queries and public points are not hidden "
        "from anyone who sees the answers. Dashed: who stands above it is trusted."
    )
    style.footer(figure, handles, columns=3, lines=[line])
    return figure


def _schematic(axis: Axes, title: str, sent: str, back: str, where: str) -> None:
    axis.set_xlim(0, 1)
    axis.set_ylim(-0.16, 1)
    axis.axis("off")
    axis.set_title(title)
    _box(axis, "data", "dataset", "(x₁, y₁) … (xₙ, yₙ)", _PRIVATE)
    _box(axis, "learner", "trusted learner", where, _PRIVATE)
    _box(axis, "user", "user", "labels for the test set", _RELEASED)
    _arrow(axis, 0.5, "data", "learner", _PRIVATE)
    if sent:
        _arrow(axis, 0.3, "user", "learner", _PUBLIC)
        _words(axis, 0.27, sent, _PUBLIC, "right")
    _arrow(axis, 0.7 if sent else 0.5, "learner", "user", _RELEASED)
    _words(axis, 0.73 if sent else 0.53, back, _RELEASED, "left")
    # What lies above is trusted.
    axis.plot([0.02, 0.98], [0.27, 0.27], color="black", lw=0.8, ls=(0, (4, 2)))


def _box(axis: Axes, party: str, name: str, content: str, colour: str) -> None:
    middle = _HEIGHTS[party]
    axis.add_patch(
        FancyBboxPatch(
            (0.1, middle - 0.075), 0.8, 0.15, boxstyle="round,pad=0.012", fc="white", ec=colour, lw=1.2, zorder=2
        )
    )  # fmt: skip
    axis.text(0.5, middle + 0.034, name, ha="center", va="center", size=8, weight="bold", zorder=3)
    axis.text(0.5, middle - 0.036, content, ha="center", va="center", size=7, zorder=3)


def _arrow(axis: Axes, x: float, start: str, end: str, colour: str) -> None:
    sign = 1 if _HEIGHTS[end] > _HEIGHTS[start] else -1
    ends = (_HEIGHTS[start] + sign * 0.095, _HEIGHTS[end] - sign * 0.095)
    axis.add_patch(
        FancyArrowPatch((x, ends[0]), (x, ends[1]), arrowstyle="-|>", mutation_scale=11, color=colour, lw=1.4, zorder=2)
    )


def _words(axis: Axes, x: float, words: str, colour: str, side: str) -> None:
    axis.text(x, 0.375, words, ha=side, va="center", size=7, color=colour, linespacing=1.2)


def _interactive(table: pd.DataFrame) -> str:
    here = table[(table["series"] == "pinp") & (table["queries"] == _T)]
    B, sigma = (_value(here, name) for name in ("rounds", "threshold"))
    return f"PINP, T = {_T:,} queries:\nB = {B:,.3g} updates, error 1.25 σ = {1.25 * sigma:.2g}" + _idle(here)


def _semi_interactive(table: pd.DataFrame) -> str:
    here = table[table["series"] == "tddl"]
    own = int(_value(here, "own_queries"))
    there = here[here["queries"] == own]
    return f"TDDL, Theorem 5's T = {own:,}:\nnoise ν = {_value(there, 'threshold'):.2g} a point" + _idle(there)


def _non_interactive(table: pd.DataFrame) -> str:
    here = table[(table["series"] == "tdil") & (table["d"] == _D)]
    B, centres = _value(here, "rounds"), 10.0 ** round(_value(here, "net_digits"))
    return f"TDIL, d = {_D}: B = {B:,.4g} rounds,\na net of |S| = {style.number(centres)} centres" + _idle(here)


def _value(rows: pd.DataFrame, metric: str) -> float:
    return float(rows.loc[rows["metric"] == metric, "value"].iloc[0])


def _idle(rows: pd.DataFrame) -> str:
    return "\n(vacuous: B < 1 or σ ≥ C R/2)" if rows["vacuous"].any() else ""


# Title, what the user sends, what it gets back, what the learner holds, numbers.
_MODELS: tuple[tuple[str, str, str, str, Callable[[pd.DataFrame], str]], ...] = (
    ("(a) interactive", "z₁, z₂, …\none by one", "ŷ₁, ŷ₂, …", "w*, and a private wₜ", _interactive),
    (
        "(b) semi-interactive", "T points z,\nonce", "ŵ, good where\nthe z come from", "w*, noisy answers on Z",
        _semi_interactive,
    ),
    ("(c) non-interactive", "", "ŵ, good on the\nwhole input space", "w*, and its own zₜ", _non_interactive),
)  # fmt: skip
