"""The figure of li2021-literal: a specification, and what it shows in words."""

import numpy as np

from dperm_papers.li2021.shared import drawing_lines as shared
from dperm_papers.li2021.shared.drawing_lines import PUBLISHED, gaussian, model, size
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import Facet, Figure, Panel
from dperm_pipeline.target import Catalogue, Target

_PANEL = Panel(
    across=Facet("epsilon"),
    title_look={"size": 6.5, "pad": 2.5},
    label_look={"size": 6.8, "labelpad": 1},
    tick_look={"labelsize": 6, "length": 2, "pad": 1.5},
    x="strength",
    y="value",
    statistic="mean",
    xticks=(0.1, 1, 10, 100),
    sharex=True,
    more=shared.LOOK,
)
_LINES = [line.but(band=0.15) for line in PUBLISHED[::-1]]
_SQUARES = _PANEL.but(lines=[line.but(via=np.exp) for line in _LINES], ylabel="test MSE")
_SHARES = _PANEL.but(lines=_LINES, ylabel="misclassified", air=0.06)
_MODELS = ("linear", "poisson", "logistic")
_WORDS = {"range": "ζ: range", "typical": "ζ: 99 %", "unit": "ζ = 1"}


def _place(design):
    return _MODELS.index(design.rsplit("-", 1)[0]), size(design)


def _panels(rows):
    """Return a row for each design: under the bounds of the range, and on the right under others."""
    for design in sorted(rows["dataset"].unique(), key=_place):
        panel = _SHARES if design.startswith("logistic") else _SQUARES
        beside = "typical" if design.startswith("poisson") else "unit"
        known = set(rows.loc[rows["dataset"] == design, "zeta"])
        yield [
            panel.but(
                where={"dataset": design, "zeta": zeta},
                title=f"{model(design)}, {equals('n', size(design))}, {{}}, {_WORDS[zeta]}",
            )
            for zeta in ("range", beside)
            if zeta in known
        ]


def _notes(rows):
    yield (
        f"Algorithm 1 by its letter: {equals('nₑ', int(rows['rows_added'].max()))} drawn rows in each of its "
        "iterations (the paper: 10,000); {δ=delta.first}. Means over {repeat.count} repeats (MSE: geometric means; "
        "Poisson predictions are capped at e^7.5) with 95 % intervals. The bounds ζ, to which noise and Λ0 are "
        "proportional, are not printed: on the left those of the whole range of η and y, on the right for 99 % of the "
        "records (Poisson) or 1."
    )


literal = Figure(
    _panels,
    height=(1.5, 1.3),
    width=7.2,
    columns=3,
    where={"metric": "error", "delta": gaussian},
    legend=PUBLISHED,
    notes=_notes,
)

FIGURES: Catalogue[str, Target] = {
    "li2021-literal": Target(
        "Figure 5 by Algorithm 1 to the letter",
        "Error on test records over Lambda with rows that are drawn and appended, in the place of their limit; a panel "
        "for each design of Table 4, each bound zeta on a record, and epsilon, at the text's delta: six methods as "
        "published, without a guarantee.",
        "Lines with bands over a logarithmic axis of Lambda, six methods in three colours, solid with MOOR and dashed "
        "without.",
        columns=("variant", "strength", "zeta", "rows_added"),
        metrics=("error",),
    ),
}
