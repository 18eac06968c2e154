"""Figure 3 of li2021: the distance to the lasso with MOOR and without, as published and where it is proved."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, NullLocator

from dperm_pipeline.figures import style

# Variant -> its name, colour and line.
LOOKS = {
    "erm-moor": ("with MOOR", "#0072B2", "-"),
    "erm": ("without", "#D55E00", (0, (4, 1.6))),
}
NETS = {
    "erm": ("lasso (DP-ERM)", "#D55E00", "-"),
    "erm-moor": ("elastic net with MOOR", "#0072B2", ""),
    "erm-net": ("elastic net without", "#009E73", (0, (4, 1.6))),
}
_MODELS = ("linear", "logistic", "poisson")
# At this value distances were cut off: it means 0, and is not drawn.
_LEAST = 1e-4


def fig3(rows: pd.DataFrame) -> Figure:
    """Draw the distance of the published estimates to lasso(Lambda) and to lasso(2 Lambda).

    - rows: of the experiment li2021-moor.
    - Returns: a column for each model, a row for each n and lasso. Lines: means over repeats, one shade for each
      epsilon.
    """
    rows = _figure_rows(rows, "paper")
    models, sizes = _models(rows), _sizes(rows)
    figure = Figure(figsize=(7.0, 0.9 + 1.55 * 2 * sizes))
    axes = figure.subplots(2 * sizes, len(models), sharex=True, squeeze=False)
    for column, designs in enumerate(models.values()):
        for place, (design, reference) in enumerate((d, k) for d in designs for k in (1, 2)):
            axis = axes[place, column]
            here = rows[(rows["dataset"] == design) & (rows["reference"] == reference)]
            _panel(axis, here, LOOKS)
            axis.set_title(_title(design), size=8)
            if column == 0:
                axis.set_ylabel(f"distance to lasso({'2' if reference == 2 else ''}Λ)")
            axis.tick_params(labelbottom=place == 2 * len(designs) - 1)
    _finish(axes)
    epsilons = sorted(rows["epsilon"].unique())
    handles = [
        Line2D([], [], color=shade, ls=line, label=f"{name}, {style.equals('ε', epsilon)}")
        for name, colour, line in LOOKS.values()
        for epsilon, shade in zip(epsilons, style.shades(colour, len(epsilons)), strict=True)
    ]
    lines = [
        "‖θ − lasso‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε; lasso(Λ) minimises the sum of losses plus Λ‖θ‖₁. What the "
        f"reweighting reaches without Λ₀ is lasso(2Λ). {_runs(rows)} repeats, mean and 95 % interval; distances of 0 "
        "are not drawn.",
    ]
    style.footer(figure, handles, columns=min(len(epsilons), 4), lines=lines)
    return figure


def fig3_corrected(rows: pd.DataFrame) -> Figure:
    """Draw the distance to lasso(Lambda) of what is proved: the lasso without MOOR, elastic nets with it and without.

    - rows: of the experiment li2021-moor.
    - Returns: a column for each model, a row for each n; one shade for each epsilon.
    """
    rows = _figure_rows(rows, "corrected")
    rows = rows[rows["reference"] == 1]
    models, sizes = _models(rows), _sizes(rows)
    figure = Figure(figsize=(7.0, 1.5 + 1.75 * sizes))
    axes = figure.subplots(sizes, len(models), sharex=True, squeeze=False)
    for column, designs in enumerate(models.values()):
        for place, design in enumerate(designs):
            axis = axes[place, column]
            _panel(axis, rows[rows["dataset"] == design], NETS)
            axis.set_title(_title(design), size=8)
            if column == 0:
                axis.set_ylabel("distance to lasso(Λ)")
            axis.tick_params(labelbottom=place == len(designs) - 1)
    _finish(axes)
    epsilons = sorted(rows["epsilon"].unique())
    handles = [
        Line2D(
            [], [], color=shade, ls=line, marker="" if line else "o", mfc="none", ms=3.5,
            label=f"{name}, {style.equals('ε', epsilon)}",
        )
        for k, epsilon in enumerate(epsilons)
        for name, colour, line in NETS.values()
        for shade in [style.shades(colour, len(epsilons))[k]]
    ]  # fmt: skip
    lines = [
        "‖θ − lasso(Λ)‖₂ without any noise (b = 0), Λ₀ = ζ₃/ε. MOOR is proved private for an elastic net with Λκ ≥ Λ₀ "
        "alone; with the least such κ it is the lasso plus Λ₀‖θ‖², which is DP-ERM: rings lie on lines. κ is below 1: "
        "where Λ ≤ Λ₀ (Poisson: everywhere) no elastic net will do. "
        f"{_runs(rows)} repeats, mean and 95 % interval; distances of 0 are not drawn.",
    ]
    style.footer(figure, handles, columns=len(NETS), lines=lines)
    return figure


def _figure_rows(rows: pd.DataFrame, calibration: str) -> pd.DataFrame:
    rows = rows.astype({key: object for key in rows if isinstance(rows[key].dtype, pd.CategoricalDtype)})
    kept = (rows["row"] == "figure") & (rows["calibration"] == calibration) & (rows["status"] == "ok")
    return rows[kept & rows["metric"].isin(["distance_mean", "distance_half", "runs"])]


def _models(rows: pd.DataFrame) -> dict[str, list[str]]:
    """Return each model's designs, in the order of n."""
    found = {name: sorted(d for d in rows["dataset"].unique() if d.startswith(name)) for name in _MODELS}
    return {name: sorted(designs, key=_size) for name, designs in found.items() if designs}


