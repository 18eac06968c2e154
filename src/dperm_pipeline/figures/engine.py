"""Draw a figure from its specification (`figures.spec`), and say in words which points and repeats are missing."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import figure as pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from dperm_pipeline.figures import axes, spec, style
from dperm_pipeline.figures.points import plain, select, summary
from dperm_pipeline.figures.wording import SYMBOLS, filled


@dataclass
class _Place:
    """A panel of one value of its facets: its rows, its place in the figure, and whose y-axis it shares."""

    panel: spec.Panel
    rows: pd.DataFrame
    row: int
    column: int
    words: list[str]
    group: tuple
    first: bool
    last: bool = False
    axis: Any = None
    drawn: bool = False
    intervals: list[Callable[[], None]] = field(default_factory=list)


def draw(figure: spec.Figure, rows: pd.DataFrame) -> pyplot.Figure:
    """Draw a figure of its experiment's rows; those that did not converge are counted under the panels."""
    every = select(plain(rows), figure.where)
    rows = every if figure.keep_failed or "status" not in every else every[every["status"] == "ok"]
    rows = figure.prepare(rows) if figure.prepare else rows
    places, lines, columns = _laid_out(figure, rows)
    width, height = (size(rows) if callable(size) else size for size in (figure.width, figure.height))
    height = height[0] + height[1] * lines if isinstance(height, tuple) else height
    drawn = pyplot.Figure(figsize=(width, height))
    if any(place.panel.wide > 1 for place in places):
        # Panels of several widths, in the order of reading.
        cells = drawn.add_gridspec(lines, columns, **figure.grid)
        for place in places:
            place.axis = drawn.add_subplot(cells[place.row, place.column : place.column + place.panel.wide])
    else:
        grid = drawn.subplots(lines, columns, squeeze=False, **figure.grid)
        for place in places:
            place.axis = grid[place.row, place.column]
        taken = {(place.row, place.column) for place in places}
        for at, axis in np.ndenumerate(grid):
            if at not in taken:
                axis.set_axis_off()
    values: dict[tuple, list] = {}
    sharing: dict[tuple, list] = {}
    for place in places:
        values.setdefault(place.group, []).extend(_fill(place))
        sharing.setdefault(place.group, []).append(place.rows)
    together = {group: pd.concat(parts) for group, parts in sharing.items()}
    for place in places:
        _finish(place, values[place.group], together[place.group])
    entries = figure.legend(rows) if callable(figure.legend) else figure.legend
    if entries is None:
        entries = _labelled([place for place in places if place.panel.legend is None], figure)
    handles = [_handle(entry, rows) for line in entries for _, entry in _entries(line, rows)]
    said = figure.notes(rows) if callable(figure.notes) else figure.notes
    notes = [*(filled(words, rows) for words in said), *missing(every, dict.fromkeys(place.panel for place in places))]
    style.footer(
        drawn, handles, columns=figure.columns(rows) if callable(figure.columns) else figure.columns, lines=notes
    )
    return drawn


def missing(rows: pd.DataFrame, panels: Iterable[spec.Panel]) -> list[str]:
    """Say in one paragraph, if any, how many values of the drawn lines did not converge, and where none is left."""
    if "status" not in rows or not (rows["status"] == "failed").any():
        return []
    rows = rows.reset_index(drop=True)
    # A row counts once, in however many panels it is drawn.
    drawn, failed, gone = set(), set(), {}
    for panel in panels:
        for line in panel.lines:
            # What `prepare` has made of the rows has no status.
            if not {*panel.where, *line.where} <= {*rows}:
                continue
            own = select(select(rows, panel.where), line.where)
            bad = own["status"] == "failed"
            drawn |= set(own.index)
            failed |= set(own.index[bad])
            x = line.x or panel.x
            if not bad.any() or callable(x) or x not in rows:
                continue
            left = set(own.loc[~bad, x])
            lost = sorted(value for value in set(own.loc[bad, x]) - left)
            if lost:
                gone[line.label or "a line"] = f"{line.label or 'a line'} at {style.equals(SYMBOLS.get(x, x), *lost)}"
    if not failed:
        return []
    words = f"{len(failed)} of {len(drawn)} values did not converge and are left out."
    return [words + (f" No value is left of {'; '.join(gone.values())}." if gone else "")]


