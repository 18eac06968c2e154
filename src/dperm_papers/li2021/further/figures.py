"""Figures of li2021-further: specifications, and what they show in words."""

import math

from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Level, Line, Panel, encoded
from dperm_pipeline.target import Catalogue, Target

_BLUE, _ORANGE, _GREEN, _PURPLE, _GREY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#777777"
_BARS = {"bars": 0.8, "caps": 2, "statistic": "mean"}

_CHOICES = encoded(
    "form",
    {
        "portions": Line("on its own records (CMS11, Algorithm 3)", _ORANGE, "s"),
        "blind": Line("drawn blindly", _GREY, "x", DOTTED),
        "public": Line("on public records", _BLUE, "o"),
        "best": Line("best of all, known to nobody", "#000000", "", DASHED),
    },
    where={"metric": "error"},
    **_BARS,
)


def _choosing(calibration, words):
    return Panel(
        _CHOICES, "n", "share misclassified", f"{words}, {{}}", {"calibration": calibration}, across=Facet("epsilon"),
        xlabel="n, private records", xticks="all", same_y="none",
    )  # fmt: skip


def _lambda_notes(rows):
    candidates = sorted(rows.loc[rows["metric"] == "chosen_lambda", "value"].unique())
    yield (
        "Lasso logistic regression, NAPP-ERM without MOOR, {delta.first}; Λ is one of those that somebody took: "
        f"{', '.join(f'{value:g}' for value in candidates)}. Algorithm 3 fits each Λ to a portion of the records, and "
        "its printed portions of equal size are not private under add/remove (erratum N19). Mean and 95 % interval of "
        "{repeat.count:metric=error} repeats."
    )


choosing = Figure(
    [[_choosing("paper", "as printed")], [_choosing("tight", "valid form")]],
    height=4.6,
    columns=2,
    where={"row": "lambda", "metric": ("error", "chosen_lambda")},
    notes=_lambda_notes,
    grid={"sharex": True},
)

_CURVATURES = {
    "half": Line("V made with l″ = 1/2", _BLUE, "o"),
    "whole": Line("with l″ = 1, as if t were in (0, 1]", _ORANGE, "s"),
}
_LITERAL = Panel(
    encoded("form", _CURVATURES, where={"row": "literal"}, **_BARS), "rows_added", xlabel="nₑ, rows appended",
    xticks="all", same_y="none",
)  # fmt: skip
_METHODS = encoded(
    "form",
    {"svm": Line("NAPP-ERM, SVM", _GREEN, "^"), "logistic": Line("NAPP-ERM, logistic", _PURPLE, "v")},
    where={"row": "error"},
    **_BARS,
)


def _hinge_notes(rows):
    plain = rows[rows["form"].isin(["svm-plain", "logistic-plain"])].groupby("form")["value"].mean()
    yield (
        "Smoothed hinge (Section 6), n = {#n.first:row=literal}, lasso, {strength.first:row=literal}, "
        "{delta.first:row=literal}. Left and middle: Algorithm 1 to the letter with MOOR, {epsilon.first:row=literal}, "
        "{repeat.count:row=literal} repeats. Right: without MOOR, in the valid form; without noise "
        f"{plain['svm-plain']:.3f} (SVM) and {plain['logistic-plain']:.3f} (logistic). Means and 95 % intervals."
    )


hinge = Figure(
    [
        [
            _LITERAL.but(where={"metric": "distance"}, ylabel="relative distance to the limit"),
            _LITERAL.but(where={"metric": "inside"}, ylabel="share of rows with t in (0, 1]",
                         levels=[Level(0.5, "1/2", _GREY, DOTTED, fits=True)]),
            Panel(
                _METHODS, "epsilon", "share misclassified", where={"metric": "error", "calibration": "tight"},
                epsilons=True, same_y="none",
            ),
        ]
    ],
    height=3.2,
    columns=2,
    where={"row": ("literal", "error")},
    notes=_hinge_notes,
)  # fmt: skip

