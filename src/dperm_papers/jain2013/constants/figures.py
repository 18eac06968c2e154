"""Figures and tables of jain2013-constants: what they show, in words."""

from dperm.catalogue import Catalogue
from dperm_pipeline.target import Target

FIGURES: Catalogue[str, Target] = {
    "jain2013-noise": Target(
        "drawing_noise",
        "noise",
        ("series", "variant", "total", "queries", "d", "radius", "vacuous"),
        "Noise of one prediction",
        "Standard deviation of one prediction over the number T of queries or public points, and over epsilon, at the "
        "constants of Section 7: TDDL and PINP with three calibrations, the Gaussian comparators, fresh noise "
        "composed, CMS11 in the explicit feature space, and the bare O(.) (not private). Lines are formulas, markers "
        "what was drawn from the mechanisms.",
        "Three panels on logarithmic axes; over T the lines of TDDL as printed and corrected rise with slope 1/2, "
        "those of the tight calibration and of the Gaussian comparators are flat and lowest.",
        metrics=("sd", "sd_measured"),
    ),
    "jain2013-fig1": Target(
        "drawing_fig1",
        "fig1",
        ("series", "total", "queries", "d", "radius", "vacuous"),
        "Figure 1: three models",
        "Who sees what in the interactive, the semi-interactive and the non-interactive model: the dataset and the "
        "learner are trusted, the user is not. Below each, the constants of its algorithm as printed.",
        "Three schematics side by side, each with boxes for dataset, trusted learner and user; arrows show what is "
        "private, what is released and what is public, and a dashed line lies between the learner and the user.",
        metrics=("rounds", "threshold", "own_queries", "net_digits"),
    ),
}
TABLES: Catalogue[str, Target] = {
    "jain2013-constants": Target(
        "drawing",
        "constants_table",
        ("series", "variant", "total", "queries", "d", "n", "vacuous"),
        "Constants of Algorithms 1 to 3 and of Theorem 5",
        "B, epsilon0 and sigma (of TDDL nu, tight: sigma) as printed, corrected and tight, the size of the printed net "
        "and the T of Theorem 5 on the theory grid (R = L = C = lambda = 1). Vacuous: B < 1 or sigma at least C R/2. "
        "Below: the exact checks, each with the largest excess of what is measured over what is allowed.",
        metrics=("rounds", "epsilon0", "threshold", "own_queries", "net_digits", "excess", "evaluations", "work"),
    ),
}