_GREY = "#333333"


def _facets(facet: spec.Facet | None, rows: pd.DataFrame) -> Iterator[tuple[list[str], pd.DataFrame]]:
    """Give the words and the rows of each value of a facet; without one, all rows once."""
    if facet is None:
        yield [], rows
        return
    values = facet.values
    if callable(values):
        values = values(rows)
    elif values is None:
        values = sorted(set(rows[facet.column]) - set(facet.others))
    else:
        values = [value for value in values if (rows[facet.column] == value).any()]
    for value in values:
        words = value
        if facet.words:
            words = facet.words(value)
        elif facet.column in SYMBOLS or len(facet.column) == 1:
            words = style.equals(SYMBOLS.get(facet.column, facet.column), value)
        yield [str(words)], rows[rows[facet.column].isin([value, *facet.others])]


def _laid_out(figure: spec.Figure, rows: pd.DataFrame) -> tuple[list[_Place], int, int]:
    places, line, widest = [], 0, 1
    for down, (outer, part) in enumerate(_facets(figure.down, rows)):
        panels = figure.panels(part) if callable(figure.panels) else figure.panels
        for number, across in enumerate(panels):
            column = 0
            for k, panel in enumerate(across):
                if panel is None:
                    column += 1
                    continue
                here = select(part, panel.where)
                here = panel.prepare(here) if panel.prepare else here
                for count, (inner, own) in enumerate(_facets(panel.across, here)):
                    groups = {"row": (down, number, k), "all": (number, k), "none": (down, number, k, column)}
                    group = groups.get(panel.same_y, (panel.same_y,))
                    first = count == 0 and (panel.sharey != "row" or column == 0)
                    places.append(_Place(panel, own, line, column, [*outer, *inner], group, first))
                    column += panel.wide
            widest, line = max(widest, column), line + 1
    for place in places:
        place.last = all(other.row <= place.row for other in places if other.column == place.column)
    return places, max(line, 1), widest


def _fill(place: _Place) -> list[float]:
    """Draw the lines and levels of a panel; return the values that its y-axis must show."""
    axis, panel, shown = place.axis, place.panel, []
    axis.set_xscale(panel.xscale)
    for level in panel.levels:
        value = level.value
        if callable(value) or level.where:
            own = select(place.rows, level.where)
            value = np.nan if own.empty else value(own) if callable(value) else value
        if not np.isfinite(value):
            continue
        if level.at is not None:
            axis.plot([level.at], [value], color=level.colour, marker=level.marker, ls="none", **level.more)
        else:
            across = axis.axvline if level.upright else axis.axhline
            across(value, color=level.colour, ls=level.line, **level.more)
        if level.says:
            beside = {"xy": (value, 1), "xycoords": ("data", "axes fraction"), "textcoords": "offset points", "size": 7}
            axis.annotate(**{**beside, **level.says})
        if level.fits:
            shown.append(value)
    for line in panel.lines:
        own = select(place.rows, line.where)
        if own.empty:
            continue
        shown += _draw(place, own, line)
    return shown


