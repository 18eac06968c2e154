"""Figures and tables of kifer2012-example1: specifications, and what they show in words."""

from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

# The indices that are drawn with a line of their own: the first, one between, the last; and the limit.
_COLOURS, _INFINITE = ("#56B4E9", "#0072B2", "#CC79A7"), float("inf")
_DIRECTIONS = {"adding": "-", "removing": DASHED}
# The record whose delta(epsilon) is drawn: within the reach of the first bumps.
_TARGET = 0.05
_DISTANCES = {"distance": ("", "#0072B2", "o"), "bound": ("", "#D55E00", "", DOTTED)}


def _indices(rows):
    """Return a line for the limit and for every index that is drawn."""
    finite = sorted(index for index in rows["index"].unique() if index < _INFINITE)
    drawn = zip(dict.fromkeys((finite[0], finite[len(finite) // 2], finite[-1])), _COLOURS, strict=False)
    lines = [
        Line(f"φᵢ, {equals('i', index)}", colour, where={"index": index}, more={"lw": 1.1}) for index, colour in drawn
    ]
    return [Line("φ, with r = |θ|", "#000000", where={"index": _INFINITE}, more={"lw": 1.6}, key={"lw": 1.6}), *lines]


def _panels(rows):
    lines, profile = _indices(rows), rows[rows["metric"] == "profile"]
    near = (profile["target"] - _TARGET).abs() < 1e-7
    least = profile.loc[near & (profile["index"] == _INFINITE) & (profile["at"] == 0), "value"].min() * 1e-4
    return [
        [
            Panel(
                lines,
                "at",
                "P(φ ≤ θ)",
                "no record",
                {"metric": "cdf"},
                prepare=lambda rows: rows.sort_values(["at", "value"]),
                statistic="path",
                xscale="linear",
                xlabel="θ",
                xlim=lambda rows: (-rows["at"].abs().max() / 2, rows["at"].abs().max() / 2),
                ylim=(0, 1),
            ),
            Panel(
                [
                    line.but(where={**line.where, "direction": direction}, line=dashes)
                    for line in lines
                    for direction, dashes in _DIRECTIONS.items()
                ],
                "at",
                "δ(ε′)",
                "what is spent",
                {"metric": "profile", "target": lambda target: (target - _TARGET).abs() < 1e-7},
                # A logarithmic axis has no 0: the line leaves the panel downwards.
                y=lambda rows: rows["value"].clip(lower=least * 1e-3),
                xscale="linear",
                xlabel="ε′",
                xlim=lambda rows: (0, rows["at"].max()),
                span=lambda rows: (least, rows["value"].max()),
                exactly=True,
            ),
            Panel(
                encoded("metric", _DISTANCES),
                "index",
                "max over b of |φᵢ(b) − φ(b)|",
                "convergence",
                xlabel="i",
                xticks=4,
            ),
        ]
    ]


def _legend(rows):
    grey = [Line(f"{words} a record" if words == "adding" else "removing it", "#777777", line=dashes)
            for words, dashes in _DIRECTIONS.items()]  # fmt: skip
    return [*(line.but(more={}) for line in _indices(rows)), Line("√(12w/Δ), Lemma 18", "#D55E00", line=DOTTED), *grey]


def _notes(rows):
    atom = float(rows.loc[rows["metric"] == "atom", "value"].iloc[0])
    return [
        "Exact laws on the line (design q1), no repeats: no record against one with a Huber loss at "
        f"{equals('y', _TARGET)}, Δ = 2λ/ε, Gaussian b as printed for {{epsilon.first}}, {{delta.first}}. φ is 0 with "
        f"probability {atom:.3f}; no φᵢ has an atom, so every one of them is that far from φ in total variation, and "
        "yet |φᵢ − φ| → 0 for every b, and φ keeps their privacy.",
    ]


example1 = Figure(
    _panels, height=3.3, columns=4, where={"dataset": "q1", "loss": "huber"}, legend=_legend, notes=_notes
)


FIGURES: Catalogue[str, Target] = {
    "kifer2012-example1": Target(
        "Example 1: a limit of private mechanisms",
        "The minimiser with an l1 regularizer, which is 0 with positive probability, and with the regularizer "
        "smoothed, which has a density: distribution functions, what either spends of its budget, and how the smoothed "
        "minimisers converge for every b, beside the rate in the proof of Lemma 18. All numbers are exact.",
        "Three panels: distribution functions that steepen towards a jump at 0; delta over epsilon of the smoothed "
        "mechanisms and of the limit; the largest distance of the minimisers over i, falling below a dotted bound.",
        metrics=("atom", "cdf", "profile", "distance", "bound"),
        datasets=("q1",),
    ),
}
