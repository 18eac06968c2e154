"""Figures and tables of li2021-simulations: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

# What li2021-simulations tells its curves apart by.
_CURVES = ("variant", "target", "strength", "step", "budget_share")
# Metrics of each kind of figure: its rows are millions.
_RATES = ("fpr_mean", "fpr_half", "tpr_mean", "tpr_half", "runs")
_ERRORS = ("error_mean", "error_half", "runs")
_SHARES = (
    "share_mean", "share_half", "share_exceeding_mean", "share_exceeding_half", "share_without_two_mean",
    "share_without_two_half", "runs",
)  # fmt: skip
_DESIGN = (
    "design_records", "design_features", "design_half_width", "design_relevant", "design_largest", "design_smallest",
    "design_sign", "design_zeta1", "design_zeta2", "design_boxed_zeta2", "design_zeta3", "design_repeats",
    "design_test_rows", "design_noise_sd", "design_noise_cut",
)  # fmt: skip
_ROC = (
    "Rates at which coefficients are selected along the path of Lambda, a panel for each design of Table 4 and each "
    "epsilon: "
)
_ROC_ALT = "Curves from the lower left, where Lambda is large, to the upper right corner of each panel: "
_ERROR = (
    "Error on test records over Lambda, mean squared error or share of wrong labels, a panel for each design of "
    "Table 4 and each epsilon: "
)
_ERROR_ALT = "Lines over a logarithmic axis of Lambda with bands, and the non-private lasso as grey lines: "
_SHARE = (
    "Share of (1 - r) epsilon that Equation 13 retrieves over Lambda, a panel for each design of Table 4 and each "
    "epsilon: "
)
_SHARE_ALT = "Lines between 0 and 1 over a logarithmic axis of Lambda: "
_AS_PUBLISHED = "six methods as published, of which none but DP-ERM with the logistic loss has a guarantee."
_AS_CORRECTED = "what is left with a proved guarantee, with corrected and with tight noise."
_RIDGE = "ridge, for which alone retrieval is sound; the share is a formula."


def _simulated(module: str, function: str, metrics: tuple[str, ...], title: str, caption: str, alt: str) -> Target:
    return Target(f"drawing_{module}", function, _CURVES, title, caption, alt, metrics=metrics)


FIGURES: Catalogue[str, Target] = {
    "li2021-fig4": _simulated(
        "selection",
        "fig4",
        _RATES,
        "Figure 4: variable selection",
        _ROC + _AS_PUBLISHED,
        _ROC_ALT + "six methods in three colours.",
    ),
    "li2021-fig4-corrected": _simulated(
        "selection",
        "fig4_corrected",
        _RATES,
        "Figure 4: variable selection, corrected",
        _ROC + _AS_CORRECTED,
        _ROC_ALT + "six in two colours, those with tight noise above or near the others.",
    ),
    "li2021-figs1": _simulated(
        "selection",
        "figs1",
        _RATES,
        "Figure S.1: variable selection",
        "At delta = 0. " + _ROC + _AS_PUBLISHED,
        _ROC_ALT + "six methods in three colours.",
    ),
    "li2021-figs1-corrected": _simulated(
        "selection",
        "figs1_corrected",
        _RATES,
        "Figure S.1: variable selection, corrected",
        "At delta = 0. " + _ROC + _AS_CORRECTED,
        _ROC_ALT + "six in two colours, those with tight noise above or near the others.",
    ),
    "li2021-fig5": _simulated(
        "prediction",
        "fig5",
        _ERRORS,
        "Figure 5: prediction",
        _ERROR + _AS_PUBLISHED,
        _ERROR_ALT + "six methods in three colours.",
    ),
    "li2021-fig5-corrected": _simulated(
        "prediction",
        "fig5_corrected",
        _ERRORS,
        "Figure 5: prediction, corrected",
        _ERROR + _AS_CORRECTED,
        _ERROR_ALT + "six in two colours.",
    ),
    "li2021-figs2": _simulated(
        "prediction",
        "figs2",
        _ERRORS,
        "Figure S.2: prediction",
        "At delta = 0. " + _ERROR + _AS_PUBLISHED,
        _ERROR_ALT + "six methods in three colours.",
    ),
    "li2021-figs2-corrected": _simulated(
        "prediction",
        "figs2_corrected",
        _ERRORS,
        "Figure S.2: prediction, corrected",
        "At delta = 0. " + _ERROR + _AS_CORRECTED,
        _ERROR_ALT + "six in two colours.",
    ),
    "li2021-fig7": _simulated(
        "retrieval",
        "fig7",
        _SHARES,
        "Figure 7: retrieved budget",
        _SHARE + _AS_PUBLISHED,
        _SHARE_ALT + "six methods in three colours.",
    ),
    "li2021-fig7-corrected": _simulated(
        "retrieval",
        "fig7_corrected",
        _SHARES,
        "Figure 7: retrieved budget, corrected",
        _SHARE + _RIDGE,
        _SHARE_ALT + "one line, 0 up to Lambda0 and rising from there.",
    ),
    "li2021-figs3": _simulated(
        "retrieval",
        "figs3",
        _SHARES,
        "Figure S.3: retrieved budget",
        "At delta = 0. " + _SHARE + _AS_PUBLISHED,
        _SHARE_ALT + "six methods in three colours.",
    ),
    "li2021-figs3-corrected": _simulated(
        "retrieval",
        "figs3_corrected",
        _SHARES,
        "Figure S.3: retrieved budget, corrected",
        "At delta = 0. " + _SHARE + _RIDGE,
        _SHARE_ALT + "one line, 0 up to Lambda0 and rising from there.",
    ),
}
TABLES: Catalogue[str, Target] = {
    "li2021-table4": Target(
        "drawing_table4",
        "table4",
        _CURVES,
        "Table 4: simulated data",
        "The simulated data: the law of the records, n, budgets and repeats as they were run, and the public bounds "
        "zeta that stand for them (li2021 gives none).",
        metrics=(*_DESIGN, "runs"),
    ),
}
