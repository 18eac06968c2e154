"""Figures of li2021-further: specifications, and what they show in words."""

import math

from dperm.catalogue import Catalogue
from dperm_pipeline.figures.looks import equals
from dperm_pipeline.figures.spec import DASHED, DOTTED, Figure, Level, Line, Panel, encoded
from dperm_pipeline.target import Target

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
_KINDS = {"paper": "as printed", "tight": "valid form"}


def _lambda_panels(rows):
    """Return a row of panels for each calibration, over epsilon."""
    epsilons = sorted(rows["epsilon"].unique())
    grid = []
    for kind, words in _KINDS.items():
        grid.append(
            [
                Panel(
                    _CHOICES,
                    "n",
                    "" if place else "share misclassified",
                    title=f"{words}, {equals('ε', epsilon)}",
                    where={"calibration": kind, "epsilon": epsilon},
                    xlabel="n, private records",
                    xticks="all",
                    sharey=True,
                )
                for place, epsilon in enumerate(epsilons)
            ]
        )
    return grid


def _lambda_notes(rows):
    chosen = rows[rows["metric"] == "chosen_lambda"]
    candidates = ", ".join(f"{value:g}" for value in sorted(chosen["value"].unique()))
    runs = rows.loc[rows["metric"] == "error", "repeat"].max() + 1
    yield (
        f"Lasso logistic regression, NAPP-ERM without MOOR, {equals('δ', rows['delta'].iloc[0])}; Λ is one of those "
        f"that somebody took: {candidates}. Algorithm 3 fits each Λ to a portion of the records, and its printed "
        "portions of equal size are not private under add/remove (erratum N19). "
        f"Mean and 95 % interval of {int(runs)} repeats."
    )


choosing = Figure(
    _lambda_panels,
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
    encoded("form", _CURVATURES, where={"row": "literal"}, **_BARS),
    "rows_added",
    xlabel="nₑ, rows appended",
    xticks="all",
    same_y="none",
)
_METHODS = encoded(
    "form",
    {"svm": Line("NAPP-ERM, SVM", _GREEN, "^"), "logistic": Line("NAPP-ERM, logistic", _PURPLE, "v")},
    where={"row": "error"},
    **_BARS,
)
_HALF = Level(0.5, "1/2", _GREY, DOTTED, fits=True)


def _hinge_notes(rows):
    literal = rows[rows["row"] == "literal"]
    first = literal.iloc[0]
    plain = rows[rows["form"].isin(["svm-plain", "logistic-plain"])].groupby("form", observed=True)["value"].mean()
    yield (
        f"Smoothed hinge (Section 6), n = {int(first['n'])}, lasso, {equals('Λ', first['strength'])}, "
        f"{equals('δ', first['delta'])}. Left and middle: Algorithm 1 to the letter with MOOR, "
        f"{equals('ε', first['epsilon'])}, {int(literal['repeat'].max()) + 1} repeats. Right: without MOOR, in the "
        f"valid form; without noise {plain['svm-plain']:.3f} (SVM) and {plain['logistic-plain']:.3f} (logistic). "
        "Means and 95 % intervals."
    )


hinge = Figure(
    [
        [
            _LITERAL.but(where={"metric": "distance"}, ylabel="relative distance to the limit"),
            _LITERAL.but(where={"metric": "inside"}, ylabel="share of rows with t in (0, 1]", levels=[_HALF]),
            Panel(
                _METHODS,
                "epsilon",
                "share misclassified",
                where={"metric": "error", "calibration": "tight"},
                epsilons=True,
                same_y="none",
            ),
        ]
    ],
    height=3.2,
    columns=2,
    where={"row": ("literal", "error")},
    notes=_hinge_notes,
)