def _draw(place: _Place, own: pd.DataFrame, line: spec.Line) -> list[float]:
    axis, panel, shown = place.axis, place.panel, []
    for value, colour, marker in _looks(line, own):
        rows = own if value is None else own[own[line.shades] == value]
        points = summary(
            rows, line.x or panel.x, line.y or panel.y, statistic=line.statistic or panel.statistic, via=line.via
        )
        x, mean = points.index.to_numpy(), points["mean"].to_numpy(float)
        place.drawn |= bool(np.isfinite(mean).any())
        # How the line looks; what stands later in a specification takes precedence.
        look = {"color": colour, "marker": marker or "None", "ls": line.line or "-", **panel.more, **line.more}
        if line.hollow:
            look["mfc"] = "white"
        if line.aside:
            look["transform"] = axis.transData + ScaledTranslation(line.aside / 72, 0, axis.figure.dpi_scale_trans)
        if line.marked_if:
            marked = rows.groupby(line.x or panel.x)[line.marked_if].any()
            look |= {"markevery": list(marked.to_numpy())} if marked.any() else {"marker": "None"}
        hollow = bool(line.hollow)
        if line.hollow_if:
            hollow = (rows.groupby(line.x or panel.x)[line.hollow_if].max() != 0).to_numpy(bool)
        # The line itself.
        if line.dots is not None:
            _plot_dots(axis, points["mean"], hollow, look, line.dots)
        elif line.hollow_if:
            _plot_hollow(axis, points["mean"], hollow, look)
        else:
            axis.plot(x, mean, **look)
        if line.end and np.isfinite(mean).any():
            at = points["mean"].last_valid_index()
            beside = {"textcoords": "offset points", "size": 6.5, "color": colour}
            axis.annotate(xy=(at, points["mean"][at]), **{**beside, **line.end})
        # Its intervals, cut where the specification says so: as a band, as crosses, or as bars.
        low, high = points["low"].to_numpy(float), points["high"].to_numpy(float)
        if line.band and line.reach:
            half = rows[line.reach[1]].to_numpy(float)
            low, high = mean - half, mean + half
        if line.positive is True:
            low = np.where(low > 0, low, mean)
        elif line.positive:
            low = np.maximum(low, line.positive * mean)
        if line.cut:
            place.intervals.append(functools.partial(_cut_interval, axis, line, x, low, high, look))
        elif line.band:
            below = {"zorder": panel.more["zorder"] - 1.5} if "zorder" in panel.more else {}
            axis.fill_between(x, low, high, color=colour, alpha=line.band, lw=0, **below)
        if line.reach and not line.band:
            reach = dict(zip(("xerr", "yerr"), (rows[name] for name in line.reach), strict=True))
            axis.errorbar(x, mean, **reach, fmt="none", ecolor=colour, elinewidth=0.5, alpha=0.4, zorder=1.5)
        if line.caps:
            below = look.get("zorder", 2) - 0.1
            axis.errorbar(x, mean, [mean - low, high - mean], fmt="none", color=colour, elinewidth=line.bars,
                          capsize=line.caps, zorder=below)  # fmt: skip
        elif line.bars and not line.cut:
            axis.vlines(x, low, high, color=colour, lw=None if line.bars is True else line.bars)
        # What the y-axis has to show of it.
        if line.fits:
            shown += [*mean, *(low if panel.whole_bands is True else ()), *(high if panel.whole_bands else ())]
    return shown


def _cut_interval(axis: Axes, line: spec.Line, x: Any, low: Any, high: Any, look: dict[str, Any]) -> None:
    """Draw the intervals of a line between it and the grid, as far as they are on a logarithmic axis."""
    if axis.get_yscale() == "log":
        low = np.maximum(low, axis.get_ylim()[0])
    moved = {"transform": look.get("transform", axis.transData), "color": look["color"]}
    if line.bars:
        known = ~np.isnan(low)
        axis.vlines(x[known], low[known], high[known], lw=line.bars, zorder=look["zorder"] - 0.5, **moved)
    if line.band:
        axis.fill_between(x, low, high, alpha=line.band, lw=0, zorder=look["zorder"] - 1, **moved)


def _looks(line: spec.Line, rows: pd.DataFrame) -> list[tuple[Any, Any, str]]:
    """Return value, colour and marker of each line that one of a specification stands for."""
    colour = line.colour or _GREY
    if not line.shades:
        return [(None, colour, line.marker or "")]
    values = sorted(rows[line.shades].unique())
    shades = style.shades(colour, len(values))
    markers = itertools.cycle(line.markers or (line.marker or "",))
    return list(zip(values, shades[::-1] if line.darkest_first else shades, markers, strict=False))


def _plot_hollow(axis: Axes, means: pd.Series, hollow: np.ndarray, look: dict[str, Any]) -> None:
    """Draw a line without markers, then its markers: those that are hollow and the others."""
    _plot_line(axis, means, look)
    for part, face in ((means[hollow], "white"), (means[~hollow], look["color"])):
        if look["marker"] != "None":
            axis.plot(part.index, part, **{**look, "ls": "", "mfc": face})


