"""Figures and tables of li2021-recycling: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

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
    return Target("drawing", function, _ROUNDS, title, caption, alt, metrics=_RECYCLED)


FIGURES: Catalogue[str, Target] = {
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
}
