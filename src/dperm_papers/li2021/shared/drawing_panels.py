"""What the figures of li2021-simulations share: which curves there are, the grid of panels, and the words under it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from dperm_pipeline.figures import style

_DASHED, _DOTTED, _DASH_DOTTED = (0, (3.2, 1.4)), (0, (1, 1.3)), (0, (5, 1.2, 1, 1.2))
# The paper's red, green and blue, as far as they can be told apart with any colour vision; a marker each.
_KINDS = {"vs_plus": ("#D55E00", "^"), "vs": ("#009E73", "s"), "erm": ("#0072B2", "o")}
_GREY = style.NONPRIVATE.colour


@dataclass(frozen=True)
class Curve:
    """One line of a panel: which rows, how it looks, and whether it belongs to one delta."""

    label: str
    where: Mapping[str, Any]
    colour: str
    marker: str = ""
    line: Any = "-"
    hollow: bool = False
    of_delta: bool = True
    look: dict[str, Any] = field(init=False)

    def __post_init__(self):
        face = "white" if self.hollow else self.colour
        look = {"color": self.colour, "marker": self.marker, "ls": self.line, "mfc": face, "mew": 0.7, "ms": 2.6}
        object.__setattr__(self, "look", {**look, "lw": 1.0})


def _published(kind: str, moor: bool, label: str) -> Curve:
    variant = f"{kind}-moor" if moor else kind
    where = {"calibration": "paper", "variant": variant, "target": "lasso"}
    return Curve(label, where, *_KINDS[kind], line="-" if moor else _DASHED, hollow=not moor)


PUBLISHED = (
    _published("vs_plus", True, "NAPP-VS+, MOOR"),
    _published("vs", True, "NAPP-VS, MOOR"),
    _published("erm", True, "NAPP-ERM, MOOR"),
    _published("vs_plus", False, "NAPP-VS+"),
    _published("vs", False, "NAPP-VS"),
    _published("erm", False, "existing DP-ERM"),
)


def _corrected(kind: str, calibration: str, target: str, label: str) -> Curve:
    line = {"lasso": "-", "elastic_net": _DASHED}[target] if calibration == "corrected" else _DASH_DOTTED
    colour, marker = _KINDS[kind]
    marker = marker if calibration == "corrected" else ""
    where = {"mechanism": "napp", "calibration": calibration, "variant": kind, "target": target}
    return Curve(label, where, colour, marker, line, hollow=target != "lasso")


CORRECTED = (
    _corrected("vs_plus", "corrected", "lasso", "VS+: fixed lasso"),
    _corrected("vs_plus", "corrected", "elastic_net", "VS+, elastic net"),
    _corrected("vs_plus", "tight", "lasso", "VS+, tight noise"),
    _corrected("erm", "corrected", "lasso", "NAPP-ERM = VS"),
    _corrected("erm", "corrected", "elastic_net", "NAPP-ERM, elastic net"),
    _corrected("erm", "tight", "lasso", "NAPP-ERM, tight noise"),
)
LASSOS = (
    Curve("lasso(Λ), not private", {"variant": "lasso"}, _GREY, line="-", of_delta=False),
    Curve("lasso(2Λ), not private", {"variant": "lasso-2"}, _GREY, line=_DOTTED, of_delta=False),
)
# In the order of a legend of four columns.
PUBLISHED_AND_LASSOS, CORRECTED_AND_LASSOS = (
    (*three[:3], LASSOS[0], *three[3:], LASSOS[1]) for three in (PUBLISHED, CORRECTED)
)
RIDGE = Curve("ridge: 1 − Λ0/max(Λ, Λ0)", {"target": "ridge", "variant": "erm"}, _KINDS["erm"][0], of_delta=False)
# Words under a figure of the corrected mechanisms.
SOUND = (
    "Θ is a box in one orthant, b has the right law, the lasso reached is Λ (N6). VS is NAPP-ERM there (N3); VS+ has a "
    "fixed lasso tσ in the place of truncated noise (N2). Solid: Λ|θ| + Λ0θ², which is the lasso without MOOR and also "
    "the only sound MOOR, an elastic net with Λκ = Λ0 (N4); dashed: that elastic net without MOOR, Λ|θ| + 2Λ0θ²."
)


def plain(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that hold a value, text as text."""
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    return rows[rows["status"] == "ok"]


def of_delta(rows: pd.DataFrame, pure: bool) -> float:
    """Return 0 for pure privacy, else the least delta above 0 that was run."""
    positive = rows.loc[rows["delta"] > 0, "delta"]
    return 0.0 if pure or positive.empty else float(positive.min())


