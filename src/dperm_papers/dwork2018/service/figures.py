"""The figure of dwork2018-service: a specification, and what it shows in words."""

from dperm_pipeline.figures.spec import DASHED, Figure, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_ACCURACIES = [
    *encoded("series", {"exact": ("exact law", "#56B4E9", "")}),
    *encoded("series", {"served": Line("served", "#D55E00", "o", "none", hollow=True)}, statistic="mean", bars=0.8,
             more={"ms": 9, "mew": 1.6}),
    *encoded("series", {"library": ("library, same seed", "#333333", "x", "none")}, statistic="mean",
             more={"ms": 5, "mew": 1.4, "zorder": 4}),
]  # fmt: skip
_ANALYSTS = encoded(
    "series",
    {
        "first": ("first analyst", "#0072B2", "^"),
        "second": ("second analyst", "#E69F00", "v"),
        "both": ("both together", "#333333", "s", DASHED),
    },
    statistic="mean",
)

service = Figure(
    [
        [
            Panel(_ACCURACIES, "m", "accuracy of an answer", "over the network, {epsilon.first}",
                  {"metric": "accuracy"}, xlabel="answers m that the budget is for", ylim=(0.5, 0.85)),
            Panel(_ANALYSTS, "m", "new answers / m", "two analysts, until each is refused", {"metric": "answered"},
                  xlabel="answers m that the budget is for", ylim=(0, 1.1)),
        ]
    ],
    columns=2,
    legend=[*_ACCURACIES, *_ANALYSTS],
    notes=[
        "Soft majority on the flip law: {n.first}, {r.first} shards, {delta.first}; {repeat.count:series=served} "
        "servers at each m; bars: 95 % confidence intervals. Each analyst has a share of more than half of m."
    ],
)  # fmt: skip

FIGURES: Catalogue[str, Target] = {
    "dwork2018-service": Target(
        "Section 1: private prediction as a service",
        "Accuracy of the answers that a real server gives over the network, over the number of answers that its budget "
        "is for, beside the library's answers under the same seed and the exact law of both; and which part of the "
        "answers two analysts get, whose shares together are more than the budget.",
        "Left, circles with a cross in each fall from 0.8 towards chance along the exact curve; right, three level "
        "lines: the first analyst at its share, the second at what is left, both together at all answers.",
        metrics=("accuracy", "answered"),
    ),
}
