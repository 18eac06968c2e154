"""What a figure or a table shows, as plain values: panels by facets, lines by encodings, levels, legend, columns.

An experiment's `figures.py` holds its specifications beside the captions; `figures.engine` draws them,
`figures.tabulate` makes the tables. A plan and a report read all of these modules, so nothing here loads a plot
library. Where a value depends on what was run, a function of the rows (a pandas.DataFrame) stands in its place:
`Words`, `Rows`, `Values`.
"""

import dataclasses
import importlib
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dperm_pipeline.figures.looks import DASHED, DOTTED, Look  # noqa: F401  (asked for here too)

Rows = Callable[[Any], Any]
Words = str | Callable[[Any], str]


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a panel, or one for each value of a column in shades of a colour; or an entry of the legend alone.

    `where`: column -> value, tuple of values, or predicate of the column. Looks that are None are those of the lines it
    is `crossed` with, or plain. `y`: a column, or a function of the rows that returns a series; `x` too, and `1/`
    before a column. `statistic`: "value" (each row is a point), "mean" (with its 95 % interval by Student's t), "given"
    (the metrics `<y>_mean` and `<y>_half` of the rows), "path" (each row is a point, in the order of the rows; `reach`
    are columns with the half widths of its intervals in x and y; with `band`, that in y is the band), "points" (each
    row has the columns mean, low and high), "quantiles" (that of 95 %, with the median and the largest), the name of an
    aggregate of pandas ("max", "first", ...), or a function of a series. `via`: from the statistic to what is drawn.
    `band`: opacity of the interval; `bars`: width of its bars; `caps`: length of theirs. `positive`: the band ends at
    the mean where its lower end is not above 0; or, a number, at this share of the mean. `cut`: intervals end where a
    logarithmic axis does. `aside`: 1/72 inch by which the line is moved to the right, so that equal lines are seen as
    two. `shades`: the column of the lines in shades, light to dark or `darkest_first`, with `markers` in turn; `label`
    is then a function of its value. `hollow_if`: a column that is not 0 where a marker is to be hollow; `marked_if`:
    where there is one at all. `end`: what is written at its last point: `text`, and what else matplotlib is told of an
    annotation. `dots`: markers are points of their own, of which matplotlib is told this. `fits`: the
    y-axis must show it. `more`, `key`: what else matplotlib is told of the line, and of its entry in the legend.
    """

    label: str | Callable[[Any], str] = ""
    colour: str | None = None
    marker: str | None = None
    line: Any = None
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    hollow: bool | None = None
    x: str | Rows | None = None
    y: str | Rows | None = None
    statistic: str | Rows | None = None
    via: Rows | None = None
    band: float | None = None
    bars: float | None = None
    caps: float | None = None
    positive: bool | float | None = None
    cut: bool | None = None
    aside: float = 0.0
    shades: str | None = None
    markers: Sequence[str] = ()
    hollow_if: str | None = None
    end: Mapping[str, Any] | None = None
    dots: Mapping[str, Any] | None = None
    marked_if: str | None = None
    reach: tuple[str, str] | None = None
    darkest_first: bool = False
    fits: bool = True
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    key: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def but(self, **changed: Any) -> "Line":
        """Return this line with other values."""
        return dataclasses.replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Level:
    """A number across a panel: what a text states, or what needs no x; `value` may be a function of its rows.

    `where`: without such rows in a panel it is not drawn. `upright`: a value of x. `fits`: the y-axis must show it.
    `at`: the text states it for this x alone; there it is a point with a `marker`. `says`: what is written beside it,
    at the upper end of an `upright` one: `text`, and what else matplotlib is told of an annotation.
    """

    value: float | Rows
    label: str = ""
    colour: str = "#333333"
    line: Any = "-"
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    upright: bool = False
    fits: bool = False
    at: float | None = None
    marker: str = ""
    says: Mapping[str, Any] | None = None


@dataclass(frozen=True, eq=False)
class Facet:
    """A panel, or a row of panels, for each value of a column.

    `values`: which, in what order; sorted without it. `words`: of a value, for titles; `ε = 0.1` without it, if
    the column has a symbol. `others`: values of the column that belong to every panel.
    """

    column: str
    values: Sequence[Any] | Rows | None = None
    words: Callable[[Any], str] | None = None
    others: Sequence[Any] = ()


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel, or one for each value of a facet, side by side.

    `x`, `y`, `statistic`: of all its lines that say nothing else. `title`, `xlabel`, `ylabel`: `{}` stands for the
    words of the facets, which are the title of the first row without one; x is named by its symbol. `xticks`: "all"
    that are drawn, so many of them at most, "decades" (five at most, of many decades the powers of 10), all "powers" of
    10, these, or those of matplotlib (None); their labels are plain numbers; `most`: every second, third, ... of them
    where there are more. `xlim`: the ends, or a factor of air around all x. `epsilons`: an axis of budgets as
    everywhere. `span`: what the y-axis shows besides the lines, or (`exactly`) instead. `ylim`, `yticks`: fixed ends
    (or "free": those of matplotlib) and ticks, these with labels if it is a mapping; `yscale`: of fixed ends; `air`: a
    linear axis with this share of air around the lines; `ywords`: from a tick of y to its label. `sharex`, `sharey`:
    only the last row has labels of x, only the first panel of a facet (or of a "row") those of y. `prepare`: from a
    panel's rows to what its lines read. `same_y`: whose y-axis is one: that of a facet's panels ("row"), of all rows of
    panels too ("all"), none ("none"), or that of all panels that give this name. `wide`: columns of the figure that it
    takes. `whole_bands`: the y-axis shows bands whole, or their upper ends ("above"). `more`: what matplotlib is told
    of all lines. `also`: a function (axis, rows) that draws what has no word here; it says why.
    """

    lines: Sequence[Line] = ()
    x: str | Rows = "epsilon"
    ylabel: Words = ""
    title: Words = ""
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    levels: Sequence[Level] = ()
    across: Facet | None = None
    y: str | Rows = "value"
    statistic: str | Rows = "value"
    title_look: Mapping[str, Any] = dataclasses.field(default_factory=lambda: {"size": 8})
    label_look: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    tick_look: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    xlabel: Words | None = None
    xscale: str = "log"
    xticks: Any = None
    most: int | None = None
    xlim: Any = None
    epsilons: bool = False
    span: Rows | None = None
    exactly: bool = False
    ylim: Any = None
    yscale: str = "linear"
    yticks: Any = None
    ywords: Callable[[float], str] | None = None
    same_y: str = "row"
    wide: int = 1
    whole_bands: bool | str = False
    sharey: bool | str = False
    sharex: bool = False
    air: float = 0.0
    empty: str = "nothing converged"
    prepare: Rows | None = None
    legend: Mapping[str, Any] | None = None
    more: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    also: Callable[[Any, Any], None] | None = None

    def but(self, **changed: Any) -> "Panel":
        """Return this panel with other values."""
        return dataclasses.replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure: rows of panels, legend and words under them. Called with rows it is drawn.

    `panels`: rows of panels, None for an empty place; or a function of the rows that returns them. `down`: all of them
    again for each value of a facet. `height`: in inches, or base and height of a row of panels, or a function of the
    rows, as `width`. `legend`: instead of the labels of lines and levels as they come, lines and artists of matplotlib;
    `drawn_only`: lines and levels without rows have no entry; `columns`: of the legend; `by_value`: shades of all lines
    stand together in it. `prepare`: from the rows that converged, text as text, to those that are drawn. `notes`:
    paragraphs under the panels, or a function of what `prepare` returned that gives them. `keep_failed`: `prepare` gets
    those too.

    In notes, in labels of the legend, and of a panel's own rows in its title and labels, `{n.max}` becomes `n = 300`: a
    column, and which of its values: `max`, `min`, `first`, `all`. `{β=gamma.max}` names it, `{#n.max}` is the number
    alone, `{repeat.count}` how many there are. `{n.max:series=ratio,delta>0}` looks at some rows alone.
    """

    panels: Any
    height: float | tuple[float, float] | Rows = 3.0
    width: float | Rows = 7.0
    columns: int | Rows = 3
    down: Facet | None = None
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    prepare: Rows | None = None
    legend: Sequence[Line] | Rows | None = None
    notes: Iterable[str] | Callable[[Any], Iterable[str]] = ()
    keep_failed: bool = False
    by_value: bool = False
    drawn_only: bool = False
    grid: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __call__(self, rows: Any) -> Any:
        """Return the drawn figure."""
        return importlib.import_module("dperm_pipeline.figures.engine").draw(self, rows)


@dataclass(frozen=True, eq=False)
class Column:
    """A column of a table: a value for each group of rows.

    `name`: in the CSV; it is for people alone if this is empty. `value`: a column of the rows, whose first value
    counts, or a function of a group's rows; the column `name` without it. `heading`: for people; the name without one,
    left out for them if it is empty. `words`: from a value to text; those of the table without it. `whole`: numbers are
    whole, and may be missing.
    """

    name: str
    value: str | Rows | None = None
    heading: str | None = None
    words: Callable[[Any], str] | None = None
    whole: bool = False


@dataclass(frozen=True, eq=False)
class Interval(Column):
    """The mean over the repeats of a group that converged, with its 95 % interval by Student's t.

    In the CSV three columns, `name`, `name_low`, `name_high`; for people `mean [low, high]`. `where`: which rows, as of
    `Line`.
    """

    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Table:
    """A table: a line for each group of rows that agree in the columns `by`, or for each row.

    `prepare`: from the rows that converged (`keep_failed`: from all), text as text, to those that are grouped. `order`:
    key of a group's rows by which lines are sorted, instead of by the columns `by`. `words`: from a value to text; as
    it is, three digits of a number, a dash for none.
    """

    columns: Sequence[Column]
    by: Sequence[str] = ()
    where: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    prepare: Rows | None = None
    order: Callable[[Any], Any] | None = None
    words: Callable[[Any], str] | None = None
    keep_failed: bool = False

    def __call__(self, rows: Any) -> tuple[Any, Any]:
        """Return the table with plain numbers, and for people."""
        return importlib.import_module("dperm_pipeline.figures.tabulate").tabulate(self, rows)


def told(words: Callable[[Any], Any]) -> Rows:
    """Return, as the value of a `Column`, what a function makes of a group's first row."""
    return lambda part: words(part.iloc[0])


def encoded(columns: str, looks: Mapping[Any, Any], **of_all: Any) -> tuple[Line, ...]:
    """Return a line for each entry of `looks`: from the value(s) of columns, named with spaces between, to a look.

    A look is a `Line`, `Look`, or (label, colour, marker, line) as far as they are given; `of_all` is said of every
    line, `where` added to the key's.
    """
    names, lines, shared = columns.split(), [], of_all.pop("where", {})
    for key, look in looks.items():
        where = {**dict(zip(names, key if len(names) > 1 else (key,), strict=True)), **shared}
        lines.append(like(look).but(where={**where, **like(look).where}, **of_all))
    return tuple(lines)


def like(look: Any, **more: Any) -> Line:
    """Return a line with a look: a `Line`, a `Look`, or (label, colour, marker, line) as far as they are given."""
    if isinstance(look, Look):
        look = (look.label, look.colour, look.marker)
    return dataclasses.replace(look if isinstance(look, Line) else Line(*look), **more)


def means(*keys: str) -> Rows:
    """Return, for `prepare`, what makes `points.means` over these columns, for the statistic "points"."""
    return lambda rows: importlib.import_module("dperm_pipeline.figures.points").means(rows, keys)


def select(rows: Any, where: Mapping[str, Any]) -> Any:
    """Return the rows whose columns have a value, one of several, or one that a predicate admits."""
    if not where:
        return rows
    # Rows are taken once, in the end: they have many columns.
    left = None
    for name, wanted in where.items():
        column = rows[name] if left is None else rows[name].take(left)
        if callable(wanted):
            fit = wanted(column)
        else:
            fit = column.isin(list(wanted)) if isinstance(wanted, (tuple, list, set)) else column == wanted
        fit = fit.to_numpy(bool)
        left = fit.nonzero()[0] if left is None else left[fit]
    return rows.take(left)


def least(values: Any) -> Any:
    """Return, for `where`, which rows have the least value of a column."""
    return values == values.min()


def most(values: Any) -> Any:
    """Return, for `where`, which rows have the largest value of a column."""
    return values == values.max()


def power(exponent: float, factor: float = 1.0) -> Rows:
    """Return, for `via`, the line of a slope that is stated: through `factor` times the first point."""

    def line(means: Any) -> Any:
        x = means.index.to_series()
        return factor * means.iloc[0] * (x / x.iloc[0]) ** exponent

    return line


def crossed(*encodings: Iterable[Line]) -> tuple[Line, ...]:
    """Return every combination of the lines of encodings: of each look the first that says something."""
    combined = []
    for lines in itertools.product(*encodings):
        said = {}
        for line in lines:
            for field in dataclasses.fields(line):
                value = getattr(line, field.name)
                if field.name in ("where", "more", "key"):
                    said[field.name] = {**said.get(field.name, {}), **value}
                elif value is not None and value != field.default:
                    said.setdefault(field.name, value)
        combined.append(Line(**{**said, "label": ""}))
    return tuple(combined)