def _sizes(rows: pd.DataFrame) -> int:
    return max(len(designs) for designs in _models(rows).values())


def _size(design: str) -> int:
    return int(design.rsplit("-", 1)[1])


def _title(design: str) -> str:
    model = design.rsplit("-", 1)[0]
    return f"{'Poisson' if model == 'poisson' else model}, n = {_size(design)}"


def _runs(rows: pd.DataFrame) -> int:
    return int(rows.loc[rows["metric"] == "runs", "value"].max())


def _panel(axis: Axes, rows: pd.DataFrame, looks: dict) -> None:
    """Draw the mean distances over Lambda, of each variant at each epsilon."""
    epsilons, shown = sorted(rows["epsilon"].unique()), []
    for variant, (_, colour, line) in looks.items():
        for epsilon, shade in zip(epsilons, style.shades(colour, len(epsilons)), strict=True):
            here = rows[(rows["variant"] == variant) & (rows["epsilon"] == epsilon)]
            if here.empty:
                continue
            x, mean, low, high = curve(here)
            axis.plot(x, mean, color=shade, ls=line, lw=1.1, marker="" if line else "o", mfc="none", ms=3.5)
            axis.fill_between(x, np.where(low > 0, low, mean), high, color=shade, alpha=0.2, lw=0)
            shown += [*mean[~np.isnan(mean)]]
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(FixedLocator([0.1, 1.0, 10.0, 100.0]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(lambda value, _: style.number(value))
    if shown:
        style.value_axis(axis.yaxis, min(shown), max(shown))


def curve(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return Lambda and the mean distance there with its 95 % interval; NaN where all distances are 0.

    - rows: of one design, epsilon, variant and lasso.
    - x, mean, low, high: shape (L,).
    """
    points = rows.pivot(index="strength", columns="metric", values="value").sort_index()
    mean = points["distance_mean"].where(points["distance_mean"] > _LEAST * (1 + 1e-9)).to_numpy()
    # One repeat has no interval.
    half = points.reindex(columns=["distance_half"])["distance_half"].fillna(0.0).to_numpy()
    return points.index.to_numpy(), mean, mean - half, mean + half


def _finish(axes: np.ndarray) -> None:
    """Switch off panels without data, and name the axis of the last ones."""
    for column in axes.T:
        filled = [axis for axis in column if axis.lines]
        for axis in column:
            if not axis.lines:
                axis.set_axis_off()
        filled[-1].set_xlabel("Λ")
