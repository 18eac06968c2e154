"""The page of a comparison: words, a picture and a table in one HTML file that needs nothing else."""

import html
import math
from collections.abc import Sequence
from statistics import fmean, stdev

from dperm.comparing.errors import Error

# Of the picture, in its own units.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 760, 380, 56, 16, 16, 44
# Told apart by everybody (Okabe & Ito).
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A5F00", "#000000")
_STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}caption{text-align:left}
td,th{padding:.25rem .8rem;border-bottom:1px solid #ccc;text-align:right}td[colspan]{text-align:left}
td:first-child,th:first-child{text-align:left}.spent{border-left:4px solid #D55E00;padding:.3rem 1rem;
background:#fdf3ec}.best{font-weight:700}.key{display:inline-block;width:.8em;height:.8em;border-radius:50%}
svg{max-width:100%;height:auto}svg text{font:13px system-ui,sans-serif;fill:#333}"""


class Summary:
    """Errors of every method over the repeats: mean and standard error by epsilon; infinite of what is not private."""

    def __init__(self, errors: Sequence[Error]):
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
        """Return mean and standard error in per cent."""
        values = self._found[method, epsilon]
        if math.isnan(fmean(values)):
            return "no answer"
        spread = f" ± {100 * stdev(values) / math.sqrt(len(values)):.1f}" if len(values) > 1 else ""
        return f"{100 * fmean(values):.1f}{spread}"

    def best(self, epsilon: float) -> str:
        """Return the private method of least mean error."""
        return min(self.methods, key=lambda method: _last_if_nan(self.mean(method, epsilon)))


def _last_if_nan(value: float) -> float:
    return math.inf if math.isnan(value) else value


def page(title: str, facts: Sequence[str], spent: str, errors: Sequence[Error]) -> str:
    """Return the page: `facts` say what was compared, `spent` what that cost or why it cost nothing."""
    found = Summary(errors)
    head = "".join(f"<th>ε = {epsilon:g}</th>" for epsilon in found.epsilons)
    rows = [
        f"<tr><td><span class=key style='background:{colour}'></span> {html.escape(method)}</td>"
        + "".join(_cell(found, method, epsilon) for epsilon in found.epsilons)
        + "</tr>"
        for method, colour in zip(found.methods, _COLOURS, strict=False)
    ]
    rows += [
        f"<tr><td>{html.escape(level)}</td><td colspan={len(found.epsilons)}>{found.shown(level)}</td></tr>"
        for level in found.levels
    ]
    return f"""<!doctype html>
<html lang=en><head><meta charset=utf-8><meta name=viewport content="width=device-width">
<title>{html.escape(title)}</title>
<style>{_STYLE}</style></head><body>
<h1>{html.escape(title)}</h1>
<p class=spent><strong>{html.escape(spent)}</strong></p>
<ul>{"".join(f"<li>{html.escape(fact)}</li>" for fact in facts)}</ul>
{_picture(found)}
<table><caption>Wrong labels in %, mean ± standard error over repeats; least of each column bold</caption>
<thead><tr><th>method</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>
<p>Every method was called with nothing else set, on rows of length one with a constant:
<code>dperm.NAME(epsilon=..., delta=..., classes=..., clip=True)</code>.</p>
</body></html>
"""


def _cell(found: Summary, method: str, epsilon: float) -> str:
    bold = " class=best" if method == found.best(epsilon) else ""
    return f"<td{bold}>{found.shown(method, epsilon)}</td>"


def _picture(found: Summary) -> str:
    """Return an SVG: error over epsilon on a logarithmic axis, a line for each method, levels dashed."""
    values = [found.mean(method, epsilon) for method in found.methods for epsilon in found.epsilons]
    values += [found.mean(level) for level in found.levels]
    values = [value for value in values if not math.isnan(value)]
    room = 0.1 * (max(values) - min(values)) + 0.01
    step = next(step for step in (0.01, 0.02, 0.05, 0.1, 0.2) if (max(values) - min(values)) / step <= 8 or step == 0.2)
    top, bottom = min(1.0, max(values) + room), step * math.floor(max(0.0, min(values) - room) / step)
    low, high = math.log(found.epsilons[0]), math.log(found.epsilons[-1])

    def across(epsilon: float) -> float:
        share = (math.log(epsilon) - low) / (high - low) if high > low else 0.5
        return _LEFT + 20 + share * (_WIDTH - _LEFT - _RIGHT - 40)

    def down(error: float) -> float:
        return _TOP + (top - error) / (top - bottom) * (_HEIGHT - _TOP - _BOTTOM)

    parts = [
        f"<svg viewBox='0 0 {_WIDTH} {_HEIGHT}' role=img aria-label='Error over epsilon; the table has the numbers'>"
    ]
    for k in range(round(bottom / step), int(top / step) + 1):
        y = down(k * step)
        parts.append(f"<line x1={_LEFT} x2={_WIDTH - _RIGHT} y1={y:.1f} y2={y:.1f} stroke='#e5e5e5' />")
        parts.append(f"<text x={_LEFT - 8} y={y + 4:.1f} text-anchor=end>{100 * k * step:.0f} %</text>")
    for epsilon in found.epsilons:
        place = f"x={across(epsilon):.1f} y={_HEIGHT - _BOTTOM + 20}"
        parts.append(f"<text {place} text-anchor=middle>{epsilon:g}</text>")
    parts.append(f"<text x={(_WIDTH + _LEFT) / 2:.0f} y={_HEIGHT - 4} text-anchor=middle>epsilon</text>")
    for level in found.levels:
        y = down(found.mean(level))
        parts.append(
            f"<line x1={_LEFT} x2={_WIDTH - _RIGHT} y1={y:.1f} y2={y:.1f} stroke='#555' stroke-dasharray='6 4' />"
        )
        # Of the lower one under its line: most methods are above it.
        y += -5 if level == found.levels[0] else 16
        parts.append(f"<text x={_WIDTH - _RIGHT} y={y:.1f} text-anchor=end>{html.escape(level)}</text>")
    for method, colour in zip(found.methods, _COLOURS, strict=False):
        points = [(across(e), down(found.mean(method, e))) for e in found.epsilons if found.mean(method, e) >= 0]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f"<polyline points='{line}' fill=none stroke='{colour}' stroke-width=2 />")
        parts += [f"<circle cx={x:.1f} cy={y:.1f} r=4 fill='{colour}' />" for x, y in points]
    return "".join([*parts, "</svg>"])
