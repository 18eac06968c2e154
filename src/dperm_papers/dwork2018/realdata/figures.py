"""Figures and tables of dwork2018-realdata: specifications, and what they show in words."""

from dperm_papers.dwork2018.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals
from dperm_pipeline.figures.spec import Facet, Figure, Level, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_PREDICTIONS = ("soft_majority", "averaged", "stable_erm", "stable_sgd", "exppw")
_METHODS = {name: look(name, "tight") for name in _PREDICTIONS}
_METHODS["objective"] = like(look("objective", "tight"), label="private model")
_METHODS["objective-separate"] = like(look("objective", "separate"), label="the same without Theorem 4")
_LEVELS = {"logistic": ("logistic regression (not private)", "--"), "majority": ("majority class (not private)", ":")}
# What a column of panels is over: a series, and the column of the same name.
_OVER = {"epsilon": "ε, one query", "queries": "queries answered", "radius": "R, one query"}


def _prepare(rows):
    """Put what a series is over into `x`, and mark the values at which all private predictions were asked."""
    import pandas as pd

    separate = rows["calibration"] == "separate"
    rows = rows.assign(mechanism=rows["mechanism"].astype(str).mask(separate, "objective-separate"))
    parts = [rows[rows["series"] == ""].assign(x=0.0, marked=False)]
    for (_, series), part in rows[rows["series"] != ""].groupby(["dataset", "series"]):
        part = part.assign(x=part[series].astype(float))
        asked = part[part["mechanism"].isin(_PREDICTIONS)].groupby("x")["mechanism"].nunique()
        marked = asked.index[asked == asked.max()]
        # The answers of a private model cost nothing: one level over all numbers of queries.
        level = part[part["x"] == 0].assign(marked=False)
        parts += [level.assign(x=marked.min()), level.assign(x=marked.max())]
        parts.append(part[part["x"] > 0].assign(marked=part["x"].isin(marked)))
    return pd.concat(parts)


def _series(rows):
    return rows.loc[rows["series"] != "", "series"].iloc[0]


def _title(rows):
    return rows["dataset"].iloc[0] if _series(rows) == "epsilon" else ""


def _xlabel(rows):
    words, budget = _OVER[_series(rows)], equals("ε", rows.loc[rows["series"] != "", "epsilon"].max())
    return words if _series(rows) == "epsilon" else f"{words}, {budget}"


def _span(rows):
    # A coin is wrong half of the time.
    return max(0.8 * rows.groupby(["series", "mechanism", "variant", "x"])["value"].mean().min(), 0.005), 0.6


realdata = Figure(
    [
        [
            Panel(
                encoded("mechanism", _METHODS, band=0.25, marked_if="marked", more={"lw": 0.9}),
                "x",
                "error",
                _title,
                levels=[
                    Level(lambda rows: rows["value"].mean(), label, NONPRIVATE.colour, dashes, {"variant": variant},
                          more={"lw": 0.9})
                    for variant, (label, dashes) in _LEVELS.items()
                ],
                across=Facet("series", tuple(_OVER), others=[""]),
                statistic="mean",
                title_look={"size": 8, "loc": "left"},
                xlabel=_xlabel,
                epsilons=True,
                xticks=lambda rows: sorted(rows.loc[rows["marked"], "x"].unique()),
                span=_span,
                exactly=True,
                sharey=True,
            )
        ]
    ],
    height=(1.15, 1.85),
    down=Facet("dataset"),
    prepare=_prepare,
    notes=[
        "Data: {dataset.all}; means over {repeat.count:series=epsilon} random splits (over R: "
        "{repeat.count:series=radius}), bands: 95 % intervals. All answers of a curve's point, or the private model, "
        "spend ε and {delta.max:series=epsilon} together; {R=radius.max:series=epsilon,mechanism=stable_erm} on the "
        "left and in the middle. The error of an answer is exact over noise and bits. Private model: objective "
        "perturbation, with our noise, and with that without our Theorem 4, which is later than the paper.",
    ],
)  # fmt: skip


FIGURES: Catalogue[str, Target] = {
    "dwork2018-realdata": Target(
        "Private predictions and private models on real data",
        "Misclassification over epsilon for one query, over the number of queries within one epsilon, and over the "
        "radius R, by five ways of private prediction, by objective perturbation as the private model (with our noise, "
        "and with that without Theorem 4, which is later than the paper), and without privacy by logistic regression "
        "and by the majority class. Bands: 95 % confidence intervals over splits.",
        "A row of three panels for each data set: errors fall with epsilon and rise with the number of queries to "
        "those of a coin, while that of a private model is one level.",
        metrics=("error",),
    ),
}
