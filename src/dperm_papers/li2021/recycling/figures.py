"""Figures of li2021-recycling: specifications, and what they show in words."""

import itertools
import math

import numpy as np

from dperm_papers.li2021.shared.drawing_lines import gaussian, pure, size
from dperm_pipeline.figures.looks import noise_label
from dperm_pipeline.figures.spec import DASHED, DOTTED, Facet, Figure, Level, Line, Panel
from dperm_pipeline.target import Target

# Variant -> its name and colour.
_PUBLISHED = {
    "erm-moor": ("NAPP-ERM", "#0072B2"),
    "vs-moor": ("VS", "#009E73"),
    "vs_plus-moor": ("VS+", "#D55E00"),
}
_PROVED = {
    "erm": ("NAPP-ERM, VS", "#0072B2"),
    "vs_plus": ("VS+", "#D55E00"),
}
_AS_PUBLISHED = (
    "Lasso by NAPP-ERM, VS and VS+ with MOOR, as published; with recycled budget: one round of Algorithm 2. Nothing is "
    "proved of these."
)
_AS_PROVED = (
    "What is proved: Λ‖θ‖₁ + w‖θ‖² in [0, 1]¹⁶, w = Λ₀ without recycling, with it w = max{Λ, Λ₀} and the budget that "
    "this public w leaves to the noise. VS is NAPP-ERM there; VS+ has two-sided noise and an extra lasso."
)
_GREY = "#777777"
_AXIS = {0: "0", 0.5: "0.5", 1: "1"}
_ROC = Panel(
    x="fpr_mean", y="tpr_mean", statistic="path", ylabel="true positive rate", xlabel="false positive rate",
    xscale="linear", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xticks=_AXIS, yticks=_AXIS, more={"lw": 1.1},
)  # fmt: skip
_ERROR = Panel(
    x="strength", y="log_mse", ylabel="test MSE", statistic="given", xticks=(0.1, 1, 10, 100), sharey=True,
    whole_bands=True, more={"lw": 1.1},
)  # fmt: skip
_WITHOUT_FEATURES = Level(
    lambda rows: np.exp(rows["value"].iloc[0]), "", _GREY, DOTTED, {"metric": "log_mse_zero"}, {"lw": 0.9}
)


# Pure noise by the density of Equations 4 and 9, as rows call it.
_DENSITY = "typical-density"
# Of the bounds that li2021 does not print, those that are shown: calibration -> name -> zeta_2.
_SHOWN = {"paper": {"range": "2.9", "typical": "1.52"}, "corrected": {"range": "5.7", "typical": "1.52"}}


def _paths(rows):
    """Return the rates of each variant along Lambda, the largest first, from (0, 0) to (1, 1), and its mean area."""
    import pandas as pd  # Here, because a plan reads this module too and draws nothing.

    keys = ["variant", "epsilon"]
    rates = rows[rows["metric"].isin(["fpr_mean", "tpr_mean", "tpr_half"])]
    wide = rates.pivot(index=[*keys, "strength"], columns="metric", values="value").reset_index()
    first, last = (
        wide.drop_duplicates(keys).assign(strength=strength, fpr_mean=rate, tpr_mean=rate, tpr_half=math.nan)
        for strength, rate in ((math.inf, 0.0), (0.0, 1.0))
    )
    wide = pd.concat([first, wide, last]).sort_values("strength", ascending=False)
    areas = rows[rows["metric"] == "auc"].groupby(keys)["value"].mean().rename("area")
    return wide.merge(areas, on=keys)


