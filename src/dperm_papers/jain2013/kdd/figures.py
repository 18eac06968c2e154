"""Figures and tables of jain2013-kdd: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import NONPRIVATE, equals, number
from dperm_pipeline.figures.spec import DASHED, Facet, Figure, Level, Panel, encoded, like
from dperm_pipeline.target import Catalogue, Target

_KDD = "kdd-algebra"
_LINES = encoded(
    "mechanism calibration",
    {
        ("tddl", "paper"): look("tddl", "paper"),
        ("tddl", "corrected"): look("tddl", "corrected"),
        ("tddl", "tight"): look("tddl", "tight"),
        # Pure privacy is dashed, as everywhere.
        ("cms11", "paper"): like(look("cms11", "paper"), line=DASHED),
        ("objective", "tight"): look("objective", "tight"),
        ("explicit_output", "tight"): look("explicit_output", "tight"),
    },
    statistic="mean",
    band=0.15,
    positive=True,
    key={"ms": 3.2},
)
# Without privacy: `huber`, the private methods' own start, is the line of least squares to the eye.
_LEVELS = {
    "least_squares": ("least squares (not private)", "-"),
    "mean": ("mean of the targets (not private)", "--"),
    "zero": ("zero", ":"),
}
# The lower row's axis, in multiples of least squares; and the margin at which "close" is judged, from this epsilon on.
_ZOOM, _CLOSE, _FROM = (0.9, 2.0), 1.1, 0.5


def _prepare(rows):
    """Keep one data set, and divide errors by those of least squares on the same split."""
    names = sorted(rows["dataset"].unique())
    rows = rows[rows["dataset"] == (_KDD if _KDD in names else names[0])]
    least = rows[rows["variant"] == "least_squares"].set_index(["total", "repeat"])["value"].rename("least_squares")
    rows = rows.join(least, on=["total", "repeat"])
    return rows.assign(ratio=rows["value"] / rows["least_squares"])


def _levels(of):
    """Return the lines without privacy: of what a function makes of the errors by split and of least squares'."""

    def value(variant):
        def mean(rows):
            errors = rows[rows["mechanism"] == "nonprivate"].set_index(["variant", "repeat"])["value"]
            return of(errors[variant], errors["least_squares"]).mean()

        return mean

    return [
        Level(value(variant), words, NONPRIVATE.colour, dashes, more={"lw": 0.9, "zorder": 1.8})
        for variant, (words, dashes) in _LEVELS.items()
    ]


def _close(axis, rows):
    """Shade what is close to least squares: a specification has bands of lines alone."""
    ends = [_FROM, rows.loc[rows["mechanism"] != "nonprivate", "epsilon"].max() * 1.35]
    axis.fill_between(ends, 1, _CLOSE, color="black", alpha=0.08, lw=0, zorder=1)


def _panels(rows):
    private = rows[rows["mechanism"] != "nonprivate"]
    headlines = private.groupby("total")["headline"].any()
    dataset = rows["dataset"].iloc[0]
    totals = Facet(
        "total", sorted(private["total"].unique()), others=(0.0,),
        words=lambda total: f"{dataset}, {equals('nλ', total)}{' *' if headlines[total] else ''}",
    )  # fmt: skip
    panel = Panel(
        _LINES, where={"dataset": dataset}, across=totals, epsilons=True, sharex=True, sharey=True,
        more={"ms": 3.2, "zorder": 3},
    )  # fmt: skip
    errors = [rows["value"].min(), private["value"].max()]
    return [
        [
            panel.but(
                ylabel="test error, ‖Xw − y‖₂/√rows", levels=_levels(lambda error, least: error),
                span=lambda _: errors, exactly=True,
            )
        ],
        [
            panel.but(
                y="ratio", ylabel="error / least squares", levels=_levels(lambda error, least: error / least),
                ylim=_ZOOM, tick_look={"axis": "x", "labelrotation": 60}, also=_close,
            )
        ],
    ]  # fmt: skip


def _notes(rows):
    dataset, count = rows["dataset"].iloc[0], rows.loc[rows["mechanism"] != "nonprivate", "repeat"].nunique()
    yield (
        f"Root mean square error on test rows of {dataset}, {count} split{'s' * (count > 1)} with several draws of "
        "noise each; replace-one neighbours; {delta.max}, CMS11 pure. Bands: 95 % intervals of the mean over splits."
    )
    yield (
        "* The headline: the nλ chosen by 5-fold cross-validation of least squares on public rows. Below: a curve that "
        f"leaves the panel is above {number(_ZOOM[1])} times least squares; grey field: within 10 % of it at "
        f"ε ≥ {number(_FROM)}, where the paper says that TDDL is close to it. CMS11 raises nλ only where its "
        "ε′ is not above 0: where ε′ is barely above 0 its noise is huge."
    )
    if dataset != _KDD:
        yield f"{_KDD} is not among the rows: {dataset}, a formula, stands in for it."


fig2b = Figure(
    _panels,
    height=5.6,
    where={"metric": "error"},
    prepare=_prepare,
    notes=_notes,
    grid={"sharex": True, "gridspec_kw": {"height_ratios": (1.5, 1)}},
)


FIGURES: Catalogue[str, Target] = {
    "jain2013-fig2b": Target(
        "Figure 2b: regression error on KDD Cup 2010 algebra",
        "Root mean square error on test rows over epsilon, a column for each n lambda: TDDL with three calibrations, "
        "CMS11 (pure), Gaussian objective and output perturbation, and three fits without privacy. Below, the same as "
        "multiples of least squares. Bands: 95 % confidence intervals over splits.",
        "Line plots on logarithmic axes; CMS11 lies above all others, mostly by decades, and these meet the line of "
        "least squares only where n lambda or epsilon is large.",
        metrics=("error",),
    ),
}
