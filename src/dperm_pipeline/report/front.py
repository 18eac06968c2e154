"""The first page's pictures: how far guarantees are broken, and what to pick, as places on a line from 0 to 100."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dperm_pipeline import names, places
from dperm_pipeline.report import ledgers

# Where the claim stands on the line of refuted guarantees, and the factor at its end where nothing goes further.
_CLAIM, _LEAST_END = 10.0, 10.0
_FILTERED = ("paper", "mechanism", "calibration", "neighbours")


def words(text: str) -> str:
    """Return a name of the code in words."""
    return text.replace("_", " ")


def broken(refuted: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lines of `sections.refuted` with their `place` on a logarithmic line, and names in words."""
    bounded = [line["factor"] for line in refuted if not ledgers.unbounded(line["factor"] * float(line["epsilon"]))]
    end = math.log(max([_LEAST_END, *bounded]))
    return [
        {
            **line,
            "shown": names.mechanism(line["mechanism"]),
            "name": places.called(line["paper"]),
            "constants": names.constants(line["calibration"]),
            "place": f"{min(100.0, _CLAIM + (100 - _CLAIM) * math.log(line['factor']) / end):.1f}",
            "filters": {**{key: line[key] for key in _FILTERED}, "verdict": "refuted"},
        }
        for line in refuted
    ]


def pick(view: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the view of the explorer that the first page shows, best first and then the levels without privacy."""
    if view is None or not any(line["best"] for line in view["lines"]):
        return None
    shown = [line for line in view["lines"] if line["mean"] is not None]
    every = [*shown, *view["levels"]]
    log = view["words"]["log"]
    ends = [end for line in every for end in (line["mean"], line["low"], line["high"]) if end is not None]
    ends = [end for end in ends if not log or end > 0]
    low, high = min(ends), max(ends)

    def place(value: float | None) -> str | None:
        if value is None:
            return None
        via = math.log if log else float
        span = via(high) - via(low)
        return f"{2 + 96 * (via(max(value, low)) - via(low)) / span if span else 50.0:.1f}"

    def said(line: Mapping[str, Any], words_: str, *, level: bool) -> dict[str, Any]:
        interval = "" if line["low"] is None else f" [{line['low']:.4g}, {line['high']:.4g}]"
        return {
            "label": line["label"],
            "words": words_,
            "level": level,
            "shown": f"{line['mean']:.4g}{interval}",
            **{end: place(line[end]) for end in ("mean", "low", "high")},
        }

    lines = [(said(line, line["words"], level=False), line["best"]) for line in shown]
    levels = [said(line, "a reference without privacy", level=True) for line in view["levels"]]
    return {
        "words": view["words"],
        "log": log,
        "lower": view["words"]["lower"],
        "lines": [*(line for line, _ in lines), *levels],
        "levels": levels,
        "best": next(line for line, best in lines if best),
    }
