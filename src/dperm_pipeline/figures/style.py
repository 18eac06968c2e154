"""How figures look: one colour for each method everywhere, line and marker by noise, and the intervals they draw."""

import contextlib
import math
import textwrap
from collections.abc import Iterator, Sequence

import matplotlib
import numpy as np
from matplotlib import colors
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator
from scipy import special

from dperm.errors import ConfigError
from dperm_pipeline.figures.looks import (  # noqa: F401  (drawing functions ask for all of them here)
    NONPRIVATE,
    TRIVIAL,
    Look,
    equals,
    noise_label,
    number,
)

# Fonts as paths, a fixed salt for ids: the same bytes and the same look on every machine.
_RC = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    # Nothing stands over a panel but its title: no search for a place that is free.
    "axes.titley": 1.0,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.5,
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "dperm",
}


# Linestyles by delta: pure noise first, then each positive delta.
_PURE, _APPROXIMATE = (0, (4, 1.6)), ("-", (0, (6, 1.4, 1, 1.4)), (0, (1, 1.2)))


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Draw and save inside this, whatever the user's own matplotlibrc says."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_RC)
        yield


def linestyles(deltas: Sequence[float]) -> dict[float, object]:
    """Return a line style for each delta: dashed for pure privacy (0), solid and dotted ones for the others.

    ConfigError if more than three are positive: no reader would tell the lines apart.
    """
    positive = sorted(delta for delta in set(deltas) if delta > 0)
    if len(positive) > len(_APPROXIMATE):
        raise ConfigError(f"deltas: {positive} are too many lines for one figure; at most {len(_APPROXIMATE)} above 0")
    return {0.0: _PURE, **dict(zip(positive, _APPROXIMATE, strict=False))}


def shades(colour: str, count: int) -> list[tuple[float, float, float]]:
    """Return `count` shades of a colour, from light to dark."""
    rgb = np.array(colors.to_rgb(colour))
    mixes = np.linspace(0.55, -0.45, count) if count > 1 else [0.0] * count
    return [tuple(rgb + (1 - rgb) * mix if mix > 0 else rgb * (1 + mix)) for mix in mixes]


def mean_interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the mean and its 95 % interval by Student's t, which is NaN below two repeats; without any all are NaN."""
    n = len(values)
    mean = float(np.mean(values)) if n else math.nan
    if n < 2:
        return mean, math.nan, math.nan
    half = float(special.stdtrit(n - 1, 0.975) * np.std(values, ddof=1) / math.sqrt(n))
    return mean, mean - half, mean + half


def epsilon_axis(axis: Axis, values: Sequence[float]) -> None:
    """Make an x-axis of epsilon, logarithmic, with a tick at each value that was run."""
    axis.axes.set_xscale("log")
    axis.set_major_locator(FixedLocator(sorted(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axis.axes.set_xlim(min(values) / 1.35, max(values) * 1.35)


def value_axis(axis: Axis, low: float, high: float) -> None:
    """Make a y-axis over [low, high] with three to six ticks in plain numbers; logarithmic if all is above 0."""
    if low > 0:
        # A little air, and never less than a tenth of a decade.
        air = max(0.05 * math.log10(high / low), 0.02)
        low, high = low / 10**air, high * 10**air
        axis.axes.set_yscale("log")
        ticks = _log_ticks(low, high)
    else:
        air = 0.05 * (high - low) or 1.0
        low, high = low - air, high + air
        ticks = MaxNLocator(4).tick_values(low, high)
    axis.set_major_locator(FixedLocator([tick for tick in ticks if low <= tick <= high]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(float(f"{value:.10g}"))))
    axis.axes.set_ylim(low, high)


def _log_ticks(low: float, high: float) -> Sequence[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for step, digits in ((4, (1,)), (3, (1,)), (2, (1,)), (1, (1,)), (1, (1, 3)), (1, (1, 2, 5))):
        powers = [k for k in decades if k % step == 0]
        ticks = [digit * 10.0**k for k in powers for digit in digits]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 3:
            return ticks
    return MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)


def footer(figure: Figure, handles: Sequence, *, columns: int, lines: Sequence[str]) -> None:
    """Set the legend, in the order of reading, and the caption's paragraphs under the panels, covering no data."""
    width, height = figure.get_size_inches()
    wrapped = [part for line in lines for part in textwrap.wrap(line, int(width * 19.3))]
    caption = (0.08 + 0.135 * len(wrapped)) / height
    legend_rows = -(-len(handles) // columns)
    legend = (0.1 + 0.16 * legend_rows) / height
    figure.text(0.012, 0.05 / height, "\n".join(wrapped), size=7, color="#333333", va="bottom", linespacing=1.25)
    # matplotlib fills a legend by columns; people read by rows.
    order = [row * columns + column for column in range(columns) for row in range(legend_rows)]
    figure.legend(
        handles=[handles[k] for k in order if k < len(handles)],
        ncols=columns,
        loc="center",
        bbox_to_anchor=(0.5, caption + legend / 2),
        frameon=False,
        handlelength=2.8,
        columnspacing=1.6,
    )
    bottom = caption + legend
    figure.set_layout_engine("constrained", rect=(0, bottom, 1, 1 - bottom), w_pad=0.03, h_pad=0.03)


def settle(figure: Figure) -> None:
    """Lay the panels out once and fix them there, so that equal figures give equal bytes.

    matplotlib's constraint solver takes its variables in the order of their memory addresses: the last bits of a
    panel's place differ from run to run, and SVG names its clip paths by all bits.
    """
    if figure.axes and (engine := figure.get_layout_engine()):
        engine.execute(figure)
    # Not "none": that leaves a placeholder, for which each `savefig` draws the figure twice.
    figure.set_layout_engine(None)
    for axis in figure.axes:
        axis.set_position(np.round(axis.get_position().bounds, 6))


def nothing(why: str) -> Figure:
    """Return a figure that shows why there is none."""
    figure = Figure(figsize=(7, 1.2))
    figure.text(0.5, 0.5, "\n".join(textwrap.wrap(why, 110)), size=8, ha="center", va="center")
    return figure
