"""The page of a comparison: words, pictures and tables in one HTML file that needs nothing else."""

import html
import math
from collections.abc import Sequence
from itertools import cycle
from statistics import fmean, stdev

from dperm.comparing.errors import Error
from dperm.comparing.tasks import Measure, Task

# Of the picture, in its own units.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 380, 84, 16, 16, 44
# Told apart by everybody (Okabe & Ito); then once more, dotted.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A5F00", "#000000")
_MARKS = [(colour, dashes) for dashes in ("", "2 4") for colour in _COLOURS]
# Where the names of levels stand, so that levels close to each other have names beside each other.
_PLACES = ((_WIDTH - _RIGHT, "end"), (_LEFT + 4, "start"), ((_WIDTH + _LEFT) / 2, "middle"))
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}caption{text-align:left}
td,th{padding:.25rem .8rem;border-bottom:1px solid #ccc;text-align:right}td[colspan]{text-align:left}
td:first-child,th:first-child{text-align:left}td+td{white-space:nowrap}.spent{border-left:4px solid #D55E00;
padding:.3rem 1rem;background:#fdf3ec}.best{font-weight:700}.key{width:1.8em;height:.8em;vertical-align:baseline}
svg{max-width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:#333;
stroke:#fff;stroke-width:4px;paint-order:stroke}"""


class Summary:
    """One measure of every method over the repeats: mean and standard error by epsilon; infinite if not private."""

    def __init__(self, errors: Sequence[Error], measure: Measure):
        self.measure = measure
        errors = [one for one in errors if one.measure == measure.name]
        self.methods = list(dict.fromkeys(one.method for one in errors if math.isfinite(one.epsilon)))
        self.levels = list(dict.fromkeys(one.method for one in errors if math.isinf(one.epsilon)))
        self.epsilons = sorted({one.epsilon for one in errors if math.isfinite(one.epsilon)})
        self._found: dict[tuple[str, float], list[float]] = {}
        for one in errors:
            self._found.setdefault((one.method, one.epsilon), []).append(one.error)

    def mean(self, method: str, epsilon: float = math.inf) -> float:
        """Return the mean error; NaN if a solver gave up once."""
        return fmean(self._found[method, epsilon])

    def shown(self, method: str, epsilon: float = math.inf) -> str:
        """Return mean and standard error, in the measure's unit."""
        values, digits = self._found[method, epsilon], self.measure.digits
        if math.isnan(fmean(values)):
            return "no answer"
        spread = f" ± {stdev(values) / math.sqrt(len(values)):,.{digits}f}" if len(values) > 1 else ""
        return f"{fmean(values):,.{digits}f}{spread}"

    def best(self, epsilon: float) -> str:
        """Return the private method of least mean error."""
        return min(self.methods, key=lambda method: _last_if_nan(self.mean(method, epsilon)))


def _last_if_nan(value: float) -> float:
    return math.inf if math.isnan(value) else value


def page(title: str, facts: Sequence[str], spent: str, errors: Sequence[Error], task: Task) -> str:
    """Return the page: `facts` say what was compared, `spent` what that cost or why it cost nothing."""
    parts = [_measured(Summary(errors, measure)) for measure in task.measures]
    return f"""<!doctype html>
<html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p class=spent><strong>{html.escape(spent)}</strong></p>
<ul>{"".join(f"<li>{html.escape(fact)}</li>" for fact in facts)}</ul>
{"".join(parts)}
<p>Every method was called with what its line says and nothing else set, on rows of length one with a constant:
<code>dperm.NAME({task.called})</code>.</p>
</body></html>
"""


def _measured(found: Summary) -> str:
    """Return a heading, a picture and a table."""
    words = html.escape(found.measure.words)
    head = "".join(f"<th>ε = {epsilon:g}</th>" for epsilon in found.epsilons)
    rows = [
        f"<tr><td><svg class=key viewBox='0 0 36 16'>{_stroke('0,8 36,8', *mark)}</svg>&nbsp;{html.escape(method)}</td>"
        + "".join(_cell(found, method, epsilon) for epsilon in found.epsilons)
        + "</tr>"
        for method, mark in zip(found.methods, cycle(_MARKS), strict=False)
    ]
    rows += [
        f"<tr><td>{html.escape(level)}</td><td colspan={len(found.epsilons)}>{found.shown(level)}</td></tr>"
        for level in found.levels
    ]
    return f"""<h2>{words[0].upper()}{words[1:]}</h2>
{_picture(found)}
<table><caption>{words}, mean ± standard error over repeats; least of each column bold</caption>
<thead><tr><th>method</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>
"""


def _stroke(points: str, colour: str, dashes: str) -> str:
    dotted = f" stroke-dasharray='{dashes}'" if dashes else ""
    return f"<polyline points='{points}' fill=none stroke='{colour}' stroke-width=2{dotted} />"


def _cell(found: Summary, method: str, epsilon: float) -> str:
    bold = " class=best" if method == found.best(epsilon) else ""
    return f"<td{bold}>{found.shown(method, epsilon)}</td>"


def _step(room: float) -> float:
    """Return 1, 2 or 5 times a power of ten, of which there are at most eight in the room."""
    power = 10.0 ** math.floor(math.log10(room / 8))
    return next(many * power for many in (1, 2, 5, 10) if room / (many * power) <= 8)


def _picture(found: Summary) -> str:
    """Return an SVG: error over epsilon on a logarithmic axis, a line for each method, levels dashed."""
    values = [found.mean(method, epsilon) for method in found.methods for epsilon in found.epsilons]
    values += [found.mean(level) for level in found.levels]
    values = [value for value in values if not math.isnan(value)]
    most, percent = found.measure.most, " %" * (found.measure.unit == "%")
    room = 0.1 * (max(values) - min(values)) + 0.01 * most
    step = _step(max(values) - min(values) + room)
    digits = max(0, -math.floor(math.log10(step)))
    top, bottom = min(most, max(values) + room), step * math.floor(max(0.0, min(values) - room) / step)
    low, high = math.log(found.epsilons[0]), math.log(found.epsilons[-1])

    def across(epsilon: float) -> float:
        share = (math.log(epsilon) - low) / (high - low) if high > low else 0.5
        return _LEFT + 20 + share * (_WIDTH - _LEFT - _RIGHT - 40)

    def down(error: float) -> float:
        return _TOP + (top - error) / (top - bottom) * (_HEIGHT - _TOP - _BOTTOM)

    words = html.escape(found.measure.words, quote=True)
    parts = [f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role=img aria-label='{words} over epsilon; see the table'>"]
    for k in range(round(bottom / step), int(top / step) + 1):
        y = down(k * step)
        parts.append(f"<line x1={_LEFT} x2={_WIDTH - _RIGHT} y1={y:.1f} y2={y:.1f} stroke='#e5e5e5' />")
        parts.append(f"<text x={_LEFT - 8} y={y + 4:.1f} text-anchor=end>{k * step:,.{digits}f}{percent}</text>")
    for epsilon in found.epsilons:
        place = f"x={across(epsilon):.1f} y={_HEIGHT - _BOTTOM + 20}"
        parts.append(f"<text {place} text-anchor=middle>{epsilon:g}</text>")
    parts.append(f"<text x={(_WIDTH + _LEFT) / 2:.0f} y={_HEIGHT - 4} text-anchor=middle>epsilon</text>")
    names = []
    for level, (x, anchor) in zip(found.levels, _PLACES, strict=False):
        y = down(found.mean(level))
        parts.append(
            f"<line x1={_LEFT} x2={_WIDTH - _RIGHT} y1={y:.1f} y2={y:.1f} stroke='#555' stroke-dasharray='6 4' />"
        )
        # Of the lower one under its line: most methods are above it.
        y += -5 if level != found.levels[-1] or len(found.levels) == 1 else 16
        names.append(f"<text x={x:.1f} y={y:.1f} text-anchor={anchor}>{html.escape(level)}</text>")
    for method, mark in zip(found.methods, cycle(_MARKS), strict=False):
        points = [(across(e), down(found.mean(method, e))) for e in found.epsilons if found.mean(method, e) >= 0]
        parts.append(_stroke(" ".join(f"{x:.1f},{y:.1f}" for x, y in points), *mark))
        parts += [f"<circle cx={x:.1f} cy={y:.1f} r=4 fill='{mark[0]}' />" for x, y in points]
    return "".join([*parts, *names, "</svg>"])