def _recycled(methods, second, calibration, delta, about):
    """Return a column for each epsilon, rows of ROC curves and of errors for each n; dashed without recycling."""
    lines = [
        Line(name + words, colour, "", dashes, {"variant": variant + suffix})
        for dashes, suffix, words in ((DASHED, "", ""), ("-", "-recycled", second))
        for variant, (name, colour) in methods.items()
    ]

    def areas(axis, rows):
        """Draw the diagonal and write the mean areas: neither is a line of rows."""
        axis.plot([0, 1], [0, 1], color=_GREY, lw=0.6, ls=DOTTED)
        area = rows.groupby("variant")["area"].first()
        for place, (variant, (_, colour)) in enumerate(reversed(methods.items())):
            words = f"{area[variant]:.2f} → {area[f'{variant}-recycled']:.2f}"
            axis.text(0.97, 0.05 + 0.12 * place, words, color=colour, size=6.5, ha="right")

    def panels(rows):
        roc = _ROC.but(
            lines=[line.but(band=0.12, reach=("tpr_half", "tpr_half")) for line in lines], prepare=_paths, also=areas
        )
        error = _ERROR.but(lines=[line.but(band=0.15, via=np.exp) for line in lines], levels=[_WITHOUT_FEATURES])
        there = rows["zeta"].unique()
        for panel, name in itertools.product((roc, error), sorted(rows["dataset"].unique(), key=size)):
            for zeta, bound in _SHOWN[calibration].items():
                if zeta in there:
                    title = f"n = {size(name)}, ζ₂ = {bound}, {{}}"
                    where = {"dataset": name, "zeta": zeta}
                    yield [panel.but(where=where, title=title, across=Facet("epsilon"))]
        # Of pure noise; for the larger n alone.
        largest = max(rows["dataset"].unique(), key=size)
        for panel in (roc, error) if _DENSITY in there else ():
            where = {"dataset": largest, "zeta": _DENSITY}
            yield [panel.but(where=where, title=f"n = {size(largest)}, by density, {{}}", across=Facet("epsilon"))]

    def notes(rows):
        yield about
        yield (
            f"Linear regression of Table 4, {noise_label(rows['delta'].iloc[0])}; "
            "{repeat.count:metric=auc,zeta=range} repeats; bands: 95 % intervals of the mean. ROC: mean rates along Λ, "
            "joined to (0, 0) and (1, 1); in the panels the mean area per repeat, dashed → solid. MSE: geometric mean."
        )
        if (rows["zeta"] == "typical").any():
            yield (
                "li2021 does not print ζ₂, to which the noise is proportional: 1.52 is kept by 99 % of the records, "
                "the larger one by all of them ({repeat.count:metric=auc,zeta=typical} repeats with the smaller)."
            )
        if (rows["zeta"] == _DENSITY).any():
            yield (
                "By density: b has the law whose density Equations 4 and 9 print, ‖b‖ ~ Gamma(16, ζ/(rε)), in the "
                "place of Section 3.1's radius, Gamma(1, ·) (N1), with the smaller ζ₂ and as many repeats."
            )

    return Figure(
        panels,
        height=(1.5, 1.55),
        columns=len(methods),
        where={"row": "figure", "calibration": calibration, "delta": delta},
        legend=[*lines, Line("θ = 0", _GREY, "", DOTTED)],
        notes=notes,
    )


fig8 = _recycled(_PUBLISHED, ", recycled budget", "paper", gaussian, _AS_PUBLISHED)
figs4 = _recycled(_PUBLISHED, ", recycled budget", "paper", pure, _AS_PUBLISHED)
fig8_corrected = _recycled(_PROVED, ", public split", "corrected", gaussian, _AS_PROVED)
figs4_corrected = _recycled(_PROVED, ", public split", "corrected", pure, _AS_PROVED)


_METRICS = ("auc", "fpr_mean", "tpr_mean", "tpr_half", "log_mse_mean", "log_mse_half", "log_mse_zero")
_AT_0 = "At delta = 0. "
_RECYCLED = "selection and prediction with recycled budget"
_RECYCLED_CAPTION = (
    "ROC curves and test error of the lasso by NAPP-ERM, VS and VS+ with MOOR in linear regression, with one round of "
    "budget recycling and without. Bands: 95 % confidence intervals."
)
_SPLIT = "a public split of the budget, corrected"
_SPLIT_CAPTION = (
    "ROC curves and test error of the lasso by the mechanisms whose guarantee is proved. What the public modulus "
    "max{Lambda, Lambda0} saves may be spent on the noise; nothing that depends on the data may. Bands: 95 % "
    "confidence intervals."
)
_SPLIT_ALT = (
    "ROC curves lie near the diagonal; the split lowers the error at large Lambda to that of theta = 0 or a little "
    "below."
)


def _target(number: str, title: str, caption: str, alt: str) -> Target:
    alt = (
        "Panels by epsilon: above ROC curves, below the test error over Lambda, each for both n and two bounds zeta; a "
        f"colour for each method, dashed without recycling. {alt}"
    )
    return Target(f"Figure {number}: {title}", caption, alt, metrics=_METRICS)


FIGURES: dict[str, Target] = {
    "li2021-fig8": _target(
        "8",
        _RECYCLED,
        _RECYCLED_CAPTION,
        "Most ROC curves lie near the diagonal; recycling lowers the error of NAPP-ERM and VS at large Lambda.",
    ),
    "li2021-fig8-corrected": _target("8", _SPLIT, _SPLIT_CAPTION, _SPLIT_ALT),
    "li2021-figs4": _target(
        "S.4",
        _RECYCLED,
        _AT_0 + _RECYCLED_CAPTION,
        "ROC curves lie above the diagonal; those with recycled budget are close to those without.",
    ),
    "li2021-figs4-corrected": _target("S.4", _SPLIT, _AT_0 + _SPLIT_CAPTION, _SPLIT_ALT),
}