def _plot_dots(
    axis: Axes, means: pd.Series, hollow: np.ndarray | bool, look: dict[str, Any], dots: Mapping[str, Any]
) -> None:
    """Draw a line without markers, then its markers as points of their own."""
    colour, marker = look["color"], look["marker"]
    if look["ls"] != "none":
        _plot_line(axis, means, look)
    if marker == "None":
        return
    faces = np.where(hollow, "white", colour)
    # A cross has no face, and matplotlib warns of its edge.
    edges = {} if marker in "x+" else {"edgecolors": colour}
    axis.scatter(means.index, means, c=faces if faces.ndim else str(faces), marker=marker, **edges, **dots)


def _plot_line(axis: Axes, means: pd.Series, look: dict[str, Any]) -> None:
    axis.plot(means.index, means, **{name: look[name] for name in look if name not in ("marker", "ms", "mfc")})


def _finish(place: _Place, shown: list[float], sharing: pd.DataFrame) -> None:
    """Set the words and scales of a panel."""
    axis, panel = place.axis, place.panel
    first, facet = place.first, ", ".join(place.words)
    xlabel = panel.xlabel
    if xlabel is None:
        xlabel = "" if callable(panel.x) else SYMBOLS.get(panel.x, panel.x)
    title = panel.title or ("{}" if place.row == 0 else "")
    title, xlabel, ylabel = (
        filled(words(place.rows) if callable(words) else words, place.rows).replace("{}", facet)
        for words in (title, xlabel, panel.ylabel)
    )
    axis.set_title(title, **panel.title_look)
    axis.set_xlabel(xlabel if place.last or not panel.sharex else "", **panel.label_look)
    axis.set_ylabel(ylabel if first else "", **panel.label_look)
    if panel.tick_look:
        axis.tick_params(**panel.tick_look)
    # A panel without lines is drawn by `also` or by its levels.
    if panel.lines and not place.drawn:
        axis.text(0.5, 0.5, panel.empty, transform=axis.transAxes, ha="center", va="center", color="#777777")
    if not axis.lines:
        return
    axes.set_x(axis, panel, place.rows)
    axes.set_y(axis, panel, shown, sharing)
    for draw_interval in place.intervals:
        draw_interval()
    axis.tick_params(labelleft=first or not panel.sharey, labelbottom=place.last or not panel.sharex)
    if panel.ywords:
        axis.yaxis.set_major_formatter(lambda value, _: panel.ywords(value))
    if panel.also:
        panel.also(axis, place.rows)
    if panel.legend is not None:
        handles = [_handle(line, place.rows) for line in _labelled([place])]
        axis.legend(handles=handles, **{"frameon": False, "fontsize": 7, **panel.legend})


def _labelled(places: Sequence[_Place], figure: spec.Figure | None = None) -> list[spec.Line]:
    """Return the labelled lines and levels of panels, each once, in their order or in that of their shades."""
    found, order = {}, {}
    for place in places:
        for line in (*place.panel.lines, *place.panel.levels):
            if figure and figure.drawn_only and select(place.rows, line.where).empty:
                continue
            for value, entry in _entries(line, place.rows) if line.label else ():
                order[entry.label] = value
                found.setdefault(entry.label, entry)
    return [found[label] for label in (sorted(found, key=order.get) if figure and figure.by_value else found)]


def _entries(line: Any, rows: pd.DataFrame) -> list[tuple[Any, Any]]:
    """Return what a line is in the legend; of shades, an entry for each value, which is told too."""
    if not callable(getattr(line, "label", None)):
        return [(None, line)]
    return [
        (value, line.but(label=line.label(value), colour=colour, marker=marker))
        for value, colour, marker in _looks(line, select(rows, line.where))
    ]


def _handle(line: Any, rows: pd.DataFrame) -> Any:
    if not isinstance(line, (spec.Line, spec.Level)):
        return line
    look = {"color": line.colour or _GREY, "ls": line.line or "-", "label": filled(line.label, rows)}
    if isinstance(line, spec.Level):
        if line.at is not None:
            look |= {"marker": line.marker, "ls": "none"}
        look.update({name: value for name, value in line.more.items() if name == "lw"})
        return Line2D([], [], **look)
    look["marker"] = line.marker or "None"
    if line.hollow:
        look["mfc"] = "white"
    return Line2D([], [], **{**look, **line.key})
