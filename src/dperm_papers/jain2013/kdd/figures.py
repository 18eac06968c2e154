"""Figures and tables of jain2013-kdd: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-fig2b": Target(
        "drawing",
        "fig2b",
        ("variant", "total", "headline"),
        "Figure 2b: regression error on KDD Cup 2010 algebra",
        "Root mean square error on test rows over epsilon, a column for each n lambda: TDDL with three calibrations, "
        "CMS11 (pure), Gaussian objective and output perturbation, and without privacy least squares, zero and the "
        "mean. Below, the same as multiples of least squares. Bands: 95 % confidence intervals over splits.",
        "Line plots on logarithmic axes; CMS11 lies above all others, mostly by decades, and these meet the line of "
        "least squares only where n lambda or epsilon is large.",
        metrics=("error",),
    ),
}