_CUT = Panel(x="at", xlabel="−c in standard deviations of b", xscale="linear", same_y="none", statistic="mean")
_LAWS = encoded(
    "metric",
    {"negative": Line("P(bⱼ < 0)", _GREEN, "^"), "reach": Line("δ that the cut costs at any ε", _ORANGE, "s")},
    # At c = 0 no b is negative.
    where={"row": "cut", "value": lambda value: value > 0},
)
_ZETAS = encoded(
    "zeta2",
    {1.0: Line("AUC, ζ₂ = 1", _BLUE, "o"), 2.9: Line("AUC, ζ₂ = 2.9", _PURPLE, "v")},
    where={"row": "fits", "metric": "auc"},
    band=0.2,
)
_CLAIMED = Level(lambda rows: rows["delta"].iloc[0], "δ that is claimed", _GREY, DOTTED)


def _cut_notes(rows):
    uncut = rows[(rows["metric"] == "auc") & (rows["at"] == math.inf)].groupby("zeta2")["value"].mean()
    yield (
        "b truncated to b > c, Gaussian, {epsilon.first:metric=auc}, {delta.first:metric=auc}. At 0 it is NAPP-VS+. "
        "Orange: on a line within an orthant, one record more puts a stretch of θ of that probability out of reach "
        "(erratum N2). Right: linear regression, n = 500, without MOOR; without a cut (NAPP-VS) the AUC is "
        f"{', '.join(f'{value:.3f} at ζ₂ = {zeta:g}' for zeta, value in uncut.items())}. {{repeat.count:metric=auc}} "
        "repeats, mean and 95 % interval."
    )


cut = Figure(
    [
        [
            _CUT.but(
                lines=_LAWS, ylabel="probability", ylim=(1e-7, 1), yscale="log", levels=[_CLAIMED],
                yticks={1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 0.01: "0.01", 1: "1"},
            ),
            _CUT.but(lines=_ZETAS, where={"at": lambda at: at < math.inf}, ylabel="AUC"),
        ]
    ],
    height=3.2,
    where={"row": ("cut", "fits")},
    notes=_cut_notes,
)  # fmt: skip

FIGURES: Catalogue[str, Target] = {
    "li2021-lambda": Target(
        "Choosing Lambda on public or on private records",
        "Error of NAPP-ERM over the number of records, with a Lambda chosen in the two ways that Section 3.4 "
        "recommends: on public records, or by CMS11's Algorithm 3, which gives each Lambda a portion of the private "
        "ones; beside them a Lambda drawn blindly and the best of all. Bars: 95 % confidence intervals.",
        "Two rows of panels, as printed and in the valid form, a column for each epsilon. Errors fall with n; those of "
        "public choice come down to the best, those of Algorithm 3 stay above.",
        function="choosing",
    ),
    "li2021-hinge": Target(
        "SVMs by noise augmentation",
        "Algorithm 1 to the letter with the smoothed hinge of Section 6: distance to the limit of infinitely many rows "
        "and the share of augmented rows that lie where the loss is curved, over n_e; and the error of private SVMs "
        "and private logistic regression in the limit. Bars: 95 % confidence intervals.",
        "Three panels: distances fall with n_e if V is made with l'' = 1/2 and stay with l'' = 1; the share of "
        "curved rows goes to one half; errors of the SVM lie below those of logistic regression.",
    ),
    "li2021-cut": Target(
        "Noise cut off at c < 0",
        "What truncating b at c does, over the distance of c from 0: how often a coordinate is negative still, the "
        "delta that the cut costs, and the area under the ROC curve of the selection. Bands: 95 % intervals.",
        "Two panels: on the left the cost falls below the claimed delta only where the probability of a negative b is "
        "one half; on the right the area falls slowly from NAPP-VS+ to NAPP-VS.",
    ),
}
