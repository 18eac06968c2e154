"""Figures and tables of jain2013-url: specifications, and what they show in words."""

from dperm_papers.jain2013.shared import drawing_accuracy as shared
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import Figure
from dperm_pipeline.target import Catalogue, Target


def _panels(rows):
    span = shared.span(rows)
    totals = sorted(rows.loc[rows["mechanism"] != "nonprivate", "total"].unique())
    above = [shared.over_epsilon(rows, {"total": total}, span).but(title=equals("nλ", total)) for total in totals]
    below = [
        [shared.over_queries(rows, {"total": total}, epsilon, span) for total in totals]
        for epsilon in shared.swept_epsilons(rows)
    ]
    return [[panel.but(sharey="row") for panel in line] for line in (above, *below)]


def _notes(rows):
    dataset = rows["dataset"].iloc[0]
    yield shared.words(rows)
    yield (
        "Grey field: within one point of the machine at ε ≥ 0.1. LibSVM: on fewer rows where there are more. The paper "
        "states no number."
    )
    if dataset != "url":
        yield (
            f"{dataset}: rows whose days are unknown and whose class balance is partly set by hand. It shows that the "
            "path works in 3,231,961 dimensions; it is not a utility figure."
        )


url = Figure(
    _panels, height=lambda rows: 3.0 + 2.4 * len(shared.swept_epsilons(rows)), prepare=shared.of_one("url"),
    drawn_only=True, notes=_notes, grid={"sharey": True},
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "jain2013-url": Target(
        "Accuracy on URL Reputation",
        "Test accuracy with the linear kernel in 3,231,961 dimensions, a column for each n lambda: above over epsilon, "
        "below over the number T of public points at two epsilons. The methods are those of Figure 2a. Bands: 95 % "
        "confidence intervals over splits.",
        "Curves that rise from chance, at small epsilon, to the line of the machine without privacy.",
        metrics=("accuracy", "accuracy_one"),
    ),
}