_CUT = Panel(x="at", xlabel="−c in standard deviations of b", xscale="linear", same_y="none")
_LAWS = encoded(
    "metric",
    {
        "negative": Line("P(bⱼ < 0)", _GREEN, "^"),
        "reach": Line("δ that the cut costs at any ε", _ORANGE, "s"),
    },
    # At c = 0 no b is negative.
    where={"row": "cut", "value": lambda value: value > 0},
    statistic="mean",
)
_ZETAS = encoded(
    "zeta2",
    {1.0: Line("AUC, ζ₂ = 1", _BLUE, "o"), 2.9: Line("AUC, ζ₂ = 2.9", _PURPLE, "v")},
    where={"row": "fits", "metric": "auc"},
    band=0.2,
    statistic="mean",
)


def _claimed(rows):
    return float(rows["delta"].iloc[0])


def _cut_notes(rows):
    fits = rows[(rows["row"] == "fits") & (rows["metric"] == "auc")]
    uncut = fits[fits["at"] == math.inf].groupby("zeta2")["value"].mean()
    ends = ", ".join(f"{value:.3f} at ζ₂ = {zeta:g}" for zeta, value in uncut.items())
    first = fits.iloc[0]
    yield (
        f"b truncated to b > c, Gaussian, {equals('ε', first['epsilon'])}, {equals('δ', first['delta'])}. At 0 it is "
        "NAPP-VS+. Orange: on a line within an orthant, one record more puts a stretch of θ of that probability out "
        "of reach (erratum N2). Right: linear regression, n = 500, without MOOR; without a cut (NAPP-VS) the AUC is "
        f"{ends}. {int(fits['repeat'].max()) + 1} repeats, mean and 95 % interval."
    )


cut = Figure(
    [
        [
            _CUT.but(
                lines=_LAWS,
                ylabel="probability",
                ylim=(1e-7, 1),
                yscale="log",
                yticks={1e-6: "10⁻⁶", 1e-4: "10⁻⁴", 0.01: "0.01", 1: "1"},
                levels=[Level(_claimed, "δ that is claimed", _GREY, DOTTED)],
            ),
            _CUT.but(lines=_ZETAS, where={"at": lambda at: at < math.inf}, ylabel="AUC"),
        ]
    ],
    height=3.2,
    where={"row": ("cut", "fits")},
    notes=_cut_notes,
)

_TOLD = ("row", "form", "n", "at", "rows_added", "zeta2", "strength")

FIGURES: Catalogue[str, Target] = {
    "li2021-lambda": Target(
        "choosing",
        _TOLD,
        "Choosing Lambda on public or on private records",
        "Error of NAPP-ERM with a Lambda chosen in the two ways that Section 3.4 recommends, over the number of "
        "records: on public records, or by CMS11's Algorithm 3, which gives each Lambda a portion of the private ones; "
        "beside them a Lambda drawn blindly and the best of all. Bars: 95 % confidence intervals.",
        "Two rows of panels, as printed and in the valid form, a column for each epsilon. Errors fall with n; those of "
        "public choice come down to the best, those of Algorithm 3 stay above.",
    ),
    "li2021-hinge": Target(
        "hinge",
        _TOLD,
        "SVMs by noise augmentation",
        "Algorithm 1 to the letter with the smoothed hinge of Section 6: distance to the limit of infinitely many rows "
        "and the share of augmented rows that lie where the loss is curved, over n_e; and the error of private SVMs "
        "and private logistic regression in the limit. Bars: 95 % confidence intervals.",
        "Three panels: distances fall with n_e if V is made with l'' = 1/2 and stay with l'' = 1; the share of "
        "curved rows goes to one half; errors of the SVM lie below those of logistic regression.",
    ),
    "li2021-cut": Target(
        "cut",
        _TOLD,
        "Noise cut off at c < 0",
        "What truncating b at c does, over the distance of c from 0: how often a coordinate is negative still, the "
        "delta that the cut costs, and the area under the ROC curve of the selection. Bands: 95 % intervals.",
        "Two panels: on the left the cost falls below the claimed delta only where the probability of a negative b is "
        "one half; on the right the area falls slowly from NAPP-VS+ to NAPP-VS.",
    ),
}
