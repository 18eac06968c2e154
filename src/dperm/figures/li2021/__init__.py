"""Figures and tables of li2021, by name."""

from dperm.catalogue import Catalogue
from dperm.figures.target import Target

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


def _simulated(module: str, function: str, metrics: tuple[str, ...], title: str, caption: str, alt: str) -> Target:
    return Target(f"dperm.figures.li2021.{module}", function, _CURVES, title, caption, alt, metrics=metrics)


# Of li2021-augmentation.
_AUGMENTED = ("row", "form", "target", "loss", "at", "strength", "p", "rows_added")
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

# What li2021-moor and li2021-recycling tell their values apart by, and which of them are drawn.
_MOOR = ("variant", "row", "reference", "strength")
_DISTANCES = ("distance_mean", "distance_half", "runs")
_ROUNDS = ("variant", "row", "round", "strength")
_RECYCLED = ("auc", "fpr_mean", "tpr_mean", "tpr_half", "log_mse_mean", "log_mse_half", "log_mse_zero")
_RECYCLE = (
    "ROC curves and test error of the lasso by NAPP-ERM, VS and VS+ with MOOR in linear regression, with one round of "
    "budget recycling and without. Bands: 95 % confidence intervals."
)
_SPLIT = (
    "ROC curves and test error of the lasso by the mechanisms whose guarantee is proved. What the public modulus "
    "max{Lambda, Lambda0} saves may be spent on the noise; nothing that depends on the data may. Bands: 95 % "
    "confidence intervals."
)


def _recycled(function: str, title: str, caption: str, alt: str) -> Target:
    alt = (
        "Panels by epsilon: above ROC curves, below the test error over Lambda, each for both n; a colour for each "
        f"method, dashed without recycling. {alt}"
    )
    return Target("dperm.figures.li2021.recycling", function, _ROUNDS, title, caption, alt, metrics=_RECYCLED)


