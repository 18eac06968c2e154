"""Figures and tables of jain2013-stability: specifications, and what they show in words."""

from dperm_pipeline.figures.spec import Facet, Figure, Level, Line, Panel
from dperm_pipeline.target import Catalogue, Target

_KERNELS = {"linear": "linear kernel", "cubic": "(⟨x, v⟩ + 1)³", "gaussian": "Gaussian kernel"}
# Loss -> name, colour, and the factor by which its n are moved: their markers would hide one another.
_LOSSES = {
    "hinge": ("hinge", "#0072B2", 0.9),
    "logistic": ("logistic", "#D55E00", 1.0),
    "huber": ("Huber", "#009E73", 1.11),
}
_ROWS = {"weights": "‖w − w′‖/Δ_w", "prediction": "max |f − f′|/Δ₁"}
_LIBSVM = {"libsvm": ("random pairs, LibSVM with bias", "+"), "majority": ("flipped majority, LibSVM with bias", "x")}
_BIAS = "#CC79A7"
# Area of a marker by the place of its lambda: the smallest first.
_AREAS = (7, 16, 30)


def _lines(loss, curvature, area):
    _, colour, factor = _LOSSES[loss]
    where = {"loss": loss, "curvature": curvature}
    here = Line(colour=colour, x=lambda rows: rows["n"] * factor)
    yield here.but(marker="o", where={**where, "form": "random"}, more={"lw": 0.7, "ms": area**0.5})
    flipped = here.but(marker="D", line="none", hollow=True, dots={"s": area, "lw": 0.8})
    yield flipped.but(where={**where, "form": "flip"})
    for form, (_, marker) in _LIBSVM.items():
        where |= {"form": form, "value": lambda excess: excess > -1}
        yield Line("", _BIAS, marker, "none", where.copy(), dots={"s": 1.6 * area, "lw": 0.8, "zorder": 4})


def _panels(rows):
    places = [
        (loss, curvature, _AREAS[min(k, len(_AREAS) - 1)])
        for loss in _LOSSES
        for k, curvature in enumerate(sorted(rows["curvature"].unique()))
    ]
    panel = Panel(
        [line for place in places for line in _lines(*place)], "n",
        levels=[Level(1.0, colour="black", more={"lw": 0.9})], y="ratio",
        across=Facet("kernel", tuple(_KERNELS), _KERNELS.get), statistic="max", sharex=True, sharey=True,
        xticks=lambda rows: sorted(rows.loc[rows["form"] == "random", "n"].unique()),
    )  # fmt: skip
    return [[panel.but(ylabel=label, where={"row": row})] for row, label in _ROWS.items()]


stability = Figure(
    _panels,
    height=5.2,
    columns=2,
    where={"metric": "excess", "row": tuple(_ROWS)},
    prepare=lambda rows: rows.assign(ratio=1 + rows["value"]),
    legend=[
        *(Line(f"{name}, largest of random pairs", colour, "o") for name, colour, _ in _LOSSES.values()),
        Line("flipped label, no bias", "#555555", "D", "none", hollow=True),
        *(Line(name, _BIAS, marker, "none") for name, marker in _LIBSVM.values()),
    ],
    notes=[
        "sphere-3: {repeat.count:form=random} random pairs at each point (LibSVM: {repeat.count:form=libsvm}), "
        "replace-one; larger markers for larger λ ({curvature.all}). Black line: equation (3)'s bound. Not private: "
        "exact minimisers, certified to Δ_w/50 a pair; LibSVM's have no certificate. Flipped labels attain the bound "
        "for Huber, and for the hinge where nλ ≥ R²; the flipped majority moves predictions by nλ/R² times the bound, "
        "through the bias alone (its w stays 0, off the scale).",
    ],
    grid={"sharex": True, "sharey": "row"},
)


FIGURES: Catalogue[str, Target] = {
    "jain2013-stability": Target(
        "Equation (3): how far one record moves the minimiser",
        "Distance of the minimisers, and of their predictions, on pairs of data sets that differ in one record, in "
        "units of equation (3)'s bounds, over n and lambda, for three losses and three kernels: the largest of random "
        "pairs, a flipped label, and LibSVM with its bias, for which no such bound holds.",
        "Two rows of three panels: filled markers below the line at 1, diamonds on it, and crosses of LibSVM up to a "
        "thousand times above it in the lower row.",
        metrics=("excess",),
    ),
}
