"""Figures and tables of jain2013-constants: specifications, and what they show in words."""

from dperm_papers.jain2013.shared.drawing_looks import look
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Panel, like
from dperm_pipeline.target import Catalogue, Target

# (mechanism, calibration, variant) -> dashes, in the order of the legend.
_DASHES = {
    ("tddl", "paper", ""): "-",
    ("tddl", "corrected", ""): "-",
    ("tddl", "tight", ""): "-",
    ("pinp", "paper", ""): DASHED,
    ("pinp", "corrected", ""): DASHED,
    ("pinp", "tight", ""): DASHED,
    ("rkhs_gaussian", "tight", ""): DASHED,
    ("explicit_output", "tight", ""): DOTTED,
    ("rkhs_gaussian", "tight", "fresh"): DOTTED,
    ("tddl", "paper", "bare"): (0, (2, 1.2)),
    ("cms11", "paper", ""): (0, (6, 1.4, 1, 1.4)),
}
# What this figure shows of a method, where its name does not say it.
_WORDS = {
    ("pinp", "paper", ""): "PINP, an update's answer",
    ("cms11", "paper", ""): "CMS11 output, explicit map (δ = 0)",
}


def _lines(key, dashes):
    """Give the line of a formula, and the markers of what was drawn at both sets of public points."""
    known = look(*key)
    where = dict(zip(("mechanism", "calibration", "variant"), key, strict=True))
    # Nothing is drawn from composed noise: its line in the legend has no marker.
    entry = {"lw": 1.1, "ms": 3.4, **({} if "fresh" in key else {"marker": known.marker})}
    label = _WORDS.get(key, known.label)
    formula = like((label, known.colour, "", dashes), more={"lw": 1.1}, key=entry)
    yield formula.but(where={**where, "metric": "sd"})
    drawn = like(("", known.colour, known.marker, "none"), more={"ms": 3.4, "mew": 0.8, "zorder": 3})
    for points, hollow in (("orthogonal", False), ("sphere-10", True)):
        yield drawn.but(hollow=hollow, where={**where, "metric": "sd_measured", "dataset": points})


def _bound(rows):
    """Return C R, R that of the cubic kernel on unit rows: K(x, x) = (1 + 1)^3."""
    return float(rows["radius"].iloc[0]) * 2**1.5


def _panels(rows):
    counts = rows.groupby("epsilon")["queries"].nunique()
    several = counts.index[counts == counts.max()][:2]
    T = int(rows.groupby("queries")["epsilon"].nunique().idxmax())
    panel = Panel(
        [line for key, dashes in _DASHES.items() for line in _lines(key, dashes)], "queries", "sd of one prediction",
        levels=[Level(_bound, "C R, bound on an exact prediction", line=DOTTED, more={"lw": 0.8})], xticks=4,
        sharey="row", span=lambda _: [*rows["value"], _bound(rows)], exactly=True,
    )  # fmt: skip
    over_T = [panel.but(title=f"over T, {equals('ε', value)}", where={"epsilon": value}) for value in several]
    return [[*over_T, panel.but(x="epsilon", title=f"over ε, T = {T:,}", where={"queries": T})]]


def _notes(rows):
    yield (
        "No data set: the cubic kernel on unit rows, L = 1, {total.first}, C = "
        f"{rows['radius'].iloc[0]:.3g}, {{delta.max}}, replace-one. Lines: formulas. Markers: drawn from the "
        "mechanisms, filled at orthogonal public points, hollow at unit vectors of R¹⁰, where least squares average "
        "the noise once T is larger than the dimension of the span of their features. TDDL, tight, and the Gaussian "
        f"comparators coincide. CMS11: {int(rows.loc[rows['mechanism'] == 'cms11', 'd'].max()):,} monomials."
    )
    share = rows[(rows["mechanism"] == "pinp") & (rows["metric"] == "sd")].groupby("calibration")["vacuous"].mean()
    vacuous = "; ".join(
        f"{words} {'everywhere' if share[how] == 1 else 'at some points'}"
        for how, words in {"paper": "as printed", "corrected": "corrected", "tight": "tight"}.items()
        if share[how] > 0
    )
    nothing = f"PINP promises nothing (B < 1 or σ ≥ C R/2) {vacuous}; its" if vacuous else "PINP's"
    yield f"{nothing} other answers come from its own model."


noise = Figure(_panels, height=4.9, where={"series": "noise"}, drawn_only=True, notes=_notes, grid={"sharey": True})


FIGURES: Catalogue[str, Target] = {
    "jain2013-noise": Target(
        "Noise of one prediction",
        "Standard deviation of one prediction over the number T of queries or public points, and over epsilon, at the "
        "constants of Section 7: TDDL and PINP with three calibrations, Gaussian comparators, CMS11 in the explicit "
        "feature space, and the bare O(.) (not private). Lines are formulas, markers draws of the mechanisms.",
        "Three panels on logarithmic axes; over T the lines of TDDL as printed and corrected rise with slope 1/2, "
        "those of the tight calibration and of the Gaussian comparators are flat and lowest.",
        metrics=("sd", "sd_measured"),
    ),
    "jain2013-fig1": Target(
        "Figure 1: three models",
        "Who sees what in the interactive, the semi-interactive and the non-interactive model: the dataset and the "
        "learner are trusted, the user is not. Below each, the constants of its algorithm as printed.",
        "Three schematics side by side, each with boxes for dataset, trusted learner and user; arrows show what is "
        "private, what is released and what is public, and a dashed line lies between the learner and the user.",
        metrics=("rounds", "threshold", "own_queries", "net_digits"),
        module="drawing_fig1",
    ),
}
TABLES: Catalogue[str, Target] = {
    "jain2013-constants": Target(
        "Constants of Algorithms 1 to 3 and of Theorem 5",
        "B, epsilon0 and sigma (of TDDL nu, tight: sigma) as printed, corrected and tight, the size of the printed net "
        "and the T of Theorem 5 on the theory grid (R = L = C = lambda = 1). Vacuous: B < 1 or sigma at least C R/2. "
        "Below: the exact checks, each with the largest excess of what is measured over what is allowed.",
        metrics=("rounds", "epsilon0", "threshold", "own_queries", "net_digits", "excess", "evaluations", "work"),
        module="drawing",
    ),
}