FIGURES: Catalogue[str, Target] = {
    "li2021-fig3": Target(
        "dperm.figures.li2021.moor",
        "fig3",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without",
        "What the strong convexity that privacy asks for does to an estimate without any noise: its distance to the "
        "lasso with Lambda, and to that with 2 Lambda, which is what the reweighting reaches without a floor. Bands: "
        "95 % confidence intervals of the mean.",
        "Line plots over Lambda, one column for each model, a row for each n and lasso; lines with MOOR lie below "
        "those without, by much in linear and logistic regression and hardly at all in Poisson regression.",
        metrics=_DISTANCES,
    ),
    "li2021-fig3-corrected": Target(
        "dperm.figures.li2021.moor",
        "fig3_corrected",
        _MOOR,
        "Figure 3: distance to the lasso with MOOR and without, corrected",
        "MOOR is proved private for an elastic net whose own ridge is at least Lambda0. Then it is the lasso without "
        "MOOR, and nearer to the lasso only than that elastic net without MOOR. Bands: 95 % confidence intervals.",
        "Line plots over Lambda, one column for each model, a row for each n; rings of the elastic net with MOOR lie "
        "on the lines of the lasso without, and below those of the elastic net without.",
        metrics=_DISTANCES,
    ),
    "li2021-fig8": _recycled(
        "fig8",
        "Figure 8: selection and prediction with recycled budget",
        _RECYCLE,
        "Most ROC curves lie near the diagonal; recycling lowers the error of NAPP-ERM and VS at large Lambda.",
    ),
    "li2021-fig8-corrected": _recycled(
        "fig8_corrected",
        "Figure 8: a public split of the budget, corrected",
        _SPLIT,
        "ROC curves lie near the diagonal; the split lowers the error at large Lambda to that of theta = 0 or a little "
        "below.",
    ),
    "li2021-figs4": _recycled(
        "figs4",
        "Figure S.4: selection and prediction with recycled budget",
        "At delta = 0. " + _RECYCLE,
        "ROC curves lie above the diagonal; those with recycled budget are close to those without.",
    ),
    "li2021-figs4-corrected": _recycled(
        "figs4_corrected",
        "Figure S.4: a public split of the budget, corrected",
        "At delta = 0. " + _SPLIT,
        "ROC curves lie near the diagonal; the split lowers the error at large Lambda to that of theta = 0 or a little "
        "below.",
    ),
    "li2021-fig1": Target(
        "dperm.figures.li2021.augmentation",
        "fig1",
        _AUGMENTED,
        "Figure 1: realised regularizer and modulus",
        "What noise augmentation realises for lasso, elastic net and l_0.5: the regularizer and its modulus of strong "
        "convexity in one iteration, by formula and from 10,000 drawn rows, as the paper draws them; and the penalty "
        "that the iteration reaches, with its curvature.",
        "Two rows of three panels over theta: above regularizers that rise from 0 on either side, below their moduli, "
        "which are infinite at 0 in an iteration, and flat or below the needed level at the fixed point.",
    ),
    "li2021-fig1-corrected": Target(
        "dperm.figures.li2021.augmentation",
        "fig1_corrected",
        _AUGMENTED,
        "Figure 1: regularizer and curvature, corrected",
        "The penalty that is minimised, and its curvature, where the guarantee is proved: the lasso without MOOR, an "
        "elastic net whose square has the modulus that is needed, and ridge.",
        "Two rows of three panels over theta: above penalties that lie on their targets but for the lasso, below "
        "curvatures at or above the needed level.",
    ),
    "li2021-fig2": Target(
        "dperm.figures.li2021.augmentation",
        "fig2",
        _AUGMENTED,
        "Figure 2: dual-purpose regularization and budget retrieval",
        "Where the modulus of each coefficient comes from, for existing DP-ERM and for NAPP-ERM, and when budget is "
        "called retrievable: if the target alone gives every coefficient more than the modulus that is needed.",
        "Stacked bars of five coefficients in two cases, and the budget as a bar: in the first case the least modulus "
        "is the needed one and nothing is retrieved, in the second it is twice as large and half is retrieved.",
    ),
    "li2021-convergence": Target(
        "dperm.figures.li2021.augmentation",
        "convergence",
        _AUGMENTED,
        "The literal algorithm and its limit",
        "Algorithm 1 to the letter, with n_e noise rows drawn, appended and refitted 15 times: the distance of its "
        "theta to the limit of infinitely many rows, over n_e, and to what the mean over the rows gives. Bars: 95 % "
        "intervals over repeats.",
        "A panel for each model on logarithmic axes: distances fall with n_e, those to the limit faster than the "
        "dotted slope of -1/2, those to the mean along it.",
    ),
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
    "li2021-fig6": Target(
        "dperm.figures.li2021.adult",
        "fig6",
        ("variant", "strength"),
        "Figure 6: misclassification on Adult",
        "Share of wrong labels on Adult's test records over epsilon, a panel for each Lambda: six methods as published "
        "(no guarantee), and the non-private lasso.",
        "Lines that fall as epsilon grows, six methods in three colours, to the grey level of the non-private lasso.",
        metrics=("error",),
        datasets=("adult",),
    ),
    "li2021-fig6-corrected": Target(
        "dperm.figures.li2021.adult",
        "fig6_corrected",
        ("variant", "strength"),
        "Figure 6: misclassification on Adult, corrected",
        "Share of wrong labels on Adult's test records over epsilon, a panel for each Lambda: what is left with a "
        "proved guarantee, with corrected and with tight noise, and the non-private lasso.",
        "Lines that fall as epsilon grows, two methods in two colours, above the grey level of the non-private lasso.",
        metrics=("error",),
        datasets=("adult",),
    ),
    "li2021-bounds": Target(
        "dperm.figures.li2021.bounds",
        "bounds",
        ("variant", "row", "form", "axis", "n", "p", "strength", "gamma"),
        "Lemma 7 and Theorem 8: excess risk and its bounds",
        "Measured excess empirical risk of DP-ERM, of NAPP-ERM with MOOR and of the corrected mechanism over n, "
        "epsilon and p, beside the bounds of Lemma 7 and Theorem 8, with pure and with Gaussian noise. Bands: 95 % "
        "confidence intervals of the mean over data sets.",
        "Line plots on logarithmic axes, a row for each noise: the risk falls twice as steeply over n as the bounds "
        "above it; Theorem 8 as printed lies furthest up, and falls fastest over epsilon.",
        metrics=("risk", "bound"),
    ),
    "li2021-budget": Target(
        "dperm.figures.li2021.bounds",
        "budget",
        ("row", "form", "reading", "target", "multiple"),
        "What the budget pays for",
        "The epsilon that Equation 2 is proved to spend, over the one that it claims; the noise of Corollary 5 and of "
        "Equation 4 beside the least that is proved enough; and what the Jacobian costs over what Proposition 6 says, "
        "for ridge and lasso. Formulas.",
        "Three panels: shares below 1 over epsilon; levels of noise over epsilon, the least about half of the others; "
        "ratios over Lambda/Lambda0, at most 1 for ridge with the factor 2 restored, far above 1 for lasso.",
        metrics=("excess", "noise", "spent_share"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "li2021-table1": Target(
        "dperm.figures.li2021.augmentation_tables",
        "table1",
        _AUGMENTED,
        "Table 1: noise augmentation",
        "The targets e_y of the augmented rows as printed and as repaired, the loss's derivatives at 0 that Equation 3 "
        "divides by, and what the rows sum to: the regularization noise, which should cancel, and the linear term, "
        "which should be that of b.",
    ),
    "li2021-table2": Target(
        "dperm.figures.li2021.augmentation_tables",
        "table2",
        _AUGMENTED,
        "Table 2: weights, and the penalty they reach",
        "Weights of theta squared at Lambda = Lambda0 = 1, by maximum and by sum, the penalty that is reached, and the "
        "one that is stated: Lambda R by maximum, Equation 2's sum by sum.",
    ),
    "li2021-table3": Target(
        "dperm.figures.li2021.augmentation_tables",
        "table3",
        _AUGMENTED,
        "Table 3: losses and their minimisers",
        "The losses of Table 3 on one data set of the linear design (n = 500, epsilon = 1), each at its minimiser.",
    ),
    "li2021-table4": Target(
        "dperm.figures.li2021.table4",
        "table4",
        _CURVES,
        "Table 4: simulated data",
        "The simulated data: the law of the records, n, budgets and repeats as they were run, and the public bounds "
        "zeta that stand for them (li2021 gives none).",
        metrics=(*_DESIGN, "runs"),
    ),
}
