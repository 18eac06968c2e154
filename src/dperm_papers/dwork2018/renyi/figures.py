"""Figures and tables of dwork2018-renyi: what they show, and in words."""

from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_TOTALS = encoded(
    "form",
    {
        "basic": ("basic, m ε", "#E69F00", "D", DASHED),
        "concentrated": ("zCDP, ε²/8 each", "#009E73", "^"),
        "renyi": ("Rényi, the curve of a bit", "#0072B2", "o"),
        "lower": ("spent by the worst bits", "#333333", "", DOTTED),
    },
    more={"ms": 3.5},
)


def _over_lower(rows):
    """Divide by what the worst bits spend."""
    lower = rows[rows["form"] == "lower"].set_index("queries")["value"]
    return rows[rows["form"] != "lower"].assign(value=lambda part: part["value"] / part["queries"].map(lower))


_TOTAL = Panel(
    _TOTALS, "queries", "ε of all m answers", "{epsilon.first} each, {delta.first}", xlabel="m, answers", same_y="none"
)
renyi = Figure(
    [
        [
            _TOTAL,
            _TOTAL.but(
                lines=_TOTALS[:3], ylabel="over what the worst bits spend", title="the same, over the least there is",
                prepare=_over_lower, ylim=(0.95, 2.3),
            ),
        ]
    ],
    height=3.9,
    columns=2,
    where={"series": "answers", "metric": "total"},
    notes=["Bits of bounded range (soft majority, ExpPW). Dotted: the exact δ of m of the worst such bits."],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-renyi": Target(
        "Section 3: private prediction in Rényi terms",
        "Epsilon of m private bits together, at one delta, over m: by basic composition, by zero-concentrated privacy, "
        "by the Rényi curve of a bit of bounded range, and what the worst such bits really spend; and the first three "
        "over the last.",
        "Left, rising lines on logarithmic axes, basic composition steepest, the other three close together. Right, "
        "the Rényi curve is nearest to 1, zCDP is above it for few answers and meets it for many.",
        metrics=("total",),
    ),
}