def read(rows: pd.DataFrame, curve: Curve, metrics: Sequence[str]) -> pd.DataFrame:
    """Return a curve's points.

    - rows: of one panel: one design, epsilon and delta.
    - Returns: indexed by `strength`, falling; a column for each metric, NaN where there is no value. Empty if the curve
      is not among the rows.
    """
    for name, value in curve.where.items():
        rows = rows[rows[name] == value]
    rows = rows[rows["metric"].isin(metrics) & (rows["step"] >= 0)]
    if rows.empty:
        return pd.DataFrame(columns=list(metrics))
    points = rows.pivot(index="strength", columns="metric", values="value").sort_index(ascending=False)
    return points.reindex(columns=list(metrics))


def name_of(design: str) -> str:
    """Return a design's name in words: `linear, n = 200`."""
    model, n = design.rsplit("-", 1)
    return f"{'Poisson' if model == 'poisson' else model}, {style.equals('n', float(n))}"


def ordered(designs: Sequence[str], models: Sequence[str]) -> list[str]:
    """Return the designs in the order of the models, by n."""
    return sorted(designs, key=lambda design: (models.index(design.rsplit("-", 1)[0]), int(design.rsplit("-", 1)[1])))


def grid(
    rows: pd.DataFrame, designs: Sequence[str], *, notes: float, words: Sequence[str] = ()
) -> tuple[Figure, Iterator[tuple]]:
    """Return a figure with a row of panels for each design and a column for each epsilon.

    - words: what the titles of each row say besides, if anything.
    - notes: inches for what stands under the panels.
    - panels: iterator of (Axes, design, epsilon, row, column); titles are set.
    """
    epsilons = sorted(float(value) for value in rows["epsilon"].unique())
    figure = Figure(figsize=(7.2, 1.25 * len(designs) + notes))
    axes = figure.subplots(len(designs), len(epsilons), squeeze=False)

    def panels() -> Iterator[tuple]:
        for i, design in enumerate(designs):
            for j, epsilon in enumerate(epsilons):
                axis = axes[i, j]
                more = words[i] if words else ""
                axis.set_title(f"{name_of(design)}, {style.equals('ε', epsilon)}{more}", size=6.8, pad=2.5)
                axis.tick_params(labelsize=6, length=2, pad=1.5)
                yield axis, design, epsilon, i, j

    return figure, panels()


def finish(figure: Figure, curves: Sequence[Curve], lines: Sequence[str], *, columns: int) -> Figure:
    """Set legend and caption under the panels."""
    handles = [Line2D([], [], **{**curve.look, "ms": 3.5}, label=curve.label) for curve in curves]
    style.footer(figure, handles, columns=columns, lines=lines)
    return figure


def setting(rows: pd.DataFrame, pure: bool) -> str:
    """Return the data, the budget and the number of repeats in words, and how many fits are missing."""
    private = rows[(rows["metric"] == "runs") & (rows["mechanism"] == "napp")]
    most, count = private["value"].max(), len(private)
    lost = int(count * most - private["value"].sum())
    missing = f" {lost} of {int(count * most)} private fits did not converge and are left out." if lost else ""
    return (
        f"Simulated data of Table 4, 16 features, 8 of them relevant; {style.equals('δ', of_delta(rows, pure))}, "
        f"{style.equals('r', float(private['budget_share'].iloc[0]))}; {int(most)} repeats.{missing}"
    )


def along(axis: Axes, points: pd.DataFrame, curve: Curve, metric: str, via: Callable = lambda values: values) -> list:
    """Draw a mean with its 95 % band over Lambda, through `via`; return the values drawn.

    - points: as `read` made them, with `<metric>_mean` and `<metric>_half`.
    - via: from the metric to what is drawn.
    """
    mean, half = points[f"{metric}_mean"].to_numpy(float), points[f"{metric}_half"].to_numpy(float)
    x = points.index.to_numpy(float)
    axis.plot(x, via(mean), **curve.look, zorder=3 if curve.of_delta else 2)
    if curve.of_delta:
        axis.fill_between(x, via(mean - half), via(mean + half), color=curve.colour, alpha=0.15, lw=0, zorder=1.5)
    return [*via(mean)]


def strengths_axis(axis: Axes, last: bool) -> None:
    """Make the x-axis Lambda, logarithmic; with numbers on the last row of panels only."""
    axis.set_xscale("log")
    axis.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"] if last else [""] * 4)
    axis.minorticks_off()
    if last:
        axis.set_xlabel("Λ", labelpad=1)
