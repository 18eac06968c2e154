"""Figures and tables of jain2013-thm5: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import TRIVIAL, equals, number
from dperm_pipeline.figures.spec import DASHED, Figure, Level, Line, Panel, crossed, encoded, like
from dperm_pipeline.target import Catalogue, Target

_WORDS = {
    ("tddl", "", "paper"): "TDDL",
    ("tddl", "", "corrected"): "TDDL, corrected",
    ("tddl", "", "tight"): "TDDL, tight",
    ("tddl", "bare", "paper"): "bare O(·), not private",
    ("explicit_output", "", "tight"): "Gaussian output",
    ("cms11", "", "paper"): "CMS11 (pure ε)",
    ("trivial", "", "paper"): "ŵ = 0",
}


def _look(mechanism, variant, calibration):
    return TRIVIAL if mechanism == "trivial" else look(mechanism, calibration, variant)


_METHODS = encoded(
    "mechanism variant calibration",
    {key: like(_look(*key), label=label) for key, label in _WORDS.items()},
)
_LAWS = encoded(
    "dataset", {"ten-directions": ("ten equal directions",), "decaying": ("variances j⁻²", None, None, DASHED)}
)
_MEANS = {"statistic": "mean", "band": 0.15, "positive": True}
_LINES = [line.but(**_MEANS) for line in crossed(_METHODS, _LAWS)]
_TDDL = [line for line in _METHODS if line.where["mechanism"] == "tddl" and not line.where["variant"]]
_CURVATURE = Line(
    colour=_TDDL[0].colour, marker="o", where=_TDDL[0].where, shades="curvature", key={"marker": "None", "ls": "-"},
    **_MEANS,
)  # fmt: skip
_CURVATURES = [line.but(label=lambda curvature: equals("λ", curvature)) for line in crossed([_CURVATURE], _LAWS)]
_ANSWERS = [Line(where={"variant": ""}), Line(where={"variant": "pinp-answers"}, hollow=True)]
_PANEL = Panel(
    _LINES, "total", "D = mean |⟨ŵ − w*, φ⟩|", xlabel="nλ", xticks=4, title_look={"size": 7.5},
    more={"lw": 0.9, "ms": 3.2},
)  # fmt: skip


def _without(mechanism, variant=""):
    return [line for line in _LINES if (line.where["mechanism"], line.where["variant"]) != (mechanism, variant)]


def _constants(rows):
    """Return the 95 % quantiles of L D over Theorem 5's expression."""
    rows = rows.assign(value=rows["value"] / rows["bound"])
    keys = ["series", "mechanism", "variant", "calibration", "dataset", "total", "queries"]
    return rows.groupby(keys, as_index=False)["value"].quantile(0.95)


def _constants_over_T(axis, rows):
    """Draw the constants over T on an x-axis above: a specification has one."""
    above, swept = axis.twiny(), rows[rows["series"] == "queries"]
    for (calibration, law), part in swept.groupby(["calibration", "dataset"]):
        dashes = {line.where["dataset"]: line.line or "-" for line in _LAWS}[law]
        above.plot(part["queries"], part["value"], color=look("tddl", calibration).colour, ls=dashes, lw=0.7)
    above.set_xscale("log")
    ticks = sorted(swept["queries"].unique())
    ticks = ticks[:: -(-len(ticks) // 4)]
    above.set_xticks(ticks, [number(tick) for tick in ticks])
    above.minorticks_off()
    above.set_xlabel("T (without markers)", size=7)
    above.grid(visible=False)


def _panels(rows):
    first = {series: rows[rows["series"] == series].iloc[0] for series in ("queries", "features")}
    wide = f"{equals('nλ', first['features']['total'])}, T = {int(first['features']['queries'])}"
    exchange, T = crossed(_TDDL, _LAWS, _ANSWERS), int(first["queries"]["own_queries"])
    says = {"text": f"T = {T}\nof Theorem 5", "xy": (T, 0.6), "size": 6.5, "ha": "right", "va": "bottom",
            "xytext": (-2, 0)}  # fmt: skip
    return [
        [
            _PANEL.but(lines=_without("cms11"), title="T as in Theorem 5, C = 1", where={"series": "total"}),
            _PANEL.but(
                lines=_CURVATURES, x="n", xlabel="n", title="Corollary 6: C = 2LR/λ, paper",
                where={"series": "corollary"}, more={"lw": 0.9, "ms": 3},
                legend={"loc": "lower left", "fontsize": 6.5, "handlelength": 1.2},
            ),
            _PANEL.but(
                lines=_without("cms11"), x="queries", xlabel="T", title=equals("nλ", first["queries"]["total"]),
                where={"series": "queries"},
                levels=[Level(T, "", "#555555", ":", more={"lw": 0.8}, upright=True, says=says)],
            ),
        ],
        [
            _PANEL.but(
                lines=_without("tddl", "bare"), x="d", xlabel="d", title=wide, where={"series": "features", "radius": 1}
            ),
            _PANEL.but(
                lines=[line.but(where={**line.where, "series": "total"}) for line in crossed(_TDDL, _LAWS)],
                xlabel="nλ (with markers)", ylabel="constant of Theorem 5's bound", prepare=_constants,
                where={"series": ("total", "queries"), "mechanism": "tddl", "variant": "", "vacuous": 0},
                span=lambda rows: rows["value"], also=_constants_over_T, more={"lw": 0.7, "ms": 3.2},
            ),
            _PANEL.but(
                lines=[line.but(statistic="mean", where={**line.where, "vacuous": 0}) for line in exchange],
                title="PINP's answers instead (hollow)", where={"series": "exchange"}, more={"lw": 0.9, "ms": 3.5},
                xticks=lambda rows: sorted(rows["total"].unique()), most=4, empty="",
            ),
        ],
    ]  # fmt: skip


thm5 = Figure(
    _panels,
    height=5.6,
    where={"metric": "error"},
    legend=[*_METHODS, *(line.but(colour="#555555") for line in _LAWS)],
    notes=[
        "w* fixed, ‖w*‖ = R = L = 1, {epsilon.first}, {delta.first}, {repeat.count} repeats (public points and noise "
        "anew), d = {#d.first} where it is not "
        "swept; nλ is nominal: noise depends on n through it alone. Corollary 6: C = 2LR/λ, T = nε/√log(1/δ). "
        "Constant: 95 % quantile of L D over Theorem 5's expression, over nλ (with markers) and over T (without). "
        "PINP's answers: TDDL fitted to them (hollow) beside TDDL (filled), "
        "T = {#queries.max:series=exchange}, where PINP is not vacuous."
    ],
)


FIGURES: Catalogue[str, Target] = {
    "jain2013-thm5": Target(
        "Theorem 5, Theorem 13 and Corollary 6: error of the test data dependent learner",
        "Mean difference between the private and the exact prediction on fresh points over n lambda, n, T and the "
        "dimension d, for points in ten directions and for decaying ones; the constant that Theorem 5's bound would "
        "need; and the error of TDDL fitted to PINP's answers. w* is fixed. Bands: 95 % confidence intervals.",
        "Six panels on logarithmic axes; over d the lines of TDDL are flat and that of CMS11 rises to the trivial one.",
        metrics=("error",),
    ),
}
